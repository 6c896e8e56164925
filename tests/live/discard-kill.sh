#!/bin/sh
# SIGKILL whoever gives back the tops of arenas, before each of its ptrace calls, while eight threads
# allocate from two arenas: no lock may be left taken, no block may change.
. "$top_srcdir/tests/live/lib.sh"
need strace

threads_go_on()
{
	goes_on 2048 busy
}

start_tracee tops 8 3
check 'killed at each ptrace' killed_each_time ptrace $((100 / MEMDIAG_TEST_SHARE)) threads_go_on \
	timeout 600 "$top_builddir/tests/unit/discard" "$tracee_pid"
check 'it was killed often' test "$nr_tried" -ge "$(some 20)"
check 'all blocks are good' ask rest
check 'it still can be done' "$top_builddir/tests/unit/discard" "$tracee_pid"
check 'the target lives on' end_tracee
finish

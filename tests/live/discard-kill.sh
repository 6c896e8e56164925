#!/bin/sh
# SIGKILL whoever gives back the tops of arenas, before each of its ptrace calls, while eight threads
# allocate from two arenas: no lock may be left taken, no block may change.
deadline=300
. "$top_srcdir/tests/live/lib.sh"
need strace

goes_on()
{
	said=$(ask busy)
	until [ "$(ask busy)" -gt $((said + 2048)) ]; do
		kill -0 "$tracee_pid" || return
		sleep 0.005
	done
}

killed_each_time()
{
	stride=$((100 / MEMDIAG_TEST_SHARE))
	when=$((1 - stride))
	while [ $when -lt 150 ]; do
		when=$((when + stride))
		strace -f -o "$dir/strace" -e trace=ptrace -e "inject=ptrace:signal=SIGKILL:when=$when" \
			timeout 30 "$top_builddir/tests/unit/discard" "$tracee_pid" >"$dir/out" 2>"$dir/err"
		grep -q 'killed by SIGKILL' "$dir/strace" || break
		goes_on || {
			echo "killed at call number $when"
			return 1
		}
	done
	echo "killed $((when - 1)) times"
	[ $when -gt 20 ]
}

start_tracee tops 8 3
check 'killed at each ptrace' killed_each_time
check 'all blocks are good' ask rest
check 'it still can be done' "$top_builddir/tests/unit/discard" "$tracee_pid"
check 'the target lives on' end_tracee
finish

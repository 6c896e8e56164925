#!/bin/sh
# A thread in a restartable sequence (rseq): to go on in the middle of it after a call would break what the sequence
# promises, so it is not borrowed.  Kernels before 5.13 do not show where it is.
. "$top_srcdir/tests/live/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all 'the program is for x86-64 only'

# aborts_more: whether the sequence was aborted more often than when this was called before.
nr=0
aborts_more()
{
	before=$nr
	nr=$(ask aborts) && [ "$nr" -gt "$before" ]
}

start_command env GLIBC_TUNABLES=glibc.pthread.rseq=0 "$TRACEES/sequence"
check 'it is in its sequence' soon aborts_more
for command in 'info --method=inject' trim; do
	# shellcheck disable=SC2086 # words
	check "$command: it is not borrowed" exits_saying 6 'restartable sequence' \
		memdiag $command --wait=3s --pid "$tracee_pid"
done
check 'its sequence is begun again' aborts_more
check 'it lives on' end_tracee
finish

#!/bin/sh
# A thread in a restartable sequence (rseq): to go on in the middle of it after a call would break what the sequence
# promises, so it is not borrowed.  Kernels before 5.13 do not show where it is.
. "$top_srcdir/tests/live/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all 'the program is for x86-64 only'

# as_before_5_13 COMMAND...: ptrace() fails with EIO for PTRACE_GET_RSEQ_CONFIGURATION.
as_before_5_13()
{
	captured python3 "$top_srcdir/tests/live/deny.py" 101 5 --request=0x420f "$@"
}

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
	# It is outside for a moment when it begins again: try once more then.
	# shellcheck disable=SC2086 # words
	check "$command: it is not borrowed" soon exits_saying 6 'restartable sequence' \
		memdiag $command --wait=200ms --pid "$tracee_pid"
done
check 'its sequence is begun again' aborts_more
if command -v python3 >/dev/null; then
	check 'it is not borrowed where the kernel does not show its sequence' soon exits_saying 6 'restartable sequence' \
		as_before_5_13 "$MEMDIAG" info --method=inject --wait=200ms --pid "$tracee_pid"
	check 'its sequence is begun again then' aborts_more
	check 'it lives on' end_tracee
	start_tracee spin
	check 'but a thread in code without sequences is borrowed there' exits 0 patiently as_before_5_13 \
		"$MEMDIAG" info --method=inject --wait=300s --timeout=600s --pid "$tracee_pid"
	check 'it lives on, too' end_tracee
else
	skip 'it is not borrowed where the kernel does not show its sequence' 'there is no python3'
	check 'it lives on' end_tracee
fi
finish

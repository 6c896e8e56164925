#!/bin/sh
# A thread in a restartable sequence (rseq): to go on in the middle of it after a call would break what the sequence
# promises, so it is not borrowed.  Kernels before 5.13 do not show where it is.
. "$top_srcdir/tests/live/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all 'the program is for x86-64 only'

# A kernel before 5.13, as far as memdiag can see: ptrace() does not know PTRACE_GET_RSEQ_CONFIGURATION.
cat >"$dir/old.py" <<'END'
"""old.py COMMAND...: run it with a filter by which that request fails with EIO."""
import ctypes, os, struct, sys
code = b"".join(struct.pack("HBBI", *i) for i in (
    (0x20, 0, 0, 0), (0x15, 0, 3, 101), (0x20, 0, 0, 16), (0x15, 0, 1, 0x420f), (0x06, 0, 0, 0x50005),
    (0x06, 0, 0, 0x7fff0000)))
libc, buf = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxQ", 6, ctypes.addressof(buf))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.create_string_buffer(program)):
    sys.exit("cannot filter calls")
os.execv(sys.argv[1], sys.argv[1:])
END

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
if command -v python3 >/dev/null; then
	check 'nor where the kernel does not show its sequence' exits_saying 6 'restartable sequence' \
		captured python3 "$dir/old.py" "$MEMDIAG" info --method=inject --wait=3s --pid "$tracee_pid"
	check 'its sequence is begun again' aborts_more
	check 'it lives on' end_tracee
	start_tracee spin
	check 'but a thread in code without sequences is borrowed there' exits 0 patiently captured python3 "$dir/old.py" \
		"$MEMDIAG" info --method=inject --wait=300s --timeout=600s --pid "$tracee_pid"
else
	skip 'nor where the kernel does not show its sequence' 'there is no python3'
fi
check 'the last one lives on' end_tracee
finish

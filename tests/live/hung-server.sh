#!/bin/sh
# A target whose program and libraries lie on a file system whose server does not answer: here one of FUSE
# whose process is stopped.  Nothing waits for it, and what is read from memory is read.
. "$top_srcdir/tests/live/lib.sh"
need jq squashfuse mksquashfs
[ -w /dev/fuse ] || skip_all 'no /dev/fuse here'
loader=$(sed -n 's|.* \(/.*/ld-linux[^ ]*\)$|\1|p' /proc/self/maps | head -n 1)
libc=$(sed -n 's|.* \(/.*/libc\.so\.6\)$|\1|p' /proc/self/maps | head -n 1)
[ -n "$loader" ] && [ -n "$libc" ] || skip_all 'this shell does not use glibc'

elsewhere=$(mktemp -d "${TMPDIR:-/tmp}/memdiag-hung.XXXXXX")
mkdir "$elsewhere/files" "$elsewhere/mnt"
cp "$loader" "$elsewhere/files/ld.so"
cp "$libc" "$elsewhere/files/libc.so.6"
cp "$TRACEES/idle" "$elsewhere/files/idle"
head -c 1048576 /dev/urandom >"$elsewhere/files/stack"
{ printf '\350\003' && head -c 4094 /dev/zero; } >"$elsewhere/files/time" # 1000 s
mksquashfs "$elsewhere/files" "$elsewhere/image" -quiet >"$dir/mksquashfs" 2>&1 ||
	skip_all 'mksquashfs makes no image'
squashfuse -f "$elsewhere/image" "$elsewhere/mnt" >"$dir/squashfuse" 2>&1 &
server=$!
unmount()
{
	status=$?
	kill -CONT "$server" 2>/dev/null
	for pid in $started; do
		kill -KILL "$pid" 2>/dev/null
	done
	wait 2>/dev/null
	umount -l "$elsewhere/mnt" 2>/dev/null
	kill -KILL "$server" 2>/dev/null
	(exit $status)
	leave
}
until [ -e "$elsewhere/mnt/idle" ]; do
	lives "$server" || skip_all 'squashfuse does not mount here'
	sleep 0.01
done
# The server ends when it is unmounted, which the end waits for.
finish_unmounted()
{
	umount -l "$elsewhere/mnt" 2>/dev/null
	finish
}
trap unmount EXIT

# A page of a stack comes from the server, or never: memdiag, which would wait for it, could not be killed, and the
# target would stay stopped.
start_command "$TRACEES/file-stack" "$elsewhere/mnt/stack"
kill -STOP "$server"
for command in 'info --method=inject' trim; do
	# shellcheck disable=SC2086 # words
	# The other thread may be borrowed where it runs.
	check "a stack below which pages are missing: $command does not wait for them" \
		exits '0 5 6' memdiag $command --pid "$tracee_pid" --timeout 20s --wait 1s
done
kill -CONT "$server"
check 'a stack of a file: the target lives on' end_tracee

start_command "$TRACEES/file-stack" "$elsewhere/mnt/time" timeout
kill -STOP "$server"
check 'a timeout on a page that is missing: heap does not read it' exits '0 2' memdiag heap --pid "$tracee_pid"
check 'a timeout on a page that is missing: stacks does not read it' exits '0 2' memdiag stacks --pid "$tracee_pid"
kill -CONT "$server"
check 'a timeout of a file: the target lives on' end_tracee

if has_hooks; then
	start_command "$TRACEES/file-stack" "$elsewhere/mnt/stack" above
	kill -STOP "$server"
	for verb in start stop; do
		check "a stack of which pages are missing above: count $verb does not read them" \
			exits 0 memdiag count $verb --pid "$tracee_pid"
	done
	kill -CONT "$server"
	check 'a stack without pages above: the target lives on' end_tracee
else
	skip 'a stack of which pages are missing above' 'this memdiag was built without Zydis'
fi

start_command "$elsewhere/mnt/ld.so" --library-path "$elsewhere/mnt" "$elsewhere/mnt/idle" 2
kill -STOP "$server"
# Each waits a second for the server, so those that change nothing wait together.
for command in heap doctor; do
	"$MEMDIAG" $command --pid "$tracee_pid" --timeout 600s --json >"$dir/$command" 2>&1 &
	started="$started $!"
	eval "${command}_pid=$!"
done
check 'maps adds up' maps_adds_up "$tracee_pid"
check 'maps --by=object answers' exits 0 memdiag maps --pid "$tracee_pid" --by=object
check 'maps --by=object names the program by its path' grep -q mnt/ld.so "$dir/out"
check 'heap answers' exits '0 2' wait "$heap_pid"
check 'doctor answers' exits '0 2' wait "$doctor_pid"
# The data needed for calls of libc may lie on pages that only the server has.
for command in info trim 'count start'; do
	# shellcheck disable=SC2086 # words
	check "$command answers, or says what is missing" \
		exits '0 2 5' memdiag $command --pid "$tracee_pid" --timeout 600s
	check "$command did not wait for the server" sh -c "! grep -q 'gave up' '$dir/err'"
done
printf 'heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x401000\n\nMAPPED_LIBRARIES:\n%s\n' \
	"00400000-00500000 r-xp 00000000 00:00 0 $elsewhere/mnt/idle" >"$dir/hung.heap"
check 'report of a profile that names a file there: --timeout ends it' \
	exits_saying 1 'gave up, --timeout has passed' memdiag report "$dir/hung.heap" --timeout=100ms
kill -CONT "$server"
check 'the target lives on' end_tracee
finish_unmounted

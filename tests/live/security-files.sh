#!/bin/sh
# Root's memdiag, and files that another user names: by a mapping, in the memory of a process, in a profile, in a log's
# directory, as debug information.  A FIFO of that user counts who opens it, as a device or a terminal would notice.
. "$top_srcdir/tests/live/lib.sh"
need setpriv objcopy
[ "$(id -u)" -eq 0 ] || skip_all 'only root can be different users'

# Programs where the other user can reach them, and a directory of that user.
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
theirs=$dir/theirs
mkdir "$theirs" "$theirs/logs"
install -m 755 "$TRACEES/namer" "$theirs/program"
head -c 100 /dev/zero >"$theirs/fifo"
objcopy --strip-all "$theirs/program"
objcopy --add-gnu-debuglink="$theirs/fifo" "$theirs/program"
rm "$theirs/fifo"
chown -R 65534:65534 "$theirs"

# unopened STATUS memdiag...: it exits with STATUS, and has not opened the FIFO.
unopened()
{
	exits "$@" || return
	nr=$(ask count)
	[ "$nr" -eq 0 ] || {
		echo "the FIFO was opened $nr times"
		return 1
	}
}

# shellcheck disable=SC2086 # a list of words
start_command $nobody "$theirs/program" "$theirs"
check 'maps: a mapped file became a link to a FIFO' unopened 0 memdiag maps --pid "$tracee_pid"
check 'info --method=read: the same' unopened 0 memdiag info --method=read --pid "$tracee_pid"
check 'stacks: debug information is a FIFO' unopened 0 memdiag stacks --pid "$tracee_pid"
check "status: the table of a family is a FIFO's descriptor" unopened '0 1' memdiag status --pid "$tracee_pid"

printf 'heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x401000\n\nMAPPED_LIBRARIES:\n%s\n' \
	"00400000-00500000 r-xp 00000000 00:00 0 $theirs/fifo" >"$dir/fifo.heap"
check 'report: a profile names a FIFO as a library' unopened 0 memdiag report "$dir/fifo.heap"
ln "$theirs/fifo" "$theirs/logs/a.mlog"
check "timeline: a file in a log's directory is a FIFO" unopened 1 memdiag timeline "$theirs/logs"
check 'the process lives on' end_tracee
finish

#!/bin/sh
# Root's memdiag, and a process of another user that makes the file of a library short while memdiag reads it.
. "$top_srcdir/tests/live/lib.sh"
need setpriv
[ "$(id -u)" -eq 0 ] || skip_all 'only root can be different users'
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
install -m 755 "$TRACEES/shortener" "$dir"
mkdir "$dir/theirs"
chown 65534:65534 "$dir/theirs"

# 200 tries with all repetitions, 20 with a quarter of them.
tries=200
[ "$(some 100)" -eq 100 ] || tries=20

# survives COMMAND...: memdiag ends by itself each time.
survives()
{
	nr=0
	while [ $nr -lt $tries ]; do
		nr=$((nr + 1))
		"$MEMDIAG" "$@" >"$dir/out" 2>"$dir/err"
		status=$?
		[ $status -le 6 ] || {
			echo "exit status $status in try $nr of $tries"
			return 1
		}
	done
	[ "$(ask count)" -gt 0 ]
}

# shellcheck disable=SC2086 # a list of words
start_command $nobody "$dir/shortener" "$dir/theirs"
check 'maps' survives maps --pid "$tracee_pid"
check 'info --method=read' survives info --method=read --pid "$tracee_pid"
check 'status' survives status --pid "$tracee_pid"
printf 'heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x430000\n\nMAPPED_LIBRARIES:\n%s\n' \
	"00400000-00500000 r-xp 00000000 00:00 0 $dir/theirs/library" >"$dir/short.heap"
check 'report of a profile that names it' survives report "$dir/short.heap"
check 'the process lives on' end_tracee
finish

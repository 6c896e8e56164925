#!/bin/sh
# /proc mounted with hidepid: a process that is hidden is told from one that is not there, by every command alike.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
need jq setpriv unshare
[ "$(id -u)" -eq 0 ] || skip_all 'only root can be different users'

# Where another user can reach it, also if only we may use the build.
install -m 755 "$MEMDIAG" "$top_builddir"/libmemdiag-*.so "$dir"
# hidden OPTIONS COMMAND...: run it as another user, where /proc is mounted with OPTIONS.
hidden()
{
	# shellcheck disable=SC2016 # of that shell
	unshare -m sh -c 'mount -t proc -o "$0" proc /proc && exec "$@"' "$@"
}
hidden hidepid=2 true 2>"$dir/err" || skip_all "/proc cannot be mounted here: $(cat "$dir/err")"
nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
MEMDIAG=$dir/memdiag
start_tracee idle 2

# shellcheck disable=SC2086 # $nobody is a list of words
{
	for number in 1 2; do
		all_refuse "hidepid=$number" "may not look at process $tracee_pid: /proc hides the processes of other users (hidepid=.*Run memdiag as root, or: mount -o remount,hidepid=0 /proc" \
			hidden hidepid=$number $nobody
		check "hidepid=$number: doctor says so beforehand" exits 2 captured hidden hidepid=$number $nobody "$MEMDIAG" doctor
		check 'in the same words' grep -q \
			'no *proc */proc hides the processes of other users (hidepid=.*Run memdiag as root, or: mount' "$dir/out"
		check "hidepid=$number: by name" exits_saying 4 "no process called 'idle' .*hidepid=" \
			captured hidden hidepid=$number $nobody "$MEMDIAG" maps --pid idle
		check "hidepid=$number: one that is not there" exits_saying 3 'there is no process 4194304$' \
			captured hidden hidepid=$number $nobody "$MEMDIAG" maps --pid 4194304
	done
	all_exit 'hidepid=2, root' 0 hidden hidepid=2
	check 'hidepid=2, root: by name' exits_saying 3 "there is no process called 'memdiag-none'" \
		captured hidden hidepid=2 "$MEMDIAG" maps --pid memdiag-none
	check 'the group that may see all' exits_saying 4 'belongs to uid 0, and we are uid 65534' \
		captured hidden hidepid=2,gid=65533 setpriv --reuid=65534 --regid=65534 --groups=65533 "$MEMDIAG" info --pid "$tracee_pid"
	check 'the target lives on' end_tracee
}
finish

#!/bin/sh
# The target execs, exits, forks or ends threads at every moment of a stop of all its threads.
. "$top_srcdir/tests/live/lib.sh"

race_us()
{
	what=$1
	start_tracee race "$3" "$what" "$2"
	"$top_builddir/tests/unit/stop" "$tracee_pid" 100 20 300000 >"$dir/out" 2>"$dir/err" &
	freezer=$!
	wait_for $freezer "$dir/out" still
	tell go
	wait $freezer
	status=$?
	case $status in
	0 | 3) ;;
	6) grep -q 'nothing was changed' "$dir/err" || return ;;	# a slow machine: given up in time
	*)
		echo "after $2 us: exit status $status"
		cat "$dir/err"
		return 1
		;;
	esac
	[ "$what" != exec ] || until [ "$(grep -c ready "$dir/$tracee_pid.out")" -eq 2 ]; do
		kill -0 "$tracee_pid" || return
	done
	end_tracee || {
		echo "after $2 us"
		return 1
	}
}

at_every_moment()
{
	us=0
	while [ $us -le 3000 ]; do
		race_us "$1" $us "$2" || return
		us=$((us + 100 * 100 / MEMDIAG_TEST_SHARE))
	done
}

for what in exec exit exit_group fork; do
	for threads in 0 3 60; do
		check "$what, $threads more threads" at_every_moment $what $threads
	done
done
finish

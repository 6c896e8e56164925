#!/bin/sh
# The target execs, exits, forks or ends threads at every moment of a borrow.
. "$top_srcdir/tests/live/lib.sh"

# race_us WHAT US THREADS: memdiag runs while the target does WHAT after US microseconds.
race_us()
{
	what=$1
	start_tracee race "$3" "$what" "$2"
	tell go
	memdiag info --pid "$tracee_pid" --wait 200ms --timeout 600s
	status=$?
	case $what-$status in
	*-[036]) ;;
	exec-5) ;;	# the new program has no malloc yet
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
	while [ $us -le 9000 ]; do
		race_us "$1" $us "$2" || return
		us=$((us + 300 * 100 / MEMDIAG_TEST_SHARE))
	done
}

for what in exec exit exit_group fork; do
	for threads in 0 3; do
		check "$what, $threads more threads" at_every_moment $what $threads
	done
done

start_tracee race 2 threads
check 'threads that come and go' each_of 50 exits 0 memdiag info --pid "$tracee_pid"
check 'the target lives on' end_tracee
finish

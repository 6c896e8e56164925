#!/bin/sh
# heap on a target that is killed, execs, exits, gives its heaps back or ends its threads at every
# moment of a read: an answer, or an error that it is gone; never a crash of either.
. "$top_srcdir/tests/live/lib.sh"
need jq

# said_well WHAT...: whether the last status is one that may be, and words go with it.
said_well()
{
	status=$1
	case $status in
	0 | 2) jq -e '.data.arenas | length > 0' "$dir/out" >"$dir/jq" 2>&1 && return ;;
	3) grep -q 'there is no process\|ended' "$dir/err" && return ;;
	esac
	[ "$status.$2" != 5.exec ] || return 0	# the new program has no malloc yet
	[ "$status.$2" != 3.exec ] || ! grep -q 'has executed another program' "$dir/err" || return 0
	echo "$2 after $3 us: exit status $status"
	cat "$dir/out" "$dir/err"
	return 1
}

race_us()	# race_us WHAT US OPTIONS...
{
	what=$1
	us=$2
	shift 2
	start_tracee race 3 "$what" "$us"
	tell go
	memdiag heap --pid "$tracee_pid" --json "$@"
	said_well $? "$what" "$us" || return
	[ "$what" != exec ] || until [ "$(grep -c ready "$dir/$tracee_pid.out")" -eq 2 ]; do
		kill -0 "$tracee_pid" || return
	done
	end_tracee || {
		echo "after $us us"
		return 1
	}
}

at_every_moment()	# at_every_moment WHAT OPTIONS...
{
	what=$1
	shift
	us=0
	while [ $us -le 10000 ]; do
		race_us "$what" $us "$@" || return
		us=$((us + 1000 * 100 / MEMDIAG_TEST_SHARE))
	done
}
for what in exec exit exit_group fork; do
	check "$what" at_every_moment $what
	check "$what, not stopped" at_every_moment $what --no-stop
done

# killed MS OPTIONS...: a program with 64 MiB of heaps gets SIGKILL so long after the start.
killed()
{
	ms=$1
	shift
	start_tracee bloat 64
	memdiag heap --pid "$tracee_pid" --json "$@" &
	reader=$!
	sleep "0.0$ms"
	kill -KILL "$tracee_pid"
	wait $reader
	said_well $? kill "$ms" && ! wait "$tracee_pid"
}
killed_at_every_moment()
{
	for ms in 02 05 10 20 40; do
		killed $ms "$@" || return
	done
}
check 'killed' killed_at_every_moment
check 'killed, not stopped' killed_at_every_moment --no-stop

start_tracee race 2 threads
well()
{
	memdiag heap --pid "$tracee_pid" --json "$@"
	said_well $? threads 0
}
check 'heap reads threads that come and go' each_of 30 well
check 'heap reads threads that come and go without stopping them' each_of 30 well --no-stop
check 'the target lives on' end_tracee

start_tracee shrink
check 'heaps that grow and are given back' each_of 50 well
check 'with a reason where it is not exact' json_is \
	'.data.arenas | all(.certainty == "exact" or .why != null)'
check 'heap reads growing and shrinking heaps without stopping them' each_of 50 well --no-stop
check 'no arena is exact if nothing was stopped' json_is '.data.arenas | all(.certainty != "exact")'
check 'the target lives on' end_tracee
finish

#!/bin/sh
# A monitor that runs again and again makes no timer late: whatever call a thread sleeps in, it ends when it
# would have ended, with the same result.  The control is a child of the program that nobody looks at.
. "$top_srcdir/tests/live/lib.sh"
wanted_runs=$(some 60)
seed=${MEMDIAG_TEST_SEED:-$(date +%s)}
echo "# seed $seed"

# run_all: all commands on all of them, until enough have worked; in five rounds each has slept twice.
run_all()
{
	nr_runs=0 nr_rounds=0
	while [ $nr_runs -lt "$wanted_runs" ] || [ $nr_rounds -lt 5 ]; do
		nr_rounds=$((nr_rounds + 1))
		for pid in $pids; do
			for command in 'info --wait=100ms' heap 'trim --wait=100ms --max-lock=10s'; do
				# shellcheck disable=SC2086 # a command and its options
				memdiag $command --pid "$pid" -q
				case $? in
				0) nr_runs=$((nr_runs + 1)) ;;
				6) ;;	# woken up each time
				*) cat "$dir/err"; return 1 ;;
				esac
			done
		done
	done
}

# in_time PID MAX_MS: whether all its sleeps ended as they should, none later than one and a half times the
# longest of them behind the latest of the control; a thread that is stopped is later by as long.  The timeout of a socket is
# noticed by the next memdiag that stops the thread.
in_time()
{
	awk -v max="$2" '
		NF == 5 {
			count += $2
			bad += $3
			if ($4 > $5 + ($1 == "receive" ? 3 * max : 1.5 * max)) {
				print $1, "was", $4, "ms late, the control", $5
				late++
			}
		}
		END { print count " sleeps"; exit !(count > 1 && !bad && !late) }' "$dir/$1.out" || {
		cat "$dir/$1.err"
		return 1
	}
}

# In programs with one thread the sleeping thread itself is borrowed, in the other only if no other can be.
pids=
for kind in poll epoll nanosleep sigtimedwait epoll_pwait2; do
	start_tracee sleeps "$seed" $kind 600 1000
	echo "one thread in $kind" >"$dir/$tracee_pid.name"
	pids="$pids $tracee_pid"
done
start_tracee sleeps "$seed" all 600 1000 8
echo 'threads in all kinds of calls' >"$dir/$tracee_pid.name"
pids="$pids $tracee_pid"

check 'info, heap and trim, again and again' run_all
for pid in $pids; do
	check "$(cat "$dir/$pid.name"): the target lives on" end_tracee "$pid"
	check "$(cat "$dir/$pid.name"): in time" in_time "$pid" 1000
done
finish

#!/bin/sh
# Whatever system call the borrowed thread waits in, it ends as if nobody had been here: its
# result, no EINTR, its deadline.
. "$top_srcdir/tests/live/lib.sh"
need jq
ms=${MEMDIAG_TEST_PARKED_MS:-12000}

# All wait at the same time, so that this takes as long as one of them.
pids=
for kind in $("$TRACEES/parked"); do
	for how in '' multi; do
		# shellcheck disable=SC2086 # nothing or a word
		start_tracee parked "$kind" $ms $how
		pids="$pids $tracee_pid"
		echo "$kind${how:+, second thread}" >"$dir/$tracee_pid.name"
	done
done

# borrow PID COMMAND...: it must borrow the waiting thread, and not main, which sits in stdio.  On a machine
# that is slow the wait may be over before its last turn.
borrow()
{
	pid=$1
	shift
	if [ "$*" != info ] && grep -q '^kept' "$dir/$pid.out"; then
		return
	fi
	# It may also be over before the thread is stopped: then only main is left.
	if ! exits 0 memdiag "$@" --pid "$pid" --json; then
		[ "$*" != info ] && says 'could be borrowed safely' && grep -q '^kept' "$dir/$pid.out"
		return
	fi
	case $(cat "$dir/$pid.name") in
	*second*) json_is ".. | .borrow? | select(.) | .tid != $pid" && return
		jq -c '{ method: .data.method, borrow: [.. | .borrow? | select(.)], warnings: .warnings }' "$dir/out"
		return 1
		;;
	esac
}

# A wait that started over would end late if it is disturbed late: go round for more than a second.
for command in info 'info --capture=fd2' trim; do
	end=$(($(date +%s) + 1))
	for pid in $pids; do
		# shellcheck disable=SC2086 # a command and its options
		check "$(cat "$dir/$pid.name"): the waiting thread was borrowed for $command" \
			borrow "$pid" $command
	done
	until [ "$(date +%s)" -ge $end ]; do
		sleep 0.1
	done
done

for pid in $pids; do
	check "$(cat "$dir/$pid.name"): the wait was kept" says_kept "$pid"
	check "$(cat "$dir/$pid.name"): the target lives on" end_tracee "$pid"
done
finish

#!/bin/sh
# All threads stopped for a moment and given back: programs of every kind, each as it was before.
. "$top_srcdir/tests/live/lib.sh"

freeze()
{
	"$top_builddir/tests/unit/stop" "$@" >"$dir/out" 2>"$dir/err"
}

# frozen STATUS [HOLD_US [TIMES [MAX_MS]]]
frozen()
{
	status=$1
	shift
	exits "$status" freeze "$tracee_pid" "$@" || {
		cat "$dir/err"
		return 1
	}
}

stood()
{
	awk -v want="$1" '$1 != "still" && $1 != want { bad = 1 } END { exit NR < 2 || bad }' "$dir/out" || {
		cat "$dir/out"
		return 1
	}
}

for name in idle-static idle-musl idle-i386 seccomp; do
	if [ ! -x "$TRACEES/$name" ]; then
		skip "$name" 'such a program cannot be built or run here'
		continue
	fi
	start_tracee $name
	remember
	check "$name: all threads stand still" frozen 0 1000 20 300000
	check "$name: the target is as before" unharmed
	check "$name: the target lives on" end_tracee
done

# The shortest of ten, and of as many times as it takes: other programs may run here.
cheap()
{
	freeze "$tracee_pid" 0 11 300000 || return
	awk '$1 != "still" { us = $2 / $1; if (!best || us < best) best = us }
		END { print best " us a thread"; exit !best || best > 25 }' "$dir/out"
}
start_tracee manythreads 1500
remember
check '1,500 threads: all stand still' frozen 0 0 11 300000
check '1,500 threads: no thread is left out' stood 1501
if [ -d /run/memdiag-kernels ]; then
	skip '1,500 threads: 25 us a thread at most' 'times of an emulated processor mean nothing'
else
	check '1,500 threads: 25 us a thread at most' soon cheap
fi
check '1,500 threads: the target is as before' unharmed
check '1,500 threads: the target lives on' end_tracee

# queued_us: how long all of its threads have waited for a processor (Documentation/scheduler/sched-stats.rst).
queued_us()
{
	cat /proc/"$tracee_pid"/task/*/schedstat 2>/dev/null |
		awk '{ ns += $2 } END { printf "%.0f\n", ns / 1000 }'
}

# The pause that the program itself measures is the one that is reported, but for the time in which other programs
# had the processor.
is_as_reported()
{
	ask gap >/dev/null
	queued=$(queued_us)
	freeze "$tracee_pid" 20000 1 300000 || return
	gap=$(ask gap)
	queued=$(($(queued_us) - queued))
	reported=$(awk '$1 != "still" { print $2 }' "$dir/out")
	echo "longest pause $gap us, reported $reported us, waited for a processor $queued us"
	[ "$gap" -ge 20000 ] || { echo 'the pause was too short'; touch "$dir/too_short"; }
	[ "$gap" -le $((reported + queued + 2000)) ]
}
start_tracee heartbeat 10
check 'heartbeat: its longest pause is the one that is reported' soon is_as_reported
check 'heartbeat: each pause was as long as it had to be' test ! -e "$dir/too_short"
check 'heartbeat: the target lives on' end_tracee

state()
{
	awk '$1 == "State:" { print $2 }' "/proc/$1/status"
}
settles_in_state()
{
	until [ "$(state "$tracee_pid")" = "$1" ]; do
		sleep 0.01
	done
}
start_tracee idle 3
kill -STOP "$tracee_pid"
check 'stopped: it stands still' frozen 0 1000 5 300000
check 'stopped: it stays stopped' settles_in_state T
kill -CONT "$tracee_pid"
check 'stopped: it can go on' settles_in_state S
check 'stopped: the target lives on' end_tracee

# in_between COMMAND...: what happens while it stands still.
in_between()
{
	: >"$dir/freeze.out"	# what an earlier one said is no sign
	"$top_builddir/tests/unit/stop" "$tracee_pid" 200000 1 300000 >"$dir/freeze.out" &
	freezer=$!
	wait_for $freezer "$dir/freeze.out" still && "$@" && wait $freezer
}
start_tracee idle 3
check 'stopped meanwhile' in_between kill -STOP "$tracee_pid"
check 'stopped meanwhile: it stops afterwards' settles_in_state T
check 'continued meanwhile' in_between kill -CONT "$tracee_pid"
check 'continued meanwhile: it goes on' settles_in_state S
check 'killed meanwhile' in_between kill -KILL "$tracee_pid"

start_tracee zombie-leader
check 'the first thread has ended: the others stand still' frozen 0 1000 5 300000
check 'the first thread has ended: the target lives on' end_tracee

start_tracee vfork
check 'in vfork: given up in time' frozen 6 1000 1 100
check 'in vfork: it says why' grep -q 'state is D' "$dir/err"
check 'in vfork: the target lives on' end_tracee

start_tracee idle 2
"$top_builddir/tests/unit/stop" "$tracee_pid" 0 0 >"$dir/other.out" &
other=$!
wait_for $other "$dir/other.out" still
check 'two at once: all threads, or it is said who traces it' each_of 50 frozen '0 4' 1000 1 300000
kill -TERM $other
wait $other
if command -v strace >/dev/null; then
	strace -f -o /dev/null -p "$tracee_pid" 2>"$dir/strace.err" &
	other=$!
	wait_for $other "$dir/strace.err" attached
	check 'traced by strace: refused' frozen 4
	check 'traced by strace: it is named' grep -q 'strace' "$dir/err"
	kill -INT $other
	wait $other
else
	skip 'traced by strace' 'strace is not installed'
fi
check 'traced by another: the target lives on' end_tracee
finish

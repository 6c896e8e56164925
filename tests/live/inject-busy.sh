#!/bin/sh
# A target whose main thread, or whose every thread, is inside malloc three quarters of the time:
# a hundred of a hundred are answered, and none crashes or changes the target; nor when it counts, and is in a hook as often.
. "$top_srcdir/tests/live/lib.sh"
need_hooks
need jq

answered()
{
	exits 0 patiently memdiag info --method=inject --wait=300s --timeout=600s --pid "$tracee_pid" --json &&
		json_is '.data.arenas | length >= 1'
}

for threads in 0 2; do
	start_tracee busy-main $threads
	before=$(ask count)
	check "$threads more threads: 100 of 100 answered" each_of 100 answered
	check "$threads more threads: the target goes on" test "$(ask count)" -gt "$before"
	check "$threads more threads: it begins to count" exits 0 patiently memdiag count start --wait=300s --timeout=600s --pid "$tracee_pid"
	before=$(ask count)
	check "$threads more threads: 50 of 50 answered while it counts" each_of 50 answered
	check "$threads more threads: counting ends" exits 0 patiently memdiag count stop --wait=300s --timeout=600s --pid "$tracee_pid"
	check "$threads more threads: the target still goes on" test "$(ask count)" -gt "$before"
	check "$threads more threads: it lives on" end_tracee
done
finish

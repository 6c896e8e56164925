#!/bin/sh
# Threads that get hardly any processor stop after memdiag has given up: none of their calls ends early, and none
# with EINTR.
. "$top_srcdir/tests/live/lib.sh"
need_hooks

late_times=0
# stop_all COMMAND...: memdiag stops all threads, for a millisecond at most. Whether it could is all the same.
stop_all()
{
	exits '0 6' memdiag "$@" --max-stop=1ms --debug --pid "$tracee_pid" || return
	! grep -q 'not all threads .* could be stopped in time' "$dir/err" || late_times=$((late_times + 1))
}

start_tracee late 25
time=0
while [ $time -lt "$(some 8)" ]; do
	time=$((time + 1))
	check "time $time: heap" stop_all heap
	check "time $time: count start" stop_all count start
	check "time $time: count stop" exits '0 6' memdiag count stop --pid "$tracee_pid"
done
if [ $late_times -gt 0 ]; then
	echo "# threads were late $late_times times"
	check 'no call has ended' test "$(ask ended)" = '0 ended, 0 with EINTR'
	ask ended | sed 's/^/# /'
else
	skip 'no call has ended' 'all threads stopped in time, each time'
fi
check 'the target lives on' end_tracee
finish

#!/bin/sh
# Threads that get a thousand signals a second each, and threads that come and go, while all are
# stopped again and again.
. "$top_srcdir/tests/live/lib.sh"

freeze()
{
	# With time enough for threads that wait for a processor.
	"$top_builddir/tests/unit/stop" "$tracee_pid" "$@" 300000 >"$dir/out" || {
		tail -n 1 "$dir/out"
		return 1
	}
}

no_signal_is_lost()
{
	said=$(ask count)
	echo "$said"
	[ "$said" -gt 100 ]
}
start_tracee rain 5
check 'signals: stopped 500 times for 1 ms' freeze 1000 500
check 'signals: each came once, in order' no_signal_is_lost
check 'signals: stopped 500 times for an instant' freeze 0 500
check 'signals: each came once, in order' no_signal_is_lost
check 'signals: the target lives on' end_tracee

start_tracee race 3 threads
check 'threads that make one and end: stopped 200 times' freeze 500 200
check 'threads that make one and end: the target lives on' end_tracee

start_tracee race 300 threads
check 'the same among 300 that wait: stopped 50 times' freeze 500 50
check 'the same among 300 that wait: the target lives on' end_tracee

start_tracee cloner
check 'a thread that makes others: stopped 200 times' freeze 500 200
check 'a thread that makes others: the target lives on' end_tracee

start_tracee churn 8
check 'eight threads in malloc: stopped 200 times' freeze 500 200
check 'eight threads in malloc: the target lives on' end_tracee
finish

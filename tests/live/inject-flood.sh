#!/bin/sh
# A target that handles a thousand signals a second, and those that allocate as fast as they can
# from several threads.
. "$top_srcdir/tests/live/lib.sh"
need jq

# answered MODE: an answer, by a borrow of this mode, and the target goes on.
answered()
{
	exits 0 patiently memdiag info --method=inject --wait=300s --timeout=600s --pid "$tracee_pid" --json &&
		json_is "(.data.borrow.mode | test(\"^($1)\$\")) and (.data.arenas | length >= 1)"
}

start_tracee flood
check 'signals, one thread: 100 of 100 answered' each_of 100 answered thread
check 'signals, one thread: they still come' goes_on 10
check 'signals, one thread: the target lives on' end_tracee

start_tracee flood 3
check 'signals, four threads: 100 of 100 answered' each_of 100 answered helper
check 'signals, four threads: they still come' goes_on 10
check 'signals, four threads: the target lives on' end_tracee

# abort() sends this signal as well: that of another thread is no crash in memdiag's call.
start_tracee kicks
check 'SIGABRT of another thread: 100 of 100 answered' each_of 100 answered 'helper|thread'
check 'SIGABRT of another thread: none is lost' goes_on 10
check 'SIGABRT of another thread: the target lives on' end_tracee

start_tracee churn 2
check 'two threads in malloc: 200 of 200 answered' each_of 200 answered 'helper|thread'
check 'two threads in malloc: they go on' goes_on 10
check 'two threads in malloc: the target lives on' end_tracee

start_tracee churn 8
check 'eight threads in malloc: 20 of 20 answered' each_of 20 answered 'helper|thread'
check 'eight threads in malloc: trim, too' each_of 5 exits 0 patiently memdiag trim --wait=300s --timeout=600s --pid "$tracee_pid"
check 'eight threads in malloc: they go on' goes_on 10
check 'eight threads in malloc: the target lives on' end_tracee
finish

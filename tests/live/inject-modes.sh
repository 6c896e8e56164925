#!/bin/sh
# Each way of borrowing a thread and of catching what malloc_info writes, on a quiet target: the
# answer is whole and the target is as before.
. "$top_srcdir/tests/live/lib.sh"
need jq

# try WORDS MODE COMMAND...: run memdiag COMMAND on the tracee; a thread is borrowed in MODE.
try()
{
	name=$1
	mode=$2
	shift 2
	remember
	check "$name: done" exits 0 memdiag "$@" --pid "$tracee_pid" --json
	check "$name: by a $mode" json_is ".. | .borrow? | select(.) | .mode == \"$mode\""
	check "$name: the target is as before" unharmed
}

start_tracee idle
try 'one thread' thread info
check 'one thread: an arena is reported' json_is '.data.arenas | length == 1'
try 'one thread, descriptor 2' thread info --capture=fd2
check 'one thread, descriptor 2: the same arena' json_is '.data.arenas | length == 1'
try 'one thread, trim' thread trim
check 'one thread lives on' end_tracee

start_tracee idle 5
try 'six threads' helper info
check 'six threads: not main was borrowed' json_is ".data.borrow.tid != $tracee_pid"
check 'six threads: no arena came from us' json_is '.data.arenas | length == 6'
try 'six threads, descriptor 2' helper info --capture=fd2
try 'six threads, in the thread' thread info --thread=own
try 'six threads, in the thread, by the older name' thread info --mode=thread
try 'six threads, in the thread, descriptor 2' thread info --thread=own --capture=fd2
try 'six threads, trim' helper trim
try 'six threads, trim in a helper' helper trim --thread=helper
try 'six threads, trim in the thread' thread trim --thread=own
check 'nothing on its stderr' test ! -s "$dir/$tracee_pid.err"
check 'six threads live on' end_tracee
finish

#!/bin/sh
# Whatever the program has made of its stream of standard error, malloc_info's text is caught; or the
# heaps are read, and info says so.
. "$top_srcdir/tests/live/lib.sh"
need jq

says_nothing()
{
	[ ! -s "$dir/$tracee_pid.err" ] && [ ! -s "$dir/err" ]
}

for how in closed moved; do
	start_tracee stderr $how
	check "stderr $how: there is an answer" exits 0 memdiag info --pid "$tracee_pid" --json
	check "stderr $how: with an arena for each thread" json_is \
		'.data.arenas | length == 2 and all(.system_bytes > 0)'
	check "stderr $how: from a stream, as usual" json_is '.data.borrow.capture == "stream"'
	check "stderr $how: nothing is written" says_nothing
	check "stderr $how: the target lives on" end_tracee
done

start_tracee stderr locked
check 'a strange stderr: there is an answer' exits 0 memdiag info --pid "$tracee_pid" --json
check 'a strange stderr: with an arena for each thread' json_is \
	'.data.arenas | length == 2 and all(.system_bytes > 0)'
check 'a strange stderr: descriptor 2 is left alone, the heaps are read' \
	json_is '.data | .method == "read" and .borrow == null'
check 'a strange stderr: a warning says so' json_is '.warnings | any(contains("heaps were read"))'
check 'a strange stderr: the text runs' exits 0 memdiag info --pid "$tracee_pid"
check 'a strange stderr: a note says so' grep -q 'heaps were read instead' "$dir/err"
check 'a strange stderr: malloc_info() alone is refused' \
	exits 5 memdiag info --pid "$tracee_pid" --method=inject
check 'a strange stderr: with what helps' grep -q -e '--method=read.*--capture=fd2' "$dir/err"
check 'a strange stderr: descriptor 2, if asked for' \
	exits 0 memdiag info --pid "$tracee_pid" --capture=fd2 --json
check 'a strange stderr: is used' json_is '.data.borrow.capture == "fd2"'
check 'a strange stderr: the target lives on' end_tracee
finish

#!/bin/sh
# A Java program with many threads.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/heap-lib.sh"
need jq java javac

javac -d "$dir" "$top_srcdir/tests/tracees/Busy.java"
start_command java -Xmx128m -cp "$dir" Busy 40
works()
{
	[ "$(ask 1000)" = 332833500 ]
}
working()
{
	exits 0 memdiag "$@" --pid "$tracee_pid" --json && works
}
check 'it works' works
check 'info, ten times' each_of 10 working info
check 'by a helper' json_is '.data.borrow.mode == "helper"'
check 'info with descriptor 2 redirected, ten times' each_of 10 working info --capture=fd2
check 'trim, three times' each_of 3 working trim
check_heap java "$tracee_pid"
check 'it works on' works
check 'maps adds up' maps_adds_up "$tracee_pid"
check 'nothing on its stderr' test ! -s "$dir/$tracee_pid.err"
check 'it lives on' end_tracee
finish

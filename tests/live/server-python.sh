#!/bin/sh
# python3, with and without threads.
. "$top_srcdir/tests/live/lib.sh"
need jq python3

working()
{
	exits 0 memdiag "$@" --pid "$tracee_pid" --json && [ "$(ask 1000)" = 332833500 ]
}
for threads in 0 8; do
	start_command python3 "$top_srcdir/tests/tracees/busy.py" $threads
	remember
	for command in info 'info --capture=fd2' trim; do
		# shellcheck disable=SC2086 # a command and its options
		check "$threads threads: $command, ten times" each_of 10 working $command
	done
	check "$threads threads: maps adds up" maps_adds_up "$tracee_pid"
	check "$threads threads: it is as before" unharmed
	check "$threads threads: no stray word on its stderr" test ! -s "$dir/$tracee_pid.err"
	check "$threads threads: it lives on" end_tracee
done
finish

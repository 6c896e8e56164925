#!/bin/sh
# Signals that the program blocks stay blocked in our calls, also those that faults raise: pending, they would
# end the program, or run a handler that it keeps out.
. "$top_srcdir/tests/live/lib.sh"

# pends SIG COMMAND...: whether signal SIG is pending before and after COMMAND.
pends()
{
	before=$(ask "pend $1")
	shift
	exits 0 memdiag "$@" --pid "$tracee_pid" || return
	after=$(ask check)
	[ -n "$before" ] && [ "$before" != 0 ] && [ "$after" = "$before" ] || {
		echo "pending $before, then $after"
		return 1
	}
}

for how in '' multi; do
	# ILL TRAP ABRT BUS FPE SEGV SYS, and USR1
	for signal in 4 5 6 7 8 11 31 10; do
		# shellcheck disable=SC2086 # nothing or a word
		start_tracee blocked $how
		check "${how:-single}: signal $signal stays pending in info" pends $signal info --method=inject
		check "${how:-single}: signal $signal stays pending in trim" pends $signal trim
		check "${how:-single}: signal $signal: the target lives on" end_tracee
	done
done
finish

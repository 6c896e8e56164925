#!/bin/sh
# SIGKILL whoever stops all threads before its first, second, third ... ptrace or wait call: the
# target must live and be intact every time.
. "$top_srcdir/tests/live/lib.sh"
need strace
[ -x "$TRACEES/oracle" ] || skip_all 'there is no oracle for this architecture'

is_intact()
{
	said=$(ask check)
	echo "the target says: $said"
	[ "$said" = intact ]
}

for how in '' multi; do
	# shellcheck disable=SC2086 # nothing or a word
	start_tracee oracle $how
	for syscall in ptrace wait4; do
		check "${how:-single}: killed at each $syscall" \
			killed_each_time $syscall 1 is_intact "$top_builddir/tests/unit/stop" "$tracee_pid" 100
	done
	check "${how:-single}: it still can be stopped" "$top_builddir/tests/unit/stop" "$tracee_pid" 0 1 300000
	check "${how:-single}: the target lives on" end_tracee
done
check 'enough was tried' test "$nr_tried" -ge 12
finish

#!/bin/sh
# SIGKILL whoever hooks functions, or lifts the hooks, before its first, second, third ... ptrace call,
# write to the target and wait, while threads call these functions: they must go on every time, and
# the hooks be lifted by another to the last byte.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/hook-lib.sh"
need strace

text()
{
	hook text "$payload" && [ -s "$dir/out" ] && cp "$dir/out" "$dir/text.$1"
}

is_well()
{
	goes_on 1000 && hook lift && goes_on 1000 && text after && cmp "$dir/text.before" "$dir/text.after"
}

start()
{
	start_tracee churn 3
	# The symbols of the functions must not be looked up for the first time later.
	"$top_builddir/tests/unit/inject-load" "$tracee_pid" "$payload" >"$dir/out" && goes_on 1000 && text before
}

has_area()
{
	grep -q 'r-xp 00000000 00:00 0 $' "/proc/$tracee_pid/maps"
}

# A program that has the memory for hooks is exchanged for another that has not.
is_well_and_new()
{
	is_well && { ! has_area || { end_tracee && start; }; }
}

is_well_and_set()
{
	is_well && hook set "$payload" malloc free
}

# killed_hooking WELL SYSCALL COMMAND...
killed_hooking()
{
	local well="$1" syscall="$2"
	shift 2
	[ "$1" = set ] || hook set "$payload" malloc free || return
	killed_each_time "$syscall" 1 "$well" "$top_builddir/tests/unit/inject-hook" PID "$@" && is_well
}

for syscall in ptrace process_vm_writev wait4; do
	start
	check "set for the first time, killed at each $syscall" \
		killed_hooking is_well_and_new $syscall set "$payload" malloc free
	check 'the target lives on' end_tracee
done
start
check 'set' hook set "$payload" malloc free
check 'lifted' hook lift
for syscall in ptrace wait4; do
	check "set again, killed at each $syscall" \
		killed_hooking is_well $syscall set "$payload" malloc free
	check "lifted, killed at each $syscall" killed_hooking is_well_and_set $syscall lift
done
check 'the target lives on' end_tracee
echo "# tried $nr_tried"
check 'enough was tried' test "$nr_tried" -ge 100
finish

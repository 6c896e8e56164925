#!/bin/sh
# SIGKILL whoever hooks functions, or lifts the hooks, before its first, second, third ... ptrace call,
# write to the target and wait, while threads call these functions: they must go on every time, and
# the hooks be lifted by another to the last byte.
# shellcheck disable=SC3043 # every sh we know has local
deadline=600
. "$top_srcdir/tests/live/lib.sh"
need strace
payload=$TRACEES/payload.so
nr_tried=0

hook()
{
	timeout 60 "$top_builddir/tests/unit/hook" "$tracee_pid" "$@" >"$dir/out" 2>"$dir/err"
}

# killed SYSCALL WHEN ARGUMENTS...: false when it gets through before.
killed()
{
	local syscall="$1" when="$2"
	shift 2
	strace -f -o "$dir/strace" -e "trace=$syscall" -e "inject=$syscall:signal=SIGKILL:when=$when" \
		"$top_builddir/tests/unit/hook" "$tracee_pid" "$@" >"$dir/out" 2>"$dir/err"
	grep -q 'killed by SIGKILL' "$dir/strace"
}

goes_on()
{
	said=$(ask count)
	until [ "$(ask count)" -gt $((said + 1000)) ]; do
		! grep -q 'State:.Z' "/proc/$tracee_pid/status" || return
	done
}

text()
{
	hook text "$payload" && [ -s "$dir/out" ] && cp "$dir/out" "$dir/text.$1"
}

is_well()
{
	goes_on && hook lift && goes_on && text after && cmp "$dir/text.before" "$dir/text.after"
}

start()
{
	start_tracee churn 3
	# What the functions are reached by must not be looked up for the first time later.
	"$top_builddir/tests/unit/load" "$tracee_pid" "$payload" >"$dir/out" && goes_on && text before
}

has_area()
{
	grep -q 'r-xp 00000000 00:00 0 $' "/proc/$tracee_pid/maps"
}

# A program that has the memory for hooks is exchanged for another that has not, unless KEEPS.
killed_each_time()
{
	local keeps="$1" before="$2" syscall="$3" when=0
	shift 3
	while [ $when -lt 500 ]; do
		when=$((when + 1))
		[ -z "$before" ] || hook set "$payload" malloc free || return
		killed "$syscall" $when "$@" || break
		nr_tried=$((nr_tried + 1))
		is_well || {
			echo "that was $syscall number $when"
			cat "$dir/err"
			return 1
		}
		[ -n "$keeps" ] || ! has_area || { end_tracee && start; } || return
	done
	echo "killed $((when - 1)) times"
	is_well && [ $when -gt 1 ] && [ $when -lt 500 ]
}

for syscall in ptrace process_vm_writev wait4; do
	start
	check "set for the first time, killed at each $syscall" \
		killed_each_time '' '' $syscall set "$payload" malloc free
	check 'the target lives on' end_tracee
done
start
check 'set' hook set "$payload" malloc free
check 'lifted' hook lift
for syscall in ptrace wait4; do
	check "set again, killed at each $syscall" \
		killed_each_time keeps '' $syscall set "$payload" malloc free
	check "lifted, killed at each $syscall" killed_each_time keeps set $syscall lift
done
check 'the target lives on' end_tracee
echo "# tried $nr_tried"
check 'enough was tried' test "$nr_tried" -ge 100
finish

#!/bin/sh
# SIGKILL whoever stops all threads before its first, second, third ... ptrace or wait call: the
# target must live and be intact every time.
deadline=120
. "$top_srcdir/tests/live/lib.sh"
need strace
[ -x "$TRACEES/oracle" ] || skip_all 'there is no oracle for this architecture'
nr_tried=0

killed_each_time()
{
	when=0
	while [ $when -lt 500 ]; do
		when=$((when + 1))
		strace -f -o "$dir/strace" -e "trace=$1" -e "inject=$1:signal=SIGKILL:when=$when" \
			"$top_builddir/tests/unit/freeze" "$tracee_pid" 100 >"$dir/out" 2>"$dir/err"
		grep -q 'killed by SIGKILL' "$dir/strace" || break
		nr_tried=$((nr_tried + 1))
		said=$(ask check)
		[ "$said" = intact ] || {
			echo "killed at $1 number $when, the target says: $said"
			return 1
		}
	done
	echo "killed $((when - 1)) times"
	[ $when -gt 1 ] && [ $when -lt 500 ]
}

for how in '' multi; do
	# shellcheck disable=SC2086 # nothing or a word
	start_tracee oracle $how
	for syscall in ptrace wait4; do
		check "${how:-single}: killed at each $syscall" killed_each_time $syscall
	done
	check "${how:-single}: it still can be stopped" "$top_builddir/tests/unit/freeze" "$tracee_pid"
	check "${how:-single}: the target lives on" end_tracee
done
check 'enough was tried' test "$nr_tried" -ge 12
finish

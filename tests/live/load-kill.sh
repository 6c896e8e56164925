#!/bin/sh
# SIGKILL whoever loads a library before its first, second, third ... ptrace call, write to the target
# and wait: the target must live and be intact every time, and have no arena more.
deadline=300
. "$top_srcdir/tests/live/lib.sh"
need strace jq
[ -x "$TRACEES/oracle" ] || skip_all 'there is no oracle for this architecture'
nr_tried=0

# killed LIBRARY SYSCALL WHEN: false when it gets through before.
killed()
{
	strace -f -o "$dir/strace" -e "trace=$2" -e "inject=$2:signal=SIGKILL:when=$3" \
		"$top_builddir/tests/unit/load" "$tracee_pid" "$1" >"$dir/out" 2>"$dir/err"
	grep -q 'killed by SIGKILL' "$dir/strace"
}

# Nobody may be loading still: the helper goes on by itself.
is_quiet()
{
	until [ "$(find "/proc/$tracee_pid/task" -mindepth 1 -maxdepth 1 | wc -l)" -eq "$nr_threads" ]; do
		! grep -q 'State:.Z' "/proc/$tracee_pid/status" || return
		sleep 0.01
	done
}

nr_arenas()
{
	exits 0 memdiag info --pid "$tracee_pid" --json && json '.data.arenas | length'
}

is_intact()
{
	said=$(ask check)
	is_quiet && now=$(nr_arenas) && [ "$said" = intact ] && [ "$now" -eq "$arenas" ] || {
		echo "it says $said, $now arenas, not $arenas"
		return 1
	}
}

start()
{
	# shellcheck disable=SC2086 # nothing or a word
	start_tracee oracle $how
	nr_threads=$(find "/proc/$tracee_pid/task" -mindepth 1 -maxdepth 1 | wc -l)
	arenas=$(nr_arenas)
}

# A program that has loaded it is exchanged for another that has not.
killed_each_time()
{
	stride=$((100 / MEMDIAG_TEST_SHARE))
	when=$((1 - stride))
	while [ $when -lt 500 ]; do
		when=$((when + stride))
		killed "$1" "$2" $when || break
		nr_tried=$((nr_tried + 1))
		is_intact || {
			echo "that was $2 number $when"
			return 1
		}
		! grep -q "$1" "/proc/$tracee_pid/maps" || { end_tracee && start; } || return
	done
	echo "killed $((when - 1)) times"
	[ $when -gt 1 ] && [ $when -lt 500 ]
}

for how in '' multi; do
	for library in payload payload-orphan; do
		start
		for syscall in ptrace process_vm_writev wait4; do
			check "${how:-single}: $library, killed at each $syscall" \
				killed_each_time "$TRACEES/$library.so" $syscall
			if [ $library = payload ]; then
				end_tracee && start
			fi
		done
		check "${how:-single}: the target lives on" end_tracee
	done
done
echo "# tried $nr_tried"
check 'enough was tried' test "$nr_tried" -ge "$(some 100)"
finish

#!/bin/sh
# SIGKILL whoever loads a library before its first, second, third ... ptrace call, write to the target
# and wait: the target must live and be intact every time, and have no arena more.
. "$top_srcdir/tests/live/lib.sh"
need strace jq
[ -x "$TRACEES/oracle" ] || skip_all 'there is no oracle for this architecture'

# Wait until no thread is loading: the helper goes on by itself, and has a copy of the library open meanwhile.
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
	is_quiet && said=$(ask check) && now=$(nr_arenas) && [ "$said" = intact ] && [ "$now" -eq "$arenas" ] || {
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

# A program that has loaded $library is exchanged for another that has not.
is_intact_and_new()
{
	is_intact && { ! grep -q "$library.so" "/proc/$tracee_pid/maps" || { end_tracee && start; }; }
}

for how in '' multi; do
	for library in payload payload-orphan; do
		# payload-orphan needs a library that does not exist.
		good_statuses=$([ $library = payload ] && echo 0 || echo 1)
		start
		for syscall in ptrace process_vm_writev wait4; do
			check "${how:-single}: $library, killed at each $syscall" \
				killed_each_time $syscall $((100 / $(some 100))) is_intact_and_new \
				"$top_builddir/tests/unit/inject-load" PID "$TRACEES/$library.so"
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

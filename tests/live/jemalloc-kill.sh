#!/bin/sh
# SIGKILL memdiag before each of its ptrace calls and each word that it writes, while it asks, purges or profiles jemalloc in a
# process whose threads allocate all the time: the process goes on, and keeps nothing.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need strace jq

library=$(find /usr/lib /usr/lib64 -name 'libjemalloc.so.2' 2>/dev/null | head -n 1)
[ -n "$library" ] || skip_all 'libjemalloc is not installed'

start_command env MALLOC_CONF=prof:true,prof_active:false LD_PRELOAD="$library" "$TRACEES/jemalloc" 4
ask spin >"$dir/said"
goes_well()
{
	[ "$(ask refresh)" = refreshed ]
}
nr_maps()
{
	wc -l <"/proc/$tracee_pid/maps"
}
check 'info' exits 0 memdiag info --pid "$tracee_pid"
for command in info trim; do
	for syscall in ptrace process_vm_writev; do
		check "$command killed at each $syscall" killed_each_time $syscall $((100 / MEMDIAG_TEST_SHARE)) \
			goes_well "$MEMDIAG" $command --pid "$tracee_pid"
	done
done

# The profiler: each begins where the other has ended.
goes_well_and_stops()
{
	goes_well && exits 0 memdiag profile stop -o "$dir/p" --pid "$tracee_pid"
}
goes_well_and_starts()
{
	goes_well && exits 0 memdiag profile start --pid "$tracee_pid"
}
# A borrowed thread that was left alone sleeps for half a second and then closes what it has open.
has_no_file()
{
	! find "/proc/$tracee_pid/fd" -lname '*memfd:memdiag*' | grep .
}
for syscall in ptrace process_vm_writev; do
	check "profile start killed at each $syscall" killed_each_time $syscall $((100 / MEMDIAG_TEST_SHARE)) \
		goes_well_and_stops "$MEMDIAG" profile start --pid "$tracee_pid"
	check "profile stop killed at each $syscall" killed_each_time $syscall $((100 / MEMDIAG_TEST_SHARE)) \
		goes_well_and_starts "$MEMDIAG" profile stop -o "$dir/p" --pid "$tracee_pid"
	check "profile dump killed at each $syscall" killed_each_time $syscall $((100 / MEMDIAG_TEST_SHARE)) \
		goes_well "$MEMDIAG" profile dump -o "$dir/p" --pid "$tracee_pid"
done
check 'no file of memdiag stays open' soon has_no_file
check 'it was killed often' test "$nr_tried" -ge "$(some 40)"
check 'it rests' test "$(ask rest)" = resting
# A memdiag that was killed right after the workspace was mapped leaves that mapping, without memory.
check 'info still works' exits 0 memdiag info --pid "$tracee_pid" --json
check 'on the same arenas' json_is '.data.arena_count > 0 and .data.jemalloc.allocated_bytes < 100000000'
check 'the threads are as many as before' test "$(find "/proc/$tracee_pid/task" -maxdepth 1 | wc -l)" = 6
check 'the target lives on' end_tracee
finish

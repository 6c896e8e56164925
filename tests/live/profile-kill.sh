#!/bin/sh
# SIGKILL memdiag before its first, second, third ... ptrace call and write to the target, while it begins a profile
# or ends one: the program goes on, and the next memdiag begins and ends a profile as ever.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
need_hooks
need jq strace
step=$((100 / $(some 100)))

is_well()
{
	obeys 'play 1 200 1'
}

# is_well_and_goes_on: the same, and it is profiled again.
is_well_and_goes_on()
{
	is_well && exits 0 memdiag profile start --rate 1 --pid "$tracee_pid"
}

# works: whether a profile of what the tracee does now is written.
works()
{
	profile start --rate 1 && is_well && profile stop -o "$dir/p" && same_bytes &&
		values "$(written)" allocated | grep -q site_ && rm -f "$dir"/p.*
}

# nr_threads: how many the tracee has.
nr_threads()
{
	find "/proc/$tracee_pid/task" -mindepth 1 -maxdepth 1 | wc -l
}

# is_left_with N: the helper thread of a memdiag that was killed sleeps for two seconds, in case it comes back, and
# then closes what it has open.  So wait until there are N threads, and look for what is open then.
is_left_with()
{
	while [ "$(nr_threads)" -gt "$1" ]; do
		lives "$tracee_pid" || return
		sleep 0.01
	done
	find "/proc/$tracee_pid/fd" -lname '*memfd:memdiag*' >"$dir/left"
	cat "$dir/left"
	[ ! -s "$dir/left" ]
}

start_tracee sites 2
nr_own_threads=$(nr_threads)
same_bytes
check 'a profile is written' works
for syscall in ptrace process_vm_writev; do
	check "begun, killed at each $syscall" \
		killed_each_time $syscall "$step" is_well "$MEMDIAG" profile start --rate 1 --pid "$tracee_pid"
	check "begun, killed at each $syscall: then it works" \
		sh -c "'$MEMDIAG' profile stop -o '$dir/p' --pid $tracee_pid >'$dir/stopped' 2>&1"
	check "begun, killed at each $syscall: and again" works
	check "ended, killed at each $syscall: it begins" profile start --rate 1
	check "ended, killed at each $syscall" \
		killed_each_time $syscall "$step" is_well_and_goes_on "$MEMDIAG" profile stop -o "$dir/p" --pid "$tracee_pid"
	check "ended, killed at each $syscall: and again" works
done
check 'no descriptor is left in it' is_left_with "$nr_own_threads"
check 'the target lives on' end_tracee
finish

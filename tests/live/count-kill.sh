#!/bin/sh
# SIGKILL memdiag before its first, fifth, ninth ... ptrace call, write and wait while it makes a busy process
# count, or count no more: the process must go on every time, and the next memdiag stop it to the last
# byte, or make it count as if nothing had been.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/count-lib.sh"
need jq strace

is_well()
{
	ask sum >"$dir/said" && exits 0 memdiag count stop --pid "$tracee_pid" && same_bytes &&
		ask sum >"$dir/said"
}

has_one_agent()
{
	[ "$(grep -c 'r-xp.*libmemdiag-agent' "/proc/$tracee_pid/maps")" -eq 1 ]
}

counts_again()
{
	count start && ask calm >"$dir/said" && count stop && count start &&
		json_is '.data.doubtful_blocks == 0' && does 'mix 1000' && ask 'busy 2' >"$dir/said" &&
		count stop
}

is_well_and_counts()
{
	is_well && exits 0 memdiag count start --pid "$tracee_pid"
}

# killed_verb VERB SYSCALL STEP: at every STEPth while it starts, or stops.
killed_verb()
{
	local well=is_well
	if [ "$1" = stop ]; then
		well=is_well_and_counts
		exits 0 memdiag count start --pid "$tracee_pid" || return
	fi
	killed_each_time "$2" "$3" $well "$MEMDIAG" count "$1" --pid "$tracee_pid" && is_well && counts_again
}

# all_of_it NAME: kill memdiag in every way beside the tracee NAME.
all_of_it()
{
	start_tracee "$1"
	ask 'busy 2' >"$dir/said"
	nr_tried=0
	check "$1: the bytes can be read" same_bytes
	for syscall in ptrace wait4; do
		check "$1: start, killed at each $syscall" killed_verb start $syscall 4
		check "$1: stop, killed at each $syscall" killed_verb stop $syscall 4
	done
	check "$1: start, killed at each process_vm_writev" killed_verb start process_vm_writev 1
	ask calm >"$dir/said"
	check "$1: it has one agent" has_one_agent
	check "$1: the target lives on" end_tracee
	echo "# tried $nr_tried"
	check "$1: enough was tried" test "$nr_tried" -ge 50
}

all_of_it ledger
if [ "$(uname -m)" = x86_64 ]; then
	all_of_it ledger-static	# where memdiag puts the agent itself
else
	skip 'a static program' 'memdiag counts in such on x86-64 only'
fi
finish

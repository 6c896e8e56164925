#!/bin/sh
# SIGKILL memdiag before its first, fifth, ninth ... ptrace call, write and wait while it makes a busy process
# count, or count no more: the process must go on every time, and the next memdiag stop it to the last
# byte, or make it count as if nothing had been.
# shellcheck disable=SC3043 # every sh we know has local
deadline=600
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
need jq strace

# killed SYSCALL WHEN ARGUMENTS...: false when it gets through before.
killed()
{
	local syscall="$1" when="$2"
	shift 2
	strace -f -o "$dir/strace" -e "trace=$syscall" -e "inject=$syscall:signal=SIGKILL:when=$when" \
		"$MEMDIAG" "$@" --pid "$tracee_pid" >"$dir/out" 2>"$dir/err"
	grep -q 'killed by SIGKILL' "$dir/strace"
}

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

# killed_each_time BEFORE SYSCALL VERB STEP: at every STEPth.
killed_each_time()
{
	local before="$1" syscall="$2" verb="$3" step="$4" when=1 nr=0
	while [ $when -lt 2000 ]; do
		[ -z "$before" ] || exits 0 memdiag count "$before" --pid "$tracee_pid" || return
		killed "$syscall" $when count "$verb" || break
		nr=$((nr + 1))
		is_well || {
			echo "that was $syscall number $when"
			return 1
		}
		when=$((when + step))
	done
	nr_tried=$((nr_tried + nr))
	echo "killed $nr times"
	is_well && counts_again && [ $nr -gt 0 ] && [ $when -lt 2000 ]
}

# all_of_it NAME: kill memdiag in every way beside the tracee NAME.
all_of_it()
{
	start_tracee "$1"
	ask 'busy 2' >"$dir/said"
	nr_tried=0
	check "$1: the bytes can be read" same_bytes
	for syscall in ptrace wait4; do
		check "$1: start, killed at each $syscall" killed_each_time '' $syscall start 4
		check "$1: stop, killed at each $syscall" killed_each_time start $syscall stop 4
	done
	check "$1: start, killed at each process_vm_writev" killed_each_time '' process_vm_writev start 1
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

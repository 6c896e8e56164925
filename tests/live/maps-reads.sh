#!/bin/sh
# Each command reads /proc/PID/maps once for each moment that it looks at: once where it only looks, and once more
# after a call, or while all threads are stopped.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need strace

# nr_reads COMMAND...: how often this memdiag reads the mappings, into $nr.
nr_reads()
{
	# doctor exits with 2 if anything is missing on this machine.
	exits '0 2' captured strace -f -o "$dir/strace" -e trace=openat "$MEMDIAG" "$@" --pid "$tracee_pid" || return
	nr=$(grep -c ', "maps", ' "$dir/strace")
}

# reads N COMMAND...: whether it is N times.  On a busy machine a target may not have gone on yet since it was looked
# at last, and is looked at once more than it takes: so it is tried again.
reads()
{
	soon reads_now "$@"
}

reads_now()
{
	local times="$1"
	shift
	nr_reads "$@" || return
	[ "$nr" -eq "$times" ] || {
		echo "read $nr times, not $times"
		return 1
	}
}

start_tracee idle
check 'maps: once' reads 1 maps
check 'maps --by=mapping: once' reads 1 maps --by=mapping
check 'maps --pss: once' reads 1 maps --pss
check 'info: before the call and after it' reads 2 info
check 'info that reads: before, while it is stopped, and after' reads 3 info --method=read --max-lock 1h
check 'heap: before, and while it is stopped' reads 2 heap --max-stop 1h
check 'heap of malloc lists: the same' reads 2 heap --bins-only --max-stop 1h
check 'heap --no-stop: before, and for the heap' reads 2 heap --no-stop
check 'trim -n: before, and while it is stopped' reads 2 trim -n --max-stop 1h
check 'trim: before the call and after it' reads 2 trim
if memdiag trim --tops --pid "$tracee_pid" || ! grep -q 'as glibc has since 2.32' "$dir/err"; then
	check 'trim --tops: the same' reads 2 trim --tops
else
	skip 'trim --tops: the same' 'takes glibc 2.32'
fi
check 'doctor: once' reads 1 doctor
check 'the target lives on' end_tracee

# With mappings that make a thread of memdiag count pages while the list is read.
start_tracee manymaps 3000
check 'of many mappings, maps: once' reads 1 maps
check 'of many mappings, info: twice' reads 2 info
check 'of many mappings, trim: twice' reads 2 trim
check 'of many mappings: the target lives on' end_tracee

if [ -e "$top_builddir/libmemdiag-agent.so" ]; then
	start_command "$MEMDIAG" run -q "$TRACEES/idle"
	check 'status: once' reads 1 status
	check 'the counted target lives on' end_tracee
else
	skip 'status: once' 'the agent is not made for this processor'
fi
if has_hooks; then
	start_tracee idle
	check 'it is counted' exits 0 memdiag count start --pid "$tracee_pid"
	check 'count stop: what is there, and what is hooked' reads 2 count stop
	check 'the hooked target lives on' end_tracee
else
	skip 'count stop' 'this memdiag was built without Zydis: it hooks no functions'
fi
finish

#!/bin/sh
# The helper thread in a process with several threads: the resources that it needs, and that none remain.
. "$top_srcdir/tests/live/lib.sh"
need jq

kept()
{
	said=$(ask "check $*")
	echo "$said"
	[ "$said" = kept ]
}
by_helper()
{
	exits 0 memdiag "$@" --pid "$tracee_pid" --mode=helper --json
}

# check_count WORDS: the agent can be loaded, too.
check_count()
{
	if has_hooks; then
		check "$1: count starts" exits 0 memdiag count start --pid "$tracee_pid"
		check "$1: count stops" exits 0 memdiag count stop --pid "$tracee_pid"
	else
		skip "$1: count" 'this memdiag was built without Zydis'
	fi
}

# ---- stacks that are hardly large enough for a thread: it works on memdiag's own
for kib in 16 20 64; do
	start_tracee awkward stack=$kib
	check "stacks of $kib KiB: info" by_helper info
	check "stacks of $kib KiB: trim" by_helper trim
	check "stacks of $kib KiB: only a stack is left" kept 40 0
	check_count "stacks of $kib KiB"
	check "stacks of $kib KiB: the target lives on" end_tracee
done

# ---- all memory that comes is locked: what is left must be small, and is left once
start_tracee awkward lock=3
for time in 1 2 3; do
	check "locked memory, time $time: info" by_helper info
	check "locked memory, time $time: only a small stack is left" kept 40 40
done
check 'locked memory: the target lives on' end_tracee

# ---- most threads have never used malloc: a helper would take an arena for them, so another thread makes it
start_tracee mute
check 'threads without an arena: info by a helper' by_helper info
check_count 'threads without an arena'
check 'threads without an arena: the target lives on' end_tracee

# ---- no time at all: nothing is left either
start_tracee awkward
check 'no time: many tries' each_of 40 exits '0 1 6' memdiag info --pid "$tracee_pid" --timeout 300us
check 'no time, a little more of it: many tries' \
	each_of 40 exits '0 1 6' memdiag info --pid "$tracee_pid" --timeout 3ms
# Helpers of two or three calls may live at once, where time is short, each on a stack of its own; 80 calls that each left
# one would be 3 MiB.
check 'no time: only stacks of helpers are left' kept 112 0
check 'no time: the target lives on' end_tracee

start_tracee setuid 300
times='1 2 3 4'
has_hooks || {
	skip 'setuid() in a loop: count' 'this memdiag was built without Zydis'
	times=
}
for time in $times; do
	check "setuid() in a loop: count starts, time $time" exits 0 patiently memdiag count start --pid "$tracee_pid"
	check "setuid() in a loop: it goes on, time $time" goes_on 10
	check "setuid() in a loop: count stops, time $time" exits 0 patiently memdiag count stop --pid "$tracee_pid"
done
check 'setuid() in a loop: 10 of info' each_of 10 exits 0 patiently memdiag info --pid "$tracee_pid"
check 'setuid() in a loop: 10 of trim' each_of 10 exits 0 patiently memdiag trim --pid "$tracee_pid"
check 'setuid() in a loop: it goes on' goes_on 10
check 'setuid() in a loop: the target lives on' end_tracee

# ---- and it does not wait for a trim: of 100 ms or so, setuid() may miss no larger part.  One that waited would do so
# each time; on a loaded machine it misses more by chance.
waited_less()
{
	start_tracee setuid 300 800
	ask longest >"$dir/ignored"
	exits 0 memdiag trim --pid "$tracee_pid" --mode=helper --max-lock 600s --json
	trimmed=$?
	longest=$(ask longest)
	locked=$(json .data.locked_us)
	# It has 800 MiB: another one may not fit beside it.
	end_tracee && [ $trimmed -eq 0 ] || return
	echo "setuid() took $longest us at most, the trim $locked us"
	[ "$longest" -lt $((locked / 2)) ]
}
if [ -d /run/memdiag-kernels ]; then
	skip 'setuid() does not wait for a trim' 'times of an emulated processor mean nothing'
else
	check 'setuid() does not wait for a trim' eventually waited_less
fi
finish

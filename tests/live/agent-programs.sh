#!/bin/sh
# The agent preloaded into programs that do what is hard to count.  agent-ways.sh runs them where it has less.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/agent-lib.sh"

# On a disk that is too small for the segment it must not die of writing to it.
fills_disk()
{
	mkdir "$dir/full"
	# shellcheck disable=SC2016 # the inner shell's
	all_is_well unshare --mount sh -c 'mount -t tmpfs -o size=8k none "$0" && exec "$@"' \
		"$dir/full" env MEMDIAG_AGENT="follow;file=$dir/full/segment" LD_PRELOAD="$AGENT" \
		"$programs/threads"
}

# A thread with a grant takes no barrier; so all are made to have one when grants are taken back.  A
# race that is lost without is too rare to be waited for.
makes_barrier()
{
	strace -f -e trace=membarrier -o "$dir/strace" -E LD_PRELOAD="$AGENT" \
		-E MEMDIAG_AGENT='follow;on-limit=enomem;limit=100000000' "$programs/resize" >"$dir/tap" &&
		grep -q 'membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED,' "$dir/strace"
}

# Each with numbers of its own; which they are is said when one fails.
random_spaces()
{
	local seed=0
	while [ "$seed" -lt "$(some 8)" ]; do
		seed=$((seed + 1))
		tap space "$seed" 2000 || {
			echo "that was: space $seed 2000"
			return 1
		}
	done
}

all plain
settings=account=usable
check 'what a program can ask' tap api
check 'what a program can ask, in a child that is not followed' alone api
settings=account=requested
check 'what a program can ask, requested bytes' tap api
settings=account=usable
check 'a program that records itself' tap recording
settings='account=requested;on-limit=enomem;limit=100000000'
check 'a program that records itself, limited' tap recording
settings=account=usable
check 'a program that records itself, in a child that is not followed' alone recording
settings="profile;count;profile-prefix=$dir/p"
check 'a program that records itself, beside a profile' tap recording profile
settings="profile;record;count;profile-prefix=$dir/p"
check 'a program that records itself, beside a record' tap recording record
rm -f "$dir"/p.*
settings=account=usable
check 'random address spaces' random_spaces
check 'the peak of several threads' tap peak
check 'calls of mmap that are left in the middle' tap abandon
check 'thousands of mappings' tap scale
check 'malloc in a child that is not followed' alone scale
check 'a thread under a filter' tap filter
settings='on-limit=exit;limit=20000000'
check 'output at the limit' tap output
settings='on-limit=enomem;limit=100000000'
check 'calls that are left in the middle, limited' tap abandon
# log_alone: a child has no log.
log_alone()
{
	# shellcheck disable=SC2016 # sh's own number
	all_is_well sh -c 'MEMDIAG_AGENT="pid=$$;$1" LD_PRELOAD="$0" exec "$2" alone' "$AGENT" "$settings" \
		"$programs/log"
}

settings=account=usable
check 'no more memory, nor descriptors' tap narrow
settings=account=requested
check 'blocks that were got past it' tap around "$programs/early.so" past
settings="account=usable;profile;count;rate=1000;profile-prefix=$dir/p"
check 'beside a profile, which has the same sum: mappings' tap mappings profile
check 'beside a profile: random address spaces' tap space 1 2000
check 'beside a profile: calls of mmap that are left in the middle' tap abandon
check 'beside a profile: thousands of mappings' tap scale
check 'beside a profile: fork' tap fork _Fork
settings="profile;record;count;profile-prefix=$dir/p"
check 'a record of coroutines' tap coroutines
check 'a record of threads that follow each other' tap places
settings="profile;count;rate=1;profile-prefix=$dir/p"
check 'a profile of coroutines' tap coroutines
check 'a profile of threads that follow each other' tap places
rm -f "$dir"/p.*
settings="profile;record;profile-prefix=$dir/p;log=4096"
check 'the log of a record' tap log
settings="profile;record;profile-prefix=$dir/p;log=4096;live-set=table"
check 'the log of a record with a table' tap log
settings="profile;record;profile-prefix=$dir/p;log=8"
check 'the log of a record, without room' tap log dropped
settings="profile;record;profile-prefix=$dir/p;log=4096"
check 'the log of a record, beside a child that is not followed' log_alone
rm -f "$dir"/p.*
settings='on-limit=report;limit=20000000'
check 'lines that cannot be written' tap talk
settings='on-limit=signal;limit=20000000'
check 'a signal whose handler does not return' tap signal
if [ "$(id -u)" -eq 0 ]; then
	check 'a disk that is full' fills_disk
else
	skip 'a disk that is full' 'mounting one takes root'
fi
settings='on-limit=report;limit=50000000'
check 'a limit that is reported' tap report
settings='on-limit=enomem;limit=12000000'
check 'a thread that is busy for ever' tap limit stuck
settings='on-limit=enomem;limit=1000000000000'
check 'grants far from a limit' tap slack
if command -v strace >/dev/null; then
	check 'grants are taken back with a barrier for all' makes_barrier
else
	skip 'grants are taken back with a barrier for all' 'strace is not installed'
fi
settings=account=usable
also=$programs/early.so
check 'with a library that allocates before all others' tap exact
also=$programs/atfork.so
check 'with one that allocates around a fork' tap fork _Fork
also=
finish

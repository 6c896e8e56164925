#!/bin/sh
# The agent in programs that do what is hard to count: preloaded, each as it is, with a malloc that
# calls itself by the names of the hooks, where nothing can be shared, and where the agent gets no memory.
deadline=120
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

# Who works with its grant takes no barrier; so all must be made to have one when grants are taken back.  A
# race that is lost without is too rare to be waited for.
makes_barrier()
{
	strace -f -e trace=membarrier -o "$dir/strace" -E LD_PRELOAD="$AGENT" \
		-E MEMDIAG_AGENT='follow;on-limit=enomem;limit=100000000' "$programs/resize" >"$dir/tap" &&
		grep -q 'membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED,' "$dir/strace"
}

all plain
settings=account=usable
check 'no more memory, nor descriptors' tap narrow
settings=account=requested
check 'blocks that were got past it' tap around "$programs/early.so" past
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
check 'a limit that is told' tap report
settings='on-limit=enomem;limit=12000000'
check 'a thread that is busy for ever' tap limit stuck
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
launcher=$programs/nomap
grants=exact
all 'nothing shared'
settings=account=usable
check 'nor any more memory' tap narrow
launcher="$programs/nomem all"
grants=
nomem=nomem
all 'no memory'
nomem=
also=$programs/reentrant.so
other=other
grants=rounds
launcher=
all 're-entrant'
finish

#!/bin/sh
# The agent in programs that do what is hard to count: preloaded, each as it is, with a malloc that
# calls itself by the names of the hooks, and where nothing can be shared.
# shellcheck disable=SC3043 # every sh we know has local
deadline=120
. "$top_srcdir/tests/live/lib.sh"

AGENT=$top_builddir/libmemdiag-agent.so
[ -e "$AGENT" ] || skip_all "the agent is not made for this processor"
programs=$top_builddir/tests/agent

# with_agent SETTINGS COMMAND...: run it under the agent.
with_agent()
{
	local settings="$1"
	shift
	MEMDIAG_AGENT="follow;$settings" LD_PRELOAD="$AGENT${also:+ $also}" "$@"
}

# tap NAME ARGUMENTS...: whether the program says that all is well.
tap()
{
	local program="$programs/$1"
	[ -x "$program" ] || program=$dir/$1
	shift
	with_agent "${settings-}" timeout 20 ${launcher-} "$program" "$@" >"$dir/tap" 2>&1 &&
		grep -q '^1\.\.' "$dir/tap" && ! grep '^not ok' "$dir/tap" || {
		grep -A 1 '^not ok' "$dir/tap" || tail -n 3 "$dir/tap"
		return 1
	}
}

# The process that was meant is this one, and its children are not.
alone()
{
	sh -c 'MEMDIAG_AGENT="pid=$$" LD_PRELOAD="$0" exec "$@"' "$AGENT${also:+ $also}" \
		${launcher-} "$programs/fork" alone >"$dir/tap" 2>&1 &&
		! grep -A 1 '^not ok' "$dir/tap"
}

all()
{
	local how="$1"
	settings=account=usable
	check "$how: exact" tap exact ${other-}
	check "$how: mappings" tap mappings
	check "$how: threads" tap threads
	check "$how: fork" tap fork _Fork
	check "$how: children that are not followed" alone
	check "$how: around" tap around "$programs/early.so"
	settings='account=requested'
	check "$how: exact, requested bytes" tap exact requested ${other-}
	check "$how: threads, requested bytes" tap threads
	settings='on-limit=enomem;limit=12000000'
	check "$how: limit" tap limit ${grants-}
	settings='account=requested;on-limit=enomem;limit=9000000'
	check "$how: limit, requested bytes" tap limit ${grants-}
	settings='account=requested;on-limit=enomem;limit=100000000'
	check "$how: mappings, limited" tap mappings
	check "$how: resize, requested bytes" tap resize
	settings='on-limit=enomem;limit=100000000'
	[ "${grants-}" = rounds ] || check "$how: resize" tap resize
	settings='on-limit=enomem;limit=50000000'
	[ ! -x "$dir/cxx" ] || check "$how: C++" tap cxx
}

# On a disk that is too small for the segment it must not die of writing to it.
fills_disk()
{
	mkdir "$dir/full"
	unshare --mount sh -c 'mount -t tmpfs -o size=8k none "$0" && exec "$@"' "$dir/full" \
		env MEMDIAG_AGENT="follow;file=$dir/full/segment" LD_PRELOAD="$AGENT" \
		"$programs/threads" >"$dir/tap" 2>&1 && ! grep -A 1 '^not ok' "$dir/tap"
}

# Who works with its grant takes no barrier; so all must be made to have one when grants are taken back.  A
# race that is lost without is too rare to be waited for.
makes_barrier()
{
	strace -f -e trace=membarrier -o "$dir/strace" -E LD_PRELOAD="$AGENT" \
		-E MEMDIAG_AGENT='follow;on-limit=enomem;limit=100000000' "$programs/resize" >"$dir/tap" &&
		grep -q 'membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED,' "$dir/strace"
}

if command -v "${CXX:-c++}" >/dev/null; then
	"${CXX:-c++}" -std=c++17 -O1 -pthread -I"$top_srcdir/include" -I"$top_srcdir/src" \
		-I"$top_srcdir/tests/unit" -o "$dir/cxx" "$top_srcdir/tests/agent/cxx.cc" || exit
else
	skip 'C++' 'there is no C++ compiler'
fi

also=
launcher=
all plain
settings=account=requested
check 'blocks that were got past it' tap around "$programs/early.so" past
if [ "$(id -u)" -eq 0 ]; then
	check 'a disk that is full' fills_disk
else
	skip 'a disk that is full' 'mounting one takes root'
fi
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
also=$programs/reentrant.so
other=other
grants=rounds
launcher=
all 're-entrant'
finish

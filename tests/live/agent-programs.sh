#!/bin/sh
# The agent in programs that do what is hard to count: preloaded, each as it is, with a malloc that
# calls itself by the names of the hooks, and where nothing can be shared.
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
	local name="$1"
	shift
	with_agent "${settings-}" timeout 20 ${launcher-} "$programs/$name" "$@" >"$dir/tap" 2>&1 &&
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
	check "$how: exact" tap exact ${clears-}
	check "$how: mappings" tap mappings
	check "$how: threads" tap threads
	check "$how: fork" tap fork
	check "$how: children that are not followed" alone
	check "$how: around" tap around "$programs/early.so"
	settings='account=requested'
	check "$how: exact, requested bytes" tap exact requested ${clears-}
	check "$how: threads, requested bytes" tap threads
	settings='on-limit=enomem;limit=12000000'
	check "$how: limit" tap limit ${grants-}
	settings='account=requested;on-limit=enomem;limit=9000000'
	check "$how: limit, requested bytes" tap limit ${grants-}
	settings='account=requested;on-limit=enomem;limit=100000000'
	check "$how: mappings, limited" tap mappings
}

also=
launcher=
all plain
settings=account=requested
check 'blocks that were got past it' tap around "$programs/early.so" past
also=$programs/early.so
settings=account=usable
check 'with a library that allocates before all others' tap exact
also=
launcher=$programs/nomap
grants=exact
all 'nothing shared'
also=$programs/reentrant.so
clears=clears
grants=rounds
launcher=
all 're-entrant'
finish

# agent-lib: what the tests of the agent in programs of tests/agent/ share; read after lib.sh.  They set
#	$settings	the agent's settings
#	$launcher	what the program is run by
#	$also		libraries that are loaded with the agent
#	$other		"other" where malloc is not glibc's
#	$grants		"exact", "rounds": see tests/agent/limit.c
#	$nomem		"nomem": the agent's own memory may be missing
# shellcheck disable=SC3043,SC2034,SC2154 # every sh we know has local; see above, and lib.sh

AGENT=$top_builddir/libmemdiag-agent.so
[ -e "$AGENT" ] || skip_all "the agent is not made for this processor"
programs=$top_builddir/tests/agent
settings=
launcher=
also=
other=
grants=
nomem=

# with_agent COMMAND...: run it under the agent.
with_agent()
{
	$launcher env MEMDIAG_AGENT="follow;$settings" LD_PRELOAD="$AGENT${also:+ $also}" "$@"
}

# all_is_well COMMAND...: run it; whether it says so.
all_is_well()
{
	"$@" >"$dir/tap" 2>&1 && grep -q '^1\.\.' "$dir/tap" && ! grep -q '^not ok' "$dir/tap" || {
		grep -A 1 '^not ok' "$dir/tap" || tail -n 3 "$dir/tap"
		return 1
	}
}

# tap NAME ARGUMENTS...: whether the program of that name says that all is well.
tap()
{
	local program="$programs/$1"
	[ -x "$program" ] || program=$dir/$1
	shift
	all_is_well with_agent timeout 600 "$program" "$@"
}

# alone PROGRAM: the process that was meant is this one, and its children are not.
alone()
{
	# shellcheck disable=SC2016 # sh's own number
	all_is_well $launcher sh -c 'MEMDIAG_AGENT="pid=$$" LD_PRELOAD="$0" exec "$@"' \
		"$AGENT${also:+ $also}" "$programs/$1" alone
}

# all HOW [EACH]: all programs; EACH COMMAND runs one, as often as it likes.
all()
{
	local how="$1" each="${2-}"
	settings=account=usable
	check "$how: exact" $each tap exact $other
	check "$how: mappings" $each tap mappings $nomem
	check "$how: threads" $each tap threads
	check "$how: fork" $each tap fork _Fork $nomem
	check "$how: children that are not followed" $each alone fork
	check "$how: around" $each tap around "$programs/early.so"
	settings='account=requested'
	check "$how: exact, requested bytes" $each tap exact requested $other
	check "$how: threads, requested bytes" $each tap threads
	settings='on-limit=enomem;limit=12000000'
	check "$how: limit" $each tap limit $grants
	check "$how: resize at it" $each tap grow
	settings='account=requested;on-limit=enomem;limit=9000000'
	check "$how: limit, requested bytes" $each tap limit $grants
	check "$how: resize at it, requested bytes" $each tap grow
	settings='account=requested;on-limit=enomem;limit=100000000'
	check "$how: mappings, limited" $each tap mappings $nomem
	check "$how: resize, requested bytes" $each tap resize
	settings='on-limit=enomem;limit=100000000'
	[ "$grants" = rounds ] || check "$how: resize" $each tap resize
	settings='on-limit=enomem;limit=50000000'
	[ ! -x "$dir/cxx" ] || check "$how: C++" $each tap cxx
}

# each_way: all programs where nothing can be shared, where the agent gets no memory, and with a malloc that calls
# itself by the names of the hooks.
each_way()
{
	launcher=$programs/nomap
	grants=exact
	all 'nothing shared'
	settings=account=usable
	check 'nothing shared: no more memory, nor descriptors' tap narrow
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
}

if command -v "${CXX:-c++}" >/dev/null; then
	"${CXX:-c++}" -std=c++17 -O1 -pthread -I"$top_srcdir/include" -I"$top_srcdir/src" \
		-I"$top_srcdir/tests/unit" -o "$dir/cxx" "$top_srcdir/tests/agent/cxx.cc" || exit
else
	skip 'C++' 'there is no C++ compiler'
fi

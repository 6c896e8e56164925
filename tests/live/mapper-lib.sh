# mapper-lib: what the tests of mappings share; read after profile-lib.sh.  All are about a tracee tests/tracees/mapper,
# whose function site_N maps memory and keeps the account for it.
# shellcheck disable=SC3043,SC2154,SC2034 # every sh we know has local; lib.sh sets the rest
mapper=$TRACEES/mapper

# account: lines "site_N BYTES MAPPINGS IN_USE MAPPINGS" of the tracee's own, into $dir/account.
account()
{
	local site
	for site in 0 1 2 3 4 5 6 7; do
		echo "site_$site $(ask "sum $site")"
	done >"$dir/account"
}

# plays SEED N: the tracee does so, and the account is taken.
plays()
{
	[ "$(ask "play $1 $2")" = "done" ] && account
}

# has_column FILE VALUE NUMBER [-o]: whether the sites of FILE have the VALUE (blocks with -o) that is in column NUMBER
# of the account, and nothing else has any.
has_column()
{
	awk -v n="$3" '$n > 0 { print $1, $n }' "$dir/account" | sort >"$dir/want"
	values "$1" "$2" ${4:+"$4"} | awk '$2 > 0' | sort >"$dir/got"
	diff "$dir/want" "$dir/got" || return
	[ "$(awk '{ n += $2 } END { print n + 0 }' "$dir/want")" = \
		"$("$MEMDIAG" report --format=json -q --value="$2" ${4:+--objects} "$1" | jq .data.total)" ]
}

# is_account FILE: whether all numbers of mappings in FILE are the account's.
is_account()
{
	has_column "$1" mapped-allocated 2 && has_column "$1" mapped-allocated 3 -o &&
		has_column "$1" mapped 4 && has_column "$1" mapped 5 -o
}

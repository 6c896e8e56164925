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
	obeys "play $1 $2" && account
}

# has_mappings FILE VALUE NUMBER [-o]: has_column of the account, and nothing but the sites has any.
has_mappings()
{
	has_column "$1" "$2" "$dir/account" "$3" ${4:+"$4"} &&
		[ "$(awk '{ n += $2 } END { print n + 0 }' "$dir/want")" = "$(jq .data.total "$dir/values")" ]
}

# is_account FILE: whether all numbers of mappings in FILE are the account's.
is_account()
{
	has_mappings "$1" mapped-allocated 2 && has_mappings "$1" mapped-allocated 3 -o &&
		has_mappings "$1" mapped 4 && has_mappings "$1" mapped 5 -o
}

# profile-lib: what the tests of profiling share; read after lib.sh and count-lib.sh.  All are about a tracee
# tests/tracees/sites, whose function site_N calls one function of malloc's and keeps the account for it.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest

# profile WORDS...: memdiag profile of the tracee, as JSON.
profile()
{
	memdiag profile "$@" --wait=300s --timeout=600s --pid "$tracee_pid" --json
}

# written: the file that the last profile wrote.
written()
{
	json .data.file
}

# values FILE VALUE [-o]: lines "site_N BYTES" of FILE, by VALUE (in-use, allocated); "-o" for blocks.  The report is in
# $dir/values.
values()
{
	"$MEMDIAG" report --format=json --value="$2" ${3:+--objects} --lines=0 "$1" >"$dir/values" &&
		jq -r '.data.rows[] | select(.name | startswith("site_")) | "\(.name) \(.flat)"' "$dir/values"
}

# value FILE VALUE SITE [objects]: one of these, 0 if it is not there.
value()
{
	values "$1" "$2" ${4:+objects} | awk -v name="site_$3" '$1 == name { n = $2 } END { print n + 0 }'
}

# accounts: lines "site_N ALLOCATED BLOCKS IN_USE BLOCKS SIGMA SIGMA" of the tracee's own.
accounts()
{
	local site
	for site in 0 1 2 3 4 5 6 7; do
		echo "site_$site $(ask "sum $site")"
	done
}

# exact FILE: with --rate 1 all numbers are the tracee's to the byte and the block.
exact()
{
	accounts >"$dir/accounts" && agrees "$1"
}

# has_column FILE VALUE ACCOUNT NUMBER [-o]: whether the sites of FILE have the VALUE (blocks with -o) that is in column
# NUMBER of ACCOUNT, and no other site has any.
has_column()
{
	awk -v n="$4" '$n > 0 { print $1, $n }' "$3" | sort >"$dir/want"
	values "$1" "$2" ${5:+"$5"} | awk '$2 > 0' | sort >"$dir/got"
	diff "$dir/want" "$dir/got"
}

# agrees FILE: whether its numbers are those in $dir/accounts.
agrees()
{
	has_column "$1" allocated "$dir/accounts" 2 && has_column "$1" allocated "$dir/accounts" 3 -o &&
		has_column "$1" in-use "$dir/accounts" 4 && has_column "$1" in-use "$dir/accounts" 5 -o
}

# whole FILE: whether each stack that allocates in a site leads there from a thread's first function, which has a name
# where libc's debugging information is installed.
whole()
{
	local libc='[^;]*libc[^;]*+0x[0-9a-f]*'
	"$MEMDIAG" report --format=folded --value=allocated "$1" | grep ';site_[0-9] [0-9]*$' >"$dir/folded" &&
		! grep -v "^\([^;]*clone[^;]*;start_thread\|$libc;$libc\);work;" "$dir/folded"
}

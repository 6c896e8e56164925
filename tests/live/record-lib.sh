# record-lib: what the tests of records share; read after lib.sh, count-lib.sh and profile-lib.sh.  All are about the
# tracee tests/tracees/record-truth.cc, which keeps an account of each of its functions site_N.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest

# build_truth: sets $truth to the tracee; ends the test if there is no compiler.
build_truth()
{
	truth=$dir/record-truth
	need "${CXX:-c++}"
	"${CXX:-c++}" -std=c++17 -O2 -pthread -I"$top_srcdir/src" -o "$truth" "$top_srcdir/tests/tracees/record-truth.cc" || exit 99
}

# record WORDS...: memdiag record of the tracee, as JSON.
record()
{
	memdiag record "$@" --wait=300s --timeout=600s --pid "$tracee_pid" --json
}

# moment: sleep for some milliseconds, up to 200: each time others.
moment()
{
	nr_moments=$((${nr_moments-0} * 1103 + $$ + 12345))
	nr_moments=$((nr_moments % 65536))
	sleep "$(printf '0.%03d' $((nr_moments % 200)))"
}

# column FILE VALUE [--objects]: lines "site_N NUMBER" by VALUE.
column()
{
	"$MEMDIAG" report --format=json --value="$2" ${3:+"$3"} --lines=0 "$1" |
		jq -r '.data.rows[] | select(.name | startswith("site_")) | "\(.name) \(.flat)"'
}

# recorded FILE [VALUES]: FILE as the tracee would have saved it.
recorded()
{
	local value
	for value in ${2:-allocated in-use temporary peak}; do
		column "$1" "$value" | sed "s/^/$value.bytes /"
		column "$1" "$value" --objects | sed "s/^/$value.blocks /"
	done | awk -v values="${2:-allocated in-use temporary peak}" '
		{ n[$2 " " $1] = $3 }
		END {
			for (k = 0; k < 16; k++) {
				line = "site_" k
				nr = split(values, v, " ")
				for (i = 1; i <= nr; i++)
					line = line sprintf(" %.0f %.0f", n["site_" k " " v[i] ".bytes"], n["site_" k " " v[i] ".blocks"])
				print line
			}
		}'
}

# is_exact FILE ACCOUNT [without-peak]: whether FILE has the numbers that the tracee has saved.
is_exact()
{
	if [ -n "${3-}" ]; then
		recorded "$1" 'allocated in-use temporary' >"$dir/recorded"
		grep '^site_' "$2" | cut -d' ' -f1-7 >"$dir/wanted"
	else
		recorded "$1" >"$dir/recorded"
		grep '^site_' "$2" >"$dir/wanted"
	fi
	# An account of nothing proves nothing.
	awk '{ n += $3 } END { exit !(n > 100) }' "$dir/wanted" && diff "$dir/wanted" "$dir/recorded"
}

# adds_up: whether what the last memdiag recorded is what was freed and what is in use.
adds_up()
{
	json_is '.data.noted | .allocated.bytes > 0 and
		.allocated.bytes == .freed.bytes + .in_use.bytes and
		.allocated.blocks == .freed.blocks + .in_use.blocks and
		([.allocated, .freed, .in_use, .temporary | .bytes, .blocks] | min >= 0)'
}

# taken: the bytes that the record takes in the tracee.
taken()
{
	"$MEMDIAG" record status -b --pid "$tracee_pid" | sed -n 's/^takes *\([0-9]*\).*/\1/p'
}

#!/bin/sh
# 10,000 runs of all commands on programs that check themselves after each wait (scripts/notices).
# MEMDIAG_TEST_SEED=N begins with that seed.
# shellcheck disable=SC3043 # every sh we know has local
deadline=14400
. "$top_srcdir/tests/live/lib.sh"
[ -x "$TRACEES/notices" ] || skip_all 'there is no tests/tracees/notices for this architecture'

seed=${MEMDIAG_TEST_SEED:-1}
echo "# seed $seed"

# all_runs: in parts of half an hour, with the sums after each.
all_runs()
{
	local wanted
	wanted=$(some 10000)
	until awk -v wanted="$wanted" '{ sum += $4 } END { exit sum < wanted }' "$dir/log"; do
		"$top_srcdir/scripts/notices" --runs "$wanted" --seed "$seed" --log "$dir/log" --minutes 30 \
			"$top_builddir" >"$dir/sums" 2>>"$dir/faults" || break
	done
	cat "$dir/sums" "$dir/faults"
	tail -n 1 "$dir/sums" | grep ' 0 of them with faults$'
}

: >"$dir/log"
check 'no command changes a program that checks itself after each wait' all_runs
sed 's/^/# /' "$dir/sums"
finish

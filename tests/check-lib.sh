#!/bin/sh
# The scripts' sums of tests: no result is lost when two programs that run at once print theirs in pieces.
set -u
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
nr_failed=0
. "$top_srcdir/scripts/check-lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
logs=$dir
jobs=2

check()
{
	words="$2"
	if [ "$3" = "$4" ]; then
		echo "ok $1 - $words"
	else
		echo "not ok $1 - $words"
		echo "#   $3, not $4"
		sed 's/^/#   /' "$dir"/run.log
		nr_failed=$((nr_failed + 1))
	fi
}

# The first program has printed half a line when the second one prints its own.
cat >"$dir/Makefile" <<'END_OF_MAKEFILE'
check:
	@$(MAKE) one two
	@echo '# TOTAL: $(TOTAL)'
one:
	@printf 'PASS: one 1 - is'; touch $@.half; until [ -e two.whole ]; do sleep 0.01; done; echo ' whole'
two:
	@until [ -e one.half ]; do sleep 0.01; done; echo 'PASS: two 1 - is whole'; echo 'FAIL: two 2 - fails'; touch $@.whole
END_OF_MAKEFILE
: >"$dir/two.log"
mkdir "$dir/first"

# sums TOTAL: what the sum of such a run is when automake's is TOTAL.
sums()
{
	rm -f "$dir"/*.half "$dir"/*.whole
	: >"$dir/results"
	: >"$dir/failed"
	tests run "$dir" TESTS check TOTAL="$1" >"$dir/printed"
}

sums 3
check 1 'each result has its line' "$(sort "$dir/run.results" | tr '\n' ';')" \
	'FAIL: two 2 - fails;PASS: one 1 - is whole;PASS: two 1 - is whole;'
check 2 'the number is as it should be' "$(cat "$dir/results")" ''
check 3 'the program that failed is noted' "$(cat "$dir/failed")" 'run TESTS two'
sums 4
check 4 'a result that is missing is a failure' "$(cat "$dir/results")" 'FAIL: run'
echo 1..4
[ "$nr_failed" -eq 0 ]

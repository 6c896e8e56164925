#!/bin/sh
# Profiles made at random: report says of each what tests/live/report-oracle.py adds up by itself, in each format.
# MEMDIAG_TEST_SEEDS="FIRST LAST" tries others.
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
need python3

first=1
last=$(some 40)
if [ -n "${MEMDIAG_TEST_SEEDS-}" ]; then
	first=${MEMDIAG_TEST_SEEDS% *}
	last=${MEMDIAG_TEST_SEEDS#* }
fi
for seed in $(seq "$first" "$last"); do
	check "report adds up profile $seed as the oracle does" \
		python3 "$top_srcdir/tests/live/report-oracle.py" "$MEMDIAG" "$dir" "$seed"
done
finish

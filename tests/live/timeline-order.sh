#!/bin/sh
# The order of what several threads allocate and free in a log: the local maxima of programs whose threads hand blocks
# on, against the truth, which each program knows whatever the order in which its threads run.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq
need_hooks

# Less than a block that is handed on; threads and their stacks have some bytes as well.
near=40000

# The blocks of an interval in which all sizes came, as the threads had processors.
enough=30000000

# orders SEED THREADS: run the program, and compare each interval of its log.  The intervals of a phase are those in
# which a block was live; in the first and the last one its largest may not have come.
orders()
{
	rm -rf "$dir/logs"
	"$MEMDIAG" run --record=log-fast -o "$dir/logs" -- "$TRACEES/handover" "$1" "$2" >"$dir/truth" 2>"$dir/err" &&
		"$MEMDIAG" timeline "$dir/logs" --json >"$dir/out" || {
		cat "$dir/err"
		return 1
	}
	jq -se --argjson near $near --argjson enough $enough --slurpfile truth "$dir/truth" '.[0].data.intervals |
		map([.live_max.bytes, .live_max_uncertain_bytes // 0, .allocated.bytes]) |
		reduce .[] as $i ([[]]; if $i[0] > $near then .[-1] += [$i] elif .[-1] == [] then . else . + [[]] end) |
		map(select(. != [])) as $phases |
		($phases | length) == ($truth | length) and
		([range(0; $truth | length)] | all(. as $k | $phases[$k] |
			all(.[0] <= $truth[$k] + $near + .[1]) and
			(.[1:-1] | all(.[2] < $enough or .[0] >= $truth[$k] - .[1]))))' "$dir/out" >/dev/null || {
		echo "seed $1, $2 threads:"
		cat "$dir/truth"
		jq -c '[.data.intervals[] | [.live_max.bytes, .live_max_uncertain_bytes]]' "$dir/out"
		return 1
	}
	jq '[.data.intervals[].live_max_uncertain_bytes | . // 0 | select(. > 0)] | length' "$dir/out" >>"$dir/uncertain"
}

seed=${MEMDIAG_TEST_SEED:-0}
for threads in 4 8 16 32 64; do
	for i in $(seq "$(some 4)"); do
		seed=$((seed + 1))
		check "seed $seed: the maxima of $threads threads that hand blocks on are the true ones" orders $seed $threads
	done
done

# An interval is marked if a thread had no processor for a second, which is to be an exception.
few_are_uncertain()
{
	awk '{ nr += $1 } END { print "# " nr + 0 " uncertain intervals of " NR " programs"; exit nr > NR }' "$dir/uncertain"
}
check 'few intervals are marked as uncertain' few_are_uncertain
finish

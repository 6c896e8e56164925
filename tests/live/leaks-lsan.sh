#!/bin/sh
# leaks on programs that allocate, link and drop blocks at random (tests/tracees/random-graph): the program itself,
# LeakSanitizer and valgrind name the same blocks.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq
first=${MEMDIAG_TEST_SEED:-1}

# truth: "BLOCKS BYTES HEADS", as the program says.
truth()
{
	awk '/^lost / { blocks++; bytes += $2 } /^heads / { heads = $2 } END { print blocks + 0, bytes + 0, heads }' "$1"
}

# finds_lost SEED: whether leaks says what the program does.
finds_lost()
{
	start_tracee random-graph "$1"
	[ "$(ask check)" = checked ] || return
	exits '0 1' memdiag leaks --pid "$tracee_pid" --max-stop 300s --json && json_is '.partial | not' || return
	truth "$dir/$tracee_pid.out" >"$dir/truth"
	json '.data | "\(.unreachable.blocks) \(.unreachable.bytes) \(.heads)"' >"$dir/ours"
	nr_lost=$((nr_lost + $(json .data.unreachable.blocks)))
	diff "$dir/truth" "$dir/ours" && end_tracee
}

# each_seed N FUNCTION: FUNCTION SEED of N seeds; all must succeed.
each_seed()
{
	local seed last
	last=$((first + $(some "$1") - 1))
	for seed in $(seq "$first" $last); do
		"$2" "$seed" || {
			echo "seed $seed"
			return 1
		}
	done
}

# ---- LeakSanitizer ----

# lsan_agrees SEED: whether it lists the same blocks, by their sizes.
lsan_agrees()
{
	echo check | LSAN_OPTIONS=report_objects=1:leak_check_at_exit=0:symbolize=0 "$dir/random-graph" "$1" \
		>"$dir/lsan.out" 2>"$dir/lsan.err"
	grep -q '^checked' "$dir/lsan.out" || {
		cat "$dir/lsan.err"
		return 1
	}
	sed -n 's/^lost //p' "$dir/lsan.out" | sort -n >"$dir/truth"
	sed -n 's/^0x[0-9a-f]* (\([0-9]*\) bytes)$/\1/p' "$dir/lsan.err" | sort -n >"$dir/theirs"
	nr_lost=$((nr_lost + $(wc -l <"$dir/theirs")))
	diff "$dir/truth" "$dir/theirs"
}

# ---- valgrind ----

# "Possibly lost" is what only an address in the middle leads to: such a block is reached.
valgrind_agrees()
{
	echo check | valgrind --leak-check=full "$TRACEES/random-graph" "$1" >"$dir/valgrind.out" 2>"$dir/valgrind.err"
	truth "$dir/valgrind.out" | cut -d ' ' -f 1,2 >"$dir/truth"
	tr -d , <"$dir/valgrind.err" | awk '/(definitely|indirectly) lost: / { bytes += $4; blocks += $7 }
		END { print blocks + 0, bytes + 0 }' >"$dir/theirs"
	nr_lost=$((nr_lost + $(cut -d ' ' -f 1 "$dir/theirs")))
	diff "$dir/truth" "$dir/theirs"
}

nr_lost=0
check 'leaks finds the blocks that are lost, and their heads' each_seed 300 finds_lost
check 'some were lost' test $nr_lost -gt 300
nr_lost=0
if "${CC:-cc}" -g -O1 -fsanitize=leak -o "$dir/random-graph" "$top_srcdir/tests/tracees/random-graph.c" -lpthread \
	2>"$dir/cc"; then
	check 'LeakSanitizer finds the same' each_seed 300 lsan_agrees
	check 'some were lost for it' test $nr_lost -gt 300
else
	skip 'LeakSanitizer finds the same' 'the compiler has none'
fi
nr_lost=0
if command -v valgrind >/dev/null; then
	check 'valgrind finds the same' each_seed 20 valgrind_agrees
	check 'some were lost for it, too' test $nr_lost -gt 10
else
	skip 'valgrind finds the same' 'it is not installed'
fi
finish

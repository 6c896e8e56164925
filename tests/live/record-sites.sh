#!/bin/sh
# A program with a million stacks: each has its row, to the block; what finds no room is counted; and the record takes
# no more than it may.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/record-lib.sh"
. "$top_srcdir/tests/live/log-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
need_hooks
nr=$(some 1000000)
"${CC:-cc}" -O2 -o "$dir/peak" "$top_srcdir/scripts/bench/peak.c" || exit 99

# each_has_a_row FILE|DIR: as many stacks with 100 bytes as there should be, and hardly any others.
each_has_a_row()
{
	"$dir/peak" "$MEMDIAG" report --format=folded "$1" >"$dir/folded" 2>"$dir/err" || return
	tail -n 1 "$dir/err" >"$dir/took"
	awk -v nr="$nr" '/;(left|right)(;keep)? [0-9]*$/ { rows++; n += $NF; odd += $NF != 100; next } { others++ }
		END {
			printf "%d stacks of %d, %d of another size, %d others\n", rows, nr, odd, others
			exit !(rows == nr && !odd && n == 100 * nr && others < 10)
		}' "$dir/folded"
}

# say_took WHAT: how much memory and time the last report took.
say_took()
{
	awk -v what="$1" '{ printf "# %s: %.0f MiB, %.1f s of CPU\n", what, $1 / 1024, $2 / 1e6 }' "$dir/took"
}

# took_less_than MIB: of memory.
took_less_than()
{
	cat "$dir/took"
	awk -v most="$1" '{ exit !($1 < most * 1024) }' "$dir/took"
}

# sums_are BLOCKS: as many of 100 bytes were recorded, and a few others.
sums_are()
{
	json '.data.noted'
	json_is ".data.noted | .allocated.blocks >= $1 and .allocated.blocks < $1 + 100 and
		.allocated.bytes >= 100 * $1 and .allocated.bytes < 100 * $1 + 100000 and .no_room.blocks == 0"
}

for mode in mem-fast mem-record; do
	start_tracee fill
	check "$mode: a record begins" record start --mode $mode
	check "$mode: $nr stacks" obeys "stacks $nr 100 20"
	check "$mode: its state" record status
	check "$mode: all are recorded" sums_are "$nr"
	check "$mode: with their stacks" json_is '.data.noted.no_stack.blocks == 0'
	check "$mode: they are written" record dump -o "$dir/sites"
	check "$mode: each has its row" each_has_a_row "$(written)"
	say_took "$mode: report of $nr stacks"
	check "$mode: the report takes less than 1 GiB" took_less_than 1024
	check "$mode: all are freed" obeys drop
	check "$mode: its state then" record status
	check "$mode: nothing is in use" json_is '.data.noted | .in_use.blocks < 100 and .freed.blocks >= '"$nr"
	rm -f "$dir"/sites.*
	[ $mode = mem-fast ] || [ "$nr" -lt 1000000 ] || {
		# Of 2^21 paths one in two is new.
		check "$mode: more stacks than there is room for" obeys 'stacks 400000 100 21'
		check "$mode: its state with them" record status
		check "$mode: all blocks are recorded" sums_are 1400000
		check "$mode: those without a stack are counted" json_is '.data.noted.no_stack.blocks > 100000'
		check "$mode: people read of it" exits 0 memdiag record status --pid "$tracee_pid"
		check "$mode: where it is said" grep -q '^full .* share one row: there was no room for their stacks' "$dir/out"
		check "$mode: a report" exits 0 memdiag record report "$tracee_pid" --json
		check "$mode: warns" json_is 'any(.warnings[]; test("^[0-9]{6} blocks share one row"))'
	}
	check "$mode: the target lives on" end_tracee
done

start_tracee fill
check 'log-fast: a log begins' begins_log
check "log-fast: $nr stacks" obeys "stacks $nr 100 20"
check 'log-fast: the record ends' record stop
check 'log-fast: all are in the log' log_is_whole
check 'log-fast: each has its row' each_has_a_row "$dir/logs"
say_took "log-fast: report of $nr stacks"
check 'log-fast: the report takes less than 1 GiB' took_less_than 1024
check 'log-fast: the target lives on' end_tracee

start_tracee fill
check 'within 64 MiB: a record begins' record start --max-overhead 64M
before=$(taken)
check "within 64 MiB: $nr stacks" obeys "stacks $nr 100 20"
echo "# within 64 MiB: it takes $(taken) bytes, $before at its begin"
check 'within 64 MiB: it is' test "$(taken)" -le $((before + (64 << 20)))
check 'within 64 MiB: its state' record status
check 'within 64 MiB: each block is recorded or counted' json_is "
	.data.noted | .allocated.blocks + .no_room.blocks | . >= $nr and . < $nr + 100"
check 'within 64 MiB: a part has no stack or no room' json_is '.data.noted | .no_stack.blocks + .no_room.blocks > 1000'
check 'within 64 MiB: the target lives on' end_tracee
finish

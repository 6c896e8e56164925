#!/bin/sh
# leaks of a program that is recorded or profiled: the stacks that allocated what is lost; and suppressions, by these and
# without any.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need_hooks
need jq

# leaks STATUS OPTIONS...
leaks()
{
	local status="$1"
	shift
	exits "$status" memdiag leaks --pid "$tracee_pid" --max-stop 300s --timeout 600s "$@"
}

# heads_by FUNCTION [BYTES]: the number of heads whose stack has FUNCTION.
heads_by()
{
	jq --arg f "$1" '[.data.groups[].stacks[] | select(any(.frames[].functions[].name; . == $f)) | .heads] | add // 0' "$dir/out"
}

# suppressed LINES...: a file of suppressions with these lines, each an argument.
suppressed()
{
	printf '%s\n' "$@" >"$dir/suppressions"
}

start_tracee loser
check 'blocks are lost before' obeys 'small 7'
check 'without an agent: status 1' leaks 1
check 'it says how to get stacks' grep -q "^For the functions that allocate them run 'memdiag record start --pid $tracee_pid'" "$dir/out"
check 'without an agent, as JSON' leaks 1 --json
check 'no stacks' json_is '.data.stacks_from == null and .data.heads_without_stack == null and all(.data.groups[]; .stacks == [])'

for set in array table; do
	check "a record begins, live set $set" memdiag record start --live-set "$set" --wait=300s --timeout=600s --pid "$tracee_pid"
	check 'small ones are lost' obeys 'small 30'
	check 'large ones are lost' obeys 'large 20'
	check 'rings are lost' obeys 'ring 5'
	check 'some are kept' obeys 'keep 12'
	check "leaks while it is recorded, live set $set" leaks 1 --json
	check 'stacks are from the record' json_is '.data.stacks_from == "record"'
	check 'each small one has its stack' test "$(heads_by lose_small)" = 30
	check 'each large one has its stack' test "$(heads_by lose_large)" = 20
	check 'each ring has its stack' test "$(heads_by lose_rings)" = 5
	check 'blocks that are kept are not listed' test "$(heads_by keep)" = 0
	check 'a ring counts its two blocks' json_is '[.data.groups[] | select(.shape == "ring") | .stacks[] | .blocks == 2 * .heads] | all'
	check 'those from before have none' json_is '.data.heads_without_stack == (.data.heads - ([.data.groups[].stacks[].heads] | add)) and
		.data.heads_without_stack >= 7'
	check "as text, live set $set" leaks 1
	check 'the stack is below' grep -q '^  #0 .* lose_small at loser.c:[0-9]* in loser' "$dir/out"
	check 'how many of the group' grep -q 'single of .*: 20 of [24]0 heads were allocated by$' "$dir/out"
	check 'how many have none' grep -q '^Stacks: from the running record; [0-9]* of [0-9]* heads have none' "$dir/out"

	suppressed '# known' 'leak:^lose_sm*' 'type:no_such_function' 'leak:lose_large$'
	check 'suppressed by name: status 1, as rings and others remain' leaks 1 --suppressions "$dir/suppressions" --json
	check 'the sums of each' json_is '.data.suppressed | .by[0].blocks == 30 and .by[1].blocks == 0 and .by[2].blocks == 20 and
		.by[2].line == 4 and .by[2].rule == "leak:lose_large$" and .blocks == 50 and .bytes == ([.by[].bytes] | add)'
	check 'they are not listed' test "$(heads_by lose_small) $(heads_by lose_large) $(heads_by lose_rings)" = '0 0 5'
	suppressed "leak:/loser$"
	check 'suppressed by module' leaks 1 --suppressions "$dir/suppressions" --json
	check 'all with a stack are suppressed' json_is '.data.suppressed.blocks == 60 and all(.data.groups[]; .stacks == [])'
	suppressed 'leak:loser.c'
	check 'suppressed by source file' leaks 1 --suppressions "$dir/suppressions" --json
	check 'all with a stack' json_is '.data.suppressed.blocks == 60'
	check 'the record ends' memdiag record stop --wait=300s --timeout=600s --pid "$tracee_pid" -o "$dir/$set"
	check 'after the record' leaks 1 --json
	check 'no stacks any more' json_is '.data.stacks_from == null'
done

# The table of sampled blocks has their addresses: they must not count as reached.
check 'a profile begins' memdiag profile start --rate 1 --wait=300s --timeout=600s --pid "$tracee_pid"
leaks 1 --json >/dev/null
before=$(json .data.heads)
check 'blocks are lost' obeys 'large 40'
check 'leaks while it is profiled' leaks 1 --json
check 'all are lost' test "$(json .data.heads)" = $((before + 40))
check 'stacks are from the profile' json_is '.data.stacks_from == "profile"'
check 'each has its stack' test "$(heads_by lose_large)" = 40
check 'the profile ends' memdiag profile stop --wait=300s --timeout=600s --pid "$tracee_pid" -o "$dir/profile"

# ---- suppressions without stacks ----

suppressed 'size:40' 'shape:ring' 'size:5000' '   ' 'size:5K'
check 'all is suppressed: status 0' leaks 0 --suppressions "$dir/suppressions" --json
check 'nothing is unreachable' json_is '.data.unreachable.blocks == 0 and .data.heads == 0 and .data.groups == [] and
	.data.suppressed.blocks > 0 and .data.suppressed.by[3].blocks == 0'
check 'as text' leaks 0 --suppressions "$dir/suppressions" -v
check 'what was suppressed' grep -q '^Suppressed: .* in [0-9]* blocks$' "$dir/out"
check 'a suppression without use, with -v' grep -q '^  unused: line 5, size:5K$' "$dir/out"
check 'only that' test "$(grep -c unused "$dir/out")" = 1
suppressed 'size:40' 'leak' 'shape:ring'
check 'a bad line: usage' leaks 64 --suppressions "$dir/suppressions"
check 'its number' says "line 2: 'leak' is not a suppression"
check 'a file that is missing' exits 1 memdiag leaks --pid "$tracee_pid" --suppressions "$dir/missing"
check 'the program still works' end_tracee

# ---- of a copy ----

start_tracee loser threads
check 'of a copy: a record begins' memdiag record start --wait=300s --timeout=600s --pid "$tracee_pid"
check 'of a copy: blocks are lost' obeys 'large 20'
check 'leaks --fork while it is recorded' leaks 1 --fork --json
check 'of a copy: each has its stack' test "$(heads_by lose_large)" = 20
check 'of a copy: the record ends' memdiag record stop --wait=300s --timeout=600s --pid "$tracee_pid" -o "$dir/of-copy"
check 'of a copy: the program still works' end_tracee
finish

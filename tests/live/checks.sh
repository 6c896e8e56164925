#!/bin/sh
# Numbers that have to agree: info, heap and trim compare the same ones, mark what depends on one that does not,
# and print the difference, as text and as JSON.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq
# Long stops are harmless here.
budget='--max-stop 300s'

holds()	# holds NAMES COMMAND...: that these were compared, and agree
{
	local names="$1"
	shift
	exits 0 memdiag "$@" --pid "$tracee_pid" --json &&
		json_is "([.data.checks[].name] == $names) and all(.data.checks[]; .holds)"
}

fails()	# fails NAME OURS-MINUS-THEIRS COMMAND...: that it is this check and no other
{
	local name="$1" less="$2"
	shift 2
	exits '0 2' memdiag "$@" --pid "$tracee_pid" --json &&
		json_is "[.data.checks[] | select(.holds | not)] | (map(.name) == $name) and
			.[0].ours - .[0].theirs == $less and .[0].difference == ($less | fabs)"
}

text()	# text WORDS COMMAND...: that they are in what is printed
{
	local words="$1"
	shift
	exits '0 2' memdiag "$@" --pid "$tracee_pid" && grep -q -e "$words" "$dir/out" && return
	cat "$dir/out"
	return 1
}

lacks()	# lacks WORDS: that the last output has no such line
{
	! grep -e "$1" "$dir/out"
}

all='["segments", "in_use", "resident", "mmapped_count", "mmapped_bytes"]'
# shellcheck disable=SC2086
{
start_tracee bloat 8
check 'info: all agree' holds "$all" info
check 'nothing is marked approximate if the checks hold' \
	json_is '[.data | .accounting[], .arenas[] | .approximate] | any | not'
check 'info: nor when it reads' holds "$all" info --method=read
check 'info: nothing is marked' text '^  large blocks' info
check 'no mark is explained if the checks hold' lacks '~\|Check failed'
check 'trim -n: all agree' holds "$all" trim -n $budget
check 'trim: all agree that it knows' holds '["segments", "resident", "mmapped_count", "mmapped_bytes"]' trim
check 'heap: all agree' holds "$all" heap $budget
check 'the target lives on' end_tracee

start_tracee split-heap hidden
check 'a main arena in pieces: all agree' holds "$all" info
check 'for trim as well' holds "$all" trim -n $budget
check 'the target lives on' end_tracee

# The arena says that it has a megabyte more than was found of it.
start_tracee corrupt account
remember
lacking=-1048576
check 'segments: info has the difference' fails '["segments"]' $lacking info
check 'the arena is approximate, the other is not' json_is '[.data.arenas[].approximate] == [false, true]'
check 'the sums of an approximate part are approximate' \
	json_is '.data.accounting | map(select(.approximate).kind) ==
	["malloc_in_use", "malloc_free"]'
check 'info: as text' text '^Check failed: bytes found in arenas: .* difference -1048576' info
check 'the text marks the arena as approximate' grep -q '^ *1 .* ~[0-9.]* [KM]iB ' "$dir/out"
check 'the text marks the sum as approximate' grep -q '^  in use .* ~[0-9.]* [KM]iB ' "$dir/out"
check 'what the mark means' grep -q '^~ is approximate: ' "$dir/out"
check 'segments: trim has it' fails '["segments"]' $lacking trim
check 'the sum of arenas is marked as approximate' json_is .data.arenas_approximate
check 'trim: as text' text '^resident in arenas  *~' trim
check 'trim: with the difference' grep -q '^Check failed: bytes found in arenas: .* difference -1048576' "$dir/out"
check 'trim: what the mark means' grep -q '^~ is approximate: ' "$dir/out"
check 'segments: trim -n has it' fails '["segments"]' $lacking trim -n $budget
check 'the arena of a failed check is not exact in trim -n' \
	json_is '[.data.predicted.arenas[].certainty] == ["exact", "approximate"]'
check 'trim -n: as text' text '^ *~1  *~.* approximate$' trim -n $budget
check 'trim -n: with the difference' grep -q '^Check failed: bytes found in arenas: ' "$dir/out"
check 'trim -n: what is predicted is marked' grep -q '^RSS .* ~[0-9.]* [KM]iB ' "$dir/out"
check 'trim -n: what the mark means' grep -q '^~ is approximate: ' "$dir/out"
check 'segments: heap has it' fails '["segments"]' $lacking heap $budget
check 'the arena of a failed check is not exact in heap' \
	json_is '[.data.arenas[].certainty] == ["exact", "approximate"]'
check 'nothing was harmed' unharmed
check 'the target lives on' end_tracee

# malloc counts a block that is not to be found.
start_tracee large 5
ask spoil >"$dir/answer"
one='["mmapped_count", "mmapped_bytes"]'
for command in info trim "trim -n $budget" "heap $budget"; do
	check "$command: a block fewer than malloc counts" fails "$one" -1 $command
	check "$command: as text" text '^Check failed: large blocks found: 4, blocks that malloc counts: 5, difference -1' \
		$command
done
check 'info: blocks are approximate, arenas are not' text '^  large blocks .* ~[0-9.]* MiB  5 blocks' info
check 'its arenas are not marked' lacks '^ *[0-9] .*~'
check 'the target lives on' end_tracee
}
finish

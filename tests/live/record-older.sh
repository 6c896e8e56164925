#!/bin/sh
# memdiag record report --older, --min-size and --max-size: blocks of a recording by age and size, where an oracle knows each
# block, and of the log of a process that says what it has made and freed.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
need jq python3

# ---- recordings at random ------------------------------------------------------------------------

set -- ${MEMDIAG_TEST_SEEDS:-1 24}
check "seeds $1 to $2: certain and possible blocks are those of the oracle" \
	python3 "$top_srcdir/tests/live/record-older.py" "$MEMDIAG" "$dir/random" "$1" "$2"
echo "# $(tail -n 1 "$dir/check.said")"

# ---- what is refused -----------------------------------------------------------------------------

printf 'v 10500 3\nX test\nI 1000 1000\ns 4 main\ni 1000 0 1\nt 1 0\na 10 1\n+ 0\nc 10\n' >"$dir/small"
check 'a small recording' exits 0 memdiag record report "$dir/small" --older 1ms --json
check 'has its block' json_is '.data.choice.certain == {"bytes": 16, "blocks": 1} and .data.choice.older_ns == 1000000 and
	.data.choice.min_bytes == null and .data.choice.max_bytes == null'
for words in '--older=-1' '--older=0' '--older=0s' '--older=1y' '--older=99999999999999999999h' '--older=' '--older=x' \
	'--min-size=-1' '--min-size=0' '--min-size=1X' '--min-size=99999999999999T' '--min-size=' '--max-size=-1' '--max-size=0' \
	'--max-size=1s' '--max-size=99999999999999T' '--min-size=2K --max-size=1K' "--older=1s --since $dir/small" \
	'--older=1s --save x' '--min-size=1 --save x' "--max-size=1 --since $dir/small"; do
	# shellcheck disable=SC2086 # words
	check "a command line that cannot be: $words" exits 64 memdiag record report "$dir/small" $words
done
check '--min-size as large as --max-size' exits 0 memdiag record report "$dir/small" --min-size 16 --max-size 16 --json
check 'has the block of that size' json_is '.data.choice.certain.blocks == 1 and .data.choice.older_ns == null'
check '--min-size above' exits 0 memdiag record report "$dir/small" --min-size 17 --json
check 'has none' json_is '.data.choice.possible.blocks == 0 and .data.rows == []'
check 'memdiag report has no such options' exits 64 memdiag report "$dir/small" --older 1s
check 'a value that chosen blocks do not have' exits 64 memdiag record report "$dir/small" --older 1s --value=peak

# ---- a log ---------------------------------------------------------------------------------------

if ! [ -e "$top_builddir/libmemdiag-agent.so" ] || ! has_hooks; then
	skip 'the log of a process' 'there is no agent, or no hooks'
	finish
fi
start_tracee ages
check 'without a record' exits_saying 5 'has not been recorded' memdiag record report "$tracee_pid" --older 1s
check 'a record in memory begins' exits 0 patiently memdiag record start --pid "$tracee_pid"
check 'a record in memory has no ages' exits_saying 5 'its record is in memory' memdiag record report "$tracee_pid" --older=1s
check 'what helps is another mode' says '--mode log-fast'
check 'a record in memory has sizes' exits 0 memdiag record report "$tracee_pid" --min-size=1K
check 'it ends' exits 0 patiently memdiag record stop --pid "$tracee_pid" -o "$dir/sums"
for file in "$dir"/sums*.heap; do
	check 'a file with sums has none of it' exits_saying 5 'neither ages nor single sizes' memdiag record report "$file" --older 1s
	check 'what helps' says '--mode log-fast'
done

# since MS: milliseconds since the tracee's time MS.
since()
{
	echo $(($(ask now) - $1))
}
# wait_since MS N: until N more are over.
wait_since()
{
	until [ "$(since "$1")" -ge "$2" ]; do
		sleep 0.05
	done
}
# by_age: the report of blocks that were made before $middle, which were not freed later.  The time at which
# memdiag takes the ages is known to a second, or it is asked again.
by_age()
{
	local before
	while :; do
		before=$(ask now)
		memdiag record report "$tracee_pid" --older "$((before - middle))ms" --by=function --json || return
		[ "$(since "$before")" -ge 1000 ] || break
	done
}
sites()
{
	jq -r '.data.rows[] | select(.name | startswith("site_")) | "\(.name) \(.flat) \(.blocks)"' "$dir/out" | sort | tr '\n' ';'
}

check 'a log begins' exits 0 patiently memdiag record start --mode log-fast -o "$dir/logs" --pid "$tracee_pid"
ask 'make 0 10 100' >/dev/null	# stay
ask 'make 1 20 200' >/dev/null	# all are freed
ask 'make 2 30 300' >/dev/null	# some are freed, and as many are made
ask 'make 3 5 70000' >/dev/null
old=$(ask now)
wait_since "$old" 3000
middle=$((old + 1500))
ask 'make 0 7 104' >/dev/null
ask 'drop 1 20' >/dev/null
ask 'turn 2 12' >/dev/null
ask 'drop 3 1' >/dev/null
# The writer takes events out of the process every 50 ms.
caught_up()
{
	memdiag record status --pid "$tracee_pid" --json && json_is '.data | .log.events == .noted.allocated.blocks + .noted.freed.blocks'
}
check 'the log has all events' eventually caught_up
check 'blocks that are older, while it is recorded' by_age
check 'they are those that were made before and stayed' test "$(sites)" = 'site_0 1000 10;site_2 5400 18;site_3 280000 4;'
check 'what may be as old is 11 blocks more' json_is '.data.choice.certain == {"bytes": 286400, "blocks": 32} and
	.data.choice.possible == {"bytes": 289700, "blocks": 43} and .data.choice.unknown.blocks == 0'
check 'that is a remark' json_is '.warnings | map(tostring) | any(contains("11 more blocks")) and (any(contains("value=possible")))'
check 'text says which blocks' exits 0 memdiag record report "$tracee_pid" --older 1ms --min-size 1K
check 'in its first line' grep -q ': bytes in use, older than 1.0 ms, blocks of 1.0 KiB or more, ' "$dir/out"
check 'by size' exits 0 memdiag record report "$tracee_pid" --min-size 101 --max-size 300 --by=function --json
check 'sizes are exact' test "$(sites)" = 'site_0 728 7;site_2 9000 30;'
check 'nothing is in doubt without an age' json_is '.data.choice.certain == .data.choice.possible and .warnings == []'
check 'it ends' exits 0 patiently memdiag record stop --pid "$tracee_pid" -o "$dir/last"
check 'the directory of the log' exits 0 memdiag record report "$dir/logs" --max-size 200 --by=function --json
check 'it has the blocks that were live at its end' test "$(sites)" = 'site_0 1728 17;'
check 'the log of the process, which is not written any more' exits 0 memdiag record report "$tracee_pid" --older 1ms --max-size 200 \
	--by=function --json
check 'has the same' test "$(sites)" = 'site_0 1728 17;'
check 'its memory has no sizes any more' exits_saying 5 'is not recorded any more' memdiag record report "$tracee_pid" --max-size 200
check 'the program lives on' end_tracee
finish

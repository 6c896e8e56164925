#!/bin/sh
# memdiag record --max-overhead: beside a program that keeps more blocks, and has more stacks, than there is room for:
# what the record takes, and that the rest is counted.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/record-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
fill=$TRACEES/fill

# is_about NUMBER NUMBER: the tracee's few other blocks do not matter.
is_about()
{
	echo "$1, not $2"
	[ "$1" -ge "$2" ] && [ "$1" -le $(($2 + 100)) ]
}

# all_counted BLOCKS: of these some were recorded, the others had no room.
all_counted()
{
	is_about "$(json '.data.noted | .allocated.blocks + .no_room.blocks')" "$1" &&
		json_is '.data.noted | .allocated.blocks > 1000 and .no_room.blocks > 1000'
}

check 'less than 8 MiB is refused' exits_saying 64 'too little' memdiag record start --max-overhead 7M --pid 1
check 'so is a limit for what has begun' exits_saying 64 'for a record that begins' memdiag record stop --max-overhead 8M --pid 1
check 'so is one without a record' exits_saying 125 'are for a record' memdiag run --max-overhead 8M -- true
check 'an unknown kind of set is refused' exits_saying 64 'neither array nor table' memdiag record start --live-set list --pid 1
if has_hooks; then
	start_command "$fill"
	check 'without a limit: a record begins' record start
	check 'without a limit: all blocks are taken' obeys 'take 600000 100'
	check 'without a limit: none is without room' record status
	check 'without a limit: in JSON' json_is '.data.noted | .no_room.blocks == 0 and .allocated.blocks >= 600000'
	check 'without a limit: it takes more than 12 MiB' test "$(taken)" -gt $((12 << 20))
	check 'without a limit: the target lives on' end_tracee

	start_command "$fill"
	check 'mem-record: it begins' record start --mode mem-record
	check 'mem-record: large blocks are taken' obeys 'take 50000 2000'
	check 'mem-record: it takes less than an array, a quarter of them' test "$(taken)" -lt $((8 << 20))
	check 'mem-record: its state' record status
	check 'mem-record: all are recorded' is_about "$(json .data.noted.in_use.blocks)" 50000
	check 'mem-record: the target lives on' end_tracee

	for set in array table; do
		start_command "$fill"
		check "live, $set: a record begins" record start --max-overhead 8M --live-set $set
		check "live, $set: it takes little" test "$(taken)" -lt $((2 << 20))
		before=$(taken)
		check "live, $set: more blocks than it has room for" obeys 'take 600000 100'
		check "live, $set: and more stacks" obeys 'stacks 100000 100 20'
		check "live, $set: what it takes is within the limit" test $(($(taken) - before)) -le $((8 << 20))
		check "live, $set: its state" record status
		check "live, $set: the rest is counted" all_counted 700000
		check "live, $set: with its bytes" is_about $(($(json '.data.noted | .allocated.bytes + .no_room.bytes') / 100)) 700000
		check "live, $set: people read of it" exits 0 memdiag record status --pid "$tracee_pid"
		check "live, $set: where it is said" grep -q '^no room .* blocks not recorded' "$dir/out"
		check "live, $set: a report warns" exits 0 memdiag record report "$tracee_pid" --json
		check "live, $set: of how many" json_is 'any(.warnings[]; test("^[0-9]{4,} blocks were not recorded"))'
		check "live, $set: all is freed" obeys drop
		check "live, $set: its state then" record status
		check "live, $set: nothing is in use" json_is '.data.noted | .in_use.blocks < 100 and .freed.blocks > 1000'
		check "live, $set: what had no room was there before, for all that is known" \
			json_is '.data.noted | .earlier_freed.blocks >= .no_room.blocks and .earlier_freed.blocks < .no_room.blocks + 100'
		check "live, $set: it ends" record stop -o "$dir/live"
		check "live, $set: the target lives on" end_tracee
	done
else
	skip 'live' 'malloc cannot be hooked on this processor'
fi

start_command "$MEMDIAG" run -q --record --max-overhead 8M -o "$dir/run" -- "$fill"
check 'run: more blocks than it has room for' obeys 'take 600000 100'
check 'run: all is freed' obeys drop
check 'run: the program ends' end_tracee
check 'run: some was recorded' sh -c '"$0" report --format=json --value=allocated --objects --lines=0 "$1".*.heap |
	jq -e "[.data.rows[].flat] | add | . > 1000 and . < 600000"' "$MEMDIAG" "$dir/run"
check 'run: its file says how many were not' grep -q '^# comment [0-9]\{4,\} blocks were not recorded' "$dir"/run.*.heap
finish

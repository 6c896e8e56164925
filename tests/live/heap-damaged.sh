#!/bin/sh
# heap on malloc's memory that was written over: what is damaged is marked and never called exact,
# the rest is reported, and the target is unchanged.
. "$top_srcdir/tests/live/lib.sh"
need jq

# is_marked WHICH: which arenas are approximate, and that it is said why.
is_marked()
{
	json_is "$1 and .partial and (.warnings | length > 0) and .data.certainty == \"approximate\" and
		(.data.arenas | all(.certainty == \"exact\" or .why != null))"
}

damages_cache()
{
	[ $damage = cache ] || { [ $damage = twice ] && grep -q '^no fast bins' "$dir/$tracee_pid.out"; }
}

heap()	# heap STATUS OPTIONS...
{
	wanted=$1
	shift
	exits "$wanted" memdiag heap --pid "$tracee_pid" --max-stop 300s --json "$@"
}

only_second='([.data.arenas[].certainty] == ["exact", "approximate"])'
for damage in chunk cut loop twice cache; do
	start_tracee corrupt $damage
	remember
	# A cache may hold blocks of every arena, so if one is damaged all are in doubt.
	which=$only_second
	! damages_cache || which='([.data.arenas[].certainty] | unique == ["approximate"])'
	check "$damage: heap tells a part" heap 2
	check "$damage: and marks what is in doubt" is_marked "$which"
	if [ $damage != chunk ]; then
		check "$damage: by the lists alone it tells a part" heap 2 --bins-only
		check "$damage: and marks the same" is_marked "$which"
	fi
	if [ $damage = cut ]; then
		check 'info, which reads the lists, names an arena and the reason' exits_saying 2 \
			'approximate: 1 of 2 arenas; arena 1: the list of .* is damaged, or changed meanwhile$' \
			memdiag info --method=read --pid "$tracee_pid"
	fi
	check "$damage: it does so without a stop" heap 2 --no-stop
	check "$damage: where nothing is exact" json_is '.data.arenas | all(.certainty != "exact")'
	check "$damage: the target is as before" unharmed
	check "$damage: the target lives on" end_tracee
done

# No chunk is larger than its arena, and no number is larger than the process.
is_possible()
{
	json_is '[.data | .. | numbers] | all(. < 1e15)'
}
start_tracee corrupt top
remember
for how in '' --bins-only --no-stop; do
	check "top: heap $how tells a part" heap 2 $how
	check "top: heap $how marks the main arena" json_is '.data.arenas[0].certainty == "approximate"'
	check "top: heap $how prints no number that cannot be" is_possible
done
check 'top: info ends' memdiag info --pid "$tracee_pid" --json
check 'top: info prints no number that cannot be' is_possible
check 'top: and has no verdict' json_is '.verdicts == []'
check 'top: info that reads ends' exits 2 memdiag info --pid "$tracee_pid" --method=read --json
check 'top: info that reads prints no number that cannot be' is_possible
check 'top: the target is as before' unharmed
check 'top: the target lives on' end_tracee

# The place of the arenas follows from these, and with one arena there is no other to hold it against.
for damage in owner cycle size; do
	start_tracee corrupt $damage
	remember
	check "$damage: heap finds no arenas" heap 5
	check "$damage: and says so" grep -q 'its layout is not known' "$dir/err"
	check "$damage: the target is as before" unharmed
	check "$damage: the target lives on" end_tracee
done

start_tracee corrupt ring
remember
check 'ring: heap tells a part' heap 2
check 'ring: there may be more' json_is '.partial and any(.warnings[]; test("list of arenas is damaged"))'
check 'ring: the target is as before' unharmed
check 'ring: the target lives on' end_tracee
finish

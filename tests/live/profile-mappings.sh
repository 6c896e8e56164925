#!/bin/sh
# Mappings in a profile: of a program that keeps its own account of what it maps where, unmaps in parts, moves, overlays
# and protects, each number is exact, and apart from what malloc gave.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/mapper-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
cannot_hook='this memdiag was built without Zydis: it hooks no functions'
can_hook=$(has_hooks && echo yes)
agent=$top_builddir/libmemdiag-agent.so

# noted: whether status has mappings, and no call was lost.
noted()
{
	profile status && json_is '.data.noted | .mappings_lost == 0 and .mappings > 0 and .mappings_made > .mappings'
}

# profiled NAME START...: a profile of the tracee, which START starts, from its start to its end.
profiled()
{
	local name="$1" most
	shift
	start_command "$@"
	check "$name: what was mapped before" obeys 'play 1 2000'
	check "$name: the account begins again" obeys anew
	check "$name: a profile begins" profile start --rate 64
	check "$name: what was mapped before goes" obeys drop
	check "$name: which is nothing to the profile" profile status
	check "$name: as it says" json_is '.data.noted.mapped_bytes == 0 and .data.noted.mappings_made == 0'
	check "$name: the account begins again" obeys anew
	check "$name: it maps" plays 2 "$(some 40000)"
	most=$(ask most)
	check "$name: nothing was lost" noted
	[ "$threads" != 1 ] || check "$name: the most that was in use is known" json_is ".data.noted.mapped_peak_bytes == $most"
	check "$name: info" exits 0 memdiag info --pid "$tracee_pid" --json
	check "$name: shows what malloc gave alone" \
		json_is '[.data.profile.stacks[].function] | all(startswith("site_") | not)'
	check "$name: a dump" profile dump -o "$dir/p"
	check "$name: it is exact" is_account "$(written)"
	check "$name: a child plays" test "$(ask "child 3 2000 $dir/child")" = 0
	check "$name: which changes nothing" profile dump -o "$dir/p"
	check "$name: it is exact still" is_account "$(written)"
	check "$name: it maps on" plays 4 2000
	check "$name: it unmaps all" obeys drop
	account
	check "$name: it ends" profile stop -o "$dir/p"
	check "$name: it is exact at the end" is_account "$(written)"
	check "$name: nothing is in use" test -z "$(values "$(written)" mapped | awk '$2 > 0')"
	check "$name: the target lives on" end_tracee
}

for threads in 1 4; do
	name="$threads threads"
	if [ -n "$can_hook" ]; then
		profiled "$name, of a process that runs" "$mapper" "$threads"
	else
		skip "$name, of a process that runs" "$cannot_hook"
	fi
	profiled "$name, under the agent" env LD_PRELOAD="$agent" "$mapper" "$threads"
	profiled "$name, run with a limit" "$MEMDIAG" run -q --limit 1T -- "$mapper" "$threads"
done

# ---- beside the counter: it has the same bytes ----

beside_counter()
{
	local name="$1"
	check "$name: it maps" plays 5 "$(some 20000)"
	check "$name: a dump" profile dump -o "$dir/p"
	check "$name: it is exact" is_account "$(written)"
	check "$name: the counter" exits 0 memdiag status --pid "$tracee_pid" --json
	check "$name: has as many bytes mapped" json_is ".data.mapped_bytes == $(awk '{ n += $4 } END { print n }' "$dir/account")"
	check "$name: the target lives on" end_tracee
}
if [ -n "$can_hook" ]; then
	start_command "$mapper" 3
	check 'beside the counter: which begins' exits 0 patiently memdiag count start --pid "$tracee_pid"
	check 'beside the counter: a profile begins' profile start
	beside_counter 'beside the counter'
fi
prefix="profile-prefix=$dir/e"
start_command env MEMDIAG_AGENT="profile;count;$prefix" LD_PRELOAD="$agent" "$mapper" 3
beside_counter 'by the environment, beside the counter'
rm -f "$dir"/e.*

# ---- files that the agent writes, and those of a run ----

start_command env MEMDIAG_AGENT="profile;follow;$prefix" LD_PRELOAD="$agent" "$mapper" 2
check 'by the environment: it maps' plays 6 "$(some 20000)"
check 'by the environment: a child maps, too' test "$(ask "child 7 5000 $dir/child")" = 0
check 'by the environment: the target lives on' end_tracee
check 'by the environment: its file is exact' is_account "$(ls "$dir"/e."$tracee_pid".*.heap)"
rm "$dir"/e."$tracee_pid".*.heap
cp "$dir/child" "$dir/account"
check "by the environment: the child's is, too" is_account "$(ls "$dir"/e.*.heap)"

# one_is_account FILE...: whether one of them has the numbers of the account.
one_is_account()
{
	local file
	for file; do
		if is_account "$file" >"$dir/differences"; then
			return 0
		fi
	done
	cat "$dir/differences"
	return 1
}
for words in --profile '-q --profile' '--profile --follow-children' '-q --record' '--record --follow-children'; do
	rm -f "$dir"/r.*.heap
	# shellcheck disable=SC2086 # words
	start_command "$MEMDIAG" run -o "$dir/r" $words -- "$mapper" 2
	check "run $words: it maps" plays 8 "$(some 20000)"
	check "run $words: a child maps, too" test "$(ask "child 9 5000 $dir/child")" = 0
	check "run $words: the target lives on" end_tracee
	check "run $words: its file is exact" one_is_account "$dir"/r.*.heap
	case $words in
	*follow*)
		cp "$dir/child" "$dir/account"
		check "run $words: the child's is, too" one_is_account "$dir"/r.*.heap
		;;
	esac
done

# ---- a record ----

if [ -n "$can_hook" ]; then
	start_command "$mapper" 3
	check 'a record: it begins' memdiag record start --pid "$tracee_pid"
	check 'a record: it maps' plays 11 "$(some 20000)"
	check 'a record: it ends' memdiag record stop --pid "$tracee_pid" --json -o "$dir/p"
	check 'a record: it is exact' is_account "$(written)"
	check 'a record: the target lives on' end_tracee
fi

finish

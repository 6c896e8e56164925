#!/bin/sh
# A target whose cgroup has no memory left, is frozen, or has used up its processor time: nothing is called in it.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/cgroup-lib.sh"
need jq

refused()
{
	exits 6 memdiag "$@" --pid "$tracee_pid" && grep -q -e "$reason" "$dir/err" && grep -q 'nothing was changed' "$dir/err"
}

# It answers all the same, from the heaps.
read_instead()
{
	exits 0 memdiag info --pid "$tracee_pid" --json && json_is '.data.method == "read"' &&
		json_is ".warnings | map(select(test(\"$reason\"))) | length == 1"
}
asked()
{
	exits 0 memdiag info --pid "$tracee_pid" --json && json_is '.data.method == "inject"'
}

# ---- memory

if new_group memory; then
	for threads in 0 3; do
		start_in "$group" "$TRACEES/awkward" threads=$threads
		reason='left below memory'
		limit_room 300
		check "memory, $threads threads: trim is refused" refused trim
		check "memory, $threads threads: info reads" read_instead
		! has_hooks || check "memory, $threads threads: count is refused" refused count start
		check "memory, $threads threads: doctor knows" \
			exits '0 2' memdiag doctor "$tracee_pid" --json
		check "memory, $threads threads: and says how much is left" json_is '
			.data.findings | map(select(.about == "room" and (.text | test("[0-9.]+ KiB"))))
			| length == 1'
		limit_room 100000
		check "memory, $threads threads: with room info asks" asked
		if has_hooks; then
			check "memory, $threads threads: and count starts" \
				exits 0 memdiag count start --pid "$tracee_pid"
		else
			skip "memory, $threads threads: count" 'this memdiag was built without Zydis'
		fi
		check "memory, $threads threads: the target lives on" end_tracee
	done
else
	skip 'memory' 'no cgroup of the memory controller can be made here'
fi

# ---- the freezer

# frozen WORDS FILE ON OFF
frozen()
{
	reason='frozen'
	echo "$3" >"$2"
	for command in info trim 'count start'; do
		# shellcheck disable=SC2086 # two words
		check "$1: $command is refused" exits 6 memdiag $command --pid "$tracee_pid" --wait 2s
		check "$1: $command says why" grep -q frozen "$dir/err"
	done
	check "$1: doctor says so" exits 2 memdiag doctor --pid "$tracee_pid" --json
	check "$1: in its own line" json_is '.data.findings | map(select(.about == "freezer" and
		.state == "no")) | length == 1'
	echo "$4" >"$2"
	check "$1: thawed, info works" exits 0 memdiag info --pid "$tracee_pid"
	check "$1: the target lives on" end_tracee
}
if group=$(mounted '')/memdiag-test.$$ && mkdir "$group" 2>/dev/null && [ -e "$group/cgroup.freeze" ] &&
	mkdir "$group/below"; then
	groups="$group/below $group $groups"
	start_in "$group/below" "$TRACEES/awkward"
	frozen 'its own cgroup (v2)' "$group/below/cgroup.freeze" 1 0
	start_in "$group/below" "$TRACEES/awkward"
	frozen 'the cgroup above (v2)' "$group/cgroup.freeze" 1 0
else
	skip 'freezer of v2' 'no cgroup of v2 can be made here'
fi
if [ -n "$(mounted freezer)" ] && new_group freezer .v1 && mkdir "$group/below"; then
	groups="$group/below $groups"
	start_in "$group/below" "$TRACEES/awkward"
	frozen 'its own cgroup (v1)' "$group/below/freezer.state" FROZEN THAWED
	start_in "$group/below" "$TRACEES/awkward"
	frozen 'the cgroup above (v1)' "$group/freezer.state" FROZEN THAWED
else
	skip 'freezer of v1' 'no such cgroup can be made here'
fi

# ---- processor time

if new_group cpu .cpu; then
	start_in "$group" "$TRACEES/awkward"
	# shellcheck disable=SC2016 # of that shell
	sh -c 'echo $$ >"$1/cgroup.procs"; while :; do :; done' sh "$group" &
	busy=$!
	started="$started $busy"
	if [ -e "$group/cpu.max" ]; then
		echo '10000 100000' >"$group/cpu.max"
	else
		echo 10000 >"$group/cpu.cfs_quota_us"
	fi
	reason='processor time'
	check 'a quota that is used up: trim is refused' refused trim
	check 'a quota that is used up: info does not ask' exits '0 6' memdiag info --pid "$tracee_pid" --json
	check 'a quota that is used up: it did not' sh -c "! grep -q '\"inject\"' '$dir/out'"
	check 'a quota that is used up: doctor knows' exits '0 2' memdiag doctor "$tracee_pid" --json
	check 'a quota that is used up: and says which' json_is '
		.data.findings | map(select(.about == "cpu quota" and (.text | test("10 ms of each 100 ms"))))
		| length == 1'
	kill "$busy"
	wait "$busy" 2>/dev/null
	check 'a quota that is not used up: info asks' asked
	check 'a quota: the target lives on' end_tracee
else
	skip 'processor time' 'no cgroup of the cpu controller can be made here'
fi
leave_groups
finish

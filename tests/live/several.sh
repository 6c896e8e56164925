#!/bin/sh
# info, heap, trim and status of several processes: a line for each and their total; one that fails does not end the
# others.
. "$top_srcdir/tests/live/lib.sh"
need jq

name=md-$$-many
cp "$TRACEES/bloat" "$dir/$name"
start_command "$dir/$name" 2
one=$tracee_pid
start_command "$dir/$name" 4
two=$tracee_pid
nobody=4194304	# no PID is that large

# sums PATH MEMBER: whether the total is the sum over the processes.
sums()
{
	json_is ".data.totals.$2 == ([.data.processes[] | $1] | add) and .data.totals.$2 > 0"
}

# alone COMMAND: its document of the first process, in $dir/alone.
alone()
{
	# shellcheck disable=SC2086 # a command and its options
	"$MEMDIAG" $1 "$one" --json >"$dir/alone"
}

for command in info heap 'trim -n' trim; do
	for way in "-p $one,$two" "$one $two $one" "-p $name --all" "-p $name --all -p $one"; do
		# shellcheck disable=SC2086 # several words
		check "$command $way" exits 0 memdiag $command $way --json
		check "$command $way: two processes" json_is "[.data.processes[].target.pid] | sort == ([$one, $two] | sort)"
	done
	check "$command: the document of several" json_is ".schema == \"memdiag.${command%% *}/1\" and .target == null and
		(.partial | not) and (.data | keys) == [\"processes\", \"totals\"]"
	check "$command: the largest is the first" json_is '[.data.processes[].process.rss_bytes] | . == (sort | reverse)'
	check "$command: alone" alone "$command"
	check "$command: each has the members that it has alone" json_is "(.data.processes[0].data | keys) ==
		($(jq -c '.data | keys' "$dir/alone"))"
	# shellcheck disable=SC2086
	check "$command: as text" exits 0 memdiag $command "$one" "$two"
	check "$command: a line for each" sh -c "grep -q '^ *$one .* $name\$' '$dir/out' && grep -q '^ *$two .* $name\$' '$dir/out'"
	check "$command: a total" grep -q ' total$' "$dir/out"
	check "$command: no more lines" test "$(wc -l <"$dir/out")" -eq 4
	# shellcheck disable=SC2086
	check "$command: one does not exist" exits_saying 2 "$nobody is left out: there is no process" memdiag $command "$one" $nobody "$two"
	check "$command: the others are there" test "$(grep -c " $name\$" "$dir/out")" -eq 2
	# shellcheck disable=SC2086
	check "$command: the same as JSON" exits 2 memdiag $command "$one" $nobody "$two" --json
	check "$command: is partial" json_is '.partial and (.warnings | length) == 1 and (.data.processes | length) == 2'
	# shellcheck disable=SC2086
	check "$command: none exists" exits_saying 3 'there is no process' memdiag $command $nobody $nobody
	# shellcheck disable=SC2086
	check "$command: a thread and its process" exits 0 memdiag $command "$two" "$(ls "/proc/$two/task" | tail -n 1)" --json
	check "$command: are one process" json_is "[.data.processes[].target.pid] == [$two]"
	# shellcheck disable=SC2086
	check "$command: --all of a number" exits_saying 64 'is for the name' memdiag $command "$one" --all
	# shellcheck disable=SC2086
	check "$command: a name that two have" exits_saying 64 'or all of them by --all' memdiag $command "$name"
done

check 'info' exits 0 memdiag info "$one" "$two" --json
check 'info: RSS is added up' sums .data.totals.rss_bytes rss_bytes
check 'info: what is in use is added up' sums \
	'.data.accounting[] | select(.kind == "malloc_in_use") | .bytes' malloc_in_use_bytes
check 'info: arenas are added up' sums .data.arena_count arena_count
check 'info without shared memory' exits 0 memdiag info "$one" "$two"
check 'info without shared memory has no note about it' eval "! grep -q '^SHM counts' '$dir/out'"
if command -v python3 >/dev/null; then
	start_command python3 -c 'import mmap, os, sys
m = mmap.mmap(-1, 1 << 20)
m.write(b"x" * (1 << 20))
print("ready", flush=True)
sys.stdin.read()
print("alive", flush=True)'
	shares=$tracee_pid
	check 'info with shared memory' exits 0 memdiag info "$one" "$shares"
	check 'info with shared memory says that it counts in each process' grep -q '^SHM counts in each process' "$dir/out"
	check 'the process with shared memory lives on' end_tracee "$shares"
else
	skip 'info with shared memory' 'python3 is not installed'
fi
check 'heap' exits 0 memdiag heap "$one" "$two" --json
check 'heap: what is in use is added up' sums .data.totals.in_use_bytes in_use_bytes
check 'heap: resident memory is added up' sums .data.totals.resident_bytes resident_bytes
check 'heap: -n' exits 0 memdiag heap "$one" "$two" -n 1
check 'heap: -n says how many more there are' grep -q -x 'and 1 more; -n 0 shows all' "$dir/out"
check 'trim -n' exits 0 memdiag trim -n "$one" "$two" --json
check 'trim -n: RSS is added up' sums .data.before.rss_bytes before_rss_bytes
check 'trim: arenas are trimmed in both' exits 0 memdiag trim "$one" "$two" --json
check 'trim: RSS before is added up' sums .data.before.rss_bytes before_rss_bytes
check 'trim: what was released is added up' json_is '.data.totals.released_bytes == ([.data.processes[].data.released_bytes] | add)'

# ---- a process that cannot be looked at ----
check 'status: no process has the agent' exits_saying 5 "does not have memdiag's agent" memdiag status "$one" "$two"
start_tracee corrupt ring
bad=$tracee_pid
check 'one whose arenas are damaged' exits_saying 2 "$bad" memdiag info "$one" "$bad"
check 'does not end the other' grep -q "^ *$one " "$dir/out"

# ---- what takes one process ----
for refused in 'info --arena 1' 'info --xml' 'heap --arenas' 'heap --xml' 'trim --recheck 1s'; do
	# shellcheck disable=SC2086
	check "$refused" exits_saying 64 'take.* one process' memdiag $refused "$one" "$two"
done
check 'heap of a core file and a process' exits_saying 64 'a core file or a process' memdiag heap "$one" "$two" --core x

# ---- the agent ----
if [ -e "$top_builddir/libmemdiag-agent.so" ]; then
	start_command "$MEMDIAG" run -q -- "$TRACEES/idle" 1 1000000
	run_1=$tracee_pid
	agent_1=$run_1 # it has become the program
	start_command "$MEMDIAG" run -q -- "$TRACEES/idle" 2 1000000
	run_2=$tracee_pid
	agent_2=$run_2
	check 'status of two' exits 0 memdiag status "$agent_1" "$agent_2" --json
	check 'status: blocks are added up' sums .data.blocks_allocated blocks_allocated
	check 'status: live bytes are added up' sums .data.live_bytes live_bytes
	check 'status of one that counts and one that does not' exits_saying 2 "$one is left out: .* does not have memdiag" \
		memdiag status "$agent_1" "$one"
	check 'status: the one that counts is there' grep -q "^ *$agent_1 " "$dir/out"
	check 'the first lives on' end_tracee "$run_1"
	check 'the second lives on' end_tracee "$run_2"
else
	skip 'status of several' 'the agent is not made for this processor'
fi
check 'the damaged one lives on' end_tracee "$bad"
check 'the first target lives on' end_tracee "$one"
check 'the second target lives on' end_tracee "$two"
finish

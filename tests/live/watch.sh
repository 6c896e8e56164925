#!/bin/sh
# watch: its samples against /proc and maps; files saved and shown again; that nothing is stopped; ends and bad input; and a
# terminal, by tmux: keys, sizes, terminals that can little.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq strace

# lines FILTER FILE: whether FILTER is true of each document in FILE, of which there is at least one.
lines()
{
	jq -s -e "length > 0 and all(.[]; $1)" "$2"
}

# ---- numbers -------------------------------------------------------------------------------------

start_tracee bloat 4
pid=$tracee_pid
rss=$(awk '/^VmRSS/ { print $2 * 1024 }' "/proc/$pid/status")
threads=$(awk '/^Threads/ { print $2 }' "/proc/$pid/status")
check 'samples as JSON' exits 0 memdiag watch -p "$pid" --json -n 3 -i 50ms
check 'each is a line' test "$(wc -l <"$dir/out")" -eq 3
check 'RSS is that of status' lines ".data.rss_bytes == $rss and .data.threads == $threads" "$dir/out"
check 'classes without a parent add up to RSS' \
	lines '.data.rss_bytes == ([.data.tables.classes.rows[] | select(.parent == null) | .rss_bytes] | add)' "$dir/out"
check 'the parts of a class add up to it' lines '.data.tables.classes.rows as $rows | all($rows[] | select(.parent == null);
	.name as $name | .rss_bytes == ([$rows[] | select(.parent == $name) | .rss_bytes] | add))' "$dir/out"
check 'objects, and threads with what is no stack, add up to RSS' lines '.data as $d | all($d.tables.objects, $d.tables.threads;
	.left_out > 0 or ([.rows[].rss_bytes] | add) == $d.rss_bytes)' "$dir/out"
check 'times grow' jq -s -e '[.[].data.time_ns] | . == (sort | unique)' "$dir/out"
check 'heap is not read unless asked for' lines '.data.tables.heap == null and .data.stopped_ns == null' "$dir/out"
check 'without a profile sites has the reason' lines '.data.tables.sites.error | test("no profile is running")' "$dir/out"
cp "$dir/out" "$dir/watch"
memdiag maps "$pid" --json
check 'classes are as maps has them' sh -c "jq -s -e '(.[0].data.tables.classes.rows | map(select(.parent == null) | {(.name): .rss_bytes}) |
	add) == (.[-1].data.groups | map({(.name): .rss_bytes}) | add)' '$dir/watch' '$dir/out'"
check 'text' exits 0 memdiag watch "$pid" -n 2 -i 50ms -b
check 'text has RSS twice' test "$(grep -c "^RSS $rss" "$dir/out")" -eq 2
check 'text has heap and its parts' grep -q '^  main heap' "$dir/out"
for view in classes objects arenas threads sites heap; do
	for sort in first second third growth name; do
		check "--view=$view --sort=$sort" exits 0 memdiag watch "$pid" -n 1 --view=$view --sort=$sort
	done
done
check 'heap: without a stop' exits 0 memdiag watch "$pid" -n 1 --json --view=heap
check 'heap: without a stop, its accounts' lines '(.data.tables.heap.rows | length) == 7 and .data.stopped_ns == null' "$dir/out"
check 'heap: with one' exits 0 memdiag watch "$pid" -n 1 --json --max-stop=200ms
check 'heap: with one, how long' lines '.data.tables.heap.approximate == false and .data.stopped_ns > 0' "$dir/out"

# ---- what changes ---------------------------------------------------------------------------------

# grows: whether the growth of a process that takes 1 MiB in each tenth of a second is shown.
cat >"$dir/grow.py" <<'PROGRAM'
import sys, time
kept = []
for i in range(3000):
    kept.append(bytearray(b"x" * (1 << 20)))
    time.sleep(0.1)
    if i == 0:
        print("ready", flush=True)
PROGRAM
if command -v python3 >/dev/null; then
	python3 "$dir/grow.py" >"$dir/grow.out" &
	growing=$!
	started="$started $growing"
	wait_for "$growing" "$dir/grow.out" ready
	check 'a process that grows' exits 0 memdiag watch "$growing" --json -n 6 -i 500ms
	check 'RSS of each sample is larger' jq -s -e '[.[].data.rss_bytes] | . == (sort | unique)' "$dir/out"
	check 'its growth per minute' exits 0 memdiag watch "$growing" -n 6 -i 500ms
	check 'growth is known after two seconds' sh -c "grep '^RSS' '$dir/out' | tail -n 1 | grep -q 'MiB a minute'"
	check 'growth is not known before' sh -c "! grep '^RSS' '$dir/out' | head -n 1 | grep -q 'a minute'"
	kill "$growing"
	wait "$growing" 2>/dev/null
fi

# ---- files ----------------------------------------------------------------------------------------

check '--save' exits 0 memdiag watch "$pid" --batch -n 3 -i 50ms --save="$dir/tape" -o "$dir/live.txt"
check '--save: a line for each sample' test "$(wc -l <"$dir/tape")" -eq 3
check '--save: only the owner may read it' test "$(stat -c %a "$dir/tape")" = 600
check '--replay' exits 0 memdiag watch --replay="$dir/tape"
check '--replay shows what was shown' sh -c "sed 's/  every .*//' '$dir/live.txt' >'$dir/one'; sed 's/  saved\$//' '$dir/out' | diff '$dir/one' -"
check '--save does not replace a file' exits_saying 1 'will not overwrite.*--force' memdiag watch "$pid" --batch -n 1 --save="$dir/tape"
check '--save: the file is as it was' test "$(wc -l <"$dir/tape")" -eq 3
check '--save --force' exits 0 memdiag watch "$pid" --batch -n 1 --save="$dir/tape" --force
check '--save --force: replaced' test "$(wc -l <"$dir/tape")" -eq 1
check '--save into a directory that is not there' exits_saying 1 'cannot' memdiag watch "$pid" -n 1 --save="$dir/none/tape"
check '--save on a full disk' exits_saying 1 'No space' memdiag watch "$pid" --batch -n 1 --save=/dev/full
printf '{"schema":"memdiag.wat' >>"$dir/tape"
check '--replay: the end is missing' exits 0 memdiag watch --replay="$dir/tape"
check '--replay: the end is missing: a note' grep -q 'in the middle of a sample' "$dir/err"
: >"$dir/empty"
check '--replay: an empty file' exits_saying 64 'has no sample' memdiag watch --replay="$dir/empty"
memdiag maps "$pid" --json
jq -c . "$dir/out" >"$dir/maps"
check '--replay: JSON of another command' exits_saying 64 'line 1: not a sample' memdiag watch --replay="$dir/maps"
cat "$dir/watch" "$dir/watch" >"$dir/twice"
check '--replay: samples that go back' exits_saying 64 'line 4: not later' memdiag watch --replay="$dir/twice"
jq -c '.data.tables.classes.rows[0].rss_bytes = -1' "$dir/watch" >"$dir/negative"
check '--replay: a negative number' exits_saying 64 'line 1: not a sample' memdiag watch --replay="$dir/negative"
jq -c '.data.tables.classes.rows[0].parent = "nobody"' "$dir/watch" >"$dir/orphan"
check '--replay: a part of nothing' exits_saying 64 'line 1: not a sample' memdiag watch --replay="$dir/orphan"
jq -c '.target.comm = "\u001b[31mred" | .data.tables.classes.rows[1].name = "\u001b[2J\n\u009b"' "$dir/watch" >"$dir/hostile"
check '--replay: names that would move the cursor' exits 0 memdiag watch --replay="$dir/hostile"
check '--replay: they do not' sh -c "! LC_ALL=C grep -q \"\$(printf '[\\033\\233]')\" '$dir/out'"
check '--replay: a directory' exits_saying 1 'cannot read' memdiag watch --replay="$dir"

# ---- it only reads --------------------------------------------------------------------------------

check 'no thread is stopped, and nothing is written to the process' sh -c "strace -f -qq -e trace=ptrace,process_vm_writev,kill,tgkill,pidfd_send_signal \
	-o '$dir/calls' '$MEMDIAG' watch '$pid' -n 3 -i 50ms --json --view=heap >/dev/null && ! grep -v -e exited -e SIG '$dir/calls'"
check 'with --max-stop it is' sh -c "strace -f -qq -e trace=ptrace -o '$dir/calls' '$MEMDIAG' watch '$pid' -n 1 --max-stop=200ms >/dev/null;
	grep -q ptrace '$dir/calls'"

# ---- ends -----------------------------------------------------------------------------------------

"$MEMDIAG" watch "$pid" -i 50ms --json >"$dir/endless" 2>"$dir/endless.err" &
watching=$!
started="$started $watching"
wait_for "$watching" "$dir/endless" time_ns
kill -TERM "$watching"
wait "$watching"
check 'SIGTERM ends it, without an error' test "$?" -eq 0
check 'SIGTERM: the lines are whole' lines '.data.rss_bytes > 0' "$dir/endless"
check 'a reader that goes ends it' sh -c "'$MEMDIAG' watch '$pid' -i 50ms --json | head -n 1 | jq -e .data.rss_bytes"
check 'the target lives on' end_tracee
start_tracee idle
"$MEMDIAG" watch "$tracee_pid" -i 50ms --json >"$dir/last" 2>"$dir/last.err" &
watching=$!
started="$started $watching"
wait_for "$watching" "$dir/last" time_ns
check 'the target ends' end_tracee
wait "$watching"
check 'the end of the process ends it, without an error' test "$?" -eq 0
check 'and a note says so' grep -q 'has ended' "$dir/last.err"
check 'a process that is not there' exits_saying 3 'there is no process' memdiag watch 4194304 -n 1
check 'no process' exits_saying 64 'which process' memdiag watch
check '--replay and a process' exits_saying 64 'not a process' memdiag watch --replay=x -p 1
check '--replay and --save' exits_saying 64 'running process' memdiag watch --replay=x --save=y
check '--replay and --json' exits_saying 64 'JSON already' memdiag watch --replay=x --json
check 'an interval that is too short' exits_saying 64 '1ms' memdiag watch -p 1 -i 1ms
check 'a table that is not there' exits_saying 64 'classes' memdiag watch -p 1 --view=x
finish

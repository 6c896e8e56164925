#!/bin/sh
# memdiag record --mode log-fast: each event is in the files, whoever ends what, and the program waits for nothing.
# shellcheck disable=SC3043,SC2034,SC2154 # every sh we know has local; lib.sh reads and sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/record-lib.sh"
. "$top_srcdir/tests/live/log-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
need_hooks
build_truth

# ---- begun and ended ----

start_command "$truth"
check 'record start --mode log-fast begins a log' begins_log
check 'record start while a log is written: refused' exits_saying 1 'is being written already' \
	memdiag record start --mode log-fast -o "$dir/logs" --pid "$tracee_pid"
check 'record for 1 s while a log is written: refused' exits_saying 1 'is being written already' \
	memdiag record -s 1 --mode log-fast -o "$dir/logs" --pid "$tracee_pid"
check 'three threads allocate and free while a log is written' obeys 'play 1 20000 3'
check 'record status --files 3 changes how many files stay' memdiag record status --files 3 --pid "$tracee_pid"
check 'record status: at most 3 files stay, and the log is written' log_is '.data.log | .max_files == 3 and .is_open and .is_written and .error == 0'
check 'record status: the writer has read the log less than 5 s ago' until_log '.data.log.round_age_ns < 5000000000'
check 'status of a process whose log is written' exits 0 memdiag status --pid "$tracee_pid" --json
check 'status --json: writer, directory, files and events of the log' json_is ".data.log | .writer == $writer and .is_open and .is_written and .max_files == 3 and .files == 1 and
	.directory == \"$(realpath "$dir/logs")\" and .dropped == 0 and .events > 40000 and .file_bytes > 0"
check 'status of a process whose log is written, as text' exits 0 memdiag status --pid "$tracee_pid"
check 'status as text: the process that writes the log' grep -q "^written  by process $writer, [0-9.]* [mu]*s ago; at most 3 files stay$" "$dir/out"
check 'status as text: events, files and directory of the log' grep -q '^log      [0-9]* events, .* in 1 file in .*/logs$' "$dir/out"
kill -STOP "$writer"
check 'record status of a writer that was stopped: 5 s since it has read the log' until_log '.data.log.round_age_ns > 5000000000'
check 'record status of a writer that was stopped: says which process does not write' exits_saying 0 "process $writer has not written the log for [0-9.]* s" \
	memdiag record status --pid "$tracee_pid"
check 'status of a writer that was stopped: says that the log is not written' exits_saying 0 'has not written the log' memdiag status --pid "$tracee_pid"
kill -CONT "$writer"
check 'record status of a writer that was continued: it has read the log less than 5 s ago' until_log '.data.log.round_age_ns < 5000000000'
check 'the writer of a log has a session of its own' grep -q '^NSsid:.*'"$writer"'$' "/proc/$writer/status"
check 'the writer of a log takes less than 20 MB' awk '/^VmRSS/ { exit !($2 < 20000) }' "/proc/$writer/status"
check 'record stop ends a record with a log' record stop
check 'a log that record stop has ended has all events' log_is_whole
check 'record status after record stop: nobody writes the log' log_is '.data.log | (.is_written or .is_open) | not'
check 'the writer has ended after record stop' gone "$writer"
check 'a log of one file is in the directory' test "$(log_files)" = 1
check 'the directory and the file of a log are private' test "$(stat -c %a "$dir/logs" "$dir/logs"/*.mlog*)" = '700
600'
check 'a record with a log writes no .heap file' test -z "$(find . "$dir" -maxdepth 1 -name "*.$tracee_pid.*.heap")"
check 'a second log begins after the first one has ended' begins_log
check 'two threads allocate while the second log is written' obeys 'play 2 5000 2'
check 'record start --mode closed ends a log' memdiag record start --mode closed --pid "$tracee_pid" --json
check 'a log that --mode closed has ended has all events' log_is_whole
check 'the second log has a file of its own' test "$(log_files)" = 2

# ---- other modes ----

check 'record start --mode mem-fast begins a record in memory' record start --mode mem-fast
check 'record start --mode log-fast of a process that is recorded in memory' begins_log
check 'a thread allocates after the record has got a log' obeys 'play 3 5000 0'
check 'record start --mode mem-fast of a process whose log is written' exits 0 memdiag record start --mode mem-fast --pid "$tracee_pid"
check 'record start --mode mem-fast says that the log has ended' grep -q 'is still recorded in memory; its log has ended' "$dir/out"
check 'record status after --mode mem-fast: recording, and no log is written' log_is '.data | .is_recording and (.log | (.is_written or .is_open) | not)'
check 'record stop writes the record that is in memory again' record stop -o "$dir/memory"
check 'record start --mode slow: a usage error' exits_saying 64 'is not a mode' memdiag record start --mode slow --pid "$tracee_pid"
check 'record status --files 0: a usage error' exits_saying 64 'is not a number of files' memdiag record status --files 0 --pid "$tracee_pid"
check 'record start --files without a log: a usage error' exits_saying 64 'is for --mode log-fast' \
	memdiag record start --files 3 --pid "$tracee_pid"

# ---- who writes is ended ----

check 'a log begins whose writer will get SIGTERM' begins_log
kill -TERM "$writer"
check 'SIGTERM ends the writer of a log' gone "$writer"
check 'a log whose writer got SIGTERM has its end' exits 0 memdiag timeline "$dir/logs"
check 'a record goes on in memory after SIGTERM to its writer' log_is '.data | .is_recording and (.log | (.is_written or .is_open) | not)'
check 'a log begins after SIGTERM to the last writer' begins_log
check 'threads allocate before SIGKILL to the writer' obeys 'play 3 2000 1'
check 'the log has events before SIGKILL to the writer' until_log '.data.log.events > 0'
kill -KILL "$writer"
gone "$writer"
check 'record status after SIGKILL to the writer: open, and not written' log_is '.data.log | .is_open and (.is_written | not)'
check 'record status after SIGKILL to the writer, as text' exits 0 memdiag record status --pid "$tracee_pid"
check 'record status after SIGKILL: says that nobody writes the log' grep -q 'nobody writes the log any more' "$dir/out"
check 'the program goes on after SIGKILL to the writer' obeys 'play 4 20000 3'
check 'timeline of a log whose writer got SIGKILL: partial' exits 2 memdiag timeline "$dir/logs"
check 'timeline of a log whose writer got SIGKILL: says that it has no end' grep -q 'has no end: its writer was ended' "$dir/err"
check 'record stop after SIGKILL to the writer: partial' exits 2 memdiag record stop --pid "$tracee_pid" --json
check 'record stop after SIGKILL to the writer: says how many events are missing' json_is '.partial and
	(.warnings[0] | test("the log ends early: its writer, process [0-9]+, was ended after 20")) and
	(.data | .log.is_cut and .log.missing >= 20000 and .log.missing + .log.events + .log.dropped ==
		.noted.allocated.blocks + .noted.freed.blocks)'
check 'a log begins after SIGKILL to the last writer' begins_log
check 'threads allocate in the log after SIGKILL to the last writer' obeys 'play 5 5000 3'
check 'record stop of the log after SIGKILL to the last writer' record stop
check 'the log after SIGKILL to the last writer has all events' log_is_whole

# ---- who writes is stuck, or fails ----

# is_stuck: whether its end waits for a writer that does nothing, and says so.
is_stuck()
{
	kill -STOP "$writer" && obeys 'play 6 2000 2' && exits_at_limit 2 memdiag record stop --pid "$tracee_pid" --json &&
		json_is '.partial and (.data.log | .is_written and .is_cut and .missing >= 2000)' &&
		json_is ".warnings[0] | test(\"^process $writer does not end to write the log: it lacks up to [0-9]{4,} events\")"
}

check 'a log begins whose writer will be stopped' begins_log
check 'record stop with a writer that is stopped: partial, and says so' is_stuck
check 'record start while a stopped writer has the log: refused' exits_saying 1 'is being written already' \
	memdiag record start --mode log-fast -o "$dir/logs" --pid "$tracee_pid"
kill -CONT "$writer"
check 'a writer that was stopped ends when it is continued' gone "$writer"
check 'the log of a writer that was stopped is whole at its end' exits 0 memdiag timeline "$dir/logs"

if command -v prlimit >"$dir/err"; then
	check 'a log begins whose writer gets no memory' begins_log
	prlimit --pid "$writer" --as=1 --data=1
	check 'threads allocate while the writer gets no memory' obeys 'play 8 300 200'
	# Without memory for the next piece of a file it tries again later, as on a full disk; without any other it ends.
	check 'a writer without memory says so' until_log '.data.log.error == 12'
	check 'record status of a writer without memory: the process is recorded' log_is '.data.is_recording'
	check 'record status of a writer without memory, as text' memdiag record status --pid "$tracee_pid"
	check 'record status of a writer without memory: says why' grep -q '\(at this moment\|ended early\): Cannot allocate memory$' "$dir/out"
	check 'record stop after a writer without memory: partial' exits 2 memdiag record stop --pid "$tracee_pid" --json
	check 'record stop after a writer without memory: says how many events are missing' json_is '.partial and
		(.data.log | .is_cut and .missing + .lost > 0)'
else
	skip 'a writer that gets no memory' 'no prlimit'
fi

# ---- who begins it is killed ----

# starter_killed: when the writer has just been forked, and has not called setsid() yet.
starter_killed()
{
	local starter
	strace -f -o "$dir/strace" -e trace=setsid -e inject=setsid:delay_enter=300000 \
		sh -c 'echo $$ >"$0"; exec "$@"' "$dir/starter" \
		"$MEMDIAG" record start --wait=300s --timeout=600s --mode log-fast -o "$dir/logs" --pid "$tracee_pid" >"$dir/out" 2>"$dir/err" &
	soon test -s "$dir/starter" && read -r starter <"$dir/starter" && child_of "$starter" && writer=$child || return
	kill -KILL "$starter"
	until_log ".data.log | .is_written and .writer == $writer"
}

if command -v strace >"$dir/err"; then
	check 'memdiag is killed while it begins a log: the log is written' starter_killed
	check 'threads allocate in a log whose beginner was killed' obeys 'play 6 5000 2'
	check 'record stop ends a log whose beginner was killed' memdiag record stop --pid "$tracee_pid" --json
	check 'a log whose beginner was killed has all events' log_is_whole
	check 'the writer ends after record stop, though its beginner was killed' gone "$writer"
else
	skip 'memdiag is killed while it begins a log' 'no strace'
fi

# ---- all by itself ----

once()
{
	"$MEMDIAG" record -s 1800 --wait=300s --timeout=600s --mode log-fast -o "$dir/once" --pid "$tracee_pid" --json >"$dir/once.out" 2>"$dir/err" &
	recorder=$!
	until_log '.data.log.is_written' && obeys 'play 6 5000 2' && kill -TERM $recorder && wait $recorder &&
		cp "$dir/once.out" "$dir/out"
}

check 'record -s 1800 with a log, ended by SIGTERM' once
check 'a log of record -s has all events' log_is_whole
check 'record -s has ended its record' log_is '.data.is_recording | not'

# ---- files that cannot be written ----

check 'record start with a log in a directory that is missing: refused' exits_saying 1 'cannot make the directory' \
	memdiag record start --mode log-fast -o "$dir/none/logs" --pid "$tracee_pid"
: >"$dir/plain"
check 'record start with a file as the directory of the log: refused' exits_saying 1 'cannot write the log into' \
	memdiag record start --mode log-fast -o "$dir/plain" --pid "$tracee_pid"
check 'record start that was refused has begun no record' log_is '.data.is_recording | not'
check 'a log begins whose directory will be removed' begins_log
mv "$dir/logs" "$dir/moved"
: >"$dir/logs"
rm -rf "$dir/moved"
check 'record status after the directory was removed: ENOTDIR' until_log '.data.log.error == 20'
check 'threads allocate while the directory of the log is missing' obeys 'play 7 5000 2'
check 'record status counts the events that are lost without a directory' until_log '.data.log.lost > 0'
rm "$dir/logs"
check 'the log goes on in a new directory' until_log '.data.log.error == 0'
check 'record stop of a log whose directory was removed' exits 0 memdiag record stop --pid "$tracee_pid"
check 'record stop says how many events were lost without a directory' grep -q '^lost  *[0-9][0-9]* events, as no file could be written' "$dir/out"

# in_small COMMAND...: with a file system of 64 KiB at $dir/small.
in_small()
{
	mkdir -p "$dir/small"
	unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs -o size=64k none "$0" && exec "$@"' "$dir/small" "$@"
}

if unshare -m true 2>"$dir/err"; then
	in_small "$MEMDIAG" record -s 1800 --wait=300s --timeout=600s --mode log-fast -o "$dir/small" --pid "$tracee_pid" >"$dir/small.out" 2>"$dir/small.err" &
	recorder=$!
	check 'a full disk: a log begins' until_log '.data.log.is_written'
	check 'a full disk: the program goes on' obeys 'play 8 60000 2'
	check 'a full disk: events are lost, and counted' until_log '.data.log.lost > 0'
	kill -TERM "$(json .data.log.writer)"
	wait $recorder
	check 'a full disk: record -s exits with 1' test $? = 1
	check 'a full disk: record -s says that no space is left' grep -q 'events are missing in the log: .*No space left on device' "$dir/small.err"
else
	skip 'a full disk' 'no mount namespaces'
fi
check 'the target lives on' end_tracee

# ---- the program ends ----

start_command "$truth"
check 'a program that ends: a log begins' begins_log
check 'a program that ends: threads allocate' obeys 'play 1 20000 3'
check 'a program that ends: the program exits with 0' end_tracee
check 'a program that ends: the writer has ended' gone "$writer"

start_command sh -c 'echo ready; read -r x; exec "$0"' "$truth"
check 'exec: a log begins' begins_log
tell go
check 'exec: the writer has ended' gone "$writer"
check 'exec: the program works' obeys 'play 1 100 1'
check 'exec: the program lives on' end_tracee

# ---- a program from its start on ----

# of_run SEED THREADS: the log of a run is what the program has kept account of.  MEMDIAG_TEST_STEPS=N makes each thread
# do N things.
of_run()
{
	rm -rf "$dir/run"
	start_command "$MEMDIAG" run --record=log-fast --json -o "$dir/run" -- "$truth" && obeys "play $1 ${MEMDIAG_TEST_STEPS:-20000} $2" &&
		obeys "save $dir/account" && end_tracee && cp "$dir/$nr_started.err" "$dir/out" &&
		json_is '.data.profile.log | .events > 0 and .dropped + .lost + .unmatched + .damaged == 0' &&
		[ "$(log_files "$dir/run")" -ge 1 ]
}

# is_truth DIRECTORY: whether the functions of the log there have allocated, and have in use, what the account says.
is_truth()
{
	recorded "$1" 'allocated in-use' >"$dir/recorded"
	grep '^site_' "$dir/account" | cut -d' ' -f1-5 >"$dir/wanted"
	awk '{ n += $3 } END { exit !(n > 100) }' "$dir/wanted" && diff "$dir/wanted" "$dir/recorded"
}

check 'run: a log of one thread' of_run 1 0
check 'run: a log of one thread has what the program says' is_truth "$dir/run"
check 'run: a log of threads that free what others have' of_run 2 3
check 'run: a log of four threads has what the program says, to the byte' is_truth "$dir/run"

# in_time SECONDS: the log of a program whose clock is that much ahead begins now, and is not longer than it ran.
in_time()
{
	local from

	rm -rf "$dir/run"
	from=$(date -u +%s) && exits 0 memdiag run --record=log-fast --json -o "$dir/run" -- \
		unshare -T --monotonic "$1" sh -c 'exit 0' || return
	for f in "$dir/run"/*; do
		exits 0 memdiag timeline --json "$f" && json_is '.data.duration_ns < 400e9' &&
			[ "$(date -u -d "$(json '.data.comments[0]' | sed 's/.*, from \([^.]*\).*/\1/')" +%s)" -ge "$from" ] || return
	done
}

# records_in_time: the same of the tracee, which runs already.
records_in_time()
{
	local from

	rm -rf "$dir/logs"
	from=$(date -u +%s)
	begins_log && obeys 'play 1 5000 0' && record stop && log_is_whole &&
		exits 0 memdiag timeline --json "$dir/logs" && json_is '.data.duration_ns < 400e9 and
			([.data.intervals[] | select(.allocated.blocks > 0)] | length) > 0 and .data.peak_time_ns <= .data.duration_ns' &&
		[ "$(date -u -d "$(json '.data.comments[0]' | sed 's/.*, from \([^.]*\).*/\1/')" +%s)" -ge "$from" ] &&
		json_is '.data.peak_time_ns > 0'
}

# begins_in_time SECONDS: of a process whose clock is that much ahead.
begins_in_time()
{
	start_command unshare -T --monotonic "$1" "$truth"
	[ "$(readlink /proc/self/ns/time)" != "$(readlink "/proc/$tracee_pid/ns/time")" ] && records_in_time
}

# parent_in_time: of a process that has made another clock for its children, and has none of them.
parent_in_time()
{
	start_command python3 -c '
import ctypes, sys
ctypes.CDLL(None).unshare(0x80)  # CLONE_NEWTIME
with open("/proc/self/timens_offsets", "w") as f:
    f.write("monotonic 500 0")
print("ready", flush=True)
for line in sys.stdin:
    kept = [bytes(10000 + i) for i in range(100)]
    print("done", flush=True)
print("alive", flush=True)'
	[ "$(readlink "/proc/$tracee_pid/ns/time")" != "$(readlink "/proc/$tracee_pid/ns/time_for_children")" ] && records_in_time
}

if unshare -T true 2>"$dir/err"; then
	for seconds in -500 500; do
		check "a process whose clock differs by $seconds s" begins_in_time $seconds
		check "a process whose clock differs by $seconds s lives on" end_tracee
	done
	check 'a process whose children will have another clock' parent_in_time
	check 'a process whose children will have another clock lives on' end_tracee
	check 'run: a program whose clock is behind' in_time -500
	check 'run: a program whose clock is ahead' in_time 500
else
	skip 'processes whose clock differs' 'no time namespaces'
	skip 'run: a program whose clock is behind' 'no time namespaces'
	skip 'run: a program whose clock is ahead' 'no time namespaces'
fi

# is_written_by_run: whether status says that 'memdiag run' writes the log of its program.
is_written_by_run()
{
	child_of "$tracee_pid" && exits 0 memdiag status "$child" --json &&
		json_is ".data.log | .is_written and .writer == $tracee_pid"
}

rm -rf "$dir/run"
rss_of_run()
{
	exits 0 memdiag run -q --record=log-fast -o "$dir/measured" -- \
		python3 -c 'import time; x = bytearray(50 << 20); time.sleep(1)' &&
		exits 0 memdiag timeline --json "$dir/measured" &&
		json_is '.data.rss_peak_bytes >= 52428800 and ([.data.intervals[].rss_bytes | numbers] | length) > 0'
}
check 'run --record=log-fast: the log has the RSS of the program' rss_of_run
start_command "$MEMDIAG" run -q --record=log-fast -o "$dir/run" -- "$truth"
check 'run: status says who writes the log' soon is_written_by_run
check 'run: the program lives on' end_tracee

check 'run: with --live-set table by its other name' exits 0 memdiag run --record=log-record -o "$dir/by-name" -- "$truth" </dev/null
check 'run: --record=log-record writes a log' exits 0 memdiag timeline "$dir/by-name" --json
check 'start: a file that it does not write is refused' exits_saying 64 'start writes a file only with --mode log-fast' \
	memdiag record start -o "$dir/x" --pid "$tracee_pid"
check 'profile start --output: a usage error' exits_saying 64 'start writes no file: say --output with dump' \
	memdiag profile start -o "$dir/x" --pid "$tracee_pid"
check 'run: a mode that does not exist' exits_saying 125 'is not a mode' memdiag run --record=slow -- "$truth"

# Many children that end at once, more than files may be open, whose logs are closed while the program goes on.
nr_children=70
cat >"$dir/children" <<'END'
read -r began _ </proc/uptime
began=${began%%.*}
i=0
while [ $i -lt "$1" ]; do
	/bin/true
	i=$((i + 1))
done
until [ "$(ls "/proc/$PPID/fd" | wc -l)" -lt 20 ]; do
	read -r now _ </proc/uptime
	[ "${now%%.*}" -lt $((began + 600)) ] || exit 1
	sleep 0.02
done
read -r now _ </proc/uptime
took=$((${now%%.*} - began + 1))
echo $took >"$0.took"
sleep $took
END

many_children()
{
	# shellcheck disable=SC3045 # every sh we know has it
	(ulimit -n 50 && "$MEMDIAG" run --follow-children --record=log-fast -o "$dir/many" -- sh "$dir/children" $nr_children) \
		>"$dir/out" 2>"$dir/err"
}

# logs_of NAME: the files of that program, which are searched once.
logs_of()
{
	[ -e "$dir/logs-of-$1" ] || for file in "$dir"/many/*; do
		zstd -dcq "$file" 2>/dev/null | head -c 300 | grep -aq "$1" && echo "$file"
	done >"$dir/logs-of-$1"
	cat "$dir/logs-of-$1"
}

# All of the children, and the end of their logs, took less than $most seconds, after which the program went on for as
# long again.
are_short()
{
	local most
	most=$(cat "$dir/children.took") || return
	for file in $(logs_of true); do
		"$MEMDIAG" timeline --json "$file" >"$dir/timeline" || return
		jq -e ".data.duration_ns < $most * 1000000000" "$dir/timeline" >/dev/null && continue
		echo "# $file" && jq -c .data.duration_ns "$dir/timeline" && return 1
	done
}

check 'run: many children, and few descriptors' many_children
check 'run: each of many children has its file' test "$(logs_of true | wc -l)" = $nr_children
check 'run: the log of each child ends when the child does' are_short

# Its file is the only one of these that it can be asked for by.
names_own()
{
	own=$(sed -n 's/^NEXT     memdiag timeline //p' "$dir/err") && [ -f "$own" ] && [ "$(logs_of 'sh' | grep -cxF "$own")" = 1 ]
}

# of_many: a directory with more logs than files that may be open.
of_many()
{
	# shellcheck disable=SC3045 # every sh we know has it
	(ulimit -n 50 && "$MEMDIAG" timeline "$dir/many") >"$dir/out" 2>"$dir/err"
}

check 'run: what is next is the log of the program itself' names_own
check 'run: timeline of a directory with many logs' of_many
cat "$dir/out" "$dir/err" >"$dir/all"
check 'run: timeline of a directory with many logs says so' grep -q '[1-9][0-9]* other logs are in .*name a file' "$dir/all"
check 'run: timeline of a directory with many logs has read all' test "$(grep -c 'not read' "$dir/all")" = 0

# ---- with small files only ----

# limited_start: nothing that memdiag writes in a process may be cut off by memdiag's own limit.
limited_start()
{
	(
		ulimit -f 20
		timeout 900 "$MEMDIAG" record start --wait=300s --timeout=600s --pid "$tracee_pid" >"$dir/out" 2>"$dir/err"
	)
	status=$?
	cat "$dir/out" "$dir/err"
	[ "$status" -lt 10 ]
}
start_command "$truth"
check 'RLIMIT_FSIZE: memdiag does not die of it' limited_start
check 'RLIMIT_FSIZE: the program works' obeys 'play 9 1000 2'
check 'RLIMIT_FSIZE: without it a record begins' memdiag record start --pid "$tracee_pid"
check 'RLIMIT_FSIZE: without it the record ends' record stop
check 'RLIMIT_FSIZE: the program lives on' end_tracee
finish

#!/bin/sh
# A process that runs begins to count: what it has at that moment, and then every call, wherever it comes
# from, to the byte.  Stopped, every byte of code is as it was.  Started twice, stopped twice, stopped
# without a start: that is said, and changes nothing.
# shellcheck disable=SC3043 # every sh we know has local
deadline=120
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
need jq
AGENT=$top_builddir/libmemdiag-agent.so

# ---- what cannot be meant ----

# refused WORDS ARGUMENTS...: whether the command line is, with these words.
refused()
{
	local words="$1"
	shift
	exits 64 memdiag count "$@" && grep -q -e "$words" "$dir/err"
}
check 'neither start nor stop' refused 'say start or stop' --pid $$
check 'another word' refused "'begin' is neither start nor stop" begin --pid $$
check 'no process' refused 'which process' start
check 'two processes' refused 'one at a time' start $$ 1
check 'a number that is no process' refused 'is not a process id' start 99999999

# ---- nothing is lost ----

start_tracee ledger
check 'the bytes can be read' same_bytes
check 'no agent: status says so' exits 5 memdiag status --pid "$tracee_pid"
check 'stopped without a start: nothing changes' count_already stop
check 'no agent is loaded by that' sh -c "! grep -q libmemdiag-agent /proc/$tracee_pid/maps"
ask "deep 1 $TRACEES/caller.so" >"$dir/said"	# the first takes memory that stays
check 'start' count start
check 'what was in use is known to the byte' json_is '.data.doubtful_blocks == 0 and .data.loaded'
check 'started twice: nothing changes' count_already start
for command in 'mix 50000' free 'mix 5000' 'crowd 50' 'tls 50' 'signals 100' 'fibers 100' 'jump 100' \
	'stdio 100' "libs 20 $TRACEES/caller.so" "deep 20 $TRACEES/caller.so"; do
	# shellcheck disable=SC2086 # words
	check "counted: ${command%% /*}" does $command
done
check 'what was counted is what there is' agrees_with_heap
ask 'busy 8' >"$dir/said"
check 'started while eight threads are busy: stop' count stop
check 'started while eight threads are busy: start' start_in_time
ask calm >"$dir/said"
check 'started while eight threads are busy: no more is doubtful than a block of each, and of each arena' \
	test "$doubtful" -le 17
check 'started while eight threads are busy: counted' nearly_agrees_with_heap "$doubtful"
check 'and from then on to the byte' does 'mix 1000'
check 'stop' count stop
check 'every byte is as it was' same_bytes
check 'stopped twice: nothing changes' count_already stop
check 'it is not counted any more' sh -c '[ "$1" = "$2" ]' sh "$(status .blocks_allocated)" \
	"$(ask 'mix 100' >"$dir/said"
	status .blocks_allocated)"
check 'and status says so' sh -c '"$1" status --pid "$2" | grep -q "^stopped "' sh "$MEMDIAG" "$tracee_pid"
check 'as JSON' test "$(status .is_counting)" = false
check 'start again' count start
check 'status says nothing of that now' \
	sh -c '! "$1" status --pid "$2" | grep -q "^stopped "' sh "$MEMDIAG" "$tracee_pid"
check 'counted: again' does mix 1000
check 'stop again' count stop
check 'every byte is as it was again' same_bytes
check 'the target lives on' end_tracee

# ---- in words ----

# says WORDS ARGUMENTS...: whether count has a line like that.
says()
{
	local words="$1"
	shift
	exits 0 memdiag count "$@" && grep -q -x -e "$words" "$dir/out" || {
		cat "$dir/out"
		return 1
	}
}

start_tracee ledger
check 'in words: none' says "ledger $tracee_pid does not count; nothing was changed" stop "$tracee_pid"
check 'in words: start' says "ledger $tracee_pid counts from now on" start "$tracee_pid"
check 'in words: how many functions' grep -q \
	'^1[0-9] functions lead to the agent, which was loaded; 1 thread stood still for ' "$dir/out"
check 'in words: what is in use' grep -q -x 'in use so far: [0-9.]* MiB' "$dir/out"
check 'in words: again' says \
	"ledger $tracee_pid counts already, since 'memdiag count start'; nothing was changed" start "$tracee_pid"
"$top_builddir/tests/unit/hook" "$tracee_pid" byte valloc 204 >"$dir/was"
check 'in words: a breakpoint' says '1 places that somebody else has changed since were left' stop "$tracee_pid"
"$top_builddir/tests/unit/hook" "$tracee_pid" byte valloc "$(cat "$dir/was")" >"$dir/said"
check 'in words: stop' says "ledger $tracee_pid counts no more: what was changed in it is as it was" \
	stop "$tracee_pid"
check 'in words: the target lives on' end_tracee
start_command "$MEMDIAG" run -q "$TRACEES/idle"
check 'in words: preloaded' says \
	"idle $tracee_pid counts already, since it was started; nothing was changed" start "$tracee_pid"
check 'in words: which cannot be stopped' exits 5 memdiag count stop "$tracee_pid"
check 'in words: it lives on' end_tracee

# ---- a heap that is too large to be walked in a stop ----

# A hundred thousand blocks of 104 bytes; malloc has 112 for each.
is_rough()
{
	exits 0 memdiag count start --pid "$tracee_pid" --json --max-stop-ms 2 &&
		json_is '.data.doubtful_blocks == null and .data.before_bytes > 10400000 and
			.data.before_bytes < 11700000' &&
		status '"\(.blocks), \(.blocks_before)"' | grep -x 'null, null'
}

start_tracee chunks 100000 104
check 'too large: started, roughly' is_rough
check 'too large: start it once more, in words' count stop
check 'too large: nothing is said of blocks' says 'in use so far: ~[0-9.]* MiB' start --pid "$tracee_pid" \
	--max-stop-ms 2
check 'too large: said to be' sh -c "'$MEMDIAG' status --pid $tracee_pid | grep -q 'live  *~[0-9.]* MiB, '"
check 'too large: stopped' count stop
check 'too large: with longer stops it is exact' exits 0 \
	memdiag count start --pid "$tracee_pid" --json --max-stop-ms 1000
check 'too large: and the blocks are known' json_is '.data.doubtful_blocks == 0'
check 'too large: the target lives on' end_tracee

# ---- a function whose beginning cannot be changed ----

# symbol NAME: its address in this machine's libc.
symbol()
{
	readelf -W --dyn-syms "$libc" | awk -v name="$1" \
		'{ sub(/@.*/, "", $8) } $8 == name { print "0x" $2; exit }'
}

# bytes N...: of these values.
bytes()
{
	for byte; do
		# shellcheck disable=SC2059 # an octal escape
		printf "\\$(printf %03o "$byte")"
	done
}

# A libc whose valloc(n) is memalign(4096, n), and begins with what cannot be moved: jrcxz, to where it
# goes on.  What is text lies in the file where it does in memory.
make_odd_libc()
{
	local at to
	at=$(symbol valloc) && to=$(symbol memalign) && [ "$at" ] && [ "$to" ] || return
	to=$((to - at - 15))
	mkdir "$dir/odd" && cp "$libc" "$dir/odd/libc.so.6" &&
		bytes 0xe3 0 0x48 0x89 0xfe 0xbf 0 0x10 0 0 0xe9 $((to & 255)) $((to >> 8 & 255)) \
			$((to >> 16 & 255)) $((to >> 24 & 255)) |
		dd of="$dir/odd/libc.so.6" conv=notrunc oflag=seek_bytes seek=$((at)) 2>"$dir/err"
}

starts_by_slots()
{
	exits 0 memdiag count start --pid "$tracee_pid" --json && json '.data | del(.hooks)' &&
		json_is '.data.entries > 8 and .data.slots > 0 and .data.doubtful_blocks == null'
}

# counts_bytes COMMAND...: as does, where the number of blocks is not told.
counts_bytes()
{
	local before after
	before=$(($(status .live_bytes) - $(ask sum | sed 's/ .*//'))) && [ "$(ask "$*")" = "done" ] &&
		after=$(($(status .live_bytes) - $(ask sum | sed 's/ .*//'))) || return
	echo "besides the ledger: $before, then $after"
	[ "$before" = "$after" ]
}

libc=$(ldd "$TRACEES/ledger" | awk '/libc.so.6/ { print $3 }')
if [ "$(uname -m)" = x86_64 ] && command -v readelf >/dev/null; then
	check 'slots: a libc for it' make_odd_libc
	start_command env LD_LIBRARY_PATH="$dir/odd" "$TRACEES/ledger"
	check 'slots: that is the one' grep -q "$dir/odd/libc.so.6" "/proc/$tracee_pid/maps"
	check 'slots: the bytes can be read' same_bytes
	check 'slots: start, but others may call it past them, so the number is not sure' starts_by_slots
	check 'slots: counted' counts_bytes 'mix 20000'
	check 'slots: stop' exits 0 memdiag count stop --pid "$tracee_pid"
	check 'slots: every byte is as it was' same_bytes
	check 'slots: the target lives on' end_tracee
else
	skip 'slots' 'this takes x86-64 and readelf'
fi

# ---- who is in a hook, is marked ----

# is_marked: whether memdiag, when it reads the heap, sees every thread that is in the middle of a call.
is_marked()
{
	ask "marks $AGENT" >"$dir/said" && cat "$dir/said" && grep -q -x '[0-9][0-9][0-9][0-9]* 0' "$dir/said"
}

if [ -x "$TRACEES/stepper" ]; then
	start_tracee stepper
	check 'marks: start' count start
	check 'marks: none is missing' is_marked
	check 'marks: stop' count stop
	check 'marks: the target lives on' end_tracee
	# What it takes in a call that it is in when malloc is hooked, is not counted.
	start_tracee stepper
	check 'in malloc before: it is' test "$(ask deeper)" = inside
	check 'in malloc before: start' count start
	check 'in malloc before: so the number is' json_is '.data.doubtful_blocks == null'
	check 'in malloc before: it goes on' test "$(ask go)" = 'done'
	check 'in malloc before: stop' count stop
	check 'in malloc before: start again' count start
	check 'in malloc before: none is doubtful' json_is '.data.doubtful_blocks == 0'
	check 'in malloc before: the target lives on' end_tracee
else
	skip 'marks' 'there is no stepper for this architecture'
fi

# ---- exceptions of C++ ----

if command -v "${CXX:-c++}" >/dev/null &&
	"${CXX:-c++}" -O1 -o "$dir/thrower" "$top_srcdir/tests/tracees/thrower.cc" 2>"$dir/err"; then
	start_command "$dir/thrower"
	check 'exceptions: start' count start
	check 'exceptions: counted' does 'throw 2000'
	check 'exceptions: stop' count stop
	check 'exceptions: the target lives on' end_tracee
else
	skip 'exceptions' "there is no C++ compiler: $(head -n 1 "$dir/err")"
fi

# ---- two memdiags at once ----

# both_start: both succeed, and one of them finds that it counts already.
both_start()
{
	"$MEMDIAG" count start --pid "$tracee_pid" --json >"$dir/one" 2>&1 &
	"$MEMDIAG" count start --pid "$tracee_pid" --json >"$dir/two" 2>&1
	wait "$!"
	cat "$dir/one" "$dir/two"
	[ "$(cat "$dir/one" "$dir/two" | jq -c .data.was_so_already | sort | tr '\n' ' ')" = 'false true ' ]
}
for round in 1 2 3; do
	start_tracee ledger
	check "both start, $round" both_start
	check "both start, $round: counted" does mix 1000
	check "both start, $round: the target lives on" end_tracee
done

# ---- threads that have never allocated ----

# Each other one has a chunk of malloc's own, which the program did not ask for.
start_tracee ledger
check 'threads without a block: they wait' test "$(ask 'wait 20')" = 'done'
check 'threads without a block: start' count start
check 'threads without a block: what was in use is known' json_is \
	'.data.before_bytes > 0 and .data.doubtful_blocks == 0'
check 'threads without a block: they end' test "$(ask wake)" = 'done'
check 'threads without a block: what was counted is what there is' agrees_with_heap
check 'threads without a block: the target lives on' end_tracee

# What they keep for later, malloc gives back when they end, in a thread that never came to the agent.
start_tracee ledger
check 'threads with a cache: they wait' test "$(ask 'doze 20')" = 'done'
check 'threads with a cache: start' count start
check 'threads with a cache: they end' test "$(ask wake)" = 'done'
check 'threads with a cache: those after them are counted' does crowd 20
check 'threads with a cache: what was counted is what there is' agrees_with_heap
check 'threads with a cache: the target lives on' end_tracee

# ---- system call filters ----

# The program is ended for any call that memdiag has not asked the filter about.
start_tracee seccomp load
check 'a filter: start' count start
check 'a filter: threads are counted' counts_threads
check 'a filter: stop' count stop
check 'a filter: start again' count start
check 'a filter: stop again' count stop
check 'a filter: the target lives on' end_tracee

# ---- the peak ----

peaks_and_falls()
{
	local most
	[ "$(ask 'mix 30000')" = "done" ] && most=$(status .live_bytes) && [ "$(ask free)" = "done" ] || return
	status '"\(.live_bytes) now, at most \(.peak_bytes)"'
	echo "before: $most"
	json_is ".data.live_bytes < $most / 2 and .data.peak_bytes >= $most"
}

# Of one thread it is exact: what 10000 blocks of 1000 bytes have room for comes to what was there.
peaks_exactly()
{
	local most
	most=$(($(status .live_bytes) + 10000000)) && [ "$(ask 'small 10000')" = "done" ] || return
	status '"\(.live_bytes) now, at most \(.peak_bytes)"'
	json_is ".data.peak_bytes == $most"
}

# Half a GiB goes from one thread to another, 5 MB at a time.
peaks_no_more()
{
	local most
	most=$(status .peak_bytes) && [ "$(ask 'hand 100')" = "done" ] || return
	status '"at most \(.peak_bytes)"'
	echo "before: $most"
	json_is ".data.peak_bytes < $most + 40000000"
}

start_tracee ledger
check 'peak: start' count start
check 'peak: it is exact' peaks_exactly
check 'peak: it is kept' peaks_and_falls
check 'peak: what is handed on is not there twice' peaks_no_more
check 'peak: the target lives on' end_tracee

# ---- mappings ----

mapped_is()
{
	[ "$(ask "$1")" = "done" ] || return
	status '"\(.mapped_bytes) mapped, \(.mappings_made) made"'
	json_is ".data.mapped_bytes == $2"
}

start_tracee ledger
check 'mappings: start' count start
check 'mappings: 10 of a MiB' mapped_is 'map 10' $((10 << 20))
check 'mappings: malloc'"'"'s own are not among them' mapped_is 'mix 20000' $((10 << 20))
check 'mappings: gone' mapped_is unmap 0
check 'mappings: some are there' mapped_is 'map 5' $((5 << 20))
check 'mappings: stop' count stop
began=$(status .since)
until [ "$(date -u +%Y-%m-%dT%H:%M:%SZ)" != "$began" ]; do sleep 0.02; done
check 'mappings: start again, those before are not known' count start
check 'mappings: all begins anew' test "$(status '[.mapped_bytes, .mapped_peak_bytes, .mappings_made,
	.blocks_allocated, .blocks_freed, .live_bytes - .before_bytes, .peak_bytes - .before_bytes,
	.blocks - .blocks_before] | unique | tostring')" = '[0]'
check 'mappings: at another time' test "$(status .since)" != "$began"
check 'mappings: 2 more' mapped_is 'map 2' $((2 << 20))
check 'mappings: those before are given back, which changes nothing' mapped_is 'unmap 5' $((2 << 20))
check 'mappings: the target lives on' end_tracee

# Who maps while it begins to count: what is in use of malloc's is known all the same.
start_tracee ledger
ask 'remap 2' >"$dir/said"
check 'mappings meanwhile: start' count start
ask calm >"$dir/said"
check 'mappings meanwhile: what was counted is what there is' agrees_with_heap
check 'mappings meanwhile: the target lives on' end_tracee

# ---- a memdiag that was killed before ----

start_tracee ledger
check 'killed before it said so: start' count start
ask "says 0 $AGENT" >"$dir/said"
check 'killed before it said so: the next begins anew' count start
check 'killed before it said so: counted' does mix 1000
check 'killed before it said so: what was counted is what there is' agrees_with_heap
check 'killed before it said so: the target lives on' end_tracee

# ---- children ----

start_tracee ledger
check 'children: start' count start
check 'children: their parent counts' does mix 1000
check 'children: forks that wait for who allocates' does forks 200
check 'children: what a child does is not its parent'"'"'s' child_changes_nothing fork
check 'children: nor what one does that libc knows nothing of' child_changes_nothing clone
parent=$tracee_pid
child=$(ask child)
check 'children: a child is not counted, and status says so' exits 5 memdiag status --pid "$child"
check 'children: to start in it is refused' exits 5 memdiag count start --pid "$child"
check 'children: it has the hooks, which can be lifted' exits 0 memdiag count stop --pid "$child" --json
check 'children: all of them' json_is ".data.entries > 8"
check 'children: its parent counts on' does mix 1000
ask unchild >"$dir/said"
check 'children: the target lives on' end_tracee "$parent"

finish

#!/bin/sh
# A process that runs begins to count: what it has at that moment, and then every call, wherever it comes
# from, to the byte.  Stopped, every byte of code is as it was.  Started twice, stopped twice, stopped
# without a start: that is said, and changes nothing.  MEMDIAG_TEST_STEPS=N makes so many calls in the first turn.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/count-lib.sh"
need jq

# ---- what cannot be meant ----

check 'neither start nor stop' exits_saying 64 'say start or stop' memdiag count --pid $$
check 'another word' exits_saying 64 "'begin' is neither start nor stop" memdiag count begin --pid $$
check 'no process' exits_saying 64 'which process' memdiag count start
check 'two processes' exits_saying 64 'one at a time' memdiag count start $$ 1
check 'a number that is no process' exits_saying 64 'is not a process id' memdiag count start 99999999

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
for command in "mix ${MEMDIAG_TEST_STEPS:-50000}" free 'mix 5000' 'crowd 50' 'tls 50' 'signals 100' 'fibers 100' 'jump 100' \
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
check 'after a busy start calls are counted to the byte' does 'mix 1000'
check 'stop' count stop
check 'every byte is as it was' same_bytes
check 'stopped twice: nothing changes' count_already stop
check 'it is not counted any more' sh -c '[ "$1" = "$2" ]' sh "$(status .blocks_allocated)" \
	"$(ask 'mix 100' >"$dir/said"
	status .blocks_allocated)"
check 'status shows that counting has stopped' \
	sh -c '"$1" status --pid "$2" | grep -q "^stopped "' sh "$MEMDIAG" "$tracee_pid"
check 'status as JSON shows that counting has stopped' test "$(status .is_counting)" = false
check 'start again' count start
check 'status says nothing of that now' \
	sh -c '! "$1" status --pid "$2" | grep -q "^stopped "' sh "$MEMDIAG" "$tracee_pid"
check 'counted: again' does mix 1000
check 'stop again' count stop
check 'every byte is as it was again' same_bytes
check 'the target lives on' end_tracee

# ---- in words ----

# hurried COMMAND...: run memdiag until it does not exit with 6: on a busy machine the thread may get no processor
# within the 2 ms, and then nothing was changed.
hurried()
{
	until "$@"; do
		status=$?
		[ $status -eq 6 ] || return $status
	done
}

# prints WORDS ARGUMENTS...: whether count has a line like that.
prints()
{
	local words="$1"
	shift
	exits 0 hurried memdiag count "$@" && grep -q -x -e "$words" "$dir/out" || {
		cat "$dir/out"
		return 1
	}
}

start_tracee ledger
check 'in words: none' prints "ledger $tracee_pid does not count; nothing was changed" stop "$tracee_pid"
check 'in words: start' prints "ledger $tracee_pid counts from now on" start "$tracee_pid"
check 'in words: how many functions' grep -q \
	'^1[0-9] functions lead to the agent, which was loaded; 1 thread stood still for ' "$dir/out"
check 'in words: what is in use' grep -q -x 'in use so far: [0-9.]* MiB' "$dir/out"
check 'in words: again' prints \
	"ledger $tracee_pid counts already, since 'memdiag count start'; nothing was changed" start "$tracee_pid"
"$top_builddir/tests/unit/inject-hook" "$tracee_pid" byte valloc+7 204 >"$dir/was"
check 'in words: a breakpoint' prints '1 places that another tool has changed since were left' stop "$tracee_pid"
"$top_builddir/tests/unit/inject-hook" "$tracee_pid" byte valloc+7 "$(cat "$dir/was")" >"$dir/said"
check 'in words: stop' prints "ledger $tracee_pid does not count any more: code restored, the agent stays loaded and idle" \
	stop "$tracee_pid"
check 'in words: the target lives on' end_tracee
start_command "$MEMDIAG" run -q "$TRACEES/idle"
check 'in words: preloaded' prints \
	"idle $tracee_pid counts already, since it was started; nothing was changed" start "$tracee_pid"
check 'in words: which cannot be stopped' exits 5 memdiag count stop "$tracee_pid"
check 'in words: it lives on' end_tracee

# ---- a heap that is too large to be walked in a stop ----

# A hundred thousand blocks of 104 bytes; malloc has 112 for each.
is_rough()
{
	exits 0 hurried memdiag count start --pid "$tracee_pid" --json --max-stop 2ms &&
		json_is '.data.doubtful_blocks == null and .data.before_bytes > 10400000 and
			.data.before_bytes < 11700000' &&
		status '"\(.blocks), \(.blocks_before)"' | grep -x 'null, null'
}

start_tracee chunks 100000 104
check 'too large: started, roughly' is_rough
check 'too large: start it once more, in words' count stop
check 'too large: nothing is said of blocks' prints 'in use so far: ~[0-9.]* MiB' start --pid "$tracee_pid" \
	--max-stop 2ms
check 'too large: the mark is explained' grep -q '^~ is approximate: not all blocks' "$dir/out"
check 'too large: said to be' sh -c "'$MEMDIAG' status --pid $tracee_pid | grep -q 'live  *~[0-9.]* MiB, '"
check 'too large: the mark of status is explained' \
	sh -c "'$MEMDIAG' status --pid $tracee_pid | grep -q '^~ is approximate: not all blocks'"
check 'too large: stopped' count stop
check 'too large: with longer stops it is exact' exits 0 \
	memdiag count start --pid "$tracee_pid" --json --max-stop 60s
check 'too large: and the blocks are known' json_is '.data.doubtful_blocks == 0'
check 'too large: the target lives on' end_tracee

# ---- an agent that no near jump reaches ----

start_of()
{
	awk -v name="$1" 'index($6, name) { split($1, at, "-"); print "0x" at[1]; exit }' "/proc/$tracee_pid/maps"
}

is_far()
{
	local libc agent
	libc=$(start_of /libc.so) && agent=$(start_of libmemdiag-agent) && [ "$libc" ] && [ "$agent" ] || return
	echo "libc $libc, agent $agent"
	[ $((libc - agent)) -gt $((1 << 31)) ]
}

start_tracee ledger far
check 'far: the bytes can be read' same_bytes
check 'far: start' count start
check 'far: every function leads to it, and the number is sure' json_is '.data.slots == 0 and .data.doubtful_blocks == 0'
check 'far: it is' is_far
for command in 'mix 5000' 'crowd 20' 'stdio 50'; do
	# shellcheck disable=SC2086 # words
	check "far: counted: $command" does $command
done
check 'far: mappings are counted' does 'map 10'
check 'far: and what is unmapped' does 'unmap 10'
check 'far: stop' count stop
check 'far: every byte is as it was' same_bytes
check 'far: the target lives on' end_tracee

# ---- two memdiags at once ----

# both_start: both succeed, and one of them finds that it counts already.
both_start()
{
	"$MEMDIAG" count start --wait=300s --timeout=600s --pid "$tracee_pid" --json >"$dir/one" 2>"$dir/one.err" &
	"$MEMDIAG" count start --wait=300s --timeout=600s --pid "$tracee_pid" --json >"$dir/two" 2>"$dir/two.err"
	wait "$!"
	cat "$dir/one" "$dir/two" "$dir/one.err" "$dir/two.err"
	[ "$(cat "$dir/one" "$dir/two" | jq -c .data.was_so_already | sort | tr '\n' ' ')" = 'false true ' ]
}
for round in 1 2 3; do
	start_tracee ledger
	check "both start, $round" both_start
	check "both start, $round: counted" does mix 1000
	check "both start, $round: the target lives on" end_tracee
done

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
	obeys 'mix 30000' && most=$(status .live_bytes) && obeys free || return
	status '"\(.live_bytes) now, at most \(.peak_bytes)"'
	echo "before: $most"
	json_is ".data.live_bytes < $most / 2 and .data.peak_bytes >= $most"
}

# The peak of one thread is exact: the usable bytes of 10000 blocks of 1000 bytes, and those before.
peaks_exactly()
{
	local most
	most=$(($(status .live_bytes) + 10000000)) && obeys 'small 10000' || return
	status '"\(.live_bytes) now, at most \(.peak_bytes)"'
	json_is ".data.peak_bytes == $most"
}

# Half a GiB goes from one thread to another, 5 MB at a time.
peaks_no_more()
{
	local most
	most=$(status .peak_bytes) && obeys 'hand 100' || return
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
	obeys "$1" || return
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

# A program that maps while it begins to count: malloc's bytes in use are known all the same.
start_tracee ledger
ask 'remap 2' >"$dir/said"
check 'mappings meanwhile: start' count start
ask calm >"$dir/said"
check 'mappings meanwhile: what was counted is what there is' agrees_with_heap
check 'mappings meanwhile: the target lives on' end_tracee

# ---- children ----

start_tracee ledger
check 'children: start' count start
check 'children: their parent counts' does mix 1000
check 'children: forks that wait for who allocates' does forks "$(some 200)"
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

#!/bin/sh
# memdiag trace against the ledger of a program that takes memory and gives it back at random, call by call and stack
# by stack, and with each option.
# shellcheck disable=SC2034 # trace-lib.sh reads what is set here
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/trace-lib.sh"
can_trace || skip_all "tracing is not permitted here: $(cat "$dir/err")"

# ---- sums and lines ------------------------------------------------------------------------------

# compared NAME: says what the last check has compared.
compared()
{
	echo "# $(tail -n 1 "$dir/check.said" | cut -c -150)"
}

for threads in 1 4 8; do
	start_tracee takes-memory "$threads"
	check "$threads threads: sums of each stack" agrees json 0 "1$threads" 1200 0 --json
	compared
	check "$threads threads: each call" agrees lines 0 "2$threads" 1200 0
	compared
	check "$threads threads: --min-size: sums of large calls, of which small ones free parts" \
		agrees json 0 "3$threads" 1500 1048576 --json --min-size=1M
	compared
	check "$threads threads: --min-size: no other lines" agrees lines 0 "4$threads" 900 1048576 --min-size=1M
	check "$threads threads: --format=folded has the bytes left" agrees folded 0 "5$threads" 600 0 --format=folded
	compared
	check "$threads threads: the program lives on" end_tracee
done
start_tracee takes-memory-static 2
check 'a static program: sums of each stack' agrees json 0 6 900 0 --json
check 'a static program: each call' agrees lines 0 7 900 0
check 'a static program lives on' end_tracee

cp "$TRACEES/takes-memory" "$dir/deleted"
start_command "$dir/deleted" 2
rm "$dir/deleted"
check 'a deleted program: sums of each stack' agrees json 0 8 600 0 --json
check 'a deleted program lives on' end_tracee

# ---- which calls, and until when -----------------------------------------------------------------

start_tracee takes-memory 2

# only_calls NAMES: lines of these calls are all that is printed, and all of them.
only_calls()
{
	unless_lost trace_of_play 9 600 0 --syscalls="$1" && has_status 0 || return
	grep -v "^call [0-9]* \\($(echo "$1" | sed 's/,/\\|/g')\\) " "$dir/ledger" >"$dir/others"
	grep -q '^call' "$dir/others" && grep "^call" "$dir/ledger" | grep -vxFf "$dir/others" >"$dir/chosen"
	mv "$dir/chosen" "$dir/ledger"
	compare lines
}
check '--syscalls=mmap' only_calls mmap
check '--syscalls=munmap,madvise' only_calls munmap,madvise
check '--syscalls=brk,mremap' only_calls brk,mremap

ends_after_events()
{
	begin_trace_unsaid --events 7 && until ! lives "$trace_pid"; do
		ask 'mark 3145728' >/dev/null || return
	done
	ends_trace 0 || return
	sed '1d; /^$/,$d' "$dir/out" >"$dir/lines"
	[ "$(wc -l <"$dir/lines")" -eq 7 ] || {
		cat "$dir/err" "$dir/out"
		return 1
	}
}
check '--events=7 ends after 7 lines' ends_after_events

# Calls come faster than memdiag takes them, so that a round has more of them.  Some, as an mremap() that changes
# nothing, are in no sum.
sums_of_events()
{
	begin_trace_unsaid --events 5 --json && until ! lives "$trace_pid"; do
		plays 11 300 || return
	done
	ends_trace 0 &&
		json_is '(.data.totals | .map_calls + .unmap_calls + .discard_calls + .failed_calls | . >= 1 and . <= 5) and .data.events.seen == 5'
}
check '--events=5: the sums are those of 5 calls' sums_of_events

ends_after_duration()
{
	clock_before=$(date +%s%N)
	begin_trace_unsaid -d 1s --json && ends_trace 0 || return
	[ $(($(date +%s%N) - clock_before)) -ge 1000000000 ] &&
		json_is '.data.ended_by == "duration" and .data.duration_ns >= 1000000000'
}
check '-d ends after a second' ends_after_duration

# nice_of PID: its nice value.
nice_of()
{
	sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 17
}

# has_priority: memdiag has a higher priority than this script, and the tracee has the same as this script.
has_priority()
{
	begin_trace && [ "$(nice_of "$trace_pid")" -eq $(($(nice) - 5)) ] && [ "$(nice_of "$tracee_pid")" -eq "$(nice)" ] &&
		end_trace INT
}

# leaves_priority: so has a program that memdiag starts.
leaves_priority()
{
	unless_lost memdiag trace --mount-tracefs -o "$dir/report" -- nice && [ "$(cat "$dir/out")" -eq "$(nice)" ]
}

if [ "$(nice -n -5 nice 2>"$dir/err")" -eq $(($(nice) - 5)) ]; then
	check 'the nice value of memdiag is 5 lower while it traces' has_priority
	check 'a program that memdiag starts has the priority of its caller' leaves_priority
else
	skip 'the nice values of memdiag and of a program that it starts' 'no process may lower its nice value here'
fi

for signal in INT TERM HUP; do
	ends_by_signal()
	{
		begin_trace && asks 'mark 3145728' ' munmap  *-3145728 ' && end_trace "$signal" &&
			grep -q '^takes-memory [0-9]*, .* 3145728 mapped in 1 call, 3145728 of it freed, 0 left' "$dir/out"
	}
	check "SIG$signal ends it with the summary" ends_by_signal
done
mkfifo "$dir/fifo"

closed_pipe()
{
	head -n 3 "$dir/fifo" >"$dir/head" &
	trace_out=$dir/fifo begin_trace && ask 'mark 3145728' >/dev/null && ask 'mark 3145728' >/dev/null &&
		ends_trace 0 && [ "$(wc -l <"$dir/head")" -eq 3 ]
}
check 'a closed pipe ends it, without another call' closed_pipe

# begin_rest: what memdiag prints goes to a pipe whose reader rests until $dir/go is there, and ends with it.
begin_rest()
{
	rm -f "$dir/go"
	{
		until [ -e "$dir/go" ]; do
			sleep 0.05
		done
		cat >"$dir/rest"
	} <"$dir/fifo" &
	reader=$!
	started="$started $reader"
	trace_out=$dir/fifo begin_trace && plays 10 1500 0
}
is_released()
{
	grep -q '^SigBlk:.*0000$' "/proc/$trace_pid/status"
}

reader_goes_on()
{
	begin_rest && kill -INT "$trace_pid" && touch "$dir/go" && ends_trace 0 && wait "$reader" &&
		mv "$dir/rest" "$dir/out" && compare lines && grep -q '^takes-memory .* left' "$dir/out"
}
check 'a reader that rests when SIGINT comes gets all lines and the summary' unless_lost reader_goes_on

reader_rests_on()
{
	begin_rest && kill -INT "$trace_pid" && eventually is_released && kill -INT "$trace_pid" && ends_trace 130
	status=$?
	touch "$dir/go"
	wait "$reader"
	return $status
}
check 'a reader that rests for ever: a second SIGINT ends memdiag' reader_rests_on
check 'the program lives on' end_tracee

target_ends()
{
	begin_trace "$@" && plays 12 600 && end_tracee && ends_trace 0
}
start_tracee takes-memory 2
check 'the process ends meanwhile' target_ends --json
check 'the process ends meanwhile: its calls are printed, what is left is unknown' json_is '
	.data.ended_by == "target-ended" and .data.totals.left_bytes == null and .data.totals.map_calls > 100 and
	.data.programs[0].is_over and [.data.stacks[] | select(.end != "complete")] == []'
start_tracee takes-memory 2
check 'the process ends meanwhile, lines' target_ends
check 'the process ends meanwhile: all of its lines are there' compare lines

# ---- formats -------------------------------------------------------------------------------------

start_tracee takes-memory 2
in_format()
{
	begin_trace --format="$1" && plays 13 600 && end_trace INT && [ -s "$dir/out" ]
}
for format in pprof flame html tree graph dot; do
	check "--format=$format" in_format $format
	cp "$dir/out" "$dir/as.$format"
done
if command -v go >/dev/null; then
	check 'go tool pprof reads it' captured env HOME="$dir" GOCACHE="$dir/go" go tool pprof -raw "$dir/as.pprof"
	check 'go tool pprof has what is left' grep -q 'mapped_space/bytes' "$dir/out"
else
	skip 'go tool pprof reads it' 'go is not installed'
fi
check 'memdiag report reads it' exits 0 memdiag report "$dir/as.pprof" --json
check 'memdiag report knows the functions' json_is '[.data.rows[].name] | index("map_inline") != null'
check '--format=html is a page' grep -qi '<html' "$dir/as.html"
check '--format=tree has the functions' grep -q 'map_by_libc' "$dir/as.tree"
check 'the program lives on with all formats' end_tracee

# ---- many stacks ---------------------------------------------------------------------------------

start_tracee many-stacks
two_stacks()
{
	begin_trace --json -n 2 && obeys 'map 64' && end_trace
}
check '-n 2 with JSON' two_stacks
check 'two stacks are written, and sums of all' json_is \
	'(.data.stacks | length == 2) and .data.totals.map_calls >= 64 - .data.events.lost_records'

# Where the reader of its output waits, memdiag has written a part of it: it must not have made all of it.
writes_as_it_goes()
{
	mkfifo "$dir/slow" && exec 7<>"$dir/slow" || return
	trace_out=$dir/slow
	begin_trace --json && obeys 'map 16384' || return
	trace_out=
	kill -TERM "$trace_pid"
	IFS= read -r _ <&7 || return
	kib=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB$/\1/p' "/proc/$trace_pid/status")
	cat <"$dir/slow" >"$dir/out" &
	started="$started $!"
	exec 7>&-
	wait "$trace_pid"
	echo "$kib KiB"
	[ "$kib" -lt 196608 ]
}
check 'JSON of 16384 stacks takes no memory for all of them' writes_as_it_goes
check 'the program with many stacks lives on' end_tracee

start_tracee idle
nothing()
{
	begin_trace "$@" && end_trace && cat "$dir/out"
}
check 'no page fault' nothing --rss
check 'is all that is said' grep -q -x '[^:]*: 0 stacks; no page fault' "$dir/out"
check 'no call' nothing
check 'is all that is said of calls' grep -q -x '[^:]*: 0 stacks; no such call' "$dir/out"
check 'the idle program lives on' end_tracee
finish

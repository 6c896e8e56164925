#!/bin/sh
# memdiag trace -- PROGRAM: it is traced from its first instruction, finds all as without memdiag, and memdiag ends as it does.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/trace-lib.sh"
can_trace || skip_all "tracing is not permitted here: $(cat "$dir/err")"
trace='memdiag trace --mount-tracefs --buffer=64M'

# ---- how it ends ---------------------------------------------------------------------------------

check 'a program runs' exits 0 $trace -- true
check 'its calls are on stderr' says '^true [0-9]*, .* mapped in [0-9]* call'
check 'stdout is its own' test "$("$MEMDIAG" trace --mount-tracefs -- echo words 2>"$dir/err")" = words
check 'its status is ours' exits 7 $trace -- sh -c 'exit 7'
check 'its options are its own' exits 3 $trace -d 100 -- sh -c 'exit $#' sh --json -q 3
check 'a signal that ends it, too' exits 143 $trace -- sh -c 'kill -TERM $$'
check 'one that nobody can catch' exits 137 $trace -- sh -c 'kill -KILL $$'
check 'a killed program has its sums' says '^sh [0-9]*, .* mapped in [0-9]* call'
check 'no such program' exits 127 $trace -- no-such-program
check 'a program that does not exist is named' says '^memdiag trace: cannot run no-such-program: No such file or directory$'
check 'a file that does not exist cannot be run' exits 127 $trace -- ./no/such/program
check 'a directory cannot be run' exits 126 $trace -- "$dir"
printf '#!%s/no-such-shell\n' "$dir" >"$dir/lost"
chmod +x "$dir/lost"
check 'a script whose interpreter is not there' exits 127 $trace -- "$dir/lost"
for words in '--' '--pid 1 -- true' '1 -- true' '--frobnicate -- true' '--rss --min-size=1M -- true' '--value=touched -- true' \
	'--json --format=pprof -- true'; do
	# shellcheck disable=SC2086 # words
	check "a command line that cannot be: trace $words" exits 125 $trace $words
done
check 'both a process and a program' exits_saying 125 'a process and a program: one of them' $trace --pid 1 -- true
check '-- without a program' exits_saying 125 'which program' $trace --
# never_starts COMMAND...: COMMAND, which has $dir/ran made by its program, exits with 125, and the program has not run.
never_starts()
{
	rm -f "$dir/ran"
	exits 125 "$@" && [ ! -e "$dir/ran" ]
}
echo mine >"$dir/file"
check 'a file that is there stays, and nothing is started' never_starts $trace -o "$dir/file" -- touch "$dir/ran"
check 'its contents stay' grep -qx mine "$dir/file"
if [ "$(id -u)" -eq 0 ]; then
	# shellcheck disable=SC2016 # the inner shell's
	check 'where tracing is refused, nothing is started' never_starts captured unshare -m sh -c \
		'mount -t tmpfs nodev /sys/kernel && exec "$@"' sh "$MEMDIAG" trace -- touch "$dir/ran"
else
	skip 'where tracing is refused, nothing is started' 'only root can unmount'
fi

# ---- what it finds -------------------------------------------------------------------------------

# plain COMMAND...: whether it says the same as without memdiag.
plain()
{
	"$@" >"$dir/plain.out" 2>&1
	"$MEMDIAG" trace --mount-tracefs -o "$dir/traced" -f -- "$@" >"$dir/trace.out" 2>"$dir/err"
	diff "$dir/plain.out" "$dir/trace.out"
}
check 'the same environment' plain env
check 'the same descriptors' plain sh -c 'ls /proc/$$/fd'
check 'the same descriptors when they are closed' plain sh -c 'ls /proc/$$/fd' <&-
check 'the same signals ignored and blocked' plain grep '^Sig[BI]' /proc/self/status
check 'the same limits' plain cat /proc/self/limits
check 'the OOM killer has no other opinion of it' plain cat /proc/self/oom_score_adj
check 'the same name for itself' plain sh -c 'tr "\0" " " </proc/$$/cmdline; cat /proc/$$/comm'
check 'nobody traces it by ptrace()' plain grep TracerPid /proc/self/status
check 'the same timers' plain cat /proc/self/timers
check 'SIGPIPE and SIGCHLD ignored as well' sh -c "trap '' PIPE CHLD
	'$MEMDIAG' trace --mount-tracefs -o '$dir/traced' -f -- grep ^SigIgn /proc/self/status >'$dir/a'
	grep ^SigIgn /proc/self/status | cmp - '$dir/a' && grep -q 'SigIgn:.*[^0]' '$dir/a'"
check 'stdin' test "$(echo words | "$MEMDIAG" trace --mount-tracefs -- cat 2>"$dir/err")" = words
printf 'echo no head\n' >"$dir/headless"
chmod +x "$dir/headless"
check 'a script that only a shell knows' sh -c "'$MEMDIAG' trace --mount-tracefs -- '$dir/headless' 2>'$dir/err' | grep -q 'no head'"

# ---- what is traced ------------------------------------------------------------------------------

# Calls as strace knows them, which stops the program at each: name and size.
first_calls()
{
	"$MEMDIAG" trace --mount-tracefs --buffer=64M -b -- sort /dev/null 2>"$dir/err" || return
	sed -n '2,/^$/{/^$/d;p}' "$dir/err" | awk '$3 == "mmap" || $3 == "munmap" { sub("^-", "", $4); print $3, $4 }' >"$dir/traced"
	strace -e trace=mmap,munmap -o "$dir/strace" sort /dev/null
	sed -n 's/^\(mmap\|munmap\)([^,]*, \([0-9]*\).*/\1 \2/p' "$dir/strace" >"$dir/expected"
	[ -s "$dir/expected" ] && diff "$dir/expected" "$dir/traced"
}
if command -v strace >/dev/null; then
	check 'each call from the first on is what strace says' unless_lost first_calls
else
	skip 'each call from the first on is what strace says' 'there is no strace'
fi

# begin_program OPTIONS... -- THREADS: takes-memory under trace, which memdiag has read when this returns.
begin_program()
{
	start_command "$MEMDIAG" trace $trace_options -b "$@"
	trace_err=$dir/$tracee_pid.err
	until grep -q ' munmap  *-3145728 .*mark' "$trace_err"; do
		ask 'mark 3145728' >/dev/null || return
	done
}
end_program()
{
	end_tracee || return
	cp "$trace_err" "$dir/err"
	sed 1,/^memdiag:/b "$trace_err" >"$dir/out"
}
program_lines()
{
	begin_program -- "$TRACEES/$1" "$2" && plays "$3" 600 && end_program && compare lines
}
check 'its calls are in the ledger, with their stacks' unless_lost program_lines takes-memory 3 61
check 'the same of a static program' unless_lost program_lines takes-memory-static 2 62
check 'it ends by itself: the sums are there' says '^takes-memory-sta [0-9]*, .* mapped in [0-9]* calls\|^takes-memory-st[a-z]* [0-9]*, '

program_json()
{
	exits 0 $trace --json -o "$dir/json" -f -- sh -c 'exec sleep 0.01' && cp "$dir/json" "$dir/out"
}
check 'as JSON' program_json
check 'memdiag itself is none of its programs' json_is '.schema == "memdiag.trace/1" and .data.ended_by == "target-ended" and
	.data.rss_before_bytes == null and (.data.programs | length) == 2 and .target.comm == "sh" and
	([.data.programs[].name] - ["", "sh", "sleep"]) == []'
check 'the stacks of ld.so are complete' json_is '[.data.stacks[] | select(.end == "broken")] == []'
touches='import sys
x = bytearray(30 << 20)
for i in range(0, len(x), 4096): x[i] = 1'
check '--rss: page faults of a program' exits 0 $trace --rss --period=7 --stack-size=4K --json -o "$dir/json" -f -- python3 -c "$touches"
cp "$dir/json" "$dir/out"
check '--rss: as many as it touches' json_is '.data.kind == "faults" and .data.totals.minor_faults > 7000'

# ---- children, signals, and the end of the trace -------------------------------------------------

with_children()
{
	exits 5 $trace --follow-children --json -o "$dir/json" -f -- sh -c '(sleep 0.2; : >"$1") & exit 5' sh "$dir/late" &&
		[ -e "$dir/late" ] && cp "$dir/json" "$dir/out" && json_is '[.data.programs[].pid] | unique | length >= 2'
}
check '--follow-children: the trace ends with the last of them, with the status of the program' with_children
without_children()
{
	exits 5 $trace --json -o "$dir/json" -f -- sh -c 'sleep 0.2; exit 5' && cp "$dir/json" "$dir/out" &&
		json_is '[.data.programs[].pid] | unique | length == 1'
}
check 'without it, the program alone is traced' without_children

# passes SIGNAL: memdiag is sent SIGNAL, and the program gets it, and decides.
passes()
{
	rm -f "$dir/ready"
	$with_int "$MEMDIAG" trace $trace_options -- sh -c "trap 'exit 9' $1
		: >'$dir/ready'
		while :; do sleep 0.02; done" >"$dir/out" 2>"$dir/err" &
	trace_pid=$!
	started="$started $trace_pid"
	eventually [ -e "$dir/ready" ] && kill "-$1" "$trace_pid" || return
	wait "$trace_pid"
	[ $? -eq 9 ] && says '^sh [0-9]*, .* mapped in [0-9]* call'
}
for signal in INT TERM HUP USR1; do
	check "SIG$signal is passed on, and the sums are printed" passes $signal
done

ends_before()
{
	exits 4 $trace "$@" --json -o "$dir/json" -f -- sh -c \
		'for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1; done; : >"$1"; exit 4' sh "$dir/whole" && [ -e "$dir/whole" ] &&
		cp "$dir/json" "$dir/out"
}
check '-d ends the trace, not the program' ends_before -d 0.2
check 'the trace has ended by its duration' json_is '.data.ended_by == "duration"'
check '--events ends the trace, not the program' ends_before --events 3
check 'the trace has ended by its events' json_is '.data.ended_by == "events" and .data.events.seen == 3'

loses_reader()
{
	{
		"$MEMDIAG" trace --mount-tracefs -- sh -c "until [ -e '$dir/gone' ]; do sleep 0.01; done; exit 7" 2>&1
		echo $? >"$dir/status"
	} | {
		exec <&-
		: >"$dir/gone"
	}
	[ "$(cat "$dir/status")" -eq 7 ]
}
check 'a reader that has gone is no reason to end in another way' loses_reader

# It is killed before the program runs, and while it does.
killed_before()
{
	rm -f "$dir/ran"
	killed_at 1 perf_event_open "$MEMDIAG" trace --mount-tracefs -- touch "$dir/ran"
	[ $? -eq 0 ] && [ ! -e "$dir/ran" ]
}
if command -v strace >/dev/null; then
	check 'memdiag is killed before: the program is never run' killed_before
else
	skip 'memdiag is killed before: the program is never run' 'there is no strace'
fi
killed_meanwhile()
{
	rm -f "$dir/ready" "$dir/done"
	"$MEMDIAG" trace $trace_options -- sh -c ": >'$dir/ready'; until [ -e '$dir/go' ]; do sleep 0.02; done; : >'$dir/done'" \
		>"$dir/out" 2>"$dir/err" &
	trace_pid=$!
	started="$started $trace_pid"
	eventually [ -e "$dir/ready" ] && kill -KILL "$trace_pid" || return
	wait "$trace_pid"
	: >"$dir/go"
	eventually [ -e "$dir/done" ]
}
check 'memdiag is killed meanwhile: the program goes on' killed_meanwhile
finish

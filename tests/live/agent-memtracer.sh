#!/bin/sh
# MemTracer's contract: its variables, its lines, its exit status, its numbers.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"

AGENT=$top_builddir/libmemdiag-agent.so
[ -e "$AGENT" ] || skip_all "the agent is not made for this processor"
exact=$top_builddir/tests/agent/exact

# under VARIABLES COMMAND...: run it with the agent preloaded as one does by hand.
under()
{
	local variables="$1"
	shift
	# shellcheck disable=SC2086 # they are words
	env $variables LD_PRELOAD="${library:-$AGENT}" "$@" >"$dir/out" 2>"$dir/err"
}

# said WORDS: whether a line of stderr is that, N standing for a number.
said()
{
	grep -q -x -E -e "$(printf '%s' "$1" | sed 's/[][]/\\&/g; s/\bN\b/[0-9]+/g')" "$dir/err" || {
		cat "$dir/err"
		return 1
	}
}

limit_line='[MEMTRACER] alloc memory:N, allocated_memory: N, memory_limit: N, Memory limit exceeded!'

# The numbers of the line make sense: what there was and what was asked for are more than the limit.
adds_up()
{
	sed -n 's/.*memory:\([0-9]*\), .*: \([0-9]*\), .*: \([0-9]*\), Mem.*/\1 \2 \3/p' "$dir/err" |
		{ read -r asked had limit && [ "$had" -le "$limit" ] && [ $((asked + had)) -gt "$limit" ]; }
}

check 'without variables it says nothing' exits 0 under X=1 "$exact"
check 'nothing on stderr' test ! -s "$dir/err"
check 'with a limit it runs' exits 0 under MT_MEMORY_LIMIT=1000000000 "$exact" requested
check 'the first line comes at once' said '[MEMTRACER] allocated memory: N, metadata memory: N'
check 'a limit of 1000 ends it with 255' exits 255 under MT_MEMORY_LIMIT=1000 "$exact" requested
check 'the line names the limit of 1000' said "$limit_line"
check 'a limit in the middle, too' exits 255 under MT_MEMORY_LIMIT=20000000 "$exact" requested
check 'the line names the limit of 20000000' said "$limit_line"
check 'the numbers of the line about the limit add up' adds_up
check 'a limit that is no number' exits 0 under MT_MEMORY_LIMIT=12x true
check 'MT_MEMORY_LIMIT is named as invalid' \
	said '[MEMTRACER] Invalid environment variable value for MT_MEMORY_LIMIT: 12x'
check 'an interval that is no number' exits 0 under MT_PRINT_INTERVAL_MS=soon true
check 'MT_PRINT_INTERVAL_MS is named as invalid' \
	said '[MEMTRACER] Invalid environment variable value for MT_PRINT_INTERVAL_MS: soon'
# A thread prints; before 2.34 only programs that have libpthread can have one.
with_threads="$AGENT libpthread.so.0"

# The periodic line, as a reader sees it.
lines_come()
{
	mkfifo "$dir/lines"
	MT_PRINT_INTERVAL_MS=100 LD_PRELOAD=$with_threads sleep "$deadline" 2>"$dir/lines" &
	started="$started $!"
	head -n 3 "$dir/lines" >"$dir/err"
	kill $!
	[ "$(grep -c '^\[MEMTRACER\] allocated memory: ' "$dir/err")" -eq 3 ]
}

# A descriptor of ours would be one that the program does not find where it was to be: from its first line
# on, which is after the text was measured, it must have none.
opens_nothing()
{
	mkfifo "$dir/opened"
	strace -f -e trace=open,openat -o "$dir/strace" -E MT_PRINT_INTERVAL_MS=100 -E LD_PRELOAD="$with_threads" \
		sleep "$deadline" 2>"$dir/opened" &
	started="$started $!"
	head -n 4 "$dir/opened" >"$dir/err"
	kill "$(sed -n '1s/ .*//p' "$dir/strace")"
	wait $!
	cat "$dir/err" "$dir/strace"
	[ "$(grep -c '"/proc/self/status"' "$dir/strace")" -eq 1 ]
}

lives_on()
{
	mkfifo "$dir/gone"
	MT_PRINT_INTERVAL_MS=100 LD_PRELOAD=$with_threads sleep 0.5 2>"$dir/gone" &
	head -n 1 "$dir/gone" >/dev/null
	wait $!
}

# One who has it open and does not read: the program does not wait for him.
is_not_read()
{
	mkfifo "$dir/full"
	exec 3<>"$dir/full"
	dd if=/dev/zero of="$dir/full" bs=1 oflag=nonblock 2>"$dir/dd"
	grep -q 'temporarily unavailable' "$dir/dd" &&
		exits "$1" timeout -s KILL 600 sh -c 'LD_PRELOAD=$0 exec env "$@" 2>&3' "$AGENT" \
			"$2" "$exact" requested >"$dir/out"
}

# The thread that prints must not be the reason that a process goes on.
ends()
{
	exits 0 timeout -s KILL 600 env MT_PRINT_INTERVAL_MS=1800000 LD_PRELOAD="$AGENT" \
		"$top_builddir/tests/agent/leave" >"$dir/out" 2>"$dir/err" &&
		[ "$(cat "$dir/out")" = 'at the end' ]
}

check 'what is mapped counts in full' exits 0 under MT_MEMORY_LIMIT=1000000000 \
	"$top_builddir/tests/agent/mappings" all
check 'a process ends with its last thread' ends
check 'lines come' lines_come
if command -v strace >/dev/null; then
	check 'no file is opened between two lines' opens_nothing
else
	skip 'and between them nothing is opened' 'strace is not installed'
fi
check 'a reader of them that goes away does not end the program' lives_on
check 'a reader that stops reading does not stop the program' is_not_read 0 MT_PRINT_INTERVAL_MS=10
rm "$dir/full"
check 'at the limit the program ends although its stderr is not read' is_not_read 255 MT_MEMORY_LIMIT=1000
library=$top_builddir/libmemtracer.so
check 'by the name of MemTracer it needs no variable' exits 0 under X=1 true
check 'it prints its first line by the name of MemTracer' \
	said '[MEMTRACER] allocated memory: N, metadata memory: N'

if command -v "${CXX:-c++}" >/dev/null; then
	check 'a program for its header compiles and links' "${CXX:-c++}" -std=c++17 \
		-I"$top_srcdir/include" -o "$dir/program" "$top_srcdir/tests/agent/memtracer.cc" \
		-L"$top_builddir" -lmemtracer -Wl,-rpath,"$top_builddir"
	check 'the numbers of a program for the header are right to the byte' "$dir/program"
else
	skip 'a program for its header' 'there is no C++ compiler'
fi
finish

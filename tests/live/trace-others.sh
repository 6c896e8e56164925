#!/bin/sh
# memdiag trace beside other processes that make the same calls: those that there are, and those that begin and end
# while it traces, for which the kernel's filters are set again.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/trace-lib.sh"
can_trace || skip_all "tracing is not permitted here: $(cat "$dir/err")"
# The filter names threads as the first PID namespace does.
[ "$(stat -Lc %i /proc/self/ns/pid)" -eq 4026531836 ] || skip_all 'not in the first PID namespace'

# begin_others NAME: what the function NAME does goes on until end_others; it has its own process.
begin_others()
{
	rm -f "$dir/enough"
	{
		until [ -e "$dir/enough" ]; do
			"$1"
		done
	} >"$dir/others" 2>&1 &
	others=$!
	started="$started $others"
}
end_others()
{
	touch "$dir/enough"
	wait "$others"
}

storm()
{
	tracee_pid=$stormy ask 'storm 20000' >/dev/null
}
short_ones()
{
	sh -c : && sh -c :
}

# beside FUNCTION SEED STEPS: trace the tracee while it plays so, and others do FUNCTION.
beside()
{
	begin_others "$1"
	trace_of_play "$2" "$3" 0 --json --debug
	end_others
}
all_calls()
{
	has_status 0 && compare json
}
beside_storm()
{
	unless_lost beside storm 21 900 && all_calls
}
beside_short_ones()
{
	unless_lost beside short_ones 22 20000 && all_calls
}
times_set()
{
	grep -c ' trace: [0-9]* ranges of threads pass' "$dir/err"
}

start_tracee map-ways
stormy=$tracee_pid
start_tracee takes-memory 3
# Without the filter the storm fills the buffers within a tenth of a second.
check 'beside a storm of calls of a process: all calls, and no record is lost' beside_storm
tell_pace()
{
	ask "pace $1" >/dev/null
}
check 'the program takes its time' tell_pace 100
check 'beside processes that come and go: all calls, none twice' beside_short_ones
echo "# the filters were set again $(times_set) times"
check 'and the filters were set again' test "$(times_set)" -ge 1
check 'the program lives on' end_tracee
tracee_pid=$stormy
check 'the other program lives on' end_tracee
finish

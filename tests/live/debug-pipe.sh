#!/bin/sh
# --debug into a pipe that nobody reads: memdiag waits for a reader, and no thread of the target does.
# The pipe has room for one page.  Lines from before the stop fit into that, those of the stop, one for each thread,
# do not: it is full while threads are stopped, whatever the lengths of numbers and the size of pipes.
. "$top_srcdir/tests/live/lib.sh"
page=$(getconf PAGESIZE)
grep -q '^[0-9]' /proc/self/syscall 2>/dev/null || skip_all 'the kernel does not say what threads do'
[ "$page" -le 16384 ] || skip_all 'a page of a pipe takes all that memdiag has to say'
start_tracee manythreads 1500
mkfifo "$dir/pipe"
sleep 1000 3<>"$dir/pipe" &
holder=$!
started="$started $holder"
has_pipe()
{
	[ -p "/proc/$holder/fd/3" ]
}
check 'somebody has the pipe open' eventually has_pipe

# nearly_full: fill the pipe but for a page.
nearly_full()
{
	# Ends with an error when there is no room.
	dd if=/dev/zero of="$dir/pipe" bs="$page" oflag=nonblock
	dd if="$dir/pipe" of=/dev/null bs="$page" count=1
}

# stuck PID: whether one of its threads is in write(2) (1 on x86-64, 64 on aarch64) of its standard error, twice in a
# row.
stuck()
{
	for look in 1 2; do
		[ $look -eq 1 ] || sleep 0.2
		grep -q '^\(1\|64\) 0x2 ' "/proc/$1"/task/*/syscall 2>/dev/null || return
	done
}

# waits: until memdiag waits for a reader.
waits()
{
	until stuck "$memdiag"; do
		lives "$memdiag" || return
		sleep 0.05
	done
}

none_stopped()
{
	! grep -h '^TracerPid:' "/proc/$tracee_pid"/task/*/status | grep -v '	0$'
}

# was_full_in_the_stop: whether lines of the stop are among those for which there was room.
was_full_in_the_stop()
{
	tr -d '\0' <"$dir/said" | head -c "$page" | grep 'event 5$' | head -n 3
	tr -d '\0' <"$dir/said" | head -c "$page" | grep -q 'event 5$'
}

check 'the pipe is nearly full' nearly_full
"$MEMDIAG" heap --debug --debug --pid "$tracee_pid" --max-stop 10s --timeout 50s >"$dir/out" 2>"$dir/pipe" &
memdiag=$!
started="$started $memdiag"
check 'heap: it waits for a reader' waits
check 'heap: no thread of the target is stopped meanwhile' none_stopped
cat "$dir/pipe" >"$dir/said" &
reader=$!
started="$started $reader"
check 'heap: it goes on when there is one' wait "$memdiag"
kill "$holder"
wait "$reader"
check 'heap: the pipe was full while threads were stopped' was_full_in_the_stop
check 'heap: each of them has its line' test "$(tr -d '\0' <"$dir/said" | grep -c 'thread [0-9]*: event 5$')" -ge 1500
check 'the target lives on' end_tracee
finish

#!/bin/sh
# --debug into a pipe that nobody reads: memdiag waits for a reader, and no thread of the target does.
. "$top_srcdir/tests/live/lib.sh"
start_tracee manythreads 1500
mkfifo "$dir/pipe"
sleep 1000 3<>"$dir/pipe" &
reader=$!
started="$started $reader"

# stuck PID: whether one of its threads is in write(2) of its standard error, twice in a row.
stuck()
{
	for look in 1 2; do
		[ $look -eq 1 ] || sleep 0.2
		grep -q '^1 0x2 ' "/proc/$1"/task/*/syscall 2>/dev/null || return
	done
}

grep -q '^[0-9]' /proc/self/syscall 2>/dev/null || skip_all 'the kernel does not say what threads do'

"$MEMDIAG" heap --debug --debug --pid "$tracee_pid" --timeout 50s >"$dir/out" 2>"$dir/pipe" &
memdiag=$!
until stuck "$memdiag" || ! lives "$memdiag"; do
	sleep 0.05
done
if lives "$memdiag"; then
	check "heap: no thread of the target is stopped meanwhile" sh -c \
		"! grep -h '^TracerPid:' /proc/$tracee_pid/task/*/status | grep -v '	0\$'"
else
	skip "heap: nobody reads" 'it had not enough to say to fill a pipe'
fi
kill -KILL "$memdiag" 2>/dev/null
wait "$memdiag" 2>/dev/null
kill "$reader"
check 'the target lives on' end_tracee
finish

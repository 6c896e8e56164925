#!/bin/sh
# A child that is forked while the agent is loaded may inherit a lock of ld.so: 'count start' says that there are some.
. "$top_srcdir/tests/live/lib.sh"
need jq python3
need_hooks

cat >"$dir/forks.py" <<'PY'
import os, sys, threading, time
stop = False
def forks():
    while not stop:
        if os.fork() == 0:
            time.sleep(1)
            os._exit(0)
        time.sleep(0.002)
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pass
thread = threading.Thread(target=forks)
thread.start()
os.write(1, b'ready\n')
sys.stdin.read()
stop = True
thread.join()
os.write(1, b'alive\n')
os._exit(0)
PY
# Whether a child came in that millisecond is chance.
is_reported()
{
	grep -q 'forked while the agent was loaded (one is [0-9]*)' "$dir/out"
}
reported=no
time=0
clock
end=$((now + 300))
while [ $reported = no ] && [ "$now" -lt $end ]; do
	time=$((time + 1))
	start_command python3 "$dir/forks.py"
	check "a process that forks all the time: count starts, time $time" \
		exits 0 memdiag count start --pid "$tracee_pid"
	if is_reported; then
		reported=yes
	fi
	check "count stops, time $time" exits 0 memdiag count stop --pid "$tracee_pid"
	check "the target lives on, time $time" end_tracee
	clock
done
check 'children that were forked meanwhile are reported' [ $reported = yes ]
finish

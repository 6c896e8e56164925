#!/bin/sh
# A search for a thread to borrow that finds none must not hold up any it has touched.
. "$top_srcdir/tests/live/lib.sh"
need strace
env --default-signal=INT true 2>/dev/null || skip_all 'this env cannot set signals to their default'

# searching COMMAND...: run it in the background, until memdiag has refused main once.
searching()
{
	rm -f "$dir/err"
	"$@" >"$dir/out" 2>"$dir/err" &
	memdiag_pid=$!
	started="$started $memdiag_pid"
	wait_for $memdiag_pid "$dir/err" "thread $tracee_pid refused"
}

# goes_on_meanwhile COMMAND: the tracee answers COMMAND while memdiag still searches.  A thread that was left stopped
# would go on only when memdiag ends.
goes_on_meanwhile()
{
	ask "$1" && kill -0 $memdiag_pid
}

# ends_when_asked: memdiag ends by SIGINT, without having borrowed any thread.
ends_when_asked()
{
	kill -INT "${1:-$memdiag_pid}"
	wait $memdiag_pid
	status=$?
	[ $status -eq 130 ] || {
		echo "exit status $status"
		tail -n 3 "$dir/err"
		return 1
	}
}

# ---- a thread that cannot be stopped now, and must not be later

if "$TRACEES/slow-read" </dev/null >"$dir/probe.out" 2>&1; then
	start_tracee slow-read
	check 'a thread in a read that cannot be interrupted: memdiag tries' \
		searching env --default-signal=INT "$MEMDIAG" info --method=inject --debug --pid "$tracee_pid" \
		--wait 900s --timeout 1800s
	check 'the thread in the read goes on as soon as it can' goes_on_meanwhile bring
	check 'memdiag has borrowed no thread' ends_when_asked
	check 'the target of the read lives on' end_tracee
else
	skip 'a thread in a read that cannot be interrupted' "$(cat "$dir/probe.out")"
fi

# ---- threads that are made while memdiag attaches to the one that makes them

# memdiag_under_strace: the process that strace has started.
memdiag_under_strace()
{
	sed -n '1s/ .*//p' "$dir/strace"
}

# all_go_on: the threads that were made until then have all begun, asked until memdiag has made all calls that are slow.
all_go_on()
{
	until [ "$(grep -c 'ptrace(' "$dir/strace")" -gt 50 ]; do
		goes_on_meanwhile begun || return
	done
	goes_on_meanwhile begun
}

start_tracee cloner
check 'a thread that makes threads: memdiag tries, slowly' \
	searching env --default-signal=INT strace -f -o "$dir/strace" -e trace=ptrace \
	-e inject=ptrace:delay_exit=2000:when=1..40 \
	"$MEMDIAG" info --method=inject --debug --pid "$tracee_pid" --wait 900s --timeout 1800s
check 'a thread that makes threads: none of them was left stopped' all_go_on
check 'a thread that makes threads: memdiag has borrowed none' ends_when_asked "$(memdiag_under_strace)"
check 'a thread that makes threads: the target lives on' end_tracee
finish

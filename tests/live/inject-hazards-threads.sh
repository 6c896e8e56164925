#!/bin/sh
# A search for a thread to borrow that finds none must not hold up any it has touched.
. "$top_srcdir/tests/live/lib.sh"
need strace

# searching COMMAND...: run it in the background, until memdiag has refused main once.
searching()
{
	rm -f "$dir/err"
	"$@" >"$dir/out" 2>"$dir/err" &
	memdiag_pid=$!
	started="$started $memdiag_pid"
	wait_for $memdiag_pid "$dir/err" "thread $tracee_pid refused"
}

# less LIMIT_MS COMMAND: the tracee answers COMMAND with a time below the limit.
less()
{
	took=$(ask "$2")
	echo "$took ms"
	[ "$took" -lt "$1" ]
}

no_safe_point()
{
	wait $memdiag_pid
	status=$?
	[ $status -eq 6 ] || {
		echo "exit status $status"
		tail -n 3 "$dir/err"
		return 1
	}
}

# ---- a thread that cannot be stopped now, and must not be later

if "$TRACEES/slow-read" </dev/null >"$dir/probe.out" 2>&1; then
	start_tracee slow-read
	check 'a thread in a read that cannot be interrupted: memdiag tries' \
		searching "$MEMDIAG" info --debug --pid "$tracee_pid" --wait 1s
	check 'it goes on as soon as it can' less 300 bring
	check 'while memdiag still searches' kill -0 $memdiag_pid
	check 'and finds no safe point' no_safe_point
	check 'the target lives on' end_tracee
else
	skip 'a thread in a read that cannot be interrupted' "$(cat "$dir/probe.out")"
fi

# ---- threads that are made while memdiag attaches to the one that makes them

start_tracee cloner
check 'a thread that makes threads: memdiag tries, slowly' \
	searching strace -f -o "$dir/strace" -e trace=ptrace -e inject=ptrace:delay_exit=2000:when=1..40 \
	"$MEMDIAG" info --debug --pid "$tracee_pid" --wait 1s
wait $memdiag_pid
check 'no new thread was left stopped' less 300 longest
check 'the target lives on' end_tracee
finish

#!/bin/sh
# python3, with and without threads, and after it has built much and dropped most of it.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/heap-lib.sh"
need jq python3

working()
{
	exits 0 memdiag "$@" --pid "$tracee_pid" --json && [ "$(ask 1000)" = 332833500 ]
}
for threads in 0 8; do
	start_command python3 "$top_srcdir/tests/tracees/busy.py" $threads
	remember
	for command in info 'info --capture=fd2' trim; do
		# shellcheck disable=SC2086 # a command and its options
		check "$threads threads: $command, ten times" each_of 10 working $command
	done
	check "$threads threads: maps adds up" maps_adds_up "$tracee_pid"
	check "$threads threads: it is as before" unharmed
	check "$threads threads: nothing on its stderr" test ! -s "$dir/$tracee_pid.err"
	check "$threads threads: it lives on" end_tracee
done

cat >"$dir/big.py" <<'PROGRAM'
import sys

big = [b"x" * (20 + i % 3000) for i in range(330000)]
print("ready", flush=True)
for line in sys.stdin:
    if line == "drop\n":
        big = big[::100]
    print(sum(map(len, big)), flush=True)
print("alive", flush=True)
PROGRAM
start_command python3 "$dir/big.py"
all=$(ask sum)
check 'it has built 500 MB' test "$all" -gt 490000000
check_heap built "$tracee_pid"
left=$(ask drop)
check 'it has dropped most' test "$left" -lt 10000000
check_heap dropped "$tracee_pid"
check 'it has what it had' test "$(ask sum)" = "$left"
check 'it lives on' end_tracee
finish

#!/bin/sh
# Arenas of different sizes: what malloc says of one and what memory shows of it are put together.
. "$top_srcdir/tests/live/lib.sh"
need jq python3
start_command python3 "$top_srcdir/tests/tracees/arenas.py" 8 16 24 32
check 'info runs' exits 0 memdiag info --pid "$tracee_pid" --json
check 'there are five arenas' json_is '.data.arenas | length == 5'
check 'of different sizes' json_is \
	'[.data.arenas[] | select(.main | not).system_bytes / 8388608 | floor] | sort == [1, 2, 3, 4]'
check 'each has resident what it holds' json_is \
	'[.data.arenas[] | select(.main | not) | .resident_bytes - .system_bytes | fabs] | max < 1048576'
check 'each has its thread' json_is '[.data.arenas[].threads] == [1, 1, 1, 1, 1]'
check 'no two the same' json_is '[.data.arenas[].tids[]] | unique | length == 5'
check 'sorted by size the smallest comes last' sh -c \
	"'$MEMDIAG' info '$tracee_pid' --sort=system -n 4 | awk '/^ARENA/ { getline; print \$3; exit }' |
	grep -q '^3[0-9]'"
check 'the target lives on' end_tracee
finish

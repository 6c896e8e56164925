#!/bin/sh
# An arena of 10 GiB with something in fast bins everywhere: memdiag says how much memory it took itself.
. "$top_srcdir/tests/live/lib.sh"
need jq

[ "$(cat /proc/sys/vm/overcommit_memory)" != 2 ] || skip_all 'memory is not overcommitted here'
awk '/^MemAvailable/ { exit !($2 > 2000000) }' /proc/meminfo || skip_all 'less than 2 GB are available'

[ "$(getconf GNU_LIBC_VERSION | sed 's/.*\.//')" -lt 43 ] || skip_all 'this glibc has no fast bins'
start_tracee wide
check 'heap runs' exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --json
check 'it is exact' json_is '.data.certainty == "exact" and .data.arenas[0].fast_chunks > 39000 and
	.data.totals.system_bytes > 10000000000'
cat "$dir/err"
check 'it says what memory that took' grep -q "took [0-9.]* MiB of memory in memdiag; with" "$dir/err"
check 'by lists' exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --bins-only
check 'it takes less' sh -c "! grep 'memory in memdiag' '$dir/err'"
check 'the target lives on' end_tracee
finish

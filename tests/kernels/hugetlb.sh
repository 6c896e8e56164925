#!/bin/sh
# malloc on a pool of huge pages.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
. "$top_srcdir/tests/kernels/lib.sh"
need jq
pool=/proc/sys/vm/nr_hugepages
was=$(cat $pool)
set_to $pool 64
[ "$(cat $pool)" -ge 32 ] || skip_all 'no huge pages can be had'
start_command env GLIBC_TUNABLES=glibc.malloc.hugetlb=2 "$TRACEES/bloat" 8
check 'maps' exits 0 memdiag maps --pid "$tracee_pid" --json
check 'huge pages are seen' json_is '.data.totals.hugetlb_bytes > 0 and
	([.data.identities[] | select(.name == "HugetlbPages") | .difference_bytes] == [0])'
works hugetlb
set_to $pool "$was"
finish

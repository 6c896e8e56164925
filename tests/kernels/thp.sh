#!/bin/sh
# Transparent huge pages, always and never.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
. "$top_srcdir/tests/kernels/lib.sh"
need jq
thp=/sys/kernel/mm/transparent_hugepage/enabled
[ -e $thp ] || skip_all 'this kernel has no transparent huge pages'
was=$(sed 's/.*\[\(.*\)\].*/\1/' $thp)
for value in always never; do
	set_to $thp $value
	start_tracee bloat 8
	check "$value: maps adds up" maps_adds_up "$tracee_pid"
	check "$value: trim" exits 0 memdiag trim --pid "$tracee_pid" --json
	check "$value: gives back most" json_is '.data.released_bytes > 20000000'
	check "$value: maps adds up afterwards" maps_adds_up "$tracee_pid"
	works "$value"
done
set_to $thp "$was"
finish

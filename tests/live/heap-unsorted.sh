#!/bin/sh
# An unsorted bin of thousands of chunks: whatever their order is in it, heap says the same as malloc_info.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/heap-lib.sh"
need jq

# How often each byte of the heap was copied, in percent.
copied()
{
	json '.data.read_bytes * 100 / .data.totals.resident_bytes | floor'
}

try()	# try ORDER NR
{
	start_tracee unsorted "$1" "$2"
	check "$1: heap runs" exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --json
	check "$1: it is exact" json_is '.data.certainty == "exact" and (.data.checks | all(.holds))'
	echo "# $1: $(copied) % of the heap were copied"
	case $1 in
	pairs) ;;
	*) check "$1: no part of the heap is copied twice" test "$(copied)" -lt 150 ;;
	esac
	check "$1: malloc_info says the same" same_xml
	check "$1: the target lives on" end_tracee
}

for order in up down turns sorted random; do
	try $order 60013
done
# More runs than are kept.
try pairs 300007
finish

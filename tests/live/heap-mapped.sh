#!/bin/sh
# Blocks that have mappings of their own: each is found, and is as large as malloc says.
. "$top_srcdir/tests/live/lib.sh"
need jq

# can_lock: whether 192 KiB may be locked.
can_lock()
{
	[ "$(id -u)" -eq 0 ] || awk '/^Max locked memory/ { exit !($4 == "unlimited" || $4 >= 262144) }' /proc/self/limits
}

# are_found NR WORDS: that heap finds as many in the tracee as malloc says, which is NR.
are_found()
{
	check "$2: heap runs" exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --json
	echo "# $(json '.data.mmapped | del(.chunks) | tostring')"
	check "$2: every block is found" json_is ".data.mmapped | .count == $1 and .found_count == $1"
	check "$2: with its size" json_is '(.data.mmapped | .agrees and .bytes == .found_bytes) and (.data.checks | all(.holds))'
	resident=$(json .data.mmapped.resident_bytes)
	check "$2: info runs" exits 0 memdiag info --pid "$tracee_pid" --json
	check "$2: info marks nothing" json_is '(.data.checks | all(.holds)) and (.data.accounting | all(.approximate | not))'
	check "$2: it takes nothing else for large blocks" json_is \
		"[.data.accounting[] | select(.kind == \"malloc_mmapped\").bytes] == [$resident]"
	check "$2: the target lives on" end_tracee
}

for kind in moved often gone filled locked; do
	nr=24
	[ $kind != gone ] || nr=0
	if [ $kind = locked ] && ! can_lock; then
		skip 'locked' 'memory may not be locked here'
		continue
	fi
	start_tracee mapped $kind
	are_found $nr "$kind"
done

# Since 2.43 malloc counts too much for those that it resizes.
on_release()
{
	start_release_tracee mapped often
	are_found 24 "$release: often"
	start_release_tracee mapped gone
	are_found 0 "$release: gone"
}
for_each_release on_release
finish

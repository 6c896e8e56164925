#!/bin/sh
# A main arena in pieces: heap looks at every one of them, and says the same as the program's own account,
# its malloc_info and its trim; memory of others beside them is not counted.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/heap-lib.sh"
need jq

# The bytes in use of the main arena, without a few kilobytes of malloc's own and stdio's.
in_use_is()	# in_use_is BYTES
{
	json_is ".data.arenas[0].in_use_bytes | . >= $1 and . < $1 + 20000"
}

# Memory that the program took between two parts of the heap is its own, for each command.
says_foreign()
{
	exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --json
	check 'far: heap says what the program took itself' json_is '.data.arenas[0] |
		.foreign_sbrk_bytes == 67108864 and .foreign_sbrk_resident_bytes == 67108864 and
		.overhead_bytes >= .foreign_sbrk_bytes'
	check 'far: and finds all that malloc counts' json_is '.data.checks | all(.holds)'
	exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s
	check 'far: the text has it' grep -q '^  taken with sbrk()  *64\.0 MiB  the program' "$dir/out"
	exits 0 memdiag info --pid "$tracee_pid"
	check 'far: info says that malloc counts it' grep -q 'the program took 64\.0 MiB itself with sbrk()' "$dir/err"
	check 'far: and does not' grep -q '^  not from malloc  *6[4-9]\.[0-9] MiB' "$dir/out"
	exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --json
}

heap_bytes()
{
	json '[.data.arenas[].resident_bytes] | add'
}

# Nor less: but for what others took from brk between two parts of the heap.
maps_is()	# maps_is BYTES
{
	exits 0 memdiag maps --pid "$tracee_pid" --json && json_is "[.data.groups[] | select(.name == \"heap\") |
		.virt_bytes] | add | . >= $1 and . < $1 + 65536"
}

rss()
{
	awk '/^VmRSS/ { print $2 * 1024 }' "/proc/$tracee_pid/status"
}

goes_back()
{
	exits 0 memdiag trim -n --pid "$tracee_pid" --json || return
	predicted=$(json .data.predicted.rss_bytes)
	went=$(ask trim)
	echo "predicted $predicted, went $went"
	[ "$predicted" -eq "$went" ]
}

trim_agrees()
{
	exits 0 memdiag trim --pid "$tracee_pid" && grep -q '^resident in arenas  *[1-9]' "$dir/out" &&
		! grep '^Check failed' "$dir/out"
}

for kind in hidden fast neighbour foreign far pool behind; do
	start_tracee split-heap $kind
	in_use=$(ask count)
	check "$kind: heap runs" exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --json
	check "$kind: it is exact" json_is '.data.certainty == "exact"'
	check "$kind: every chunk was looked at" in_use_is "$in_use"
	check "$kind: it adds up" json_is '.data.arenas | all(.system_bytes == .in_use_bytes +
		.cached_bytes + .fast_bytes + .binned_bytes + .top_bytes + .overhead_bytes)'
	check "$kind: arenas are not larger than the process" test "$(heap_bytes)" -le "$(rss)"
	[ $kind = neighbour ] || check "$kind: maps counts nothing else as malloc's" maps_is \
		"$(json '.data.arenas[0] | .system_bytes - .foreign_sbrk_bytes')"
	[ $kind != far ] || says_foreign
	check "$kind: malloc_info says the same" same_xml
	check "$kind: and of its lists" same_xml --bins-only
	check "$kind: a trim gives back what is predicted" goes_back
	[ $kind != foreign ] || check "$kind: trim finds in the mappings what malloc counts" trim_agrees
	check "$kind: the target lives on" end_tracee
done

# ---- behind the end of a heap

if ! grep -q 'Max locked memory *unlimited' /proc/self/limits && [ "$(id -u)" -ne 0 ]; then
	skip 'shrunk' 'memory may not be locked here'
else
	start_tracee split-heap shrunk
	check 'shrunk: heap runs' exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --json
	check 'shrunk: what stayed is counted' json_is '.data.arenas[1].pages.behind_bytes > 15000000'
	check 'shrunk: and not as reserve' json_is '.data.arenas[1].pages |
		.reserved_bytes + .behind_bytes < 67108864'
	check 'shrunk: it adds up' json_is '.data.arenas | all(.resident_bytes == ([.accounting[].bytes] | add))'
	check 'shrunk: the text has it' exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --pages
	check 'shrunk: and in what the arenas have' grep -q '^  together  *1[0-9]\.[0-9] MiB .*of [1-9][0-9]\.[0-9] MiB that' "$dir/out"
	check 'shrunk: in a line of its own' grep -q '^  behind heaps  *1[0-9]\.[0-9] MiB' "$dir/out"
	check 'shrunk: the target lives on' end_tracee
fi

# ---- a thread that cannot be asked

start_tracee split-heap stranger
check 'stranger: heap runs' exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --json
check 'stranger: what it has cached is not known' json_is '.data.threads_with_unknown_cache == 1'
check 'stranger: so nothing is exact' json_is '.data.arenas | all(.certainty == "consistent" and
	(.why | test("cached")))'
check 'stranger: the text says it' exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --arenas
check 'stranger: of how many' grep -q '^What 1 thread has cached is not known' "$dir/out"
check 'stranger: the target lives on' end_tracee
finish

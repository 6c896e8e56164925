#!/bin/sh
# Programs that do random things to malloc and around it (tests/tracees/any-heap.c): heap says of each what
# its own ledger, its malloc_info and its malloc_trim do. MEMDIAG_TEST_SEEDS="FIRST LAST" tries others.
# shellcheck disable=SC3043 # every sh we know has local
deadline=3600
. "$top_srcdir/tests/live/lib.sh"
need jq

# One seed in five has another cache, one in seven huge pages.
first=5
last=$((first + $(some 12) - 1))
if [ -n "${MEMDIAG_TEST_SEEDS-}" ]; then
	first=${MEMDIAG_TEST_SEEDS% *}
	last=${MEMDIAG_TEST_SEEDS#* }
fi

wrong()	# wrong WORDS...: what is wrong with this seed
{
	echo "seed $seed: $*"
	status=1
}

# malloc's own memory: a cache and TLS for each thread, and what it did before.
ledger_is_kept()
{
	local nr bytes mapped threads foreign
	read -r _ nr bytes mapped threads foreign <<-EOF
		$(grep ^ledger "$dir/$tracee_pid.out")
	EOF
	json_is "[.data.arenas[].in_use_bytes] | add | . >= $bytes and . < $bytes + 8192 + 4096 * $threads" ||
		wrong "in use are $bytes in $nr blocks, not $(json '[.data.arenas[].in_use_bytes] | add')"
	json_is ".data.mmapped | .count == $mapped and .found_count == $mapped and .agrees" ||
		wrong "$mapped blocks are mapped: $(json '.data.mmapped | del(.chunks) | tostring')"
	json_is "[.data.arenas[].foreign_sbrk_bytes] | add <= $foreign" ||
		wrong "took $foreign itself from brk, not $(json '[.data.arenas[].foreign_sbrk_bytes] | add')"
}

adds_up()
{
	json_is '(.data.checks | all(.holds)) and (.data.arenas | all(.certainty == "exact" and .found_bytes == .system_bytes and
		.system_bytes == .in_use_bytes + .cached_bytes + .fast_bytes + .binned_bytes +
			.top_bytes + .overhead_bytes and
		.resident_bytes == ([.accounting[].bytes] | add) and
		.resident_bytes == (.pages | .live_bytes + .mixed_bytes + .trimmable_bytes +
			.cached_bytes + .top_bytes + .behind_bytes)))' ||
		wrong "does not add up: $(json '[.data.arenas[].why] | tostring')"
	[ "$(json '[.data.arenas[].resident_bytes] | add')" -le \
		"$(awk '/^VmRSS/ { print $2 * 1024 }' "/proc/$tracee_pid/status")" ] ||
		wrong 'arenas have more than RSS'
}

same_xml()	# same_xml OPTIONS...
{
	exits 0 memdiag heap --xml --pid "$tracee_pid" --max-stop 300s "$@" &&
		cmp "$dir/xml" "$dir/out" || wrong "malloc_info differs $*"
}

# The bytes for which info suggests to trim go back, and those that trim -n predicts.
trim_keeps_its_word()
{
	local predicted went reason
	exits 0 memdiag info --pid "$tracee_pid" --json || wrong 'no info'
	reason=$(json '[.verdicts[] | select(.actions[] | test("memdiag trim -p")) | .bytes] | add // 0')
	exits 0 memdiag trim -n --pid "$tracee_pid" --max-stop 300s --json || wrong 'no forecast'
	predicted=$(json .data.predicted.rss_bytes)
	went=$(ask trim)
	[ "$predicted" -eq "$went" ] || wrong "predicted $predicted, went $went"
	[ "$reason" -le "$went" ] || wrong "info promises $reason, went $went"
}

try_seed()
{
	GLIBC_TUNABLES=
	[ $((seed % 5)) -ne 0 ] || GLIBC_TUNABLES=glibc.malloc.tcache_count=$((seed % 3 * 20))
	[ $((seed % 7)) -ne 0 ] || GLIBC_TUNABLES=glibc.malloc.hugetlb=2
	export GLIBC_TUNABLES
	start_tracee any-heap "$seed" "$dir/xml"
	unset GLIBC_TUNABLES
	status=0
	exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --json || wrong 'heap fails'
	adds_up
	ledger_is_kept
	same_xml
	same_xml --bins-only
	trim_keeps_its_word
	end_tracee || wrong 'it has not lived on'
	return $status
}

seed=$first
while [ "$seed" -le "$last" ]; do
	check "seed $seed" try_seed
	rm -f "$dir/$nr_started".*
	seed=$((seed + 1))
done
finish

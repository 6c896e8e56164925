#!/bin/sh
# Large blocks that are aligned, in use when counting begins: what memalign() leaves out in front of them is
# not theirs. Random sizes and alignments; given back, nothing stays.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
need jq

# no_rest_changes: whether as much is counted besides the program's blocks when it has given them back.
no_rest_changes()
{
	local before after
	before=$(rest) && obeys free && after=$(rest) || return
	echo "besides the blocks: $before, then $after"
	[ "$before" = "$after" ] && [ "${before% *}" -lt 100000 ]
}

seed=0
while [ $seed -lt "$(some 12)" ]; do
	seed=$((seed + 1))
	start_tracee aligned $seed 60
	check "seed $seed: start" count start
	check "seed $seed: nothing is uncertain" json_is '.data.doubtful_blocks == 0'
	check "seed $seed: what was in use is counted to the byte" no_rest_changes
	check "seed $seed: the target lives on" end_tracee
done

# One mapping of the kernel's may be a large block and, behind it, the heap of an arena (glibc 2.37 and later).
before_heap()
{
	local words="$release: before a heap"
	start_release_tracee aligned 1 1
	if obeys touch; then
		check "$words: start" count start
		check "$words: nothing is uncertain" json_is '.data.doubtful_blocks == 0'
		check "$words: what was in use is counted to the byte" no_rest_changes
	else
		skip "$words" 'no block came to lie there'
	fi
	check "$words: the target lives on" end_tracee
}
for_each_release before_heap

# The heap is read again while a thread is in malloc(): by then the block that was found first is gone.
is_all_counted()
{
	local rest
	rest=$(rest) || return
	echo "besides the blocks: $rest"
	[ "${rest% *}" -gt 0 ] && [ "${rest% *}" -lt 100000 ]
}
start_tracee freed-large
check 'one is given back between two looks: start' exits 0 memdiag count start --pid "$tracee_pid" --json
check 'one is given back between two looks: it is' obeys wait
check 'one is given back between two looks: what is in use is counted' is_all_counted
check 'one is given back between two looks: the target lives on' end_tracee

# Where a mapping is not found the number is not said to be exact.
start_tracee aligned 1 60
if obeys hide; then
	check 'one is hidden: start' count start
	check 'one is hidden: uncertain' json_is '.data.doubtful_blocks > 0'
	check 'one is hidden: and status marks it' \
		sh -c '"$1" status "$2" | grep -q "^live  *~"' sh "$MEMDIAG" "$tracee_pid"
else
	skip 'one is hidden' 'no block has a page in front'
fi
check 'one is hidden: the target lives on' end_tracee
finish

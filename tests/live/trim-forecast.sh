#!/bin/sh
# trim -n says to the byte what malloc_trim(0) takes off a process's resident memory when it calls it
# itself, and changes nothing; and what is to be said beside that, it says where it holds.
deadline=120
. "$top_srcdir/tests/live/lib.sh"
need jq

predict()	# predict OPTIONS...: sets $rss, $faults
{
	exits 0 memdiag trim -n --pid "$tracee_pid" --json "$@" || return
	rss=$(json .data.predicted.rss_bytes)
	faults=$(json .data.predicted.page_faults)
}

caveats()	# caveats IDS: that these are there, and no others
{
	json_is "[.data.caveats[].id] == $1"
}

goes_back()	# goes_back [PAD]: what was predicted
{
	trimmed=$(ask "trim ${1:-0}")
	echo "predicted $rss, went $trimmed"
	[ "$trimmed" -eq "$rss" ]
}

arenas_add_up()
{
	json_is '.data.predicted as $p | [$p.arenas[].rss_bytes] | add == $p.rss_bytes' &&
		json_is '.data.predicted as $p | [$p.arenas[].lock_us] | add <= $p.lock_us and
			max == $p.longest_lock_us'
}

# ---- a program that stands still

start_tracee trimmable 64
remember
check 'a prediction is made' predict
check 'it is worth while' test "$rss" -gt 20000000
check 'the schema is named, and nothing is missing' json_is \
	'.schema == "memdiag.trim/1" and (.partial | not) and .data.predicted.certainty == "exact"'
check 'nobody has any of it as well' json_is '.data.predicted | .uss_bytes == .rss_bytes'
check 'there is nothing to add' caveats '[]'
check 'the arenas add up' arenas_add_up
check 'so do the page faults' test "$faults" -eq $((rss / $(getconf PAGESIZE)))
check 'nothing was changed' unharmed
check 'it says the same again' sh -c "'$MEMDIAG' trim -n '$tracee_pid' --json |
	jq -e '.data.predicted.rss_bytes == $rss'"
check 'as does the heap command' sh -c "'$MEMDIAG' heap '$tracee_pid' --json |
	jq -e '[.data.arenas[].trim.rss_bytes] | add == $rss'"
check 'the text has it all' exits 0 memdiag trim -n "$tracee_pid"
check 'now and then' grep -q '^RSS .*iB .*iB *-.*iB' "$dir/out"
check 'the times, the faults' grep -q 'page faults\.$' "$dir/out"
all=$rss
check 'with a pad it is less' predict --pad 1M
check 'by about as much' test $((all - rss)) -gt 1000000 -a $((all - rss)) -lt 1100000
check 'that comes true to the byte' goes_back 1048576
check 'without a pad the rest is left' predict
check 'by about as much' test "$rss" -eq $((all - trimmed))
check 'that comes true, too' goes_back
check 'then there is nothing left' predict
check 'nothing at all' test "$rss" -eq 0
check 'the target lives on' end_tracee

# ---- what is to be said beside

start_tracee trimmable 32 fork
check 'a child shares it: predicted' predict
check 'memory does not fall' json_is '.data.predicted.uss_bytes < .data.predicted.rss_bytes / 100'
check 'which is said' caveats '["shared"]'
check 'RSS does' goes_back
check 'the target lives on' end_tracee

locks_memory()	# locks_memory WORD
{
	if ! grep -q 'Max locked memory *unlimited' /proc/self/limits && [ "$(id -u)" -ne 0 ]; then
		skip "$1" 'memory may not be locked here'
		return
	fi
	start_tracee trimmable 32 "$1"
	check "$1: predicted" predict
	check "$1: what is locked is told" caveats '["mlocked"]'
	check "$1: something is left that is not" test "$rss" -gt 1000000
	check "$1: that goes back" goes_back
	check "$1: the target lives on" end_tracee
}
locks_memory mlock
locks_memory mlock-half

# ---- pages of the hugetlb pool

# What goes back of the pool is not in RSS, and malloc does not use brk then.
GLIBC_TUNABLES=glibc.malloc.hugetlb=2 start_tracee trimmable 64
if grep -q '^HugetlbPages: *[1-9]' "/proc/$tracee_pid/status"; then
	skip 'an empty pool' 'there are pages in the pool'
else
	check 'an empty pool: predicted' predict
	check 'an empty pool: it is worth while' test "$rss" -gt 20000000
	check 'an empty pool: of ordinary pages a thread arena is sure' json_is '
		.data.predicted.arenas | .[1].certainty == "exact" and
			all(.why // "" | test("hugetlb") | not)'
	check 'an empty pool: that goes back' goes_back
fi
check 'an empty pool: the target lives on' end_tracee
GLIBC_TUNABLES=glibc.malloc.hugetlb=2 start_tracee trimmable 1 apart
check 'an arena that begins elsewhere than brk: predicted' predict
check 'an arena that begins elsewhere than brk: its top does not go' json_is \
	'.data.predicted.arenas[0] | .top_bytes > 100000'
check 'an arena that begins elsewhere than brk: the rest goes back' goes_back
check 'an arena that begins elsewhere than brk: the target lives on' end_tracee

huge_bytes()
{
	awk '/^HugetlbPages/ { print $2 * 1024 }' "/proc/$tracee_pid/status"
}

pool=/proc/sys/vm/nr_overcommit_hugepages
had=$(cat "$pool")
if echo 64 2>/dev/null >"$pool"; then
	GLIBC_TUNABLES=glibc.malloc.hugetlb=2 start_tracee trimmable 64
	echo "$had" >"$pool"
	if [ "$(huge_bytes)" -gt 0 ]; then
		check 'pool: predicted' predict
		check 'pool: it is said that RSS does not count it' json_is '.data.predicted.arenas |
			all(.certainty == "consistent" and (.why | test("hugetlb")))'
		check 'pool: that goes back' goes_back
		# The main arena is in pieces, so that only its lists are read.
		check 'pool: heap' exits 2 memdiag heap "$tracee_pid" --json
		check 'pool: says so, too' json_is '.data.arenas | all(.hugetlb)'
	else
		skip 'pool' 'no page could be had for the hugetlb pool'
	fi
	check 'pool: the target lives on' end_tracee
else
	skip 'pool' 'only root can have pages for the hugetlb pool'
fi

huge=/sys/kernel/mm/transparent_hugepage/enabled
if grep -q '\[never\]' $huge || [ ! -e $huge ]; then
	skip 'huge pages' 'the kernel makes none'
else
	GLIBC_TUNABLES=glibc.malloc.hugetlb=1 start_tracee trimmable 64
	if grep -q 'AnonHugePages: *[1-9]' /proc/"$tracee_pid"/smaps_rollup; then
		check 'huge pages: predicted' predict
		check 'huge pages: what is kept for a while is told' caveats '["huge-pages"]'
		check 'huge pages: RSS falls by it' goes_back
	else
		skip 'huge pages' 'malloc got none'
	fi
	check 'huge pages: the target lives on' end_tracee
fi
finish

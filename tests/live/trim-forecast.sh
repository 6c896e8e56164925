#!/bin/sh
# trim -n says to the byte what malloc_trim(0) takes off a process's resident memory when it calls it
# itself, and changes nothing; and what is to be said beside that, it says where it holds.
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

# After a stop a thread takes some processor time to fall asleep again; that may fall between the two looks.
looks_once()
{
	predict && json_is '.data.predicted | has("again") | not'
}

# ---- a program that stands still

start_tracee trimmable 64
remember
check 'a prediction is made' predict
check 'it is worth while' test "$rss" -gt 20000000
check 'the schema is named, and nothing is missing' json_is \
	'.schema == "memdiag.trim/1" and (.partial | not) and .data.predicted.certainty == "exact"'
huge=null
! knows_huge || huge=number
check 'huge pages are counted where the kernel shows them' \
	json_is ".data.predicted.arenas | length > 0 and all(.huge_bytes | type == \"$huge\")"
check 'no other process shares any of it' json_is '.data.predicted | .uss_bytes == .rss_bytes'
check 'there is nothing to add' caveats '[]'
check 'the arenas add up' arenas_add_up
check 'one page fault is predicted for each page' test "$faults" -eq $((rss / $(getconf PAGESIZE)))
check 'it sleeps, and is looked at once' soon looks_once
check 'nothing was changed' unharmed
check 'it says the same again' sh -c "'$MEMDIAG' trim -n '$tracee_pid' --json |
	jq -e '.data.predicted.rss_bytes == $rss'"
check 'the heap command predicts the same' sh -c "'$MEMDIAG' heap '$tracee_pid' --json |
	jq -e '[.data.arenas[].trim.rss_bytes] | add == $rss'"
check 'info gives as a reason to trim what a trim gives back' sh -c "'$MEMDIAG' info '$tracee_pid' --json |
	jq -e '[.verdicts[] | select(.actions[] | test(\"memdiag trim -p\")) | .bytes] == [$rss]'"
check 'trim -n prints text' exits 0 memdiag trim -n "$tracee_pid"
check 'the text shows RSS now and afterwards' grep -q '^RSS .*iB .*iB *-.*iB' "$dir/out"
check 'the text has the page faults' grep -q 'page faults\.$' "$dir/out"
all=$rss
check 'with a pad less is predicted' predict --pad 1M
check 'by about as much' test $((all - rss)) -gt 1000000 -a $((all - rss)) -lt 1100000
check 'the prediction with a pad comes true to the byte' goes_back 1048576
check 'without a pad the rest is left' predict
check 'by about as much' test "$rss" -eq $((all - trimmed))
check 'the prediction of the rest comes true' goes_back
check 'after both trims a prediction is made' predict
check 'after both trims nothing is predicted' test "$rss" -eq 0
check 'after both trims info advises none' sh -c "'$MEMDIAG' info '$tracee_pid' --json |
	jq -e '[.verdicts[].actions[] | select(test(\"memdiag trim -p\"))] == []'"
check 'the target lives on' end_tracee

# ---- what is to be said beside

start_tracee trimmable 32 fork
check 'a child shares it: predicted' predict
check 'memory does not fall' json_is '.data.predicted.uss_bytes < .data.predicted.rss_bytes / 100'
check 'shared with a child: the forecast says so' caveats '["shared"]'
check 'shared with a child: RSS falls as predicted' goes_back
check 'the target lives on' end_tracee

locks_memory()	# locks_memory WORD
{
	if ! grep -q 'Max locked memory *unlimited' /proc/self/limits && [ "$(id -u)" -ne 0 ]; then
		skip "$1" 'memory may not be locked here'
		return
	fi
	start_tracee trimmable 32 "$1"
	check "$1: predicted" predict
	check "$1: locked memory is reported" caveats '["mlocked"]'
	check "$1: something is left that is not" test "$rss" -gt 1000000
	check "$1: that goes back" goes_back
	check "$1: the target lives on" end_tracee
}
locks_memory mlock
locks_memory mlock-half

# ---- pages of the hugetlb pool

# Pages that go back to the pool are not in RSS, and malloc does not use brk then.
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
if expr "$(getconf GNU_LIBC_VERSION)" : 'glibc 2\.3[0-4]$' >/dev/null; then
	skip 'an arena that begins elsewhere than brk' 'glibc before 2.35 does not use the hugetlb pool'
else
	check 'an arena that begins elsewhere than brk: its top does not go' json_is \
		'.data.predicted.arenas[0] | .top_bytes > 100000'
fi
check 'an arena that begins elsewhere than brk: the rest goes back' goes_back
check 'an arena that begins elsewhere than brk: the target lives on' end_tracee

huge_bytes()
{
	awk '/^HugetlbPages/ { print $2 * 1024 }' "/proc/$tracee_pid/status"
}

# From glibc 2.42 on a thread arena first maps 128 MiB of the pool (malloc/arena.c, alloc_new_heap), which the kernel
# reserves as 64 pages; the main arena has 17.
pool=/proc/sys/vm/nr_overcommit_hugepages
had=$(cat "$pool")
if echo 128 2>/dev/null >"$pool"; then
	GLIBC_TUNABLES=glibc.malloc.hugetlb=2 start_tracee trimmable 64
	echo "$had" >"$pool"
	if [ "$(huge_bytes)" -gt 0 ]; then
		check 'pool: predicted' predict
		check 'pool: it is said that RSS does not count it' json_is '.data.predicted.arenas |
			all(.certainty == "consistent" and (.why | test("hugetlb")))'
		check 'pool: that goes back' goes_back
		check 'pool: heap' exits 0 memdiag heap "$tracee_pid" --json
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
		check 'huge pages: what is kept for a while is reported' caveats '["huge-pages"]'
		check 'huge pages: RSS falls by it' goes_back
	else
		skip 'huge pages' 'malloc got none'
	fi
	check 'huge pages: the target lives on' end_tracee
fi

# ---- a program that runs

# A program that has got no processor in between is measured once.
measures_twice()
{
	predict && json_is '.data.predicted | has("again")'
}

start_tracee spin
check 'computing: measured twice' soon measures_twice
check 'computing: twice the same' json_is '.data.predicted | .again.after_ms >= 100 and .again.rss_bytes == .rss_bytes'
check 'computing: there is nothing to add' caveats '[]'
check 'computing: the target lives on' end_tracee

# lets_settle: whether memdiag sleeps between the stop and its first look at the process's processor time, so that
# threads that go back to where they waited do not count as at work.  strace prints PID CALL; that clock has no name.
lets_settle()
{
	exits 0 captured strace -f -o "$dir/strace" -e trace=ptrace,clock_nanosleep,clock_gettime \
		"$MEMDIAG" trim -n --max-stop 1h --pid "$tracee_pid" || return
	awk '/PTRACE_DETACH/ { delete slept; stopped = 1 }
		/clock_nanosleep\(/ { slept[$1] = 1 }
		/clock_gettime\(/ && !/CLOCK_[A-Z]/ && stopped { seen = 1; early += !slept[$1] }
		END { exit early || !seen }' "$dir/strace" || {
		grep -e DETACH -e clock_ "$dir/strace" | tail -n 20
		return 1
	}
}

start_tracee manythreads 20
if command -v strace >/dev/null; then
	check 'many threads: they may settle after the stop' lets_settle
else
	skip 'many threads: they may settle after the stop' 'strace is not installed'
fi
check 'many threads: the target lives on' end_tracee

changes()
{
	predict --max-stop 300s || [ $? -eq 2 ] || return
	caveats '["changing"]'
}
start_tracee trimmable 8 changing
# By chance both looks may find as much.
check 'changing: it is reported' soon changes
check 'changing: by how much' json_is '.data | (.predicted | (.rss_bytes - .again.rss_bytes | fabs) > 10000) and
	.caveats[0].bytes == .predicted.again.rss_bytes'
check 'changing: the target lives on' end_tracee
finish

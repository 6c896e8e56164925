#!/bin/sh
# Seccomp filters: none ends a process, or a thread of it, for what memdiag does.  Each action of a filter, each call
# that an operation takes, filters that differ between threads, and one that comes later.
. "$top_srcdir/tests/live/lib.sh"
need jq

# A filter of any kind but errno may end the thread for a call, or hand it to somebody else.
harmful='kill-process kill-thread trap trace user-notif'

# begin ACTION CALLS [HOW]
begin()
{
	start_tracee filtered "$@"
	nr_before=$(ls "/proc/$tracee_pid/task" | wc -l)
}

# lives_on NAME: all of its threads are there and it works.
lives_on()
{
	check "$1: its threads are all there" test "$(ls "/proc/$tracee_pid/task" 2>/dev/null | wc -l)" = "$nr_before"
	check "$1: it works" test "$(ask check)" = fine
	check "$1: it ends well" end_tracee
}

refused()
{
	exits_saying 5 "does not allow $1()" memdiag "$2" --pid "$tracee_pid" --max-lock=100s
}

for action in $harmful; do
	begin "$action" madvise
	check "$action of madvise: trim is refused by name" refused madvise trim
	check "$action of madvise: trim -n works" exits 0 memdiag trim -n --pid "$tracee_pid"
	lives_on "$action of madvise"
	begin "$action" mmap
	check "$action of mmap: info reads the heaps" \
		exits_saying 0 'does not allow mmap()' memdiag info --pid "$tracee_pid"
	lives_on "$action of mmap"
done

for call in mmap munmap rt_sigreturn; do
	begin kill-process $call
	check "$call is not allowed: trim names it" refused $call trim
	lives_on "$call is not allowed"
done

begin errno madvise
check 'madvise fails: trim is made' exits 0 memdiag trim --pid "$tracee_pid" --max-lock=100s
lives_on 'madvise fails'
begin errno munmap
check 'munmap fails: trim is refused, as its memory would stay' refused munmap trim
lives_on 'munmap fails'

# ---- several threads -----------------------------------------------------------------------------

for call in clone,clone3 rt_sigprocmask madvise; do
	begin kill-process $call threads
	check "$call with threads: info is called in the borrowed thread" \
		exits 0 memdiag info --method=inject --pid "$tracee_pid" --json
	check "$call with threads: no helper is made" json_is '[.. | .borrow? | select(.) | .mode] == ["thread"]'
	lives_on "$call with threads"
done
if has_hooks; then
	begin kill-process clone,clone3 threads
	check 'clone with threads: count start names the call' \
		exits_saying 5 'does not allow clone()' memdiag count start --pid "$tracee_pid"
	lives_on 'clone with threads, count'
else
	skip 'clone with threads: count start' 'this memdiag was built without Zydis'
fi
begin kill-process futex threads
check 'futex with threads: trim is refused' refused futex trim
lives_on 'futex with threads'
begin kill-process futex
check 'futex with one thread: trim takes none' exits 0 memdiag trim --pid "$tracee_pid" --max-lock=100s
lives_on 'futex with one thread'

# refuses_copy CALL: for which a filter of this kind would end the process, or the copy of it that memdiag no longer has.
refuses_copy()
{
	exits_saying 5 "does not allow $1()" memdiag leaks --fork --pid "$tracee_pid"
}
for call in clone,clone3 wait4 rt_sigprocmask; do
	begin kill-process $call threads
	check "$call with threads: leaks --fork is refused" exits_saying 5 'does not allow' memdiag leaks --fork --pid "$tracee_pid"
	lives_on "$call with threads, --fork"
done
begin kill-process exit_group threads
check 'exit_group with threads: leaks --fork is refused' refuses_copy exit_group
check 'exit_group with threads: it works' test "$(ask check)" = fine
begin errno wait4 threads
check 'wait4 fails: leaks --fork is refused, as the copy would stay' refuses_copy wait4
lives_on 'wait4 fails'
begin errno clone,clone3 threads
check 'clone fails: leaks --fork says so' exits_saying '5 6' 'thread that' memdiag leaks --fork --pid "$tracee_pid"
lives_on 'clone fails'

# The sleep that memdiag waits for is then a call of futex(), as is a wait for the lock of an arena.
begin errno ppoll,nanosleep,clock_nanosleep locked
check 'a sleep by futex: a wait for a lock is not taken for it' \
	each_of 5 exits 0 memdiag info --method=inject --pid "$tracee_pid"
if has_hooks; then
	check 'a sleep by futex: nor in dlopen' exits 0 memdiag count start --pid "$tracee_pid"
	check 'a sleep by futex: count ends' exits 0 memdiag count stop --pid "$tracee_pid"
fi
lives_on 'a sleep by futex'

# filter_during: the filter comes while malloc_info runs.
filter_during()
{
	until [ "$(ask came)" = yes ]; do
		exits 0 memdiag info --method=inject --pid "$tracee_pid" || return
	done
}

begin kill-process ppoll,nanosleep,clock_nanosleep during
check 'a filter that comes during the call: the sleep at its end is no call that it forbids' filter_during
check 'a filter that comes during the call: the target works' test "$(ask check)" = fine
check 'a filter that comes during the call: it ends well' end_tracee

begin kill-process madvise,mmap other
check 'a filter on another thread: the one without it is borrowed' \
	exits 0 memdiag trim --pid "$tracee_pid" --max-lock=100s --json
check 'a filter on another thread: the first is that' \
	json_is "[.. | .borrow? | select(.) | .tid] == [$tracee_pid]"
lives_on 'a filter on another thread'

# ---- the strict mode -----------------------------------------------------------------------------

begin strict -
check 'strict mode: trim is refused' exits_saying 5 'strict mode' memdiag trim --pid "$tracee_pid"
check 'strict mode: info reads the heaps' exits_saying 0 'strict mode' memdiag info --pid "$tracee_pid"
lives_on 'strict mode'

# ---- a filter that comes while something is recorded ---------------------------------------------

if has_hooks; then
	begin kill-process nanosleep,ppoll late
	check 'a later filter: a record begins' exits 0 memdiag record start --pid "$tracee_pid"
	check 'a later filter: it comes' test "$(ask filter)" = filtered
	check 'a later filter: the record ends' exits 0 memdiag record stop --pid "$tracee_pid" -o "$dir/record"
	check 'a later filter: another one does not begin' \
		exits_saying 5 'would end it for nanosleep()' memdiag record start --pid "$tracee_pid"
	lives_on 'a later filter'
else
	skip 'a later filter' 'this memdiag was built without Zydis'
fi

# ---- the calls of the agent, and no others ---------------------------------------------------------

# works_in OPTIONS...: in the tracee this begins and ends: a profile or a record, by what OPTIONS begins with.
works_in()
{
	check "$*: it begins in a program that allows the listed calls alone" exits 0 memdiag "$@" --pid "$tracee_pid"
	check "$*: the program allocates" ask 'threads 3'
	check "$*: it ends" exits 0 memdiag "$1" stop --pid "$tracee_pid" -o "$dir/of-list"
}

# begins_or_names CALL: a record begins, or is refused for CALL.
begins_or_names()
{
	memdiag record start --pid "$tracee_pid" || { [ $? = 5 ] && says "$1()"; }
}

if has_hooks; then
	start_tracee seccomp load
	works_in profile start
	works_in record start
	works_in record start --mode mem-record
	check 'the list: the program ends well' end_tracee
	for call in openat close munmap mprotect getcwd prctl rt_sigprocmask memfd_create getpid gettid clock_gettime prlimit64; do
		begin kill-process $call late
		check "later $call: a record begins before" exits 0 memdiag record start --pid "$tracee_pid"
		check "later $call: and ends" exits 0 memdiag record stop --pid "$tracee_pid" -o "$dir/before"
		check "later $call: the filter comes" test "$(ask filter)" = filtered
		check "later $call: a record begins, or is refused by name" begins_or_names $call
		lives_on "later $call"
	done
else
	skip 'the calls of the agent' 'this memdiag was built without Zydis'
fi

# ---- the list ------------------------------------------------------------------------------------

start_tracee idle
check 'doctor lists the calls' exits 0 memdiag doctor --pid "$tracee_pid" --json
check 'the list of trim has madvise' \
	json_is '[.data.findings[] | select(.about == "calls of trim") | .text | test("^mmap, munmap, .*madvise.*also")] == [true]'
check 'the target of doctor lives on' end_tracee
finish

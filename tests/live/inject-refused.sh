#!/bin/sh
# Targets that memdiag cannot call into: it says what they are and what to do instead, exits as
# it should, and touches nothing.
. "$top_srcdir/tests/live/lib.sh"
need jq

# by_name NAME WHAT: info and trim are refused naming WHAT; maps works.
by_name()
{
	remember
	check "$1: info names it" exits_saying 5 "$2" memdiag info --pid "$tracee_pid"
	check "$1: trim names it" exits_saying 5 "$2" memdiag trim --pid "$tracee_pid"
	if has_hooks && { [ "$1" = tcmalloc ] || [ "$1" = mimalloc ]; }; then
		check "$1: heap names its library" exits_saying 5 "lib$2" memdiag heap --pid "$tracee_pid"
	fi
	check "$1: the target is as before" unharmed
	check "$1: maps adds up" maps_adds_up "$tracee_pid"
	check "$1: the target lives on" end_tracee
}

for name in tcmalloc:libtcmalloc_minimal.so.4 mimalloc:libmimalloc.so.2
do
	library=$(find /usr/lib /usr/lib64 -name "${name#*:}" 2>/dev/null | head -n 1)
	name=${name%%:*}
	if [ -z "$library" ]; then
		skip "$name" 'it is not installed'
		continue
	fi
	start_command env LD_PRELOAD="$library" "$TRACEES/idle" 2
	by_name "$name" "$name"
done
for form in static musl i386; do
	if [ ! -x "$TRACEES/idle-$form" ]; then
		skip "$form" 'such a program cannot be built or run here'
		continue
	fi
	start_tracee idle-$form
	case $form in
	static) by_name $form static ;;
	musl) by_name $form musl ;;
	i386) by_name $form i386 ;;
	esac
done

# loading LIBRARY: a program whose dynamic linker has loaded LIBRARY ('': none), and then waits until the next one, which
# is a pipe, is written to.
loading()
{
	first=${1:+after ${1##*/}}
	first=${first:-first}
	mkfifo "$dir/late.so"
	# shellcheck disable=SC2016 # the inner shell's
	start_command sh -c 'echo ready; LD_PRELOAD="$1 $2" exec "$3" 2' sh "$1" "$dir/late.so" "$TRACEES/idle"
	until grep -q "$TRACEES/idle" "/proc/$tracee_pid/maps" && grep -q "${1:-/ld}" "/proc/$tracee_pid/maps"; do
		lives "$tracee_pid" || break
		sleep 0.01
	done
	for command in info trim heap 'count start'; do
		[ "$command" != 'count start' ] || has_hooks || continue
		# shellcheck disable=SC2086 # words
		check "loading $first: $command" exits_saying 6 'idle) are still being loaded' memdiag $command --pid "$tracee_pid"
	done
	echo >"$dir/late.so"
	check "loading $first: it begins" soon runs
	check "loading $first: then its malloc is known" exits 0 memdiag info --pid "$tracee_pid"
	check "loading $first: it lives on" end_tracee
	rm "$dir/late.so"
}

# runs: whether the program that the shell has become says that it is ready, too.
runs()
{
	[ "$(grep -c '^ready' "$dir/$tracee_pid.out")" -eq 2 ]
}

libc=$(ldd "$TRACEES/idle" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
loading ''
loading "$libc"

start_tracee idle 2
kill -STOP "$tracee_pid"
wait_for "$tracee_pid" "/proc/$tracee_pid/status" '^State:.T'
remember
check 'a stopped target is named so' exits_saying 6 stopped memdiag info --pid "$tracee_pid" --wait 100ms
check 'it is still stopped' grep -q '^State:.T' "/proc/$tracee_pid/status"
check 'it is as before' unharmed
kill -CONT "$tracee_pid"
check 'it lives on' end_tracee

if command -v strace >/dev/null; then
	start_tracee idle 2
	strace -f -o /dev/null -p "$tracee_pid" 2>/dev/null &
	tracer=$!
	started="$started $tracer"
	wait_for "$tracee_pid" "/proc/$tracee_pid/status" '^TracerPid:.[1-9]'
	for command in 'info --method=inject' trim; do
		# shellcheck disable=SC2086 # a command and its option
		check "$command: another tracer is named" exits_saying 4 "$tracer.*strace" memdiag $command --pid "$tracee_pid"
	done
	check 'info reads' exits_saying 0 "the heaps were read.*$tracer.*strace" memdiag info --pid "$tracee_pid"
	check 'with --method=read info reads the heaps of a traced process' exits 0 memdiag info --method=read --pid "$tracee_pid"
	kill "$tracer"
	wait "$tracer" 2>/dev/null
	check 'its target lives on' end_tracee
else
	skip 'another tracer is named' 'strace is not installed'
fi

start_tracee vfork
child=$(sed -n 's/^child //p' "$dir/$tracee_pid.out")
check 'a vfork child is refused' exits_saying 5 vfork memdiag info --pid "$child"
check 'its parent finds no safe point' exits_saying 6 . memdiag info --method=inject --pid "$tracee_pid" --wait 100ms
check 'the vfork child and its parent live on' end_tracee

start_tracee zombie-leader
check 'a process whose leader has ended is answered' exits 0 memdiag info --pid "$tracee_pid"
check 'it lives on' end_tracee

if has_kernel_threads; then
	check 'a kernel thread is refused' exits_saying 5 'kernel thread' memdiag info --pid 2
else
	skip 'a kernel thread is refused' 'this container has none'
fi
check 'a process that is not there' exits_saying 3 . memdiag info --pid 4194303

# A program that waits inside stdio: nothing may be called there.
start_tracee parked sem 1 multi
wait_for "$tracee_pid" "$dir/$tracee_pid.out" '^kept'
remember
check 'a thread inside stdio is not borrowed' exits_saying 6 . memdiag info --method=inject --pid "$tracee_pid" --wait 100ms
check 'the target is as before' unharmed
check 'it lives on' end_tracee

# The stack of a helper that the kernel refuses to make serves the next one: glibc 2.43 would keep each of them.
makes_no_helper()
{
	echo max >"$group/pids.max"
	start_release_tracee idle 2
	echo "$tracee_pid" >"$group/cgroup.procs" && echo 1 >"$group/pids.max"
	remember
	for _ in 1 2 3; do
		check "glibc $release, no helper: info" exits 0 memdiag info --pid "$tracee_pid" --json
		check "glibc $release, no helper: asks in the borrowed thread" json_is '.data.borrow.mode == "thread"'
	done
	check "glibc $release, no helper: the target is as before" unharmed
	check "glibc $release, no helper: it lives on" end_tracee
}

# A thread that waits among others calls malloc_info() itself if it can make no helper, but not dlopen().
for pids in /sys/fs/cgroup/pids /sys/fs/cgroup; do
	group=$pids/memdiag-test.$$
	mkdir "$group" 2>/dev/null && [ -w "$group/pids.max" ] && break
	rmdir "$group" 2>/dev/null
	group=
done
if [ -n "$group" ] && has_hooks; then
	start_tracee idle 2
	if echo "$tracee_pid" >"$group/cgroup.procs" && echo 1 >"$group/pids.max"; then
		remember
		check 'no helper: info asks in the borrowed thread' exits 0 memdiag info --pid "$tracee_pid" --json
		check 'no helper: as it says' json_is '.data.borrow.mode == "thread"'
		check 'no helper: the agent is not loaded in it' exits_saying 6 \
			'could not make the thread.*nothing was changed' memdiag count start --pid "$tracee_pid"
		check 'no helper: nothing is recommended that may deadlock' sh -c "! grep -q mode=thread '$dir/err'"
		check 'no helper: not at all' sh -c "! grep agent '/proc/$tracee_pid/maps'"
		check 'no helper: the target is as before' unharmed
	else
		skip 'no helper: the agent is not loaded' 'the process cannot be put into a cgroup of its own'
	fi
	check 'no helper: it lives on' end_tracee
	for_each_release makes_no_helper
	until rmdir "$group" 2>/dev/null; do
		sleep 0.01
	done
else
	skip 'no helper: the agent is not loaded' 'no pids cgroup may be made here, or there is no Zydis'
fi

# A program whose thread-local words do not fit into a helper's small stack gets a larger one.
cat >"$dir/words.c" <<'END'
#include "tracee.h"
static __thread char words[100000];
static void *
use(void *arg)
{
	words[5] = 1;
	tracee_use_malloc();
	for (;;)
		pause();
	return arg;
}
int
main(void)
{
	words[3] = 1;
	tracee_use_malloc();
	tracee_thread(use, NULL);
	tracee_ready();
	return tracee_park();
}
END
if "${CC:-cc}" -O1 -pthread -I"$top_srcdir/tests/tracees" -o "$dir/words" "$dir/words.c" 2>"$dir/cc"; then
	start_command "$dir/words"
	check 'large thread-local words: a helper is made' exits 0 memdiag info --pid "$tracee_pid" --mode=helper --json
	check 'large thread-local words: and makes the call' json_is '.data.borrow.mode == "helper"'
	check 'large thread-local words: the target lives on' end_tracee
else
	skip 'large thread-local words' 'no compiler here'
fi
finish

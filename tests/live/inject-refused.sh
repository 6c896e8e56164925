#!/bin/sh
# Targets that memdiag cannot call into: it says what they are and what to do instead, exits as
# it should, and touches nothing.
. "$top_srcdir/tests/live/lib.sh"
need jq

# refused STATUS PATTERN COMMAND...: it exits with STATUS and says PATTERN.
refused()
{
	status=$1
	pattern=$2
	shift 2
	exits "$status" memdiag "$@" || return
	grep -qi -e "$pattern" "$dir/err" || {
		cat "$dir/err"
		return 1
	}
}

# by_name NAME WHAT: info and trim are refused naming WHAT; maps works.
by_name()
{
	remember
	check "$1: info names it" refused 5 "$2" info --pid "$tracee_pid"
	check "$1: trim names it" refused 5 "$2" trim --pid "$tracee_pid"
	check "$1: the target is as before" unharmed
	check "$1: maps adds up" maps_adds_up "$tracee_pid"
	check "$1: the target lives on" end_tracee
}

for name in jemalloc:libjemalloc.so.2 tcmalloc:libtcmalloc_minimal.so.4 mimalloc:libmimalloc.so.2
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
		skip "$form" 'the compiler cannot make such a program'
		continue
	fi
	start_tracee idle-$form
	case $form in
	static) by_name $form static ;;
	musl) by_name $form musl ;;
	i386) by_name $form i386 ;;
	esac
done

start_tracee idle 2
kill -STOP "$tracee_pid"
wait_for "$tracee_pid" "/proc/$tracee_pid/status" '^State:.T'
remember
check 'a stopped target is named so' refused 6 stopped info --pid "$tracee_pid" --wait 100ms
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
	check 'another tracer is named' refused 4 "$tracer.*strace" info --pid "$tracee_pid"
	kill "$tracer"
	wait "$tracer" 2>/dev/null
	check 'its target lives on' end_tracee
else
	skip 'another tracer is named' 'strace is not installed'
fi

start_tracee vfork
child=$(sed -n 's/^child //p' "$dir/$tracee_pid.out")
check 'a vfork child is refused' refused 5 vfork info --pid "$child"
check 'its parent finds no safe point' refused 6 . info --pid "$tracee_pid" --wait 100ms
check 'both live on' end_tracee

start_tracee zombie-leader
check 'a process whose leader has ended is answered' exits 0 memdiag info --pid "$tracee_pid"
check 'it lives on' end_tracee

if grep -q '^Kthread:.1' /proc/2/status 2>/dev/null; then
	check 'a kernel thread is refused' refused 5 'kernel thread' info --pid 2
else
	skip 'a kernel thread is refused' 'this container has none'
fi
check 'a process that is not there' refused 3 . info --pid 4194303

# A program that waits inside stdio: nothing may be called there.
start_tracee parked sem 1 multi
wait_for "$tracee_pid" "$dir/$tracee_pid.out" '^kept'
remember
check 'a thread inside stdio is not borrowed' refused 6 . info --pid "$tracee_pid" --wait 100ms
check 'the target is as before' unharmed
check 'it lives on' end_tracee
finish

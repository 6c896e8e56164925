#!/bin/sh
# Functions of libc's are hooked in living programs: every caller is seen, however it calls; lifted,
# every byte is as it was.  Set twice, lifted twice, lifted without: nothing changes.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/hook-lib.sh"

# sees N COMMAND [NAME]: whether N more of NAME are counted when the tracee does as COMMAND says.
sees()
{
	local name="${3:-nr_mallocs}" before after
	before=$(nr "$name") && ask "$2" && after=$(nr "$name") || return
	echo "$before, then $after"
	[ $((after - before)) -eq "$1" ]
}

# ---- all callers ----

start_tracee callers "$TRACEES/caller.so"
ask later >"$dir/loaded"
check 'the bytes can be read' same_bytes
check 'lifted without being set: nothing changes' hooks '0 0 0' lift
check 'set' hooks '2 0 0' set "$payload" malloc free
for caller in direct pointer libc later handler; do
	check "seen: malloc, called: $caller" sees 1 $caller
	check "seen: free, called: $caller" sees 1 $caller nr_frees
done
check 'set twice: nothing changes' hooks '0 0 2' set "$payload" malloc free
check 'set twice: seen once' sees 1 direct
check 'lifted' hooks '2 0 0' lift
check 'lifted: every byte is as it was' same_bytes
check 'lifted: nothing is seen' sees 0 direct
check 'lifted twice: nothing changes' hooks '0 0 0' lift
check 'set again' hooks '2 0 0' set "$payload" malloc free
check 'set again: seen' sees 1 libc
check 'lifted again' hooks '2 0 0' lift
check 'lifted again: every byte is as it was' same_bytes
check 'the target lives on' end_tracee

start_tracee callers "$TRACEES/caller.so"
check 'before a library is loaded: set' hooks '2 0 0' set "$payload" malloc free
ask later >"$dir/loaded"
check 'what the library calls is seen' sees 1 later
check 'the target lives on' end_tracee

# ---- by the tables ----

start_tracee callers
check 'too short for a jump: the bytes can be read' same_bytes
check 'too short for a jump: set by the tables' hooks '0 1 0' set "$payload" pthread_mutexattr_destroy
check 'too short for a jump: seen' sees 1 short nr_short
check 'too short for a jump: set twice' hooks '0 0 1' set "$payload" pthread_mutexattr_destroy
check 'too short for a jump: lifted' hooks '0 1 0' lift
check 'too short for a jump: nothing is seen' sees 0 short nr_short
check 'too short for a jump: every byte is as it was' same_bytes
check 'both ways at once' hooks '2 1 0' set "$payload" malloc free pthread_mutexattr_destroy
check 'both ways at once: lifted' hooks '2 1 0' lift
check 'both ways at once: every byte is as it was' same_bytes
check 'fewer than before: set' hooks '2 1 0' set "$payload" malloc free pthread_mutexattr_destroy
check 'fewer than before: the others are let go, the table as well' hooks '1 1 1' set "$payload" malloc
check 'fewer than before: those are not seen' sees 0 short nr_short
check 'fewer than before: that one is' sees 1 direct
check 'fewer than before: and back' hooks '1 1 1' set "$payload" malloc free pthread_mutexattr_destroy
check 'fewer than before: seen again' sees 1 short nr_short
export HOOK_PREFIX=other_
check 'led to another hook: set' hooks '2 1 0' set "$payload" pthread_mutexattr_destroy
unset HOOK_PREFIX
check 'led to another hook: that one sees' sees 1 short nr_other_short
check 'led to another hook: the first does not' sees 0 short nr_short
check 'led to another hook: and back' hooks '0 1 0' set "$payload" pthread_mutexattr_destroy
check 'led to another hook: seen' sees 1 short nr_short
check 'led to another hook: lifted' hooks '0 1 0' lift
check 'led to another hook: nothing is seen' sees 0 short nr_short
check 'led to another hook: every byte is as it was' same_bytes
check 'the target lives on' end_tracee

# ---- by another library ----

# another LIBRARY: a library that does the same, and is not the same.
another()
{
	"${CC:-cc}" -O1 -shared -fPIC -nostdlib -Wl,--build-id -o "$1" "$top_srcdir/tests/tracees/payload.c"
}

start_tracee callers
check 'another library: it is made' another "$dir/another.so"
check 'another library: set by the first' hooks '2 1 0' set "$payload" malloc free pthread_mutexattr_destroy
check 'another library: refused meanwhile' exits 5 hook set "$dir/another.so" malloc
check 'another library: says by whom' grep -q 'malloc() .* is hooked already, by .*/payload.so' "$dir/err"
check 'another library: lifted' hooks '2 1 0' lift
check 'another library: set' hooks '2 1 0' set "$dir/another.so" malloc free pthread_mutexattr_destroy
payload=$dir/another.so
check 'another library: sees calls' sees 1 direct
check 'another library: sees those of the tables' sees 1 short nr_short
payload=$TRACEES/payload.so
check 'another library: the first sees none' sees 0 direct
check 'another library: lifted, too' hooks '2 1 0' lift
check 'another library: the target lives on' end_tracee

# ---- what happens meanwhile ----

start_tracee callers
check 'in the first bytes: set' hooks '2 0 0' set "$payload" malloc free
check 'in the first bytes: lifted' hooks '2 0 0' lift
export HOOK_STANDS=malloc
check 'in the first bytes: a thread is waited for' hooks '2 0 0' set "$payload" malloc free
check 'in the first bytes: to go on' test "$(cut -d ' ' -f 4 "$dir/out")" -ge 2
unset HOOK_STANDS
check 'in the first bytes: lifted again' hooks '2 0 0' lift
# The first call through a slot comes when it is known what the slot has, and it is not changed yet.
HOOK_MEANWHILE=$dir/calls
export HOOK_MEANWHILE
echo "echo short >'$dir/$tracee_pid.in'
until [ \"\$(wc -l <'$dir/$tracee_pid.out')\" -gt 1 ]; do sleep 0.01; done" >"$HOOK_MEANWHILE"
chmod +x "$HOOK_MEANWHILE"
check 'a slot is filled meanwhile: set' hooks '0 1 0' set "$payload" pthread_mutexattr_destroy
unset HOOK_MEANWHILE
check 'a slot is filled meanwhile: it was' test "$(wc -l <"$dir/$tracee_pid.out")" -eq 2
check 'a slot is filled meanwhile: seen' sees 1 short nr_short
check 'a slot is filled meanwhile: the target lives on' end_tracee

# ---- under load ----

start_tracee churn 8
check 'eight busy threads: the bytes can be read' same_bytes
check 'eight busy threads: set' hooks '2 0 0' set "$payload" malloc free
check 'eight busy threads: seen' all_seen
check 'eight busy threads: lifted' hooks '2 0 0' lift
check 'eight busy threads: every byte is as it was' same_bytes
check 'eight busy threads: 20 times' hook cycle "$(some 20)" "$payload" malloc free
check 'eight busy threads: every byte is as it was' same_bytes
check 'eight busy threads: go on' goes_on 20000
check 'the target lives on' end_tracee

start_tracee manythreads 100
check 'a hundred threads: set' hooks '2 0 0' set "$payload" malloc free
check 'a hundred threads: lifted' hooks '2 0 0' lift
check 'the target lives on' end_tracee

# ---- a handler's way back leads into what changes ----

if [ -x "$TRACEES/stepper" ]; then
	start_tracee stepper
	check 'in a handler: the bytes can be read' same_bytes
	exits 0 "$top_builddir/tests/unit/inject-load" "$tracee_pid" "$payload" >"$dir/loaded"
	check 'in a handler that came inside malloc' test "$(ask step)" = inside
	export HOOK_WAIT=300000000
	check 'in a handler: no safe point' exits 6 hook set "$payload" malloc free
	check 'in a handler: says so' grep -q 'in the middle of what is to change' "$dir/err"
	unset HOOK_WAIT
	check 'in a handler: every byte is as it was' same_bytes
	check 'back from the handler' obeys go
	check 'back from the handler: set' hooks '2 0 0' set "$payload" malloc free
	check 'back from the handler: lifted' hooks '2 0 0' lift
	check 'the target lives on' end_tracee
else
	skip "in a handler" 'there is no stepper for this architecture'
fi

# ---- somebody else is there ----

if command -v gdb >"$dir/where"; then
	start_tracee callers
	# A jump of another's: to where nobody will go.
	gdb -nx -batch -p "$tracee_pid" -ex 'set var *(unsigned char *)&malloc_info = 0xe9' \
		>"$dir/gdb" 2>&1
	check "another's jump: the bytes can be read" same_bytes
	check "another's jump: refused by name" exits 5 hook set "$payload" malloc_info
	check "another's jump: says so" grep -q 'already begins with a jump of another tool' "$dir/err"
	check "another's jump: every byte is as it was" same_bytes
	check 'the target lives on' end_tracee
else
	skip "another's jump" 'gdb is not installed'
fi

# ---- one word cannot be written ----

start_tracee callers
check 'half of it: the bytes can be read' same_bytes
export HOOK_FAILS=free
check 'half of it: not set' exits 1 hook set "$payload" malloc free
check 'half of it: every byte is as it was' same_bytes
unset HOOK_FAILS
check 'set in spite of that' hooks '2 0 0' set "$payload" malloc free
export HOOK_FAILS=free
check 'half of it: not lifted' exits 1 hook lift
check 'half of it: malloc is hooked still' sees 1 direct
check 'half of it: so is free' sees 1 direct nr_frees
unset HOOK_FAILS
check 'lifted in spite of that' hooks '2 0 0' lift
check 'half of it: every byte is as it was again' same_bytes
check 'the target lives on' end_tracee

# ---- somebody else changes what is hooked ----

# byte NAME[+N] VALUE: whether byte number N of NAME is VALUE from now on; $was is what it was.
byte()
{
	hook byte "$1" "$2" && was=$(cat "$dir/out")
}

# leaves_one COMMAND...: whether one word is said to be somebody else's.
leaves_one()
{
	hooks "$@" && [ "$(cut -d ' ' -f 6 "$dir/out")" = 1 ]
}

# meanwhile NAME: before threads are stopped the first time, NAME gets a breakpoint; $dir/was is what was there.
meanwhile()
{
	HOOK_MEANWHILE=$dir/meanwhile
	export HOOK_MEANWHILE
	echo "'$top_builddir/tests/unit/inject-hook' $tracee_pid byte $1 204 >'$dir/was'" >"$HOOK_MEANWHILE"
	chmod +x "$HOOK_MEANWHILE"
}

# back NAME: it is gone.
back()
{
	unset HOOK_MEANWHILE
	byte "$1" "$(cat "$dir/was")"
}

start_tracee callers
check "somebody's breakpoint: the bytes can be read" same_bytes
check "somebody's breakpoint: hooked before" hooks '2 0 0' set "$payload" malloc free
check "somebody's breakpoint: comes" byte malloc+3 204
check "somebody's breakpoint: it is left, and that is said" leaves_one '1 0 0' lift
check "somebody's breakpoint: it is there" byte malloc+3 "$was"
check "somebody's breakpoint: as it was" test "$was" = 204
check "somebody's breakpoint: gone, the hook is lifted" hooks '1 0 0' lift
check "somebody's breakpoint: every byte is as it was" same_bytes
byte malloc_info+3 204
check "somebody's breakpoint: to hook there is refused" exits 5 hook set "$payload" malloc_info
check "somebody's breakpoint: says so" \
	grep -q 'a breakpoint or a kernel probe (uprobe) is set at malloc_info+3' "$dir/err"
byte malloc_info+3 "$was"
check "just now: hooked before" hooks '2 0 0' set "$payload" malloc free
meanwhile malloc+3
check 'just now: it is left, and that is said' leaves_one '1 0 0' lift
check 'just now: gone' back malloc+3
check 'just now: lifted' hooks '1 0 0' lift
meanwhile free+4
check 'just now: not set' exits 1 hook set "$payload" malloc free
check 'just now: says so' grep -q 'has changed just now; nothing was hooked' "$dir/err"
check 'just now: gone again' back free+4
check 'just now: every byte is as it was' same_bytes
# On an instruction that stays where it is a breakpoint is nobody's trouble.
byte malloc 204
first=$was
check 'on the first instruction: hooked all the same' hooks '2 0 0' set "$payload" malloc free
check 'on the first instruction: gone' byte malloc "$first"
check 'on the first instruction: it was left' test "$was" = 204
check 'on the first instruction: what it replaced was not moved along' sees 1 direct
byte malloc 204
check 'on the first instruction: lifted with another' hooks '2 0 0' lift
check 'on the first instruction: gone, too' byte malloc "$first"
check 'on the first instruction: every byte is as it was' same_bytes
check 'the target lives on' end_tracee
finish

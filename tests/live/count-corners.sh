#!/bin/sh
# Rare cases in a process that begins to count: a libc that cannot be hooked everywhere, threads in the middle
# of a call or without a block, exceptions, and a memdiag that was killed before.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/count-lib.sh"
need jq
AGENT=$top_builddir/libmemdiag-agent.so

# ---- a function whose beginning cannot be changed ----

# symbol NAME: its address in this machine's libc.
symbol()
{
	readelf -W --dyn-syms "$libc" | awk -v name="$1" \
		'{ sub(/@.*/, "", $8) } $8 == name { print "0x" $2; exit }'
}

# bytes N...: of these values.
bytes()
{
	for byte; do
		# shellcheck disable=SC2059 # an octal escape
		printf "\\$(printf %03o "$byte")"
	done
}

# A libc whose valloc(n) is memalign(4096, n), and begins with what cannot be moved: jrcxz, to where it
# goes on.  What is text lies in the file where it does in memory.
make_odd_libc()
{
	local at to
	at=$(symbol valloc) && to=$(symbol memalign) && [ "$at" ] && [ "$to" ] || return
	to=$((to - at - 15))
	mkdir "$dir/odd" && cp "$libc" "$dir/odd/libc.so.6" &&
		bytes 0xe3 0 0x48 0x89 0xfe 0xbf 0 0x10 0 0 0xe9 $((to & 255)) $((to >> 8 & 255)) \
			$((to >> 16 & 255)) $((to >> 24 & 255)) |
		dd of="$dir/odd/libc.so.6" conv=notrunc oflag=seek_bytes seek=$((at)) 2>"$dir/err"
}

starts_by_slots()
{
	exits 0 memdiag count start --pid "$tracee_pid" --json && json '.data | del(.hooks)' &&
		json_is '.data.entries > 8 and .data.slots > 0 and .data.doubtful_blocks == null'
}

# counts_bytes COMMAND...: as does, where the number of blocks is not known.
counts_bytes()
{
	local before after
	before=$(($(status .live_bytes) - $(ask sum | sed 's/ .*//'))) && obeys "$*" &&
		after=$(($(status .live_bytes) - $(ask sum | sed 's/ .*//'))) || return
	echo "besides the ledger: $before, then $after"
	[ "$before" = "$after" ]
}

libc=$(ldd "$TRACEES/ledger" | awk '/libc.so.6/ { print $3 }')
if [ "$(uname -m)" = x86_64 ] && command -v readelf >/dev/null; then
	check 'slots: a libc for it' make_odd_libc
	start_command env LD_LIBRARY_PATH="$dir/odd" "$TRACEES/ledger"
	check 'slots: that is the one' grep -q "$dir/odd/libc.so.6" "/proc/$tracee_pid/maps"
	check 'slots: the bytes can be read' same_bytes
	check 'slots: start, but others may call it past them, so the number is not sure' starts_by_slots
	check 'slots: counted' counts_bytes 'mix 20000'
	check 'slots: a profile beside it begins' exits 0 memdiag profile start --pid "$tracee_pid"
	check 'slots: still counted' counts_bytes 'mix 20000'
	check 'slots: the profile ends' exits 0 memdiag profile stop -o "$dir/p" --pid "$tracee_pid"
	check 'slots: stop' exits 0 memdiag count stop --pid "$tracee_pid"
	check 'slots: every byte is as it was' same_bytes
	check 'slots: the target lives on' end_tracee
else
	skip 'slots' 'this takes x86-64 and readelf'
fi

# ---- who is in a hook, is marked ----

# is_marked: whether memdiag, when it reads the heap, sees every thread that is in the middle of a call.
is_marked()
{
	ask "marks $AGENT" >"$dir/said" && cat "$dir/said" && grep -q -x '[0-9][0-9][0-9][0-9]* 0' "$dir/said"
}

if [ -x "$TRACEES/stepper" ]; then
	start_tracee stepper
	check 'marks: start' count start
	check 'marks: none is missing' is_marked
	check 'marks: stop' count stop
	check 'marks: the target lives on' end_tracee
	# A block that comes from a call under way when malloc is hooked is not counted.
	start_tracee stepper
	check 'in malloc before: it is' test "$(ask deeper)" = inside
	check 'in malloc before: start' count start
	check 'in malloc before: so the number is' json_is '.data.doubtful_blocks == null'
	check 'in malloc before: it goes on' obeys go
	check 'in malloc before: stop' count stop
	check 'in malloc before: start again' count start
	check 'in malloc before: none is doubtful' json_is '.data.doubtful_blocks == 0'
	check 'in malloc before: the target lives on' end_tracee
else
	skip 'marks' 'there is no stepper for this architecture'
fi

# ---- exceptions of C++ ----

if command -v "${CXX:-c++}" >/dev/null &&
	"${CXX:-c++}" -O1 -o "$dir/thrower" "$top_srcdir/tests/tracees/thrower.cc" 2>"$dir/err"; then
	start_command "$dir/thrower"
	check 'exceptions: start' count start
	check 'exceptions: counted' does 'throw 2000'
	check 'exceptions: stop' count stop
	check 'exceptions: the target lives on' end_tracee
else
	skip 'exceptions' "there is no C++ compiler: $(head -n 1 "$dir/err")"
fi

# ---- threads that have never allocated ----

# Each other one has a chunk of malloc's own, which the program did not ask for.
start_tracee ledger
check 'threads without a block: they wait' obeys 'wait 20'
check 'threads without a block: start' count start
check 'threads without a block: what was in use is known' json_is \
	'.data.before_bytes > 0 and .data.doubtful_blocks == 0'
check 'threads without a block: they end' obeys wake
check 'threads without a block: what was counted is what there is' agrees_with_heap
check 'threads without a block: the target lives on' end_tracee

# Their cached blocks are freed by malloc when they end, in a thread that never came to the agent.
start_tracee ledger
check 'threads with a cache: they wait' obeys 'doze 20'
check 'threads with a cache: start' count start
check 'threads with a cache: they end' obeys wake
check 'threads with a cache: those after them are counted' does crowd 20
check 'threads with a cache: what was counted is what there is' agrees_with_heap
check 'threads with a cache: the target lives on' end_tracee

# ---- a memdiag that was killed before ----

start_tracee ledger
check 'killed before it said so: start' count start
ask "says 0 $AGENT" >"$dir/said"
check 'killed before it said so: the next begins anew' count start
check 'killed before it said so: counted' does mix 1000
check 'killed before it said so: what was counted is what there is' agrees_with_heap
check 'killed before it said so: the target lives on' end_tracee

finish

#!/bin/sh
# Kernel probes (uprobes, as perf and bpftrace set them) on the functions that the agent stands in front of,
# set before counting begins or after, on entry or on return: the program goes on, what it does is counted
# to the byte, and the probes are hit. One on an instruction that would be moved is refused by name.
# The probes are set in a copy of libc that only this test's program uses.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/tracefs-lib.sh"
need jq readelf

# ---- a libc of our own ----

loader=$(readelf -lW "$TRACEES/ledger" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
libc=$(ldd "$TRACEES/ledger" | sed -n 's/.*libc\.so\.6 => \([^ ]*\) .*/\1/p')
mkdir "$dir/lib"
cp -L "$loader" "$libc" "$dir/lib/" || skip_all 'libc cannot be copied'
loader=$dir/lib/${loader##*/}
libc=$dir/lib/libc.so.6

# address FUNCTION: of libc, in its file (the first segment's addresses are offsets, and so are those of code).
address()
{
	readelf -W --dyn-syms "$libc" |
		awk -v name="$1" '{ sub(/@.*/, "", $8) } $8 == name && $7 != "UND" { print $2; exit }'
}

# probe KIND FUNCTION [OFFSET]: set one, p on entry (or OFFSET bytes behind it) or r on return.
nr_probes=0
probe()
{
	local at
	at=$(address "$2") && [ -n "$at" ] || return
	at=$(printf '0x%x' $((0x$at + ${3:-0})))
	nr_probes=$((nr_probes + 1))
	echo "$1:$group/$2_$nr_probes $libc:$at" >>"$tracing/uprobe_events" &&
		echo 1 >"$tracing/events/$group/$2_$nr_probes/enable"
}

hits()
{
	awk -v name="$1" 'index($2, name "_") == 1 { sum += $3 } END { print sum + 0 }' \
		"$tracing/uprobe_profile"
}

# is_hit FUNCTION: whether the probes on it have been.
is_hit()
{
	[ "$(hits "$1")" -gt 0 ]
}

start_ledger()
{
	start_command "$loader" --library-path "$dir/lib" "$TRACEES/ledger"
}

start_ledger
probe p malloc 2>"$dir/err" || skip_all "a uprobe cannot be set: $(head -n 1 "$dir/err")"
ask 'small 10' >"$dir/said"
if ! is_hit malloc; then
	kill "$(cat "$dir/$tracee_pid.holder")"
	skip_all 'a uprobe that is set is not hit here'
fi
probes_off
check 'with a probe that is gone: the target lives on' end_tracee

# ---- all functions ----

# begins_with_jump FUNCTION: as memalign() of Debian's glibc 2.43-7, which jumps to what all that align have in common.
begins_with_jump()
{
	[ "$(od -An -tx1 -j $((0x$(address "$1"))) -N 1 "$libc")" = ' e9' ]
}

# is_refused FUNCTION: whether counting does not begin while a probe is set there, and that is said.
is_refused()
{
	start_ledger
	probe p "$1" && exits 5 memdiag count start --pid "$tracee_pid" &&
		grep -q "a kernel probe (uprobe) is set at $1" "$dir/err" || return
	probes_off
	end_tracee
}

functions=
for function in malloc free calloc realloc memalign aligned_alloc posix_memalign valloc pvalloc mmap munmap mremap; do
	if begins_with_jump $function; then
		check "a probe on $function, which is a jump, is refused" is_refused $function
	else
		functions="$functions $function"
	fi
done
for kind in p r; do
	for order in after before; do
		name="$order counting begins, $([ $kind = p ] && echo entry || echo return)"
		start_ledger
		[ $order = before ] || check "$name: start" count start
		for function in $functions; do
			check "$name: a probe on $function" probe $kind "$function"
		done
		[ $order = after ] || check "$name: start" count start
		check "$name: nothing is doubtful" json_is '.data.doubtful_blocks == 0'
		for command in 'mix 2000' free 'small 100' 'stdio 10' 'map 20' unmap; do
			# shellcheck disable=SC2086 # words
			check "$name: counted: $command" does $command
		done
		check "$name: a child" child_changes_nothing fork
		for function in malloc free calloc realloc posix_memalign mmap munmap; do
			check "$name: the probe on $function is hit" is_hit "$function"
		done
		check "$name: stop" count stop
		check "$name: goes on" obeys 'mix 2000'
		check "$name: start again" count start
		check "$name: counted again" does 'mix 2000'
		probes_off
		check "$name: without the probes" does 'mix 2000'
		check "$name: stop again" count stop
		check "$name: goes on again" obeys 'mix 2000'
		check "$name: the target lives on" end_tracee
	done
done

# ---- where it would be moved ----

# second FUNCTION: where its second instruction begins; nothing if that is not known.
second()
{
	local at
	at=$(address "$1")
	objdump -d --no-show-raw-insn --start-address="0x$at" "$libc" 2>/dev/null |
		awk -v at="0x$at" '/^ +[0-9a-f]+:/ { sub(":", "", $1); if (++nr == 2) { print "0x" $1; exit } }'
}

if command -v objdump >/dev/null; then
	at=$(address malloc)
	offset=$(($(second malloc) - 0x$at))
	start_ledger
	check 'on an instruction that is moved: set' probe p malloc $offset
	check 'on an instruction that is moved: refused' exits 5 memdiag count start "$tracee_pid"
	check 'on an instruction that is moved: by name' \
		grep -q "a kernel probe (uprobe) is set at malloc+$offset" "$dir/err"
	check 'on an instruction that is moved: goes on' obeys 'mix 1000'
	probes_off
	check 'it is gone: start' count start
	check 'it is gone: counted' does 'mix 1000'
	check 'it is gone: the target lives on' end_tracee
else
	skip 'on an instruction that is moved' 'objdump is not installed'
fi

# ---- the tools ----

# by NAME COMMAND...: with a tool that sets the probe itself, and prints something when it has.
by()
{
	local name="$1" tool
	shift
	start_ledger
	check "$name: start" count start
	# shellcheck disable=SC2086
	sh -c 'echo $$ >"$0"; exec "$@"' "$dir/tool" "$@" >"$dir/tool.out" 2>&1 &
	tool=$!
	started="$started $tool"
	# Until the probe is there: the kernel has put a breakpoint into the page.
	until [ "$("$top_builddir/tests/unit/inject-hook" "$tracee_pid" byte malloc)" = 204 ]; do
		if ! lives "$tool"; then
			skip "$name" "it does not run here: $(head -n 1 "$dir/tool.out")"
			end_tracee >/dev/null
			return
		fi
		sleep 0.05
	done
	check "$name: counted" does 'mix 2000'
	kill -INT "$tool"
	wait "$tool"
	check "$name: counted without it" does 'mix 2000'
	check "$name: stop" count stop
	check "$name: the target lives on" end_tracee
}

if command -v bpftrace >/dev/null; then
	by bpftrace bpftrace -e "uprobe:$libc:malloc { @n = count(); }"
else
	skip bpftrace 'it is not installed'
fi
finish

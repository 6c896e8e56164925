#!/bin/sh
# memdiag trace and strace -f -k of the same calls: one copies stacks in the kernel and unwinds them later, the other stops
# the thread at each call and unwinds it then.  And perf, which copies as memdiag does and unwinds with another library.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/trace-lib.sh"
can_trace || skip_all "tracing is not permitted here: $(cat "$dir/err")"

# ---- strace --------------------------------------------------------------------------------------

has_strace()
{
	command -v strace >/dev/null && strace -k -o "$dir/try" true 2>"$dir/err" && grep -q '^ > ' "$dir/try"
}
begin_strace()
{
	strace -f -k -e trace=mmap,munmap,mremap,brk,madvise -o "$dir/strace" -p "$tracee_pid" 2>"$dir/strace.err" &
	strace=$!
	started="$started $strace"
	wait_for "$strace" "$dir/strace.err" attached
}
end_strace()
{
	kill "$strace"
	wait "$strace" 2>/dev/null || [ $? -eq 143 ]
}
# together SEED STEPS: the tracee plays so while both look at it.
together()
{
	begin_strace && trace_of_play "$1" "$2" 0
	end_strace
}
same_as_strace()
{
	python3 "$top_srcdir/tests/live/trace-compare.py" strace "$dir/strace" "$dir/out"
}
each_is_right()
{
	unless_lost together "$1" "$2" && has_status 0 && compare lines && same_as_strace
}

if has_strace; then
	for threads in 1 3; do
		start_tracee takes-memory "$threads"
		check "$threads threads: each call is what strace says, with its stack" each_is_right "5$threads" 300
		echo "# $(tail -n 1 "$dir/check.said")"
		check "$threads threads: the program lives on" end_tracee
	done
else
	skip 'each call is what strace says' 'there is no strace with -k here'
fi

# ---- perf ----------------------------------------------------------------------------------------

# perf wants a tracefs: one that no other process sees.  Of another kernel's version it may not run at all.
with_tracefs()
{
	# shellcheck disable=SC2016 # the inner shell's
	HOME=$dir unshare -m sh -c '[ -e /sys/kernel/tracing/events ] || mount -t tracefs nodev /sys/kernel/tracing && exec "$@"' sh "$@"
}
has_perf()
{
	command -v perf >/dev/null &&
		with_tracefs perf record -q -B -N -e syscalls:sys_enter_munmap -o "$dir/try" true >"$dir/err" 2>&1
}
events=
for call in mmap munmap mremap madvise; do
	events="$events -e syscalls:sys_enter_$call"
done
control()
{
	# shellcheck disable=SC2016 # the inner shell's
	timeout 300 sh -c 'echo "$1" >"$2"' sh "$1" "$dir/control"
}
begin_perf()
{
	rm -f "$dir/control" "$dir/ack"
	mkfifo "$dir/control" "$dir/ack"
	# shellcheck disable=SC2086 # words
	with_tracefs perf record -q -B -N -o "$dir/perf.data" -m 16M --call-graph dwarf,16384 $events -p "$tracee_pid" \
		-D -1 --control "fifo:$dir/control,$dir/ack" >"$dir/perf.said" 2>&1 &
	perf=$!
	started="$started $perf"
	control enable && timeout 300 head -n 1 "$dir/ack" >"$dir/acked"
}
end_perf()
{
	control stop
	wait "$perf"
	with_tracefs perf script --no-inline -i "$dir/perf.data" -F tid,event,trace,ip,sym >"$dir/script" 2>"$dir/perf.err"
}
beside_perf()
{
	begin_perf && trace_of_play "$1" "$2" 0 --syscalls=mmap,munmap,mremap,madvise
	end_perf
}
perf_lost()
{
	grep -qi -e lost -e throttle "$dir/perf.said" "$dir/perf.err"
}
same_as_perf()
{
	python3 "$top_srcdir/tests/live/trace-compare.py" perf "$dir/script" "$dir/out"
}
perf_agrees()
{
	unless_lost beside_perf "$1" "$2" && has_status 0 && { same_as_perf || { perf_lost && echo 'perf lost events'; }; }
}
if has_perf; then
	start_tracee takes-memory 2
	check 'each call is what perf says, with its stack' perf_agrees 54 300
	echo "# $(tail -n 1 "$dir/check.said")"
	check 'the program lives on with perf' end_tracee
else
	skip 'each call is what perf says' 'perf does not run here'
fi
finish

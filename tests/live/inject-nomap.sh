#!/bin/sh
# A target that cannot map memory any more refuses our call.  Its thread is given back as after any other: the
# call that it waits in goes on.
. "$top_srcdir/tests/live/lib.sh"
need jq prlimit

# refused COMMAND...: it is refused for want of address space, again and again.
refused()
{
	for time in 1 2 3; do
		memdiag "$@" --pid "$tracee_pid"
		status=$?
		[ $status -ne 0 ] && grep -q 'cannot map' "$dir/err" || {
			echo "exit status $status"
			cat "$dir/err"
			return 1
		}
	done
}

# reads: whether info by itself reads the heaps for want of address space. If all threads run at that moment, it gives that
# as its reason.
reads()
{
	exits 0 memdiag info --pid "$tracee_pid" --json && json_is '.data.method == "read" and
		(.warnings | any(test("the heaps were read, malloc_info\\(\\) was not called: .* cannot map")))'
}

# unbroken: whether no sleep ended early or with an error.
unbroken()
{
	awk 'NF == 5 { count += $2; bad += $3 } END { print count, bad; exit !(count && !bad) }' \
		"$dir/$tracee_pid.out" || {
		cat "$dir/$tracee_pid.err"
		return 1
	}
}

for how in '' 3; do
	for kind in poll epoll nanosleep; do
		# shellcheck disable=SC2086 # nothing or a number
		start_tracee sleeps 1 $kind 300 300 $how
		size=$(sed -n 's/^VmSize:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$tracee_pid/status")
		prlimit --pid "$tracee_pid" --as=$((size * 1024))
		check "$kind${how:+, several threads}: info is refused" refused info --method=inject
		check "$kind${how:+, several threads}: trim is refused" refused trim
		check "$kind${how:+, several threads}: which has a status of its own" exits 6 memdiag trim --pid "$tracee_pid"
		check "$kind${how:+, several threads}: info by itself reads, and says why" soon reads
		check "$kind${how:+, several threads}: the target lives on" end_tracee
		check "$kind${how:+, several threads}: it slept on" unbroken
	done
done
finish

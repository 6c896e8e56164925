# kept-lib: what a process must have kept; read by lib.sh.
# shellcheck disable=SC3043,SC2034,SC2154 # every sh we know has local; lib.sh and the tests set and read the rest

# snapshot PID FILE: descriptors, signal state of each thread, and mappings.  Anonymous memory is
# one sum, as glibc may keep the stack of a thread that has ended (nptl/allocatestack.c).
snapshot()
{
	{
		# malloc itself opens that for a moment when a heap shrinks (check_may_shrink_heap()).
		find /proc/"$1"/fd -type l ! -lname /proc/sys/vm/overcommit_memory -printf 'fd %f %l\n' | sort
		grep -E '^Sig(Blk|Ign|Cgt)|^Tracer' /proc/"$1"/task/*/status
		awk '$6 != "" && $6 != "[heap]" { print "map", $1, $2, $3, $6 }' /proc/"$1"/maps
	} >"$2"
	awk '$6 == "" { split($1, a, "-"); print a[1], a[2] }' /proc/"$1"/maps |
		while read -r from to; do
			echo $((0x$to - 0x$from))
		done | awk '{ sum += $1 } END { printf "%.0f\n", sum }' >"$2.anon"
}

# remember [PID]: what unharmed will compare with.
remember()
{
	snapshot "${1:-$tracee_pid}" "$dir/before"
}

# unharmed [PID]: whether the process is as it was, but for at most one cached thread stack with
# its guard page, of the size that a helper has.
unharmed()
{
	local more stack
	snapshot "${1:-$tracee_pid}" "$dir/after"
	diff "$dir/before" "$dir/after" || return
	more=$(($(cat "$dir/after.anon") - $(cat "$dir/before.anon")))
	stack=$((32768 + $(getconf PAGESIZE)))
	[ "$more" -eq 0 ] || [ "$more" -eq "$stack" ] || {
		echo "$more bytes of anonymous memory more"
		return 1
	}
}

# counts_of PID: lines with how many mappings, descriptors and threads it has.
counts_of()
{
	wc -l <"/proc/$1/maps"
	find "/proc/$1/fd" -type l | wc -l
	find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l
}

# is_untraced: whether no thread of the tracee has a tracer.
is_untraced()
{
	! grep -h '^TracerPid:.*[1-9]' "/proc/$tracee_pid/task/"*/status
}

# private_kib PID: the KiB that it shares with no other process.
private_kib()
{
	awk '/^Private/ { sum += $2 } END { print sum }' "/proc/$1/smaps_rollup"
}

# same_bytes: whether the code and the tables of all objects of the tracee but the agent's are what they were at the
# first call.
same_bytes()
{
	"$top_builddir/tests/unit/inject-hook" "$tracee_pid" text libmemdiag-agent.so >"$dir/now" &&
		[ -s "$dir/now" ] || return
	[ -e "$dir/$tracee_pid.text" ] || cp "$dir/now" "$dir/$tracee_pid.text"
	cmp "$dir/now" "$dir/$tracee_pid.text"
}

#!/bin/sh
# SIGKILL memdiag before its first, second, third ... ptrace call, write to the target and wait,
# until it gets through: the target must live and be intact every time.
deadline=120
. "$top_srcdir/tests/live/lib.sh"
need strace
[ -x "$TRACEES/oracle" ] || skip_all 'there is no oracle for this architecture'
nr_tried=0
nr_survived=0

# killed_each_time SYSCALL COMMAND...: whether the target survives all of these.
killed_each_time()
{
	syscall=$1
	shift
	when=0
	while [ $when -lt 500 ]; do
		when=$((when + 1))
		strace -f -o "$dir/strace" -e "trace=$syscall" -e "inject=$syscall:signal=SIGKILL:when=$when" \
			"$MEMDIAG" "$@" --pid "$tracee_pid" >"$dir/out" 2>"$dir/err"
		grep -q 'killed by SIGKILL' "$dir/strace" || break
		nr_tried=$((nr_tried + 1))
		said=$(ask check)
		[ "$said" = intact ] || {
			echo "killed at $syscall number $when, the target says: $said"
			return 1
		}
		nr_survived=$((nr_survived + 1))
	done
	echo "killed $((when - 1)) times"
	[ $when -gt 1 ] && [ $when -lt 500 ]
}

for how in '' multi; do
	# shellcheck disable=SC2086 # nothing or a word
	start_tracee oracle $how
	for command in info trim; do
		for syscall in ptrace process_vm_writev wait4; do
			check "${how:-single}: $command, killed at each $syscall" \
				killed_each_time $syscall $command
		done
	done
	check "${how:-single}: memdiag still gets its answer" exits 0 memdiag info --pid "$tracee_pid"
	check "${how:-single}: the target lives on" end_tracee
done
start_tracee oracle multi
check 'helper mode off: info, killed at each ptrace' killed_each_time ptrace info --mode=thread
check 'helper mode off: the target lives on' end_tracee

echo "# survived $nr_survived / tried $nr_tried"
check 'enough was tried' test "$nr_tried" -ge 150
check 'all survived' test "$nr_survived" -eq "$nr_tried"
finish

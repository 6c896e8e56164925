#!/bin/sh
# SIGKILL memdiag before its first, second, third ... ptrace call, write to the target and wait,
# until it gets through: the target must live and be intact every time.
. "$top_srcdir/tests/live/lib.sh"
need strace
[ -x "$TRACEES/oracle" ] || skip_all 'there is no oracle for this architecture'
nr_survived=0

is_intact()
{
	said=$(ask check)
	echo "the target says: $said"
	[ "$said" = intact ] && nr_survived=$((nr_survived + 1))
}

for how in '' multi; do
	# shellcheck disable=SC2086 # nothing or a word
	start_tracee oracle $how
	for command in info trim; do
		for syscall in ptrace process_vm_writev wait4; do
			check "${how:-single}: $command, killed at each $syscall" \
				killed_each_time $syscall 1 is_intact "$MEMDIAG" $command --pid "$tracee_pid"
		done
	done
	check "${how:-single}: memdiag still gets its answer" exits 0 memdiag info --pid "$tracee_pid"
	check "${how:-single}: the target lives on" end_tracee
done
start_tracee oracle multi
check 'helper mode off: info, killed at each ptrace' killed_each_time ptrace 1 is_intact \
	"$MEMDIAG" info --mode=thread --pid "$tracee_pid"
check 'helper mode off: the target lives on' end_tracee

echo "# survived $nr_survived / tried $nr_tried"
check 'enough was tried' test "$nr_tried" -ge 150
check 'all survived' test "$nr_survived" -eq "$nr_tried"
finish

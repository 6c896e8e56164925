#!/bin/sh
# Many threads, each with the smallest stack there is: nothing may be called on such a stack.
. "$top_srcdir/tests/live/lib.sh"
need jq
start_tracee manythreads 1500
remember
for command in info trim 'info --mode=thread' 'info --capture=fd2 --mode=thread'; do
	# shellcheck disable=SC2086 # a command and its options
	check "$command among 1,500 threads" exits 0 memdiag $command --pid "$tracee_pid" --json
done
check 'the target is as before' unharmed
check 'the target lives on' end_tracee
finish

#!/bin/sh
# A process that runs counts to the byte on other releases of glibc as well; among them are those where
# libc's malloc calls itself in other places.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/count-lib.sh"
need jq

count_again()
{
	count stop && starts_surely || return
	json '.data | "\(.before_bytes) in use, \(.doubtful_blocks) doubtful"'
	json_is .data.is_counting
}

on_release()
{
	start_release_tracee ledger
	check "$release: the bytes can be read" same_bytes
	check "$release: start" count start
	for command in 'mix 50000' free 'mix 5000' 'crowd 50' 'tls 50' 'stdio 100'; do
		# shellcheck disable=SC2086 # words
		check "$release: counted: $command" does $command
	done
	check "$release: started again" count_again
	check "$release: what was counted is what there is" agrees_with_heap
	check "$release: what a child does is not its parent's" child_changes_nothing fork
	check "$release: stop" count stop
	check "$release: every byte is as it was" same_bytes
	check "$release: the target lives on" end_tracee
}
for_each_release on_release

# Every release of glibc has its own moment from which setuid() in another thread need not wait for a new one.
with_setuid()
{
	start_release_tracee setuid 300
	for time in 1 2 3; do
		check "$release: setuid() in a loop: count start, time $time" \
			exits 0 memdiag count start --pid "$tracee_pid"
		check "$release: setuid() in a loop: count stop, time $time" \
			exits 0 memdiag count stop --pid "$tracee_pid"
	done
	check "$release: setuid() in a loop: it lives on" end_tracee
}
for_each_release with_setuid
finish

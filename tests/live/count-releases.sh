#!/bin/sh
# A process that runs counts to the byte on other releases of glibc as well; among them are those where
# libc's malloc calls itself in other places.
# shellcheck disable=SC3043 # every sh we know has local
deadline=300
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
need jq

count_again()
{
	count stop && count start && json '.data | "\(.before_bytes) in use, \(.doubtful_blocks) doubtful"' &&
		case $release in
		2.43 | 2.4[4-9]) ;;	# knows of its mappings nearly how large they are
		*) json_is '.data.doubtful_blocks == 0' ;;
		esac
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
	check "$release: what was counted is what there is" nearly_agrees_with_heap \
		"$(json .data.doubtful_blocks)"
	check "$release: what a child does is not its parent's" child_changes_nothing fork
	check "$release: stop" count stop
	check "$release: every byte is as it was" same_bytes
	check "$release: the target lives on" end_tracee
}
for_each_release on_release
finish

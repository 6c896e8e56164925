#!/bin/sh
# kernel.perf_event_paranoid 2, 3 (Debian's patch) and 4: memdiag trace.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
. "$top_srcdir/tests/kernels/lib.sh"
need jq
# shellcheck disable=SC2086 # $nobody is a list of words
paranoid=/proc/sys/kernel/perf_event_paranoid
was=$(cat $paranoid)
for value in 2 3 4; do
	set_to $paranoid $value
	start_tracee idle 2
	for option in '' --rss; do
		check "$value, root: trace $option" exits 0 memdiag trace -d 0.1 --mount-tracefs $option --pid "$tracee_pid"
	done
	works "$value, root"
	start_own idle 2
	check "$value, the owner: trace --rss" exits_saying 4 "kernel.perf_event_paranoid is $value" \
		captured $nobody "$MEMDIAG" trace -d 0.1 --rss --pid "$tracee_pid"
	check "$value: what helps" grep -q 'Run memdiag as root' "$dir/err"
	works "$value, the owner" $nobody
done
set_to $paranoid "$was"
finish

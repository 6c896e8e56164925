#!/bin/sh
# --capture=fd2 redirects descriptor 2 for a moment: every line that other threads write meanwhile
# must still come to the log, whole, once, and none of malloc_info may.
. "$top_srcdir/tests/live/lib.sh"
need jq

complete()
{
	for line in $(ask stop); do
		echo "$line"
	done >"$dir/counts"
	log=$dir/$tracee_pid.err
	thread=0
	while read -r count; do
		found=$(grep -cE "^thread $thread line [0-9]+$" "$log")
		distinct=$(grep -E "^thread $thread line [0-9]+$" "$log" | sort -u | wc -l)
		[ "$found" -eq "$count" ] && [ "$distinct" -eq "$count" ] || {
			echo "thread $thread wrote $count lines, $found are there, $distinct differ"
			return 1
		}
		thread=$((thread + 1))
	done <"$dir/counts"
	[ "$thread" -gt 0 ]
}

nothing_else()
{
	! grep -vE '^thread [0-9]+ line [0-9]+$' "$dir/$tracee_pid.err"
}

answered()
{
	exits 0 memdiag info --pid "$tracee_pid" --capture=fd2 --mode="$1" --json &&
		json_is '.data.arenas | length > 0'
}

for mode in helper thread; do
	start_tracee logger 4
	check "$mode: ten answers" each_of 10 answered $mode
	check "$mode: every line of the log is there, once" complete
	check "$mode: and nothing else" nothing_else
	check "$mode: the target lives on" end_tracee

	# Output that was caught before malloc_info() had to be given up belongs to the log as well.
	start_tracee logger 4
	ask lock >"$dir/counts"
	check "$mode: a locked arena: malloc_info is given up" \
		exits_at_limit 1 memdiag info --pid "$tracee_pid" --capture=fd2 --mode=$mode
	check "$mode: a locked arena: every line of the log is there, once" complete
	check "$mode: a locked arena: and nothing else" nothing_else
	check "$mode: a locked arena: the target lives on" end_tracee
done
finish

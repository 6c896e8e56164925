#!/bin/sh
# Hooks are set and lifted a thousand times while eight threads call the functions: every byte is as it
# was, there are no more descriptors, mappings, arenas or threads than after the first time.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/hook-lib.sh"
need jq

# Its descriptors, threads, and mappings but the heap's, which grows by itself.
has_no_more()
{
	{
		find "/proc/$tracee_pid/fd" -type l -printf 'fd %f %l\n' | sort
		find "/proc/$tracee_pid/task" -mindepth 1 -maxdepth 1 | sort
		grep 'r-xp\|\.so' "/proc/$tracee_pid/maps"
		exits 0 memdiag info --pid "$tracee_pid" --json && json '.data.arenas | length'
	} >"$dir/has"
	[ -e "$dir/had" ] || cp "$dir/has" "$dir/had"
	diff "$dir/had" "$dir/has"
}

start_tracee churn 8
check 'the bytes can be read' same_bytes
check 'once' hook cycle 1 "$payload" malloc free
check 'its mappings can be counted' has_no_more
check 'set and lifted a thousand times, or a share of it' hook cycle "$(some 1000)" "$payload" malloc free
awk 'NR % 2 { sum += $5; n++ } END { printf "# a thread stood for %.1f us, on average\n", sum / n / 1000 }' \
	"$dir/out"
check 'every byte is as it was' same_bytes
check 'it has no more than after the first time' has_no_more
check 'it goes on' goes_on 20000
check 'the target lives on' end_tracee
finish

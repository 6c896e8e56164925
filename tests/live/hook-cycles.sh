#!/bin/sh
# Hooks are set and lifted a thousand times while eight threads call the functions: every byte is as it
# was, there are no more descriptors, mappings, arenas or threads than after the first time.
deadline=600
. "$top_srcdir/tests/live/lib.sh"
need jq
payload=$TRACEES/payload.so

hook()
{
	timeout 500 "$top_builddir/tests/unit/hook" "$tracee_pid" "$@" >"$dir/out" 2>"$dir/err" || {
		cat "$dir/err"
		return 1
	}
}

same_bytes()
{
	hook text "$payload" && [ -s "$dir/out" ] || return
	[ -e "$dir/text" ] || cp "$dir/out" "$dir/text"
	cmp "$dir/out" "$dir/text"
}

# Of its mappings all but the heap's, which grows by itself.
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

goes_on()
{
	said=$(ask count)
	until [ "$(ask count)" -gt $((said + 20000)) ]; do
		kill -0 "$tracee_pid" || return
	done
}

start_tracee churn 8
check 'the bytes can be read' same_bytes
check 'once' hook cycle 1 "$payload" malloc free
check 'what it has can be told' has_no_more
check 'a thousand times' hook cycle 1000 "$payload" malloc free
awk 'NR % 2 { sum += $5; n++ } END { printf "# a thread stood for %.1f us, on average\n", sum / n / 1000 }' \
	"$dir/out"
check 'every byte is as it was' same_bytes
check 'it has no more than after the first time' has_no_more
check 'it goes on' goes_on
check 'the target lives on' end_tracee
finish

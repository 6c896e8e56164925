#!/bin/sh
# All programs that do what is hard to count, where nothing can be shared, where the agent gets no memory, with a
# malloc that calls itself by the names of the hooks, and under valgrind.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/agent-lib.sh"

each_way

also=
settings=account=usable
# Its malloc is behind ours by the same names, and has no words of glibc's in front of its blocks.
reads_nothing_invalid()
{
	with_agent valgrind -q --error-exitcode=9 "$TRACEES/idle" </dev/null >"$dir/tap" 2>&1 &&
		grep -q alive "$dir/tap" && ! grep 'Invalid' "$dir/tap" || {
		cat "$dir/tap"
		return 1
	}
}
if command -v valgrind >/dev/null; then
	check 'valgrind finds nothing invalid' reads_nothing_invalid
else
	skip 'valgrind finds nothing invalid' 'it is not installed'
fi
finish

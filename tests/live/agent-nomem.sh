#!/bin/sh
# The agent where the kernel refuses it one single mapping: each program again and again, with the first
# that fails, the second, and so on; of those that a program makes hundreds of not each.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/agent-lib.sh"

# one_by_one COMMAND...: run it as often as it has mappings that may fail.
one_by_one()
{
	local n=1 nr=1
	while [ "$n" -le "$nr" ]; do
		launcher="$programs/nomem $n"
		"$@" || {
			echo "when mapping $n failed"
			return 1
		}
		nr=$(sed -n 's/^nomem: //p' "$dir/tap")
		n=$((n < 12 ? n + 1 : n + 97))
	done
	[ "$nr" -gt 0 ]
}

nomem=nomem
all 'one at a time' one_by_one
finish

#!/bin/sh
# types on a program that has instances of classes of GObject in known numbers, and on its core file.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq

budget='--max-stop 300s'

# all_named: whether each class has as many blocks and bytes as the program says, and no other one of the program has any.
all_named()
{
	jq -r '.data.types[] | select(.evidence == "gobject" and (.name | startswith("Mem"))) | "gobject \(.blocks) \(.bytes) \(.name)"' \
		"$dir/out" | sort >"$dir/found"
	grep '^gobject ' "$dir/$tracee_pid.out" | sort | diff - "$dir/found"
}

tracee=$top_builddir/tests/tracees/gobjects
[ "$("$tracee" </dev/null | head -n 1)" != missing ] || skip_all 'libgobject-2.0 is missing'
start_tracee gobjects
# shellcheck disable=SC2086 # $budget is two words, here and below
check 'types' exits 0 memdiag types --pid "$tracee_pid" $budget --json
check 'each class is named, and nothing else' all_named
check 'their module is the program' json_is '[.data.types[] | select(.name | startswith("Mem")) | .module | endswith("/gobjects")] |
	length >= 3 and all'
check 'shares add up' json_is '.data | .proven.blocks + .inferred.blocks + .global.blocks + .unknown.blocks == .in_use.blocks and
	.proven.bytes == ([.types[].bytes] | add)'
# shellcheck disable=SC2086
check 'leaks: nothing is lost' exits 0 memdiag leaks --pid "$tracee_pid" $budget
if command -v gcore >/dev/null; then
	check 'gcore' sh -c "gcore -o '$dir/core' $tracee_pid >'$dir/gcore' 2>&1"
	check 'its core file' exits 0 memdiag types --core "$dir/core.$tracee_pid" --json
	check 'has the same' all_named
else
	skip 'a core file has the same types' 'gcore is missing'
fi
check 'the program still works' end_tracee
finish

#!/bin/sh
# leaks of objects of classes: their types, how many of each type are reached, lists whose pointers are encoded, and
# suppressions by type and module; of a process and of its core file.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq
need g++

# leaks STATUS OPTIONS...
leaks()
{
	local status="$1"
	shift
	exits "$status" memdiag leaks --pid "$tracee_pid" --max-stop 300s "$@"
}

# group CLASS FILTER: whether the one group of CLASS is so.
group()
{
	jq -e --arg name "$1" '[.data.groups[] | select(.head_type.name == $name)] | length == 1 and (.[0] | '"$2"')' "$dir/out" >/dev/null
}

# check_groups WORDS
check_groups()
{
	check "$1: objects with another block" group shapes::circle '.heads == 30 and .blocks == 60 and .shape == "list" and
		.same_type == 1030 and .reachable_of_same_type == 1000 and .linked_of_same_type == 0'
	check "$1: objects alone" group shapes::square '.heads == 30 and .blocks == 30 and .shape == "single" and
		.same_type == 730 and .reachable_of_same_type == 700 and .head_type.evidence == "rtti" and
		.head_type.symbol == "N6shapes6squareE" and (.head_type.module | endswith("/classes"))'
	check "$1: a list whose head is encoded" group shapes::link '.heads == 1 and .blocks == 30000 and .shape == "list" and
		.same_type == 30002 and .reachable_of_same_type == 2 and .linked_of_same_type == 30000 and .may_be_encoded'
	check "$1: nothing else has a type" json_is '[.data.groups[] | select(.head_type != null)] | length == 3'
}

# suppressed LINES...: leaks with these suppressions, each an argument.
suppressed()
{
	printf '%s\n' "$@" >"$dir/suppressions"
	leaks '0 1' --suppressions "$dir/suppressions" --json
}

check 'the program is built' g++ -O1 -std=c++17 -I"$top_srcdir/tests/tracees" -o "$dir/classes" "$top_srcdir/tests/tracees/classes.cc"
start_command "$dir/classes"
check 'nothing is lost' leaks '0 1' --json
check 'no class is lost' json_is '[.data.groups[] | select(.head_type != null)] == []'
check 'objects are lost' obeys 'lose 30'
check 'a list is hidden' obeys 'hide 30000'
check 'leaks' leaks 1 --json
check 'nothing is said on stderr' test ! -s "$dir/err"
check_groups process
if command -v gcore >/dev/null; then
	check 'gcore' sh -c "gcore -o '$dir/core' $tracee_pid >'$dir/gcore' 2>&1"
	check 'leaks of its core file' exits 1 memdiag leaks --core "$dir/core.$tracee_pid" --json
	check_groups 'core file'
else
	skip 'a core file has the same types' 'gcore is missing'
fi
check 'leaks as text' leaks 1
check 'the type is in the table' grep -q '  30000  *1  .* list  *0x[0-9a-f]*  shapes::link$' "$dir/out"
check 'a hint, with the numbers' grep -q '^list of shapes::link: 2 of 30002 blocks of this type are reached, 30000 of the others are linked with each other: its pointers may be encoded (--mask-tags, --unaligned)$' "$dir/out"
check 'those that are not linked' grep -q '^single of shapes::square: 700 of 730 blocks of this type are reached: its pointers' "$dir/out"
check 'leaks --no-stop' leaks 2 --no-stop --every 1ms --json
check 'has types, too' group shapes::link '.blocks == 30000 and .reachable_of_same_type == 2'

check 'suppressed by type' suppressed 'type:^shapes::circle$' 'type:N6shapes6squareE' 'type:classes'
check 'these and the blocks below them' json_is '[.data.suppressed.by[].blocks] == [60, 30, 0]'
check 'the others are listed' json_is '[.data.groups[].head_type.name | select(. != null)] == ["shapes::link"]'
check 'suppressed by module' suppressed 'module:/classes$'
check 'all that has a type' json_is '.data.suppressed.blocks == 30090 and all(.data.groups[]; .head_type == null)'
check 'suppressed by another module' suppressed 'module:libc.so' 'module:shapes'
check 'nothing' json_is '.data.suppressed.blocks == 0'
check 'suppressed as for LeakSanitizer' suppressed 'leak:link' 'leak:^*/classes$'
check 'by type and by module' json_is '[.data.suppressed.by[].blocks] == [30000, 90]'
printf 'module:\n' >"$dir/suppressions"
check 'a bad line: usage' leaks 64 --suppressions "$dir/suppressions"
check 'its number' says "line 1: 'module:' is not a suppression"
check 'the program still works' end_tracee
finish

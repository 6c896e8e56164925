#!/bin/sh
# types --by=contents and --by=holder on a program in C++ that says how many blocks of each kind it has and which variable
# holds them, and on its core file.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq
need g++

budget='--max-stop 300s'

# all_contents: whether each kind has as many blocks as the program says, but for a few of the library's.
all_contents()
{
	local what nr kind found bad=0
	while read -r what nr kind; do
		[ "$what" = contents ] || continue
		found=$(jq --arg kind "$kind" '[.data.groups[] | select(.contents == $kind) | .blocks] | add // 0' "$dir/out")
		if [ "$found" -lt "$nr" ] || [ "$found" -gt $((nr + 6)) ]; then
			echo "$kind: $found blocks, not $nr"
			bad=1
		fi
	done <"$dir/$tracee_pid.out"
	[ $bad = 0 ]
}

# all_holders: whether each variable holds as many blocks as the program says.
all_holders()
{
	local what nr name found bad=0
	while read -r what nr name; do
		[ "$what" = holder ] || continue
		found=$(jq --arg name "$name" '[.data.groups[] | select(.holder.symbol // "" | endswith($name)) | .blocks] | add // 0' \
			"$dir/out")
		[ "$found" = "$nr" ] || {
			echo "$name: $found blocks, not $nr"
			bad=1
		}
	done <"$dir/$tracee_pid.out"
	[ $bad = 0 ]
}

# same_sums: whether the groups have all blocks, each once, and the largest comes first.
same_sums()
{
	json_is '.data as $d | .data.groups | (map(.bytes) | . == (sort | reverse)) and
		(map(.blocks) | add) == $d.in_use.blocks and (map(.bytes) | add) == $d.in_use.bytes and
		all(.[]; .blocks == .proven.blocks + .inferred.blocks + .global.blocks + .unknown.blocks)'
}

# check_both WORDS ARG...: the groups of types with these arguments.
check_both()
{
	local what="$1"
	shift
	check "$what: by contents" exits 0 memdiag types "$@" --by=contents --json
	check "$what: as many blocks of each kind as there are" all_contents
	check "$what: all blocks, each once" same_sums
	check "$what: by holder" exits 0 memdiag types "$@" --by=holder --json
	check "$what: as many blocks of each variable as there are" all_holders
	check "$what: all blocks are held once" same_sums
}

check 'the program is built' g++ -O1 -std=c++17 -I"$top_srcdir/tests/tracees" -o "$dir/contents" \
	"$top_srcdir/tests/tracees/contents.cc"
start_command "$dir/contents"
# shellcheck disable=SC2086 # $budget is two words, here and below
check_both 'process' --pid "$tracee_pid" $budget
check 'nothing is said on stderr' test ! -s "$dir/err"
for by in contents holder; do
	# shellcheck disable=SC2086
	check "the table by $by" exits 0 memdiag types --pid "$tracee_pid" $budget --by=$by
done
check 'has the variables' grep -q '^ .*  global elements (contents)$' "$dir/out"
# shellcheck disable=SC2086
check '-n' exits 0 memdiag types --pid "$tracee_pid" $budget --by=holder -n 2
check 'leaves others out' grep -q 'more' "$dir/out"
if command -v gcore >/dev/null; then
	check 'gcore' sh -c "gcore -o '$dir/core' $tracee_pid >'$dir/gcore' 2>&1"
	check_both 'core file' --core "$dir/core.$tracee_pid"
else
	skip 'a core file has the same contents' 'gcore is missing'
fi
check 'the program still works' end_tracee
finish

#!/bin/sh
# types on a program that makes contexts of PostgreSQL, pools and states of zlib in known numbers, and as many blocks that
# look like these and are not: each is named, and nothing else is.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq

budget='--max-stop 300s'

# all_named: whether each kind is as many blocks and bytes as the program says, and no other block has a type of these.
all_named()
{
	local evidence nr bytes name found bad=0
	while read -r evidence nr bytes name; do
		case $evidence in context | pool | pair) ;; *) continue ;; esac
		found=$(jq -r --arg by "$evidence" --arg name "$name" '[.data.types[] | select(.evidence == $by and .name == $name)] |
			"\(map(.blocks) | add // 0) \(map(.bytes) | add // 0)"' "$dir/out")
		[ "$found" = "$nr $bytes" ] || {
			echo "$name: $found, not $nr $bytes"
			bad=1
		}
	done <"$dir/$tracee_pid.out"
	jq -r '.data.types[] | select(.evidence | . == "context" or . == "pool" or . == "pair") | .name' "$dir/out" | sort >"$dir/names"
	sed -n 's/^\(context\|pool\|pair\) [0-9]* [0-9]* //p' "$dir/$tracee_pid.out" | sort | diff - "$dir/names" && [ $bad = 0 ]
}

for version in 13 15 16 17; do
	for seed in 1 2 3; do
		start_tracee pools $seed $version
		# shellcheck disable=SC2086 # $budget is two words
		check "PostgreSQL $version, seed $seed: types" exits 0 memdiag types --pid "$tracee_pid" $budget --json
		check 'each kind is named, and nothing else' all_named
		check 'shares add up' json_is '.data | .proven.blocks + .inferred.blocks + .global.blocks + .unknown.blocks ==
			.in_use.blocks and .proven.bytes == ([.types[].bytes] | add)'
		if [ $seed = 1 ] && command -v gcore >/dev/null; then
			check 'gcore' sh -c "gcore -o '$dir/core' $tracee_pid >'$dir/gcore' 2>&1"
			check 'its core file' exits 0 memdiag types --core "$dir/core.$tracee_pid" --json
			check 'has the same' all_named
			rm -f "$dir/core.$tracee_pid"
		fi
		check 'the program still works' end_tracee
	done
done
finish

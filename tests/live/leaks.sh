#!/bin/sh
# leaks on a program that says which of its blocks are lost, on its core file, on programs that lose nothing, and its exit
# statuses.  tests/unit/census-holders looks at each block.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq

# On a machine that is busy with other tests threads take their time to stop.
budget='--max-stop 300s'

# counts: the groups, without what differs between runs.
counts()
{
	jq -c '.data | .in_use, .unreachable, .heads, (.groups[] | [.shape, .head_bytes, .heads, .blocks, .bytes])' "$1"
}

# lost WHAT: how many blocks the program says to be WHAT.
lost()
{
	grep -c "^$1 " "$dir/$tracee_pid.out"
}

same_as_live()
{
	counts "$dir/live.json" >"$dir/a" && counts "$dir/out" >"$dir/b" && [ -s "$dir/a" ] && diff "$dir/a" "$dir/b"
}

# shellcheck disable=SC2086 # $budget is two words, here and below
start_tracee holders
check 'blocks are unreachable: status 1' exits 1 memdiag leaks --pid "$tracee_pid" $budget --json
check 'its schema is named' json_is '.schema == "memdiag.leaks/1" and (.partial | not)'
check 'nothing is said on stderr' test ! -s "$dir/err"
check 'it is certain' json_is '.data.certainty == "certain" and .data.why == null'
check 'it was stopped' json_is '.data.stop.count >= 1 and .data.roots.threads >= 2'
check 'all that is lost or hidden' test "$(json .data.unreachable.blocks)" = $(($(lost lost) + $(lost hidden)))
check 'groups add up' json_is '(.data.unreachable.blocks == ([.data.groups[].blocks] | add)) and
	(.data.unreachable.bytes == ([.data.groups[].bytes] | add)) and (.data.heads == ([.data.groups[].heads] | add))'
check 'lists and rings of three' json_is '[.data.groups[] | select(.shape == "list" or .shape == "ring")] |
	length == 3 and all(.heads * .largest_blocks == .blocks and .largest_bytes == .largest_blocks * .head_bytes) and
	all(.[] | select(.head_bytes != 152); .heads == 10 and .blocks == 30)'
check 'examples are addresses that are lost' sh -c "jq -r '.data.groups[0].examples[]' '$dir/out' | while read -r a; do
	grep -q \"^lost own-mapping \$a\$\" '$dir/$tracee_pid.out' || exit 1; done"
mv "$dir/out" "$dir/live.json"

# shellcheck disable=SC2086
check 'the table' exits 1 memdiag leaks --pid "$tracee_pid" $budget
check 'begins with the process' sh -c "head -n 1 '$dir/out' | grep -q '^holders $tracee_pid  RSS .* in use .* blocks\$'"
check 'says what is unreachable' grep -q '^Unreachable: .* in [0-9]* blocks, below [0-9]* heads$' "$dir/out"
check 'an encoded list, with a hint' grep -q '^list of 152 B: 10 of 30 blocks of this size are reached: its pointers may be encoded' "$dir/out"
check 'no other hint' test "$(grep -c 'may be encoded' "$dir/out")" = 1
check 'a ring in a line' grep -q '^ .* 30  *10  .* ring  *0x' "$dir/out"
# shellcheck disable=SC2086
check '--lines' exits 1 memdiag leaks --pid "$tracee_pid" $budget --lines 2
check 'says how many more' grep -q 'more' "$dir/out"
# shellcheck disable=SC2086
check '--unaligned and --mask-tags' exits 1 memdiag leaks --pid "$tracee_pid" $budget --unaligned --mask-tags --json
check 'what these options find is not listed' test "$(json .data.unreachable.blocks)" = \
	$(($(lost lost) + $(lost hidden) - $(lost 'hidden \(packed[a-z-]*\|counter\|high-tag\)')))
# shellcheck disable=SC2086
check 'few unreachable bytes: status 0' exits 0 memdiag leaks --pid "$tracee_pid" $budget --fail-bytes 1G
check 'a stop that is too short: status 6' exits_saying 6 'cannot be read in one stop of\|no time\|did not stop\|stop' \
	memdiag leaks --pid "$tracee_pid" --max-stop 1us

if command -v gcore >/dev/null; then
	check 'gcore' sh -c "gcore -o '$dir/core' $tracee_pid >'$dir/gcore' 2>&1"
	check 'its core file' exits 1 memdiag leaks --core "$dir/core.$tracee_pid" --json
	check 'a core file has the same groups' same_as_live
	check 'a core file that was cut off is refused or approximate' sh -c "
		head -c 6000000 '$dir/core.$tracee_pid' >'$dir/cut' && ! '$MEMDIAG' leaks --core '$dir/cut' >'$dir/out' 2>&1"
else
	skip 'a core file has the same groups' 'gcore is missing'
fi
check 'the program still works' end_tracee

start_tracee idle
# shellcheck disable=SC2086
check 'a program that loses nothing: status 0' exits 0 memdiag leaks --pid "$tracee_pid" $budget --json
check 'nothing is unreachable' json_is '.data.unreachable.blocks == 0 and .data.groups == [] and .data.in_use.blocks > 0'
check 'it still works' end_tracee
check 'no process: status 3' exits 3 memdiag leaks --pid 4194304
check 'no core file: status 1' exits 1 memdiag leaks --core "$dir/nothing"
check 'a core file and a process: usage' exits 64 memdiag leaks --core x --pid 1
finish

#!/bin/sh
# retained on a program in C++ that says what it has: what its variables hold, what its types hold, and the path to a
# block; on its core file; and addresses that are no block.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq
need g++

budget='--max-stop 300s'
# adds_up: whether roots hold all blocks, each once.
adds_up='.data | ([.roots[].retained.bytes] | add) + .shared.bytes + .unreachable.bytes == .in_use.bytes and
	([.roots[].retained.blocks] | add) + .shared.blocks + .unreachable.blocks == .in_use.blocks'

# held NAME: how many blocks the global variable holds, whose symbol ends so.
held()
{
	jq --arg name "$1" '[.data.roots[] | select(.kind == "global" and (.symbol // "" | endswith($name))) |
		.retained.blocks] | add // 0' "$dir/out"
}

# all_there NR NAME: whether that variable holds NR blocks, but for a few: words that are not written may be addresses.
all_there()
{
	local nr
	nr=$(held "$2")
	[ "$nr" -gt $(($1 - 20)) ] && [ "$nr" -lt $(($1 + 20)) ] && return
	echo "$2 holds $nr blocks, not $1"
	return 1
}

# check_sums WORDS
check_sums()
{
	check "$1: all blocks are held once" json_is "$adds_up"
	# 2200 objects, 1000 of them with a body, and the vector; 400 and 600 objects, 5000 blocks, and the vector.
	check "$1: what one variable holds" all_there 3201 3all
	check "$1: what another one holds" all_there 6001 6others
	check "$1: objects hold their bodies" json_is '[.data.types[] | select(.name == "shapes::circle")] | length == 1 and
		.[0].blocks == 1000 and .[0].retained.blocks >= 2000 and .[0].retained.blocks < 2020'
}

check 'the program is built' g++ -O1 -std=c++17 -I"$top_srcdir/tests/tracees" -o "$dir/classes" \
	"$top_srcdir/tests/tracees/classes.cc"
start_command "$dir/classes"
# shellcheck disable=SC2086 # $budget is two words, here and below
check 'retained' exits 0 memdiag retained --pid "$tracee_pid" $budget --json
check_sums 'process'
check 'nothing is said on stderr' test ! -s "$dir/err"
circle=$(jq -r '.data.types[] | select(.name == "shapes::circle") | .largest' "$dir/out")
# shellcheck disable=SC2086
check 'the tables' exits 0 memdiag retained --pid "$tracee_pid" $budget
check 'have the variable' grep -q '%  *6[0-9]*  global others (classes)$' "$dir/out"
check 'have the type' grep -q '%  *1000  shapes::circle$' "$dir/out"
# shellcheck disable=SC2086
check '--holds' exits 0 memdiag retained --pid "$tracee_pid" $budget --holds "$circle" --json
check 'the path begins at the variable, and leads over its vector to the object' json_is '.data.path |
	(.root.symbol | endswith("3all")) and (.hops | length == 2) and .hops[1].address == "'"$circle"'" and
	.hops[1].type == "shapes::circle" and .hops[0].bytes > 16000 and .referrers >= 1'
# shellcheck disable=SC2086
check '--holds as text' exits 0 memdiag retained --pid "$tracee_pid" $budget --holds "$circle"
check 'the last line but one is the block' sh -c "tail -n 2 '$dir/out' | grep -q -- '-> $circle  .* B, retains .*  shapes::circle\$'"
# shellcheck disable=SC2086
check '--holds of the middle of a block' exits 0 memdiag retained --pid "$tracee_pid" $budget --json \
	--holds "$(printf '0x%x' $((circle + 5)))"
check 'is that of the block' json_is '.data.path.hops[1].address == "'"$circle"'"'
# shellcheck disable=SC2086
check '--holds of no heap' exits_saying 64 '0x1000 is in no heap of malloc' memdiag retained --pid "$tracee_pid" $budget --holds 0x1000
if command -v gcore >/dev/null; then
	check 'gcore' sh -c "gcore -o '$dir/core' $tracee_pid >'$dir/gcore' 2>&1"
	check 'its core file' exits 0 memdiag retained --core "$dir/core.$tracee_pid" --json
	check_sums 'core file'
else
	skip 'a core file has the same sums' 'gcore is missing'
fi
check 'the program still works' end_tracee

start_tracee holders
# shellcheck disable=SC2086
check 'a program with threads' exits 0 memdiag retained --pid "$tracee_pid" $budget --json
check 'threads: all blocks are held once' json_is "$adds_up"
check 'threads: what is lost' test "$(json .data.unreachable.blocks)" = \
	"$(grep -c -e '^lost ' -e '^hidden ' "$dir/$tracee_pid.out")"
check 'threads: blocks on a stack' json_is '[.data.roots[] | select(.kind == "stack" and .retained.blocks >= 10)] != []'
# shellcheck disable=SC2086
check '--holds of a block that is lost' exits 0 memdiag retained --pid "$tracee_pid" $budget --json \
	--holds "$(sed -n 's/^lost single //p' "$dir/$tracee_pid.out" | head -n 1)"
check 'nothing leads to it' json_is '.data.path | .root == null and .hops == [] and .referrers == 0'
check 'that program still works' end_tracee
finish

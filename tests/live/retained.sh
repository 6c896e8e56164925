#!/bin/sh
# retained on a program in C++ that says what it has: what its variables hold, what its types hold, and the path to a
# block; as graphs, whose sums are those of the kernel and of heap; on its core file; and addresses that are no block.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq
need g++
need python3

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

# ---- graphs ----

# sum_of PATTERN: the bytes of the lines of $dir/folded that match; "" is all.
sum_of()
{
	awk -v pattern="$1" '{ bytes = $NF; sub(/ [0-9]+$/, "") } $0 ~ pattern { sum += bytes } END { print sum + 0 }' "$dir/folded"
}

# rss_bytes: as the kernel counts it, page by page.
rss_bytes()
{
	echo $(($(sed -n 's/^Rss: *\([0-9]*\) kB/\1/p' "/proc/$tracee_pid/smaps_rollup") * 1024))
}

# is_rss: draw the process in $dir/folded; all lines together are RSS.  The kernel may take pages away meanwhile: then
# again.
is_rss()
{
	local before after left=20
	while [ $left -gt 0 ]; do
		before=$(rss_bytes)
		# shellcheck disable=SC2086 # two words
		memdiag retained --pid "$tracee_pid" $budget --format=folded -f -o "$dir/folded" || return
		after=$(rss_bytes)
		[ "$before" != "$after" ] || break
		left=$((left - 1))
	done
	[ "$(sum_of '')" -eq "$after" ] && return
	echo "all lines have $(sum_of '') bytes, RSS is $before, then $after"
	return 1
}

# same_held SYMBOL NAME: whether the lines of a variable have what retained --json, in $dir/sums, says that it holds.
same_held()
{
	local want
	want=$(jq --arg name "$1" '[.data.roots[] | select(.kind == "global" and (.symbol // "" | endswith($name))) |
		.retained.bytes] | add' "$dir/sums")
	[ "$(sum_of "^blocks of malloc [(][0-9]+[)];global $2 [(]")" -eq "$want" ] && return
	echo "the lines have $(sum_of ";global $2 [(]") bytes, not $want"
	return 1
}

# same_live: whether blocks have the resident bytes that heap counts by pages, but for headers of 8 bytes; of a block
# with pages that are not there, it is unknown on which side of them its header's bytes are.
same_live()
{
	local blocks
	# shellcheck disable=SC2086 # two words
	memdiag heap --pid "$tracee_pid" $budget --json || return
	blocks=$(sed -n 's/^blocks of malloc (\([0-9]*\)).*/\1/p' "$dir/folded" | head -n 1)
	near $(($(sum_of '^blocks of malloc') + 8 * blocks)) "$(jq '[.data.arenas[].live_resident_bytes] | add' "$dir/out")" 64
}

# graph_is KIND FORMAT NAME...: the graph is drawn, is whole, and shows the names as text.
graph_is()
{
	local kind="$1" format="$2"
	shift 2
	# shellcheck disable=SC2086 # two words
	memdiag retained --pid "$tracee_pid" $budget --format=$format -f -o "$dir/g.$kind" &&
		python3 "$top_srcdir/tests/live/report-xml.py" $kind "$dir/g.$kind" "$@"
}

# check_graphs: of classes, whose sums are in $dir/out.
check_graphs()
{
	cp "$dir/out" "$dir/sums"
	check 'folded: all lines are RSS' is_rss
	check 'folded: blocks are those that heap counts' same_live
	check 'folded: the number of blocks' grep -q "^blocks of malloc ($(jq .data.in_use.blocks "$dir/sums"));" "$dir/folded"
	check 'folded: what one variable holds' same_held 3all all
	check 'folded: what another one holds' same_held 6others others
	check 'folded: objects of a type are one frame, below the vector' grep -q -E \
		';global others [(]classes[)];blocks of 32.0 KiB to 64.0 KiB [(]1[)];shapes::named [(]400[)] [0-9]+$' "$dir/folded"
	check 'folded: bodies are a frame below the objects' grep -q ';shapes::circle (1000);blocks of 72 B (1000) 72000$' "$dir/folded"
	check 'svg: the graph is whole' graph_is svg flame 'global others (classes)' 'shapes::circle (1000)' 'RSS of classes' \
		'bytes in memory'
	check 'html: the page is whole' graph_is html html 'global others (classes)' 'shapes::circle (1000)' 'Frames'
	# shellcheck disable=SC2086 # two words
	check 'tree: as text' exits 0 memdiag retained --pid "$tracee_pid" $budget --format=tree --lines 0
	check 'tree: has the variable' grep -q '  global others (classes)$' "$dir/out"
}

check 'the program is built' g++ -O1 -std=c++17 -I"$top_srcdir/tests/tracees" -o "$dir/classes" \
	"$top_srcdir/tests/tracees/classes.cc"
start_command "$dir/classes"
# shellcheck disable=SC2086 # $budget is two words, here and below
check 'retained' exits 0 memdiag retained --pid "$tracee_pid" $budget --json
check_sums 'process'
check 'nothing is said on stderr' test ! -s "$dir/err"
circle=$(jq -r '.data.types[] | select(.name == "shapes::circle") | .largest' "$dir/out")
check_graphs
# shellcheck disable=SC2086
check 'the tables' exits 0 memdiag retained --pid "$tracee_pid" $budget
check 'have the variable' grep -q '%  *6[0-9]*  global others (classes)$' "$dir/out"
check 'have the type' grep -q '%  *1000  shapes::circle$' "$dir/out"
# shellcheck disable=SC2086
check '--holds' exits 0 memdiag retained --pid "$tracee_pid" $budget --holds "$circle" --json
check 'the path begins at the variable, and leads over its vector to the object' json_is '.data.path |
	(.root.symbol | endswith("3all")) and (.hops | length == 2) and .hops[1].address == "'"$circle"'" and
	.hops[1].type == "shapes::circle" and .hops[0].bytes > 16000 and .referrers >= 1'
check 'with the offsets of the pointers' json_is '.data.path.hops | .[0].offset == 0 and .[1].offset % 8 == 0 and
	.[1].offset < 16384'
# shellcheck disable=SC2086
check '--holds as text' exits 0 memdiag retained --pid "$tracee_pid" $budget --holds "$circle"
check 'the last line but one is the block' sh -c "tail -n 2 '$dir/out' | grep -q -- '-> $circle  .* B, retains .*  shapes::circle\$'"
# shellcheck disable=SC2086
check '--holds of the middle of a block' exits 0 memdiag retained --pid "$tracee_pid" $budget --json \
	--holds "$(printf '0x%x' $((circle + 5)))"
check 'is that of the block' json_is '.data.path.hops[1].address == "'"$circle"'"'

# is_way NR HOPS SYMBOL: whether so many blocks of the type are on one way from that variable, over that many blocks.
is_way()
{
	json_is '[.data.of_type.ways[] | select(.sum.blocks == '"$1"' and (.path.hops | length) == '"$2"' and
		(.path.root.symbol | endswith("'"$3"'")))] | length == 1'
}

# has_pointers: whether the word at each offset of the paths, which is read here, is in the block that it leads to.
has_pointers()
{
	jq -r '.data.of_type.ways[].path | [.root.address] + [.hops[] | .offset, .address, .bytes] | join(" ")' "$dir/out" |
		python3 -c 'import sys
memory = open(f"/proc/{sys.argv[1]}/mem", "rb", buffering=0)
nr = 0
for line in sys.stdin:
    at, *hops = line.split()
    for offset, start, size in zip(hops[::3], hops[1::3], hops[2::3]):
        memory.seek(int(at, 16) + int(offset))
        word = int.from_bytes(memory.read(8), sys.byteorder)
        if not int(start, 16) <= word <= int(start, 16) + int(size):
            sys.exit(f"{word:#x} is not in {start}")
        at = start
        nr += 1
print(nr, "pointers")
sys.exit(nr < 2)' "$tracee_pid"
}

# check_ways: to the classes of the program.
check_ways()
{
	# shellcheck disable=SC2086
	check '--holds of a type' exits 0 memdiag retained --pid "$tracee_pid" $budget --holds shapes::circle --json
	check 'all its blocks' json_is '.data.of_type | .name == "shapes::circle" and .sum.blocks == 1000 and
		.sum.blocks == ([.ways[].sum.blocks] | add) and .sum.bytes == ([.ways[].sum.bytes] | add) and
		.way_count == (.ways | length) and (.ways | map(.sum.bytes) | . == (sort | reverse))'
	check 'one way to most of them' is_way 1000 2 3all
	check 'each pointer of the path is in the memory before it' has_pointers
	check 'it ends at one of them' json_is '.data.of_type.ways[0].path.hops[1].type == "shapes::circle"'
	# shellcheck disable=SC2086
	check '--holds of types by a pattern' exits 0 memdiag retained --pid "$tracee_pid" $budget --holds 'shapes::*' --json
	check 'all their blocks' json_is '.data.of_type.sum.blocks == 2600'
	check 'two ways' json_is '.data.of_type.way_count >= 2'
	check 'to the wrapped objects, too' is_way 400 2 6others
	# shellcheck disable=SC2086
	check '--holds of a symbol' exits 0 memdiag retained --pid "$tracee_pid" $budget --holds N6shapes6squareE --json
	check 'is that of its type' is_way 700 2 3all
	# shellcheck disable=SC2086
	check '--holds of a type as text' exits 0 memdiag retained --pid "$tracee_pid" $budget --holds shapes::square
	check 'the number of blocks' grep -q -E '^700 blocks of shapes::square, .*, in [0-9]+ ways?$' "$dir/out"
	check 'the way' grep -q -E '^700 blocks, .*: global all [(]classes[)]$' "$dir/out"
	# shellcheck disable=SC2086
	check '--holds of a type that no block has' exits_saying 64 "no block is of the type 'shapes::triangle'" memdiag retained \
		--pid "$tracee_pid" $budget --holds shapes::triangle
	check '--holds of a bad address' exits_saying 64 "'0x12z' is not an address" memdiag retained --pid "$tracee_pid" --holds 0x12z
	# shellcheck disable=SC2086
	check '--holds of address 0' exits_saying 64 '0x0 is in no heap of malloc' memdiag retained --pid "$tracee_pid" $budget --holds 0
	check '--holds of nothing' exits_saying 64 'needs an address or a type' memdiag retained --pid "$tracee_pid" --holds ''
	# Both are lists: what is kept of them, and what is not.
	check 'the program hides a list' obeys 'hide 5000'
	# shellcheck disable=SC2086
	check '--holds of a type that nothing leads to' exits 0 memdiag retained --pid "$tracee_pid" $budget --holds shapes::link
	check 'nothing leads to most of them' grep -q '^5000 blocks, .*: nothing: see memdiag leaks$' "$dir/out"
	check 'something to two' grep -q '^2 blocks, .*: global all (classes)$' "$dir/out"
}
check_ways
# shellcheck disable=SC2086
check '--holds has no graph' exits_saying 64 'one of them' memdiag retained --pid "$tracee_pid" --holds "$circle" --format=flame
check 'graphs of calls are refused' exits_saying 64 'shows calls' memdiag retained --pid "$tracee_pid" --format=graph
check 'two formats are refused' exits_saying 64 'one format at a time' memdiag retained --pid "$tracee_pid" --json --format=flame
# shellcheck disable=SC2086
check '--holds of no heap' exits_saying 64 '0x1000 is in no heap of malloc' memdiag retained --pid "$tracee_pid" $budget --holds 0x1000
if command -v gcore >/dev/null; then
	check 'gcore' sh -c "gcore -o '$dir/core' $tracee_pid >'$dir/gcore' 2>&1"
	check 'its core file' exits 0 memdiag retained --core "$dir/core.$tracee_pid" --json
	check_sums 'core file'
	cp "$dir/out" "$dir/sums"
	memdiag retained --core "$dir/core.$tracee_pid" --format=folded -f -o "$dir/folded"
	check 'core file, folded: all lines are the bytes in use' test "$(sum_of '')" = "$(jq .data.in_use.bytes "$dir/sums")"
	check 'core file, folded: nothing else is there' test "$(sum_of '')" = "$(sum_of '^blocks of malloc')"
	check 'core file: a graph' exits 0 memdiag retained --core "$dir/core.$tracee_pid" --format=flame
	check 'core file: its title says that it is not RSS' grep -q '>blocks of malloc, not RSS, of classes ' "$dir/out"
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
unreachable=$(json .data.unreachable.bytes)
check 'threads: blocks on a stack' json_is '[.data.roots[] | select(.kind == "stack" and .retained.blocks >= 10)] != []'
# shellcheck disable=SC2086
check '--holds of a block that is lost' exits 0 memdiag retained --pid "$tracee_pid" $budget --json \
	--holds "$(sed -n 's/^lost single //p' "$dir/$tracee_pid.out" | head -n 1)"
check 'nothing leads to it' json_is '.data.path | .root == null and .hops == [] and .referrers == 0'
check 'folded: what is lost' is_rss
check 'folded: it is as in the table' test "$(sum_of '^blocks of malloc [(][0-9]+[)];unreachable: ')" = "$unreachable"
check 'that program still works' end_tracee

# Blocks of 1 to 8 MiB, of which half is written to: so many pages, and one for the header.
start_tracee large 8
check 'large: all lines are RSS' is_rss
check 'large: pages that are not in memory do not count' test "$(sum_of ';blocks of [0-9.]+ MiB')" -eq \
	$(((36 * 128 + 8) * 4096 - 8 * 16))
check 'large: of the largest block' test "$(sum_of ';blocks of 8.0 MiB to 16.0 MiB [(]1[)]$')" -eq $(((8 * 128 + 1) * 4096 - 16))
check 'large: it still works' end_tracee

# Names are data.
hostile=$(printf 'x\033[31m<b>;&')
cp "$dir/classes" "$dir/$hostile"
start_command "$dir/$hostile"
check 'hostile names: all lines are RSS' is_rss
check 'hostile names: without control bytes and semicolons' grep -q -F ';global all (x\033[31m<b>:&);' "$dir/folded"
check 'hostile names: svg' graph_is svg flame 'global all (x\033[31m<b>;&)' 'RSS of x\033[31m<b>;&'
check 'hostile names: html' graph_is html html 'global all (x\033[31m<b>;&)' 'RSS of x\033[31m<b>;&'
check 'hostile names: it still works' end_tracee

# Pools of CPython are not blocks.
cat >"$dir/pools.py" <<'PROGRAM'
import sys
kept = [object() for i in range(20000)]
print("ready", flush=True)
sys.stdin.read()
print("alive" if len(kept) == 20000 else "dead")
PROGRAM
start_command python3 "$dir/pools.py"
check 'pools: all lines are RSS' is_rss
# shellcheck disable=SC2086
check 'pools: types' exits 0 memdiag types --pid "$tracee_pid" $budget --json
check 'pools: objects are in anonymous memory, by type' test \
	"$(sum_of "^anon;objects in CPython's pools [(][0-9]+[)];")" -eq "$(json .data.pools.objects.bytes)"
check 'pools: with their number' grep -q -E "^anon;objects in CPython's pools [(][0-9]+[)];object [(]20[0-9]{3}[)] [0-9]+\$" "$dir/folded"
check 'pools: Python still works' end_tracee
finish

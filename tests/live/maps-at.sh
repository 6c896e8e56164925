#!/bin/sh
# maps --at: what lies at an address.
. "$top_srcdir/tests/live/lib.sh"
need jq
start_tracee bloat 4
pid=$tracee_pid

# at ADDRESS FILTER: whether that is so of what is there.
at()
{
	exits 0 memdiag maps "$pid" --at "$1" --json && json_is ".data.at | $2"
}

# first_of FILTER: the first address of the first leaf that --by=mapping shows and FILTER takes.
first_of()
{
	jq -r "first(.data.mappings[] | select($1) | .start)" "$dir/leaves"
}

# line_of ADDRESS: START and END of the line of /proc/PID/maps that begins there, as JSON has them.
line_of()
{
	sed -n "s/^${1#0x}-\([0-9a-f]*\) .*/.start == \"$1\" and .end == \"0x\1\"/p" "/proc/$pid/maps"
}

check 'maps --by=mapping lists all mappings' exits 0 memdiag maps "$pid" --by=mapping --json
cp "$dir/out" "$dir/leaves"

# libc.so.6, or before 2.34 libc-2.31.so and the like.
libc=$(sed -n 's,.*/\(libc[.-][^/]*\)$,\1,p' "/proc/$pid/maps" | head -n 1)
text=$(first_of ".part == \".so text\" and (.path | endswith(\"/$libc\"))")
base=$(sed -n "s,-.* 00000000 .*/$libc.*,,p" "/proc/$pid/maps" | head -n 1)
offset=$((text - 0x$base + 16))
check 'maps --at of the code of libc: class, part and object' at "$(printf '%#x' $((text + 16)))" ".class == \".so\" and .part == \".so text\" and
	(.object | endswith(\"/$libc\")) and .tid == null and .arena == null"
check 'maps --at of the code of libc: the offset in the object' json_is ".data.at.object_offset_bytes == $offset"
check 'maps --at of the code of libc: the offset in the file' json_is ".data.at.file_offset_bytes == $((0x$(awk -v "a=${text#0x}-" 'index($1, a) == 1 { print $3 }' \
	"/proc/$pid/maps") + 16))"
check 'maps --at of the code of libc: start and end of its line in /proc/PID/maps' json_is ".data.at | $(line_of "$text")"
check 'maps --at of the code of libc: the RSS of smaps' json_is ".data.at.rss_bytes == $(awk -v "a=${text#0x}-" '
	/^[0-9a-f]*-/ { is = index($1, a) == 1 } is && $1 == "Rss:" { print $2 * 1024 }' "/proc/$pid/smaps")"

heap=$(first_of '.arena == 2')
check 'maps --at of a thread arena: its number' at "$heap" '.class == "heap" and .arena == 2 and .object == null and .file_offset_bytes == null'
check 'maps --at of a thread arena: the address of the arena' json_is '.data.at.arena_address | startswith("0x")'
stack=$(first_of '.class == "stack" and .tid != null and .tid != '"$pid")
check 'maps --at of a stack: its thread' at "$stack" ".class == \"stack\" and .tid == $(jq "first(.data.mappings[] |
	select(.start == \"$stack\") | .tid)" "$dir/leaves")"
check 'maps --at of an address without 0x' at "${heap#0x}" ".address == \"$heap\""
check 'maps --at of the last byte of a part: where the part begins' at "$(printf '%#x' $(($(jq -r "first(.data.mappings[] | select(.start == \"$heap\") |
	.end)" "$dir/leaves") - 1)))" ".part_start == \"$heap\""

check 'maps --at of the code of libc, as text' exits 0 memdiag maps "$pid" --at "$text"
check 'maps --at as text: the line of the mapping' grep -q "^mapping  ${text#0x}-[0-9a-f]*  r-xp  .*/$libc\$" "$dir/out"
check 'maps --at as text: VIRT, RSS and swap' grep -q '^  *VIRT .* RSS .*iB  swap 0 B$' "$dir/out"
check 'maps --at as text: the class' grep -q -x 'class    .so: .so text' "$dir/out"
check 'maps --at as text: the object and the offset' grep -q "^object   .*/$libc+0x$(printf %x $((offset - 16)))\$" "$dir/out"
check 'maps --at of a stack, as text' exits 0 memdiag maps "$pid" --at "$stack"
check 'maps --at as text: number and name of the thread' grep -q '^thread   [0-9]* bloat$' "$dir/out"
check 'maps --at of a thread arena, as text' exits 0 memdiag maps "$pid" --at "$heap"
check 'maps --at as text: number and address of the arena' grep -q '^arena    2, struct malloc_state at 0x' "$dir/out"
check 'maps --at with --rss-from=none' exits 0 memdiag maps "$pid" --at "$text" --rss-from=none --json
check 'maps --at with --rss-from=none: the RSS is null' json_is '.data.at.rss_bytes == null'

first=$(head -n 1 "/proc/$pid/maps" | cut -d- -f1)
check 'maps --at of an address below all mappings: status 1' exits_saying 1 'nothing is mapped at 0x10\.' memdiag maps "$pid" --at 0x10
check 'maps --at of an address below all mappings: names the first mapping' grep -q "above it begins .* higher: $first-" "$dir/err"
check 'maps --at of an address below all mappings: names no mapping below it' sh -c "! grep -q 'below it' '$dir/err'"
end=$(grep -v vsyscall "/proc/$pid/maps" | tail -n 1 | sed 's/^[0-9a-f]*-\([0-9a-f]*\) .*/\1/')
check 'maps --at of the end of the last mapping: status 1' exits_saying 1 "nothing is mapped at 0x$end" memdiag maps "$pid" --at "$end"
check 'maps --at of the end of the last mapping: names that mapping' grep -q 'below it ends 0 B lower: ' "$dir/err"
for address in x '' -1 0x 12g ' 1' 11112222333344445; do
	check "maps --at of '$address': a usage error" exits_saying 64 'is not an address' memdiag maps "$pid" "--at=$address"
done
check 'maps --at with --by: a usage error' exits_saying 64 'looks at one address' memdiag maps "$pid" --at 1 --by=class
check 'maps --at of two processes: a usage error' exits_saying 64 'take one process' memdiag maps "$pid,1" --at 1
check 'the target lives on' end_tracee
finish

#!/bin/sh
# How maps is asked: what grew, sorting, limits, the terminal, and words it does not know.
. "$top_srcdir/tests/live/lib.sh"
need script

lines()	# lines N: whether the table has so many groups of the first rank, and a total
{
	[ "$(sed -n '3,/^total/p' "$dir/out" | grep -vc '^ ')" -eq $(($1 + 1)) ] ||
		{ cat "$dir/out"; return 1; }
}

start_tracee manymaps 100
pid=$tracee_pid

check 'a table' exits 0 memdiag maps "$pid"
check 'ends in a total' grep -q '^total ' "$dir/out"
check 'the table shows that the kernel agrees' \
	grep -q -e '^Equal to the kernel.s own: VmSize, VmRSS, VmSwap' -e '^Not equal to VmRSS: .*lag behind (before Linux 6.16)' "$dir/out"
check 'the table shows page tables apart' grep -q '^Page tables .* not in RSS' "$dir/out"
check 'nothing is said on stderr' test ! -s "$dir/err"
check 'with the number of mappings' grep -q \
	"; [0-9]* of $(cat /proc/sys/vm/max_map_count) mappings\.\$" "$dir/out"
check 'which is that of the lines of /proc/PID/maps' sh -c \
	"'$MEMDIAG' maps '$pid' | grep -q \"; \$(grep -vc vsyscall /proc/$pid/maps) of\""
check 'nothing is cut' sh -c "! grep ' more; ' '$dir/out'"
check 'as JSON' exits 0 memdiag maps "$pid" --json
check 'has both numbers' json_is \
	".data.totals | .mappings == $(grep -vc vsyscall "/proc/$pid/maps") and .max_mappings == $(cat /proc/sys/vm/max_map_count)"
nr_groups=$(json '.data.groups | length')
check 'two groups' exits 0 memdiag maps "$pid" -n 2
check 'are two groups' lines 2
check 'and it says how many more there are' grep -q -x "and $((nr_groups - 2)) more; -n 0 shows all" "$dir/out"
check 'no limit' exits 0 memdiag maps "$pid" -n 0
check 'shows all groups' lines "$nr_groups"
check 'and nothing is said' sh -c "! grep ' more; ' '$dir/out'"
check 'mappings, cut' exits 0 memdiag maps "$pid" --by=mapping -n 3
check 'say so' grep -q '^and [0-9]* more; -n 0 shows all$' "$dir/out"
check 'exact bytes' exits 0 memdiag maps "$pid" -b
check 'are what status says' grep -q \
	"VIRT $(awk '/^VmSize/ { print $2 * 1024 }' "/proc/$pid/status") " "$dir/out"
for sort in virt rss swap hugetlb count; do
	check "sorted by $sort" exits 0 memdiag maps "$pid" --by=object --sort=$sort --json
	case $sort in count) key=count ;; *) key=${sort}_bytes ;; esac
	check "is in that order" json_is "[.data.groups[].$key] | . == (sort | reverse)"
done
for sort in pss uss dirty; do
	check "sorted by $sort" exits 0 memdiag maps "$pid" --by=object --columns=$sort --sort=$sort --json
	check "is in that order" json_is "[.data.groups[].${sort}_bytes] | . == (sort | reverse) and .[0] > 0"
	check "$sort without --columns" exits_saying 64 'known with --columns (or --pss) only' memdiag maps "$pid" --sort=$sort
done
check 'sorted by name' exits 0 memdiag maps "$pid" --by=object --sort=name --json
check 'is in that order' json_is '[.data.groups[].name] | . == sort'
check 'addresses are in order' exits 0 memdiag maps "$pid" --by=mapping --json
check 'from low to high' json_is '[.data.mappings[].start] | . == (sort_by(length, .))'

# ---- what is not known ----
for by in class mapping; do
	check "by $by: nothing counted" exits 0 memdiag maps "$pid" --rss-from=none --by=$by
	check "by $by: is a question mark" grep -q ' [KMG]iB  *?  *? ' "$dir/out"
	check "by $by: which is explained" grep -q '^A single ? stands for what is not known' "$dir/out"
	check "by $by: counted" exits 0 memdiag maps "$pid" --by=$by
	check "by $by: nothing is explained" sh -c "! grep '^A single ?' '$dir/out'"
done

# ---- what grew ----
check 'a saved output' exits 0 memdiag maps "$pid" --json -o "$dir/then.json"
check 'nothing grew' exits 0 memdiag maps "$pid" --diff "$dir/then.json" --json
check 'compared with itself, all changes are 0' \
	json_is '.data.changes | all(.virt_bytes == 0 and .rss_bytes == 0)'
check 'compared with itself, the table is made' exits 0 memdiag maps "$pid" --diff "$dir/then.json"
check 'compared with itself, nothing changed' grep -q '^Nothing changed' "$dir/out"
check 'mappings, saved' exits 0 memdiag maps "$pid" --by=mapping --json -o "$dir/mappings.json"
check 'the tracee grows' sh -c "[ '$(ask 'grow 8')' = grown ]"
check 'it is compared' exits 0 memdiag maps "$pid" --diff "$dir/then.json" --json
check 'what grew comes first, by its size' json_is \
	'.data.changes[0].virt_bytes == 8388608 and .data.changes[0].rss_bytes == 8388608'
check 'under its name' json_is \
	'[.data.changes[] | select(.rss_bytes == 8388608) | .name] | sort == ["JIT code", "anon"]'
check 'mapping by mapping' exits 0 memdiag maps "$pid" --diff "$dir/mappings.json" --json
check 'the one that grew comes first, with its address' json_is '.data.by == "mapping" and (.data.changes[0] |
	.virt_bytes == 8388608 and .rss_bytes == 8388608 and (.name | test("^[0-9a-f]{12}-[0-9a-f]{12}  JIT code")))'
check 'no other grew as much' json_is '[.data.changes[] | select(.rss_bytes >= 1000000)] | length == 1'
check 'mapping by mapping, as text' exits 0 memdiag maps "$pid" --diff "$dir/mappings.json"
check 'a line for that mapping' grep -q '^ *+8.0 MiB  *+8.0 MiB .*[0-9a-f]*-[0-9a-f]*  JIT code' "$dir/out"
check 'it is compared by mapping only' exits_saying 64 'is by mapping' memdiag maps "$pid" --by=class --diff "$dir/mappings.json"
check 'mappings, saved again' exits 0 memdiag maps "$pid" --by=mapping --json -o "$dir/mappings-now.json"
check 'diff compares mappings' exits 0 memdiag diff "$dir/mappings.json" "$dir/mappings-now.json"
check 'with the same line' grep -q '^ *+8.0 MiB  *+8.0 MiB .*[0-9a-f]*-[0-9a-f]*  JIT code' "$dir/out"
check 'as text' exits 0 memdiag maps "$pid" --diff "$dir/then.json"
check 'cut' sh -c "'$MEMDIAG' maps '$pid' --diff '$dir/then.json' -n 1 | grep '^and [0-9]* more; -n 0 shows all\$'"
check 'a change has a sign' grep -q '+8.0 MiB  *+8.0 MiB .*JIT code' "$dir/out"
check 'all of it' exits 0 memdiag maps "$pid"
check 'classes by size say that they go by mappings' grep -q '^  anon mappings under 1 MiB ' "$dir/out"
check 'as JSON' exits 0 memdiag maps "$pid" --json
check 'they have the names that saved outputs have' json_is '[.data.groups[].parts[]?.name] | index("anon under 1 MiB")'
check 'as text' exits 0 memdiag maps "$pid" --diff "$dir/then.json"
check 'what did not change is left out' sh -c "! grep -q vdso '$dir/out'"
start_tracee idle
check 'nothing counted' memdiag maps "$pid" --rss-from=none --json -o "$dir/uncounted.json"
check 'maps are compared with those without RSS' \
	exits 0 memdiag maps "$pid" --diff "$dir/uncounted.json"
check 'what is not compared is named' \
	grep -q -x 'Not compared, because it was not counted in both: RSS, SWAP, HUGETLB.' "$dir/out"
check 'nothing else has changed' grep -q -x 'Nothing else changed.' "$dir/out"
check 'as JSON' exits 0 memdiag maps "$pid" --diff "$dir/uncounted.json" --json
check 'its changes are not known' json_is '.data.changes | all(.virt_bytes == 0 and .rss_bytes == null)'
check 'diff does not compare it either' exits 0 memdiag diff "$dir/uncounted.json" "$dir/then.json"
check 'diff names what it does not compare' grep -q '^Not compared.* RSS, SWAP' "$dir/out"
check 'another process' exits_saying 0 "then.json is of another process: $pid (manymaps)" memdiag maps \
	"$tracee_pid" --diff "$dir/then.json"
check 'added up otherwise' exits_saying 64 'is by class' memdiag maps "$pid" --by=object --diff "$dir/then.json"
echo '{"schema": "memdiag.info/1"}' >"$dir/info.json"
check 'the output of something else' exits_saying 1 "is not what 'memdiag maps --json' writes" memdiag maps \
	"$pid" --diff "$dir/info.json"
echo '{"schema": "memdiag.maps/1", "data": {"by": "class", "groups": [{}]}}' >"$dir/bad.json"
check 'a group without a name' exits_saying 1 'a row of its groups has no name' memdiag maps "$pid" --diff "$dir/bad.json"
echo '{' >"$dir/cut.json"
check 'a file that is cut' exits_saying 1 'cannot read .*cut.json, line' memdiag maps "$pid" --diff "$dir/cut.json"
check 'no file' exits_saying 1 'cannot read .*none.json' memdiag maps "$pid" --diff "$dir/none.json"
check 'the other process lives on' end_tracee
tracee_pid=$pid

# ---- a terminal ----
check 'maps runs on a terminal' sh -c \
	"script -qec 'stty cols 100; \"$MEMDIAG\" maps $pid' /dev/null </dev/null >'$dir/out'"
check 'there are bars' grep -q '  ####' "$dir/out"
check 'no line is wider than it' awk '{ sub(/\r$/, "") } length > 100 { exit 1 }' "$dir/out"
check 'by mapping' sh -c \
	"script -qec 'stty cols 90; \"$MEMDIAG\" maps --by=mapping $pid' /dev/null </dev/null >'$dir/out'"
check 'names are cut' awk '{ sub(/\r$/, "") } /^[0-9a-f]*-/ && length > 90 { exit 1 } /^[0-9a-f]*-/ && length == 90 { n++ }
	END { exit !n }' "$dir/out"

# ---- words it does not know ----
check 'by what?' exits_saying 64 "'x' is not one of" memdiag maps 1 --by=x
check 'sorted by what?' exits_saying 64 "'x' is not one of" memdiag maps 1 --sort=x
check 'counted by what?' exits_saying 64 "'x' is not one of" memdiag maps 1 --rss-from=x
check 'a class without a pattern' exits_saying 64 'is not NAME=GLOB' memdiag maps 1 --class=mo=
check 'an unknown class' exits_saying 64 "'mo' is not a class: there are stack, heap" memdiag maps 1 --class=mo
check 'a class that is there already' exits_saying 64 'is a class already' memdiag maps 1 --class='heap=*'
check 'how many?' exits_saying 64 'is not a number' memdiag maps 1 -n x
check 'the target lives on' end_tracee
start_tracee bloat
check 'smaps on mappings that hold several things' exits 0 \
	memdiag maps "$tracee_pid" --rss-from=smaps --by=mapping --json
# A leaf that is no whole line of maps is one of several.
lines=$(sed -n 's/^\([0-9a-f]*\)-\([0-9a-f]*\) .*/"0x\1-0x\2"/p' "/proc/$tracee_pid/maps" | paste -sd, -)
check 'is a guess for these, and for no other' json_is "[$lines] as \$lines | [.data.mappings[] |
	{ part: ([.start + \"-\" + .end] - \$lines != []), guess: (.confidence == \"guess\") }] |
	all(.part == .guess) and any(.guess)"
check 'a guess is marked in the table' exits 0 memdiag maps "$tracee_pid" --rss-from=smaps
check 'guesses are marked' grep -q '^  .* ?  ' "$dir/out"
check 'the mark of a guess is explained' grep -q '^? marks a guess' "$dir/out"
check 'by mapping too' exits 0 memdiag maps "$tracee_pid" --rss-from=smaps --by=mapping
check 'guesses are marked' grep -q ' ? ' "$dir/out"
check 'without a guess' exits 0 memdiag maps "$tracee_pid"
check 'there is no mark' sh -c "! grep -q '?' '$dir/out'"
check 'smaps once more' exits 0 memdiag maps "$tracee_pid" --rss-from=smaps --json
check 'whose sum is right' json_is "$all_same"
check 'the target lives on' end_tracee
start_tracee locked-heap
check 'locked memory' exits 0 memdiag maps "$tracee_pid" --by=mapping --columns=dirty,locked --json
check 'the mappings of a column add up to its total' json_is '.data | .totals.locked_bytes > 1000000 and
	(.mappings | map(.locked_bytes) | add) == .totals.locked_bytes and
	(.mappings | map(.dirty_bytes) | add) == .totals.dirty_bytes'
check 'the target lives on' end_tracee
# ---- many mappings ----
# bounded OPTIONS: whether 64 MiB are enough for maps, the code aside.
bounded()
{
	# shellcheck disable=SC3045 # dash has it
	(ulimit -d 65536 && exits 0 memdiag maps "$tracee_pid" "$@")
}
if [ "$(cat /proc/sys/vm/max_map_count)" -gt 60500 ]; then
	start_tracee manymaps 60000 mixed "$MEMDIAG"
else
	start_tracee manymaps 30000 mixed "$MEMDIAG"
fi
nr=$(wc -l <"/proc/$tracee_pid/maps")
check 'many mappings in 64 MiB' bounded
check 'one by one' bounded --by=mapping
check 'all of them' sh -c "[ \$(grep -c '^[0-9a-f]*-[0-9a-f]* ' '$dir/out') -ge $((nr - 1)) ]"
check 'as JSON' bounded --by=mapping --json
check 'all of them' json_is ".data.mappings | length >= $((nr - 1)) and
	(map(.virt_bytes) | add) == $(awk '/^VmSize/ { printf "%.0f", $2 * 1024 }' "/proc/$tracee_pid/status")"
check 'by object' bounded --by=object --json
check 'the first three by size' exits 0 memdiag maps "$tracee_pid" --by=mapping --sort=virt -n 3
check 'are three' sh -c "[ \$(grep -c '^[0-9a-f]*-[0-9a-f]* ' '$dir/out') -eq 3 ]"
check 'the target lives on' end_tracee
start_tracee manymaps 30000
check 'a deadline that is too short' exits_saying 1 'gave up, --timeout has passed' memdiag maps "$tracee_pid" --timeout=1us
check 'the target lives on' end_tracee
finish

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

check 'maps of a process prints a table' exits 0 memdiag maps "$pid"
check 'the table of maps ends in a total' grep -q '^total ' "$dir/out"
check 'the table shows that the kernel agrees' \
	grep -q -e '^Equal to the kernel.s own: VmSize, VmRSS, VmSwap' -e '^Not equal to VmRSS: .*lag behind (before Linux 6.16)' "$dir/out"
check 'the table shows page tables apart' grep -q '^Page tables .* not in RSS' "$dir/out"
check 'maps of a process says nothing on stderr' test ! -s "$dir/err"
check 'the table of maps has the number of mappings and its limit' grep -q \
	"; [0-9]* of $(cat /proc/sys/vm/max_map_count) mappings\.\$" "$dir/out"
check 'the number of mappings is that of the lines of /proc/PID/maps' sh -c \
	"'$MEMDIAG' maps '$pid' | grep -q \"; \$(grep -vc vsyscall /proc/$pid/maps) of\""
check 'the table of maps has all groups by default' sh -c "! grep ' more; ' '$dir/out'"
check 'maps of a process as JSON' exits 0 memdiag maps "$pid" --json
check 'maps as JSON has the number of mappings and its limit' json_is \
	".data.totals | .mappings == $(grep -vc vsyscall "/proc/$pid/maps") and .max_mappings == $(cat /proc/sys/vm/max_map_count)"
nr_groups=$(json '.data.groups | length')
check 'maps -n 2 runs' exits 0 memdiag maps "$pid" -n 2
check 'maps -n 2 shows two groups' lines 2
check 'maps -n 2 says how many more groups there are' grep -q -x "and $((nr_groups - 2)) more; -n 0 shows all" "$dir/out"
check 'maps -n 0 runs' exits 0 memdiag maps "$pid" -n 0
check 'maps -n 0 shows all groups' lines "$nr_groups"
check 'maps -n 0 says of no more groups' sh -c "! grep ' more; ' '$dir/out'"
check 'maps --by=mapping -n 3 runs' exits 0 memdiag maps "$pid" --by=mapping -n 3
check 'maps --by=mapping -n 3 says how many more there are' grep -q '^and [0-9]* more; -n 0 shows all$' "$dir/out"
check 'maps -b runs' exits 0 memdiag maps "$pid" -b
check 'maps -b has the bytes of VmSize' grep -q \
	"VIRT $(awk '/^VmSize/ { print $2 * 1024 }' "/proc/$pid/status") " "$dir/out"
for sort in virt rss swap hugetlb count; do
	check "maps --by=object --sort=$sort runs" exits 0 memdiag maps "$pid" --by=object --sort=$sort --json
	case $sort in count) key=count ;; *) key=${sort}_bytes ;; esac
	check "maps --sort=$sort: groups are in that order" json_is "[.data.groups[].$key] | . == (sort | reverse)"
done
for sort in pss uss dirty; do
	check "maps --columns=$sort --sort=$sort runs" exits 0 memdiag maps "$pid" --by=object --columns=$sort --sort=$sort --json
	check "maps --columns=$sort --sort=$sort: groups are in that order" json_is "[.data.groups[].${sort}_bytes] | . == (sort | reverse) and .[0] > 0"
	check "maps --sort=$sort without --columns: a usage error" exits_saying 64 'known with --columns (or --pss) only' memdiag maps "$pid" --sort=$sort
done
check 'maps --by=object --sort=name runs' exits 0 memdiag maps "$pid" --by=object --sort=name --json
check 'maps --sort=name: groups are in that order' json_is '[.data.groups[].name] | . == sort'
check 'maps --by=mapping as JSON runs' exits 0 memdiag maps "$pid" --by=mapping --json
check 'maps --by=mapping: addresses are in order' json_is '[.data.mappings[].start] | . == (sort_by(length, .))'

# ---- what is not known ----
for by in class mapping; do
	check "maps --by=$by --rss-from=none runs" exits 0 memdiag maps "$pid" --rss-from=none --by=$by
	check "maps --by=$by --rss-from=none: RSS is a question mark" grep -q ' [KMG]iB  *?  *? ' "$dir/out"
	check "maps --by=$by --rss-from=none: the question mark is explained" grep -q '^A single ? stands for what is not known' "$dir/out"
	check "maps --by=$by with RSS runs" exits 0 memdiag maps "$pid" --by=$by
	check "maps --by=$by with RSS: no question mark is explained" sh -c "! grep '^A single ?' '$dir/out'"
done

# ---- what grew ----
check 'maps --json -o FILE saves an output' exits 0 memdiag maps "$pid" --json -o "$dir/then.json"
check 'maps --diff with an output of this moment runs' exits 0 memdiag maps "$pid" --diff "$dir/then.json" --json
check 'compared with itself, all changes are 0' \
	json_is '.data.changes | all(.virt_bytes == 0 and .rss_bytes == 0)'
check 'compared with itself, the table is made' exits 0 memdiag maps "$pid" --diff "$dir/then.json"
check 'compared with itself, nothing changed' grep -q '^Nothing changed' "$dir/out"
check 'maps --by=mapping --json -o FILE saves an output' exits 0 memdiag maps "$pid" --by=mapping --json -o "$dir/mappings.json"
check 'the tracee grows' sh -c "[ '$(ask 'grow 8')' = grown ]"
check 'maps --diff after the tracee has grown' exits 0 memdiag maps "$pid" --diff "$dir/then.json" --json
check 'maps --diff: what grew most comes first' json_is \
	'.data.changes[0].virt_bytes == 8388608 and .data.changes[0].rss_bytes == 8388608'
check 'maps --diff: what grew has its names' json_is \
	'[.data.changes[] | select(.rss_bytes == 8388608) | .name] | sort == ["JIT code", "anon"]'
check 'maps --diff with mappings, as JSON' exits 0 memdiag maps "$pid" --diff "$dir/mappings.json" --json
check 'maps --diff with mappings: the one that grew comes first, with its address' json_is '.data.by == "mapping" and (.data.changes[0] |
	.virt_bytes == 8388608 and .rss_bytes == 8388608 and (.name | test("^[0-9a-f]{12}-[0-9a-f]{12}  JIT code")))'
check 'maps --diff with mappings: no other grew as much' json_is '[.data.changes[] | select(.rss_bytes >= 1000000)] | length == 1'
check 'maps --diff with mappings, as text' exits 0 memdiag maps "$pid" --diff "$dir/mappings.json"
check 'maps --diff with mappings: a line for the one that grew' grep -q '^ *+8.0 MiB  *+8.0 MiB .*[0-9a-f]*-[0-9a-f]*  JIT code' "$dir/out"
check 'maps --diff with mappings and --by=class: a usage error' exits_saying 64 'is by mapping' memdiag maps "$pid" --by=class --diff "$dir/mappings.json"
check 'maps --by=mapping --json -o FILE saves a second output' exits 0 memdiag maps "$pid" --by=mapping --json -o "$dir/mappings-now.json"
check 'memdiag diff compares two outputs by mapping' exits 0 memdiag diff "$dir/mappings.json" "$dir/mappings-now.json"
check 'memdiag diff has a line for the mapping that grew' grep -q '^ *+8.0 MiB  *+8.0 MiB .*[0-9a-f]*-[0-9a-f]*  JIT code' "$dir/out"
check 'maps --diff as text runs' exits 0 memdiag maps "$pid" --diff "$dir/then.json"
check 'maps --diff -n 1 says how many more there are' sh -c "'$MEMDIAG' maps '$pid' --diff '$dir/then.json' -n 1 | grep '^and [0-9]* more; -n 0 shows all\$'"
check 'maps --diff: a change has a sign' grep -q '+8.0 MiB  *+8.0 MiB .*JIT code' "$dir/out"
check 'maps of the tracee that has grown' exits 0 memdiag maps "$pid"
check 'classes by size say that they go by mappings' grep -q '^  anon mappings under 1 MiB ' "$dir/out"
check 'maps of the tracee that has grown, as JSON' exits 0 memdiag maps "$pid" --json
check 'classes by size have the names of saved outputs in JSON' json_is '[.data.groups[].parts[]?.name] | index("anon under 1 MiB")'
check 'maps --diff as text, once more' exits 0 memdiag maps "$pid" --diff "$dir/then.json"
check 'maps --diff: what did not change is left out' sh -c "! grep -q vdso '$dir/out'"
start_tracee idle
check 'maps --rss-from=none --json -o FILE saves an output' memdiag maps "$pid" --rss-from=none --json -o "$dir/uncounted.json"
check 'maps --diff with an output without RSS' \
	exits 0 memdiag maps "$pid" --diff "$dir/uncounted.json"
check 'maps --diff with an output without RSS: names what is not compared' \
	grep -q -x 'Not compared, because it was not counted in both: RSS, SWAP, HUGETLB.' "$dir/out"
check 'maps --diff with an output without RSS: nothing else changed' grep -q -x 'Nothing else changed.' "$dir/out"
check 'maps --diff with an output without RSS, as JSON' exits 0 memdiag maps "$pid" --diff "$dir/uncounted.json" --json
check 'maps --diff with an output without RSS: changes of RSS are null' json_is '.data.changes | all(.virt_bytes == 0 and .rss_bytes == null)'
check 'memdiag diff of an output without RSS' exits 0 memdiag diff "$dir/uncounted.json" "$dir/then.json"
check 'memdiag diff of an output without RSS: names what is not compared' grep -q '^Not compared.* RSS, SWAP' "$dir/out"
check 'maps --diff with the output of another process: says so' exits_saying 0 "then.json is of another process: $pid (manymaps)" memdiag maps \
	"$tracee_pid" --diff "$dir/then.json"
check 'maps --diff with an output by class and --by=object: a usage error' exits_saying 64 'is by class' memdiag maps "$pid" --by=object --diff "$dir/then.json"
echo '{"schema": "memdiag.info/1"}' >"$dir/info.json"
check 'maps --diff with the output of info: refused' exits_saying 1 "is not what 'memdiag maps --json' writes" memdiag maps \
	"$pid" --diff "$dir/info.json"
echo '{"schema": "memdiag.maps/1", "data": {"by": "class", "groups": [{}]}}' >"$dir/bad.json"
check 'maps --diff with a group without a name: refused' exits_saying 1 'a row of its groups has no name' memdiag maps "$pid" --diff "$dir/bad.json"
echo '{' >"$dir/cut.json"
check 'maps --diff with a file that is cut: refused' exits_saying 1 'cannot read .*cut.json, line' memdiag maps "$pid" --diff "$dir/cut.json"
check 'maps --diff with a file that is missing: refused' exits_saying 1 'cannot read .*none.json' memdiag maps "$pid" --diff "$dir/none.json"
check 'the other process lives on' end_tracee
tracee_pid=$pid

# ---- a terminal ----
check 'maps runs on a terminal' sh -c \
	"script -qec 'stty cols 100; \"$MEMDIAG\" maps $pid' /dev/null </dev/null >'$dir/out'"
check 'maps on a terminal draws bars' grep -q '  ####' "$dir/out"
check 'maps on a terminal: no line is wider than it' awk '{ sub(/\r$/, "") } length > 100 { exit 1 }' "$dir/out"
check 'maps --by=mapping on a terminal runs' sh -c \
	"script -qec 'stty cols 90; \"$MEMDIAG\" maps --by=mapping $pid' /dev/null </dev/null >'$dir/out'"
check 'maps --by=mapping on a terminal cuts names' awk '{ sub(/\r$/, "") } /^[0-9a-f]*-/ && length > 90 { exit 1 } /^[0-9a-f]*-/ && length == 90 { n++ }
	END { exit !n }' "$dir/out"

# ---- words it does not know ----
check 'maps --by=x: a usage error' exits_saying 64 "'x' is not one of" memdiag maps 1 --by=x
check 'maps --sort=x: a usage error' exits_saying 64 "'x' is not one of" memdiag maps 1 --sort=x
check 'maps --rss-from=x: a usage error' exits_saying 64 "'x' is not one of" memdiag maps 1 --rss-from=x
check 'maps --class without a pattern: a usage error' exits_saying 64 'is not NAME=GLOB' memdiag maps 1 --class=mo=
check 'maps --class of an unknown class: a usage error' exits_saying 64 "'mo' is not a class: there are stack, heap" memdiag maps 1 --class=mo
check 'maps --class of a class that is there already: a usage error' exits_saying 64 'is a class already' memdiag maps 1 --class='heap=*'
check 'maps -n x: a usage error' exits_saying 64 'is not a number' memdiag maps 1 -n x
check 'the target lives on' end_tracee
start_tracee bloat
check 'maps --rss-from=smaps --by=mapping of mappings that hold several things' exits 0 \
	memdiag maps "$tracee_pid" --rss-from=smaps --by=mapping --json
# A leaf that is no whole line of maps is one of several.
lines=$(sed -n 's/^\([0-9a-f]*\)-\([0-9a-f]*\) .*/"0x\1-0x\2"/p' "/proc/$tracee_pid/maps" | paste -sd, -)
check 'maps --rss-from=smaps: a guess for these mappings, and for no other' json_is "[$lines] as \$lines | [.data.mappings[] |
	{ part: ([.start + \"-\" + .end] - \$lines != []), guess: (.confidence == \"guess\") }] |
	all(.part == .guess) and any(.guess)"
check 'maps --rss-from=smaps as text runs' exits 0 memdiag maps "$tracee_pid" --rss-from=smaps
check 'maps --rss-from=smaps: guesses are marked' grep -q '^  .* ?  ' "$dir/out"
check 'maps --rss-from=smaps: the mark of a guess is explained' grep -q '^? marks a guess' "$dir/out"
check 'maps --rss-from=smaps --by=mapping as text runs' exits 0 memdiag maps "$tracee_pid" --rss-from=smaps --by=mapping
check 'maps --rss-from=smaps --by=mapping: guesses are marked' grep -q ' ? ' "$dir/out"
check 'maps of mappings that hold several things, from the page map' exits 0 memdiag maps "$tracee_pid"
check 'maps from the page map marks no guess' sh -c "! grep -q '?' '$dir/out'"
check 'maps --rss-from=smaps as JSON runs' exits 0 memdiag maps "$tracee_pid" --rss-from=smaps --json
check 'maps --rss-from=smaps: the sums are those of the kernel' json_is "$all_same"
check 'the target lives on' end_tracee
start_tracee locked-heap
check 'maps --columns=dirty,locked of a process that has locked memory' exits 0 memdiag maps "$tracee_pid" --by=mapping --columns=dirty,locked --json
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
check 'maps of many mappings in 64 MiB' bounded
check 'maps --by=mapping of many mappings in 64 MiB' bounded --by=mapping
check 'maps --by=mapping of many mappings shows all of them' sh -c "[ \$(grep -c '^[0-9a-f]*-[0-9a-f]* ' '$dir/out') -ge $((nr - 1)) ]"
check 'maps --by=mapping --json of many mappings in 64 MiB' bounded --by=mapping --json
check 'maps --by=mapping --json of many mappings has all of them' json_is ".data.mappings | length >= $((nr - 1)) and
	(map(.virt_bytes) | add) == $(awk '/^VmSize/ { printf "%.0f", $2 * 1024 }' "/proc/$tracee_pid/status")"
check 'maps --by=object --json of many mappings in 64 MiB' bounded --by=object --json
check 'maps --by=mapping --sort=virt -n 3 of many mappings' exits 0 memdiag maps "$tracee_pid" --by=mapping --sort=virt -n 3
check 'maps -n 3 of many mappings shows three' sh -c "[ \$(grep -c '^[0-9a-f]*-[0-9a-f]* ' '$dir/out') -eq 3 ]"
check 'the target lives on' end_tracee
start_tracee manymaps 30000
check 'maps --timeout=1us: gives up' exits_saying 1 'gave up, --timeout has passed' memdiag maps "$tracee_pid" --timeout=1us
check 'the target lives on' end_tracee
finish

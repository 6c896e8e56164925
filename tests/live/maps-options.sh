#!/bin/sh
# How maps is asked: what grew, sorting, limits, the terminal, and words it does not know.
. "$top_srcdir/tests/live/lib.sh"
need script

says()	# says STATUS WORDS ARGUMENTS...
{
	says_status=$1
	says_words=$2
	shift 2
	exits "$says_status" memdiag maps "$@" && grep -q -e "$says_words" "$dir/err"
}

lines()	# lines N: whether the table has so many groups of the first rank, and a total
{
	[ "$(sed -n '3,/^total/p' "$dir/out" | grep -vc '^ ')" -eq $(($1 + 1)) ] ||
		{ cat "$dir/out"; return 1; }
}

start_tracee manymaps 100
pid=$tracee_pid

check 'a table' exits 0 memdiag maps "$pid"
check 'ends in a total' grep -q '^total ' "$dir/out"
check 'and the kernel agrees' grep -q '^Equal to the kernel.s own: VmSize, VmRSS, VmSwap' "$dir/out"
check 'with page tables beside it' grep -q '^Page tables .* not in RSS' "$dir/out"
check 'nothing is said on stderr' test ! -s "$dir/err"
check 'two groups' exits 0 memdiag maps "$pid" -n 2
check 'are two groups' lines 2
check 'exact bytes' exits 0 memdiag maps "$pid" -b
check 'are what status says' grep -q \
	"VIRT $(awk '/^VmSize/ { print $2 * 1024 }' "/proc/$pid/status") " "$dir/out"
for sort in virt rss swap hugetlb count; do
	check "sorted by $sort" exits 0 memdiag maps "$pid" --by=object --sort=$sort --json
	case $sort in count) key=count ;; *) key=${sort}_bytes ;; esac
	check "is in that order" json_is "[.data.groups[].$key] | . == (sort | reverse)"
done
check 'sorted by name' exits 0 memdiag maps "$pid" --by=object --sort=name --json
check 'is in that order' json_is '[.data.groups[].name] | . == sort'
check 'addresses are in order' exits 0 memdiag maps "$pid" --by=mapping --json
check 'from low to high' json_is '[.data.mappings[].start] | . == (sort_by(length, .))'

# ---- what grew ----
check 'a saved output' exits 0 memdiag maps "$pid" --json -o "$dir/then.json"
check 'nothing grew' exits 0 memdiag maps "$pid" --diff "$dir/then.json" --json
check 'so all changes are 0' json_is '.data.changes | all(.virt_bytes == 0 and .rss_bytes == 0)'
check 'and the table says so' exits 0 memdiag maps "$pid" --diff "$dir/then.json"
check 'in words' grep -q '^Nothing changed' "$dir/out"
check 'the tracee grows' sh -c "[ '$(ask 'grow 8')' = grown ]"
check 'it is compared' exits 0 memdiag maps "$pid" --diff "$dir/then.json" --json
check 'what grew comes first, by its size' json_is \
	'.data.changes[0].virt_bytes == 8388608 and .data.changes[0].rss_bytes == 8388608'
check 'under its name' json_is \
	'[.data.changes[] | select(.rss_bytes == 8388608) | .name] | sort == ["JIT code", "anon"]'
check 'as text' exits 0 memdiag maps "$pid" --diff "$dir/then.json"
check 'with a sign' grep -q '+8.0 MiB  *+8.0 MiB .*JIT code' "$dir/out"
check 'what did not change is left out' sh -c "! grep -q vdso '$dir/out'"
start_tracee idle
check 'another process' says 0 "then.json is of another process: $pid (manymaps)" \
	"$tracee_pid" --diff "$dir/then.json"
check 'added up otherwise' says 64 'is by class' "$pid" --by=object --diff "$dir/then.json"
echo '{"schema": "memdiag.info/1"}' >"$dir/info.json"
check 'the output of something else' says 1 "is not what 'memdiag maps --json' writes" \
	"$pid" --diff "$dir/info.json"
echo '{"schema": "memdiag.maps/1", "data": {"by": "class", "groups": [{}]}}' >"$dir/bad.json"
check 'a group without a name' says 1 'a row of its groups has no name' "$pid" --diff "$dir/bad.json"
echo '{' >"$dir/cut.json"
check 'a file that is cut' says 1 'cannot read .*cut.json, line' "$pid" --diff "$dir/cut.json"
check 'no file' says 1 'cannot read .*none.json' "$pid" --diff "$dir/none.json"
check 'the other process lives on' end_tracee
tracee_pid=$pid

# ---- a terminal ----
check 'on a terminal' sh -c \
	"script -qec 'stty cols 100; \"$MEMDIAG\" maps $pid' /dev/null </dev/null >'$dir/out'"
check 'there are bars' grep -q '  ####' "$dir/out"
check 'no line is wider than it' awk '{ sub(/\r$/, "") } length > 100 { exit 1 }' "$dir/out"

# ---- words it does not know ----
check 'by what?' says 64 "'x' is not one of" 1 --by=x
check 'sorted by what?' says 64 "'x' is not one of" 1 --sort=x
check 'counted by what?' says 64 "'x' is not one of" 1 --rss-from=x
check 'a class without a pattern' says 64 'is not NAME=GLOB' 1 --class=mo
check 'a class that is there already' says 64 'is a class already' 1 --class='heap=*'
check 'how many?' says 64 'is not a number of lines' 1 -n x
check 'mappings have no names to compare' says 64 'mappings have none' 1 --by=mapping --diff=x
check 'the target lives on' end_tracee
start_tracee bloat
check 'smaps on mappings that hold several things' exits 0 \
	memdiag maps "$tracee_pid" --rss-from=smaps --by=mapping --json
# A leaf that is no whole line of maps is one of several.
lines=$(sed -n 's/^\([0-9a-f]*\)-\([0-9a-f]*\) .*/"0x\1-0x\2"/p' "/proc/$tracee_pid/maps" | paste -sd, -)
check 'is a guess for these, and for no other' json_is "[$lines] as \$lines | [.data.mappings[] |
	{ part: ([.start + \"-\" + .end] - \$lines != []), guess: (.confidence == \"guess\") }] |
	all(.part == .guess) and any(.guess)"
check 'whose sum is right' json_is \
	'[.data.identities[] | select(.difference_bytes != 0)] == []'
check 'the target lives on' end_tracee
start_tracee manymaps 30000
check 'a deadline that is too short' says 1 'gave up, --timeout has passed' "$tracee_pid" --timeout=1ms
check 'the target lives on' end_tracee
finish

#!/bin/sh
# maps --from: a saved smaps or maps in place of a process, with the numbers of the process; and what is no such file.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq python3

data=$top_srcdir/tests/data

# same_as_process PID: whether maps says the same of a process that stands still and of its smaps: the totals, and for each
# part that the file has the sum of what the process has there.  What is guessed is no more than what is known.
cat >"$dir/compare.py" <<'PROGRAM'
import json, sys

process, saved = (json.load(open(name))["data"] for name in sys.argv[1:])
# Not PSS and USS: memdiag has pages of the same libraries as long as it runs.
totals = ["virt_bytes", "rss_bytes", "swap_bytes", "hugetlb_bytes", "dirty_bytes", "thp_bytes", "mappings"]
failed = 0


def differ(what, got, want):
    global failed
    failed += 1
    print(f"{what}: {got} in the file, {want} of the process")


for name in totals:
    if process["totals"][name] != saved["totals"][name]:
        differ(name, saved["totals"][name], process["totals"][name])


def span(row):
    return int(row["start"], 16), int(row["end"], 16)


def parts_within(start, end):
    return [row for row in process["mappings"] if start <= span(row)[0] and span(row)[1] <= end]


known = {"thread stacks": "stack", "stack guards": "stack", "thread arenas": "heap", "main heap (brk)": "heap",
         "main stack": "stack", ".so text": ".so", ".so rodata": ".so", ".so data": ".so", ".so relro": ".so",
         "exe text": "exe", "exe rodata": "exe", "exe data": "exe", "exe relro": "exe"}
nr = {}
for row in saved["mappings"]:
    of_process = parts_within(*span(row))
    for name in ["virt_bytes", "rss_bytes", "swap_bytes"] + ([] if row["path"] else ["pss_bytes", "uss_bytes"]):
        want = sum(part[name] for part in of_process)
        # Parts of a mapping share its bytes: what is cut to whole bytes on the way is less than one for each.
        if abs(row[name] - want) > (len(of_process) if name != "virt_bytes" else 0):
            differ(f"{name} of {row['start']} {row['part']}", row[name], want)
    if row["part"] in known:
        nr[row["part"]] = nr.get(row["part"], 0) + 1
        wrong = [part for part in of_process if part["class"] != known[row["part"]]]
        if wrong:
            differ(f"{row['start']} {row['path']}", row["part"], wrong[0]["part"])
    elif row["class"] == "exe" and not [p for p in of_process if p["class"] == row["class"]]:
        differ(row["start"], row["part"], of_process[0]["part"])
for name in sys.stdin.read().splitlines():
    if not nr.get(name):
        differ(name, "none", "some")
sys.exit(failed != 0)
PROGRAM

# take PID: its smaps and what maps says of it at the same moment: both are read until smaps is what it was.
take()
{
	local tries=50
	while [ "$tries" -gt 0 ]; do
		cat "/proc/$1/smaps" >"$dir/smaps" && cat "/proc/$1/maps" >"$dir/maps" || return
		memdiag maps "$1" --rss-from=smaps --pss --columns=dirty,locked --by=mapping --json -q || return
		cp "$dir/out" "$dir/process"
		cat "/proc/$1/smaps" >"$dir/again" || return
		cmp -s "$dir/smaps" "$dir/again" && return
		tries=$((tries - 1))
	done
	echo 'it never stood still'
	return 1
}

same_as_process()
{
	take "$1" || return
	shift
	exits 0 memdiag maps --from "$dir/smaps" --pss --columns=dirty,locked --by=mapping --json || return
	printf '%s\n' "$@" | python3 "$dir/compare.py" "$dir/process" "$dir/out"
}

start_tracee bloat 4
pid=$tracee_pid
check 'smaps of a program with threads is as the process' same_as_process "$pid" 'thread stacks' 'thread arenas' \
	'main heap (brk)' '.so text' 'exe text' 'main stack'
start_command python3 "$top_srcdir/tests/tracees/arenas.py" 8 16
check 'and that of python' same_as_process "$tracee_pid" '.so text' '.so rodata' '.so relro' 'main heap (brk)' 'thread arenas'
check 'python lives on' end_tracee
tracee_pid=$pid
check 'smaps again' take "$pid"

# ---- what is printed -----------------------------------------------------------------------------

# adds_up FILE: whether totals are what awk adds up, and all parts come to them.
adds_up()
{
	memdiag maps --from "$1" --pss --json || return
	json_is "$(tr -d '\r' <"$1" | awk '
		/^[0-9a-f]+-[0-9a-f]+ / { is = $6 != "[vsyscall]" }
		is && /^[A-Z][A-Za-z_]*: +[0-9]+ kB$/ { sum[$1] += $2 * 1024 }
		END {
			printf ".data.totals | .virt_bytes == %.0f and .rss_bytes == %.0f and .pss_bytes == %.0f and " \
				".uss_bytes == %.0f and .swap_bytes == %.0f", sum["Size:"], sum["Rss:"], sum["Pss:"],
				sum["Private_Clean:"] + sum["Private_Dirty:"], sum["Swap:"]
		}')" && json_is '([.data.groups[].rss_bytes] | add) == .data.totals.rss_bytes'
}
for server in redis nginx mariadb; do
	check "the smaps of $server" adds_up "$data/map_file/$server.smaps"
	check "$server: a program, libraries, a heap and a stack" json_is \
		'[.data.groups[].name] | contains(["exe", ".so", "stack"])'
	check "$server: its program" exits 0 memdiag maps --from "$data/map_file/$server.smaps" --by=object --json
	check "$server: is the one" json_is "[.data.groups[].name] | any(test(\"/${server}[^/]*\$\"))"
done
check 'redis: four threads have stacks' exits 0 memdiag maps --from "$data/map_file/redis.smaps" --json
check 'redis: which are guesses' json_is '[.data.groups[].parts[]? | select(.name == "thread stacks")] ==
	[.data.groups[].parts[]? | select(.name == "thread stacks" and .count == 4 and .confidence == "guess")] and
	([.data.groups[].parts[]? | select(.name == "thread stacks")] | length == 1)'
check 'a file has no process' json_is '.target == null and .process == null and .data.identities == []'
check 'and is named' json_is '.data.from.format == "smaps" and (.data.from.path | endswith("/redis.smaps"))'
check 'what a file does not show is null' json_is '.data.totals | .page_tables_bytes == null and .max_mappings == null'
check 'guesses are a warning, and all is there' json_is '.partial == false and (.warnings | length == 1)'
check 'a report with other lines and CRLF' sh -c \
	"{ printf 'Hello\n\n\`\`\`\n\$ cat smaps\n'; sed 's/\$/\r/' '$dir/smaps'; printf '\`\`\`\n\nbye\n'; } >'$dir/post'"
check 'is read' adds_up "$dir/post"
check 'by name' exits 0 memdiag maps --from "$dir/smaps" --by=mapping
tail -n +2 "$dir/out" >"$dir/by-name"
check 'by standard input the same' sh -c \
	"'$MEMDIAG' maps --from - --by=mapping <'$dir/smaps' 2>'$dir/err' | tail -n +2 | cmp - '$dir/by-name'"
mkfifo "$dir/fifo"
cat "$dir/smaps" >"$dir/fifo" &
check 'by a FIFO' exits 0 memdiag maps --from "$dir/fifo"
wait $!
check 'as text' exits 0 memdiag maps --from "$dir/smaps"
check 'its name is first' grep -q '^[^ ]*/smaps  VIRT .*  RSS .*iB  swap ' "$dir/out"
check 'guesses are marked' grep -q '^  thread stacks ?  ' "$dir/out"
check 'and explained' says 'are guessed by names and places of mappings'
check 'no table of the kernel is made up' sh -c "! grep -q -e 'Page tables' -e 'Equal to' '$dir/out'"

libc=$(sed -n 's,.*/\(libc[.-][^/]*\)$,\1,p' "$dir/maps" | head -n 1)
base=$(sed -n "s,-.* 00000000 .*/$libc\$,,p" "$dir/maps" | head -n 1)
check 'an address' exits 0 memdiag maps --from "$dir/smaps" --at "$(printf '%x' $((0x$base + 0x123)))" --json
check 'is at its offset in libc' json_is ".data.at | .object_offset_bytes == 291 and (.object | endswith(\"/$libc\"))"
check 'one class' exits 0 memdiag maps --from "$dir/smaps" --class stack --json
check 'is that class' json_is '[.data.groups[].name] == ["stack"]'
check 'what grew' exits 0 memdiag maps --from "$dir/smaps" --by=object --json -o "$dir/then.json"
check 'nothing' exits 0 memdiag maps --from "$dir/smaps" --diff "$dir/then.json"
check 'has changed' grep -q '^Nothing changed' "$dir/out"

# ---- maps ----------------------------------------------------------------------------------------

check 'maps is in part' exits_saying 2 'is of /proc/PID/maps, which has no RSS, PSS and swap' memdiag maps \
	--from "$dir/maps" --pss --json
check 'VIRT is known' json_is ".data.totals.virt_bytes == $(jq .data.totals.virt_bytes "$dir/process")"
check 'all else is null' json_is '.data.totals | .rss_bytes == null and .swap_bytes == null and .hugetlb_bytes == null and
	.thp_bytes == null and (.pss_bytes | not)'
check 'in each row' json_is '[.data.groups[] | .rss_bytes, .swap_bytes] | unique == [null]'
check 'as text' exits 2 memdiag maps --from "$dir/maps" --columns=pss,dirty,thp
check 'is a question mark' grep -q '^[^ ]*/maps  VIRT .*  RSS ?  swap ?$' "$dir/out"
check 'in each column' grep -q '^total  *[0-9.]* [KMG]iB  *?  *?  *?  *?  *?  *[0-9]*$' "$dir/out"
for by in object thread mapping; do
	check "maps by $by" exits 2 memdiag maps --from "$dir/maps" --by=$by
	check "maps by $by: no size of pages" sh -c "! grep -q ' 0 B' '$dir/out'"
done
for file in linux-4.4 i386 names glibc-2.42; do
	check "maps of $file" exits 2 memdiag maps --from "$data/maps/$file.maps" --json
done
sed '/^\(KernelPageSize\|MMUPageSize\|AnonHugePages\|.*_Hugetlb\|.*PmdMapped\|Locked\|Pss_.*\|VmFlags\):/d' "$dir/smaps" \
	>"$dir/old"
check 'an old kernel' exits 0 memdiag maps --from "$dir/old" --pss --columns=locked --json
check 'does not show all' json_is '.data.totals | .rss_bytes > 0 and .pss_bytes > 0 and .hugetlb_bytes == null and
	.thp_bytes == null and .locked_bytes == null'

# ---- what is no such file ------------------------------------------------------------------------

# refused WORDS INPUT-COMMAND...: whether what the command writes is refused with a message that has WORDS.
refused()
{
	local words="$1"
	shift
	"$@" >"$dir/bad"
	exits_saying 1 "$words" memdiag maps --from "$dir/bad" && [ ! -s "$dir/out" ]
}
check 'two processes' refused 'two processes' cat "$dir/smaps" "$dir/smaps"
check 'two with a line between them' refused 'two processes' sh -c "cat '$dir/smaps'; echo '== 2'; cat '$dir/smaps'"
check 'lines are missing' refused 'line [0-9]*: ' sed '/ r-xp /d' "$dir/smaps"
check 'a file that was cut off' exits_saying 2 'ends within the mapping of line' sh -c \
	"awk '{ print } /^Rss:/ && ++n == 20 { exit }' '$dir/smaps' >'$dir/cut'; '$MEMDIAG' maps --from '$dir/cut' >'$dir/out' 2>'$dir/err'"
check 'one without its end' sh -c "sed -n '/\[stack\]/q;p' '$dir/smaps' >'$dir/cut'"
check 'is read' exits_saying 0 'has no \[stack\]: its end may be missing' memdiag maps --from "$dir/cut"
check 'RSS beyond the mapping' refused 'Rss is more than the mapping has' sed 's/^Rss: */&99999/' "$dir/smaps"
check 'an empty file' refused 'it is empty' true
check 'another text' refused 'it has no line of /proc/PID/maps or smaps' echo hello
check 'a program' refused 'it is a program or library' cat "$MEMDIAG"
check 'the XML of malloc_info()' refused 'malloc_info(): memdiag info --from reads it' cat "$data/malloc_info/glibc-2.36.xml"
check 'also in a log' refused 'memdiag info --from reads it' sh -c "echo log; cat '$data/malloc_info/glibc-2.36.xml'"
check 'JSON' refused 'it is JSON' echo '{}'
check 'smaps_rollup' refused 'smaps_rollup, which has sums only' cat "/proc/$pid/smaps_rollup"
check 'endless zeros' exits_saying 1 'cannot read' memdiag maps --from /dev/zero
check 'a directory' exits_saying 1 'Is a directory' memdiag maps --from "$dir"
check 'a missing file' exits_saying 1 'No such file' memdiag maps --from "$dir/none"
printf '00400000-00401000 r-xp 00000000 08:01 7 /\033[31mred\n' >"$dir/red"
check 'a name that drives a terminal' exits 2 memdiag maps --from "$dir/red" --by=object
check 'is made printable' grep -q '/\\033\[31mred' "$dir/out"
mkfifo "$dir/silent"
check 'a FIFO without a writer ends' exits_at_limit 1 memdiag maps --from "$dir/silent"
check 'a file and a process' exits_saying 64 'not both' memdiag maps --from "$dir/smaps" "$pid"
check 'neither' exits_saying 64 'use --pid PID, or --from FILE' memdiag maps
check 'arenas' exits_saying 64 'does not show which arena' memdiag maps --from "$dir/smaps" --by=arena
check 'another source' exits_saying 64 'is for a process' memdiag maps --from "$dir/smaps" --rss-from=scan
for file in smaps maps; do
	check "report names the command for $file" exits_saying 1 'memdiag maps --from reads it' memdiag report "$dir/$file"
done
check 'the target lives on' end_tracee
finish

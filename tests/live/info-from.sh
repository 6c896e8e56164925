#!/bin/sh
# info --from: the document of malloc_info(), as programs write it to their logs, in place of a process.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq python3

data=$top_srcdir/tests/data/malloc_info

# as_document FILE: whether the last JSON has what another reader of XML finds in FILE: each heap, with what is in use
# as malloc counts (flags of chunks are in "rest"), and the mapped blocks.
cat >"$dir/compare.py" <<'PROGRAM'
import json, sys
import xml.etree.ElementTree as tree

document = tree.fromstring(open(sys.argv[1]).read())
data = json.load(open(sys.argv[2]))["data"]


def number(heap, element, kind, name="size"):
    found = heap.find(f"{element}[@type='{kind}']")
    return int(found.get(name)) if found is not None else 0


def flags(heap):
    sizes = heap.find("sizes")
    lines = list(sizes) if sizes is not None else []
    binned = [line for line in lines if line.tag == "unsorted" or int(line.get("to")) % 8]
    return sum(int(line.get("from")) % 8 * int(line.get("count")) for line in binned)


want = []
for heap in document.findall("heap"):
    system, fast, rest = number(heap, "system", "current"), number(heap, "total", "fast"), number(heap, "total", "rest")
    want.append((int(heap.get("nr")), system, number(heap, "system", "max"), system - fast - rest + flags(heap), fast, rest))
got = [(a["index"], a["system_bytes"], a["max_system_bytes"], a["in_use_bytes"], a["fast_bytes"], a["rest_bytes"])
       for a in data["arenas"]]
mapped = number(document, "total", "mmap", "count"), number(document, "total", "mmap")
if got != want:
    sys.exit(f"got {got}, want {want}")
if (data["mmapped"]["count"], data["mmapped"]["bytes"]) != mapped:
    sys.exit(f"got {data['mmapped']}, want {mapped}")
PROGRAM

reads()
{
	exits 0 memdiag info --from "$1" --json && python3 "$dir/compare.py" "$1" "$dir/out"
}

for release in 2.31 2.36 2.41 2.43 2.44; do
	check "the document of glibc $release" reads "$data/glibc-$release.xml"
	check "glibc $release: nothing else is known" json_is '.target == null and .process == null and
		.data.totals == { virt_bytes: null, rss_bytes: null, swap_bytes: null } and
		([.data.arenas[] | has("resident_bytes")] | any | not)'
	check "glibc $release: what is free is the verdict" json_is '[.verdicts[].id] == ["retained"]'
	check "glibc $release: as an upper bound" json_is \
		'.verdicts[0].text | startswith("Up to ") and test("% of what malloc has")'
	check "glibc $release: with no command for a process" json_is '.verdicts[0].actions == []'
done
for file in 2.10 2.17 2.18 2.19 2.20 2.27 2025-12; do
	check "the document as of $file" exits 0 memdiag info --from "$data/made-$file.xml" --json
done
check 'blocks that a release does not print' exits 0 memdiag info --from "$data/made-2.10.xml" --json
check 'are unknown' json_is '.data.mmapped == { count: null, bytes: null }'

# ---- that of a process ---------------------------------------------------------------------------

# same_as_process: whether info says the same of the process and of its document, which it does not change.
same_as_process()
{
	local tries=20
	while [ "$tries" -gt 0 ]; do
		exits 0 memdiag info "$tracee_pid" --method=inject --xml || return
		cp "$dir/out" "$dir/xml"
		exits 0 memdiag info "$tracee_pid" --method=inject --json || return
		jq '[.data.arenas[] | del(.resident_bytes, .approximate, .threads, .tids, .address)], .data.mmapped' \
			"$dir/out" >"$dir/process"
		exits 0 memdiag info "$tracee_pid" --method=inject --xml || return
		if cmp -s "$dir/out" "$dir/xml"; then
			exits 0 memdiag info --from "$dir/xml" --json || return
			jq '[.data.arenas[] | del(.approximate)], .data.mmapped' "$dir/out" | diff "$dir/process" -
			return
		fi
		tries=$((tries - 1))
	done
	echo 'it never stood still'
	return 1
}
start_tracee bloat 4
check 'the arenas of a process are those of its document' same_as_process
check 'the target lives on' end_tracee

# ---- in a log ------------------------------------------------------------------------------------

xml=$data/glibc-2.36.xml
{ printf '2026-11-27 12:00 <began> & goes on\r\n\nheap:\n'; cat "$xml"; echo '<done> & so on'; } >"$dir/log"
check 'in a log' exits 0 memdiag info --from "$dir/log" --json
check 'is the same' python3 "$dir/compare.py" "$xml" "$dir/out"
sed 's/$/\r/' "$xml" >"$dir/crlf"
check 'with CRLF' reads "$dir/crlf"
check 'on standard input' sh -c "'$MEMDIAG' info --from - --json <'$xml' >'$dir/out'"
check 'is the same again' python3 "$dir/compare.py" "$xml" "$dir/out"
check 'as text' exits_saying 0 'RSS is unknown: .* is malloc.s own account' memdiag info --from "$dir/log"
check 'the first line has its name, and no size' grep -q '^[^ ]*/log (malloc_info())  RSS ?  swap ?  VIRT ?$' "$dir/out"
check 'the table has no resident bytes' sh -c "grep -q '^ *0  .*  ?  ?\$' '$dir/out' && ! grep -q ' 0 B  ?\$' '$dir/out'"
check 'one arena' exits 0 memdiag info --from "$dir/log" --arena 2
check 'has its free chunks' grep -q '^FREE CHUNKS  ' "$dir/out"
check 'an arena that is not there' exits_saying 64 'there is no arena 99' memdiag info --from "$dir/log" --arena 99
check 'the document itself' exits 0 memdiag info --from "$dir/log" --xml
echo >>"$dir/out"
check 'is what was found' cmp "$dir/out" "$xml"
head -c 3000 "$xml" >"$dir/cut"
check 'a document without its end' exits_saying 2 'ends early, after 2 heaps' memdiag info --from "$dir/cut" --json
check 'has the heaps that are whole' json_is '.partial and (.data.arenas | length == 2)'

# ---- what is no such file ------------------------------------------------------------------------

# refused WORDS INPUT-COMMAND...
refused()
{
	local words="$1"
	shift
	"$@" >"$dir/bad"
	exits_saying 1 "$words" memdiag info --from "$dir/bad" && [ ! -s "$dir/out" ]
}
check 'two documents' refused 'several documents of malloc_info(), in lines 4 and ' cat "$dir/log" "$dir/log"
check 'a heap that is missing' refused 'heap nr="2" comes where nr="1" belongs' \
	sed '/<heap nr="1">/,/<\/heap>/d' "$xml"
check 'a last heap that is missing' refused 'and the sum at its end is' sed '/<heap nr="6">/,/<\/heap>/d' "$xml"
check 'a size that is another' refused 'impossible sizes\|the sum at its end' \
	sed 's/\(<system type="current" size="\)\([0-9]*\)/\19\2/' "$xml"
# In the fourth line of the document, and three lines of the log come before it.
check 'a word for a number has the line of the file' refused 'line 7)' \
	sed '7s/="[0-9]*"/="x"/g' "$dir/log"
check 'a number beyond 64 bits' refused 'malloc_info' \
	sed 's/\(<aspace type="total" size="\)[0-9]*/\199999999999999999999999/' "$xml"
check 'entities' refused 'malloc_info' sh -c "sed '1a <!DOCTYPE x [<!ENTITY a \"b\">]>' '$xml'"
check 'a NUL byte' refused 'malloc_info' sh -c "head -c 200 '$xml'; printf '\\0'; tail -c +201 '$xml'"
check 'an empty file' refused 'it is empty' true
check 'another text' refused 'no document of malloc_info()' echo hello
for file in smaps maps; do
	check "$file" refused 'memdiag maps --from reads it' cat "/proc/$$/$file"
done
check 'JSON' refused 'it is JSON' echo '{}'
printf '___ Begin jemalloc statistics ___\n' >"$dir/je"
check 'statistics of jemalloc' refused "jemalloc's statistics" cat "$dir/je"
check 'massif' refused 'ms_print reads it' echo 'desc: x'
check 'a missing file' exits_saying 1 'No such file' memdiag info --from "$dir/none"
check 'a file and a process' exits_saying 64 'not both' memdiag info --from "$xml" $$
check 'neither' exits_saying 64 'use --pid PID, or --from FILE' memdiag info
check 'a method' exits_saying 64 'is for a process' memdiag info --from "$xml" --method=read
check 'report names the command' exits_saying 1 'memdiag info --from reads it' memdiag report "$xml"
finish

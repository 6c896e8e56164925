#!/bin/sh
# report's flame graph, page and graph of calls: whole, and with names that are hostile.
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
need python3
ours=$top_srcdir/tests/data/report_heap/ours.heap
xml="$top_srcdir/tests/live/report-xml.py"

# Names of ours.heap, as people see them; and others.
script='</script><b>"leaf" \\012'
{
	grep -v '^# end' "$ours"
	printf '%s\n' "# name 0x401077 1	/x.c	]]><script>alert(1)</script>&amp;"'\000\033[31m\377\357\277\277'
	echo "# name 0x401088 1	/x.c	$(head -c 65536 /dev/zero | tr '\0' x)"
	printf '%s\n' "# name 0x401099 1	/x.c	<img src=x onerror=alert(1)>"'\342\200\256"\134'
	echo '# end'
} | sed 's/@ 0x401066 /@ 0x401066 0x401077 0x401088 0x401099 /' >"$dir/hostile.heap"

for format in svg:flame html:html; do
	kind=${format%:*}
	format=${format#*:}
	check "report --format=$format writes $kind" exits 0 memdiag report "$ours" --value=allocated --format=$format -o "$dir/g.$kind"
	check "$kind is whole and shows names as text" python3 "$xml" $kind "$dir/g.$kind" "$script" inner outer main 'temp;orary'
	check "$kind is written of hostile names" exits 0 memdiag report "$dir/hostile.heap" --value=allocated \
		--format=$format -o "$dir/h.$kind"
	check "hostile names are text in $kind" python3 "$xml" $kind "$dir/h.$kind" \
		"]]><script>alert(1)</script>&amp;" '<img src=x onerror=alert(1)>'
	check "no control byte is in $kind" sh -c "! LC_ALL=C grep -q '[[:cntrl:]]' '$dir/h.$kind' ||
		! tr -d '\n\t' <'$dir/h.$kind' | LC_ALL=C grep -q '[[:cntrl:]]'"
	check "a difference is drawn as $kind" exits 0 memdiag report "$ours" --base "$dir/hostile.heap" --value=allocated \
		--format=$format -o "$dir/d.$kind"
	check "the $kind of a difference is whole" python3 "$xml" $kind "$dir/d.$kind" inner
	check "a profile of which nothing is left is drawn as $kind" exits 0 memdiag report "$ours" --focus=nothing \
		--format=$format -o "$dir/n.$kind"
	check "the $kind of an empty profile is whole" python3 "$xml" $kind "$dir/n.$kind"
done
check 'the page has threads' python3 "$xml" html "$dir/g.html" 'worker <1>'

# Widths are shares: 2000 of 2600 bytes are allocated below outer.
widths()
{
	python3 - "$dir/g.svg" <<-'PROGRAM'
	import sys, xml.etree.ElementTree as tree
	svg = "{http://www.w3.org/2000/svg}"
	width = {}
	for g in tree.parse(sys.argv[1]).getroot().iter(svg + "g"):
	    name = g.find(svg + "title").text.split("\n")[0]
	    width[name] = width.get(name, 0) + float(g.get("data-w"))
	assert abs(width["outer"] / width["all"] - 2000 / 2600) < 0.001, width
	assert abs(width["main"] - width["all"]) < 0.01, width
	PROGRAM
}
check 'frames are as wide as their shares' widths

check 'report --format=dot writes a graph' exits 0 memdiag report "$dir/hostile.heap" --value=allocated --format=dot
cp "$dir/out" "$dir/h.dot"
check 'an edge of the graph of calls has its value' grep -q 'n[0-9]* -> n[0-9]* .label=" 2.0 KiB"' "$dir/h.dot"
if command -v dot >/dev/null; then
	check 'report -s draws a graph' exits 0 memdiag report -f "$dir/hostile.heap" --value=allocated -s -o "$dir/s.svg"
	check 'the drawn graph of calls is whole' python3 - "$dir/s.svg" <<-'PROGRAM'
	import sys, xml.etree.ElementTree as tree
	text = "\n".join(e.text or "" for e in tree.parse(sys.argv[1]).getroot().iter())
	assert '<img src=x onerror=alert(1)>' in text and "Total: " in text, text
	PROGRAM
else
	skip 'the graph of calls is drawn' 'dot is not installed'
fi
mkdir "$dir/empty"
check 'without dot, the error says what to do' exits_saying 1 "'dot' is not installed; install graphviz, or use --format=flame" \
	captured env PATH="$dir/empty" "$MEMDIAG" report "$ours" -s -o "$dir/none.svg"
check 'a graph that cannot be drawn leaves no file' test ! -e "$dir/none.svg"
finish

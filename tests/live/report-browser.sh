#!/bin/sh
# The flame graph of report in a browser: search, zoom, and names that are hostile.  report-page.sh has the page.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need chromium
ours=$top_srcdir/tests/data/report_heap/ours.heap

# The scripts of the graph, and then one that does what a user would.
# acts SCRIPT [HASH]: $dir/page.svg is h.svg in which SCRIPT runs at the end; what becomes of it goes to $dir/dom.
acts()
{
	local script="window.addEventListener('load', function () { $1 });"
	{ sed '$d' "$dir/h.svg" && echo "<script><![CDATA[$script]]></script></svg>"; } >"$dir/page.svg"
	timeout 600 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$dir/chromium" \
		--virtual-time-budget=5000 --dump-dom "file://$dir/page.svg${2-}" >"$dir/dom" 2>"$dir/chromium.err"
	grep -q 'data-ready=' "$dir/dom" || {
		tail -n 5 "$dir/chromium.err"
		return 1
	}
}

# frames WORD: the names of the frames with a class.
frames()
{
	grep -o "<g class=\"frame[^\"]* *$1\"[^>]*><title>[^<]*" "$dir/dom" | sed 's/.*<title>//' | sort -u | tr '\n' ' ' | sed 's, $,,'
}

# has_frames WORD NAMES: whether these are all of them, in order.
has_frames()
{
	[ "$(frames "$1")" = "$2" ] || {
		echo "$1: $(frames "$1")"
		return 1
	}
}

{
	grep -v '^# end' "$ours"
	echo "# name 0x401077 1	/x.c	</script><img src=x onerror=document.title='HARMED'>"
	echo '# end'
} | sed 's/@ 0x401066 /@ 0x401066 0x401077 /' >"$dir/hostile.heap"
check "the graph is written" exits 0 memdiag report "$dir/hostile.heap" --value=allocated --format=flame \
	-o "$dir/h.svg"
check "the graph opens in a browser" acts ''
check "a hostile name does nothing" sh -c "! grep -q '<title>HARMED\|<img' '$dir/dom'"
check "the graph opens by an address with a search" acts '' '#s=%5Eouter%24'
check "a search in the address of the graph marks its frame" has_frames found outer
check "a search in the address of the graph shows the share" grep -q 'found, 76.9%' "$dir/dom"
check "a frame is clicked" acts '
	Array.from(document.querySelectorAll("g.frame")).find(function (g) {
		return g.querySelector("title").textContent.indexOf("outer") === 0;
	}).dispatchEvent(new MouseEvent("click", { bubbles: true }));'
check "a click leaves the callers above the frame" has_frames above 'all main'
check "a click makes the frame as wide as it" sh -c \
	"grep -A 1 '<title>outer' '$dir/dom' | tr '\n' ' ' | grep -q 'width=\"1199.5\"'"
check "Escape is pressed" acts '
	document.querySelectorAll("g.frame")[3].dispatchEvent(new MouseEvent("click", { bubbles: true }));
	document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));'
check "Escape leaves no frame dimmed" has_frames above ''
finish

#!/bin/sh
# The flame graph and the page of report in a browser: search, zoom, dark and light, and names that are hostile.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need chromium
ours=$top_srcdir/tests/data/report_heap/ours.heap

# The scripts of the graph, and then one that does what a user would.
# acts KIND SCRIPT: $dir/page.KIND is h.KIND in which SCRIPT runs at the end; what becomes of it goes to $dir/dom.
acts()
{
	local script="window.addEventListener('load', function () { $2 });"
	case $1 in
	svg) sed '$d' "$dir/h.svg" && echo "<script><![CDATA[$script]]></script></svg>" ;;
	html) head -n -2 "$dir/h.html" && echo "<script>$script</script></body></html>" ;;
	esac >"$dir/page.$1"
	timeout 600 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$dir/chromium" \
		--virtual-time-budget=5000 --dump-dom "file://$dir/page.$1${3-}" >"$dir/dom" 2>"$dir/chromium.err"
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
for format in svg:flame html:html; do
	kind=${format%:*}
	check "$kind is written" exits 0 memdiag report "$dir/hostile.heap" --value=allocated --format=${format#*:} \
		-o "$dir/h.$kind"
	check "$kind opens in a browser" acts $kind ''
	check "a hostile name does nothing in $kind" sh -c "! grep -q '<title>HARMED\|<img' '$dir/dom'"
	check "$kind opens by an address with a search" acts $kind '' '#s=%5Eouter%24'
	check "a search in the address of $kind marks its frame" has_frames found outer
	check "a search in the address of $kind shows the share" grep -q 'found, 76.9%' "$dir/dom"
	check "a frame is clicked in $kind" acts $kind '
		Array.from(document.querySelectorAll("g.frame")).find(function (g) {
			return g.querySelector("title").textContent.indexOf("outer") === 0;
		}).dispatchEvent(new MouseEvent("click", { bubbles: true }));'
	check "a click leaves the callers above the frame in $kind" has_frames above 'all main'
	check "a click makes the frame as wide as $kind" sh -c \
		"grep -A 1 '<title>outer' '$dir/dom' | tr '\n' ' ' | grep -q 'width=\"1199.5\"'"
	check "Escape is pressed in $kind" acts $kind '
		document.querySelectorAll("g.frame")[3].dispatchEvent(new MouseEvent("click", { bubbles: true }));
		document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));'
	check "Escape leaves no frame dimmed in $kind" has_frames above ''
done
check 'an expression is typed into the page' acts html '
	var box = document.getElementById("expression");
	box.value = "inner|main"; box.dispatchEvent(new Event("input"));'
check 'typing marks the frames that match' has_frames found 'inner main'
check 'typing hides rows without a match' sh -c "grep -c '<tr class=\"away\"' '$dir/dom' | grep -q -x 4"
check 'an unfinished expression is typed into the page' acts html '
	var box = document.getElementById("expression");
	box.value = "(inn"; box.dispatchEvent(new Event("input"));'
check 'an unfinished expression finds nothing' has_frames found ''
check 'a click changes the colours of the page' acts html '
	document.getElementById("theme").click(); document.body.dataset.colour = getComputedStyle(document.body).backgroundColor;'
check 'the page is dark after the click' grep -q 'data-theme="dark".*\|data-colour="rgb(22, 24, 28)"' "$dir/dom"
finish

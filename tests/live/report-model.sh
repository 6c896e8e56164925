#!/bin/sh
# The data of a page, and what the page adds up from them, without a browser: profiles made at random and those of other tests,
# for each type of values, with filters.  MEMDIAG_TEST_SEEDS="FIRST LAST" tries others.
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
need node python3 jq
data=$top_srcdir/tests/data
first=1
last=$(some 5)
if [ -n "${MEMDIAG_TEST_SEEDS-}" ]; then
	first=${MEMDIAG_TEST_SEEDS% *}
	last=${MEMDIAG_TEST_SEEDS#* }
fi

# An older profile of the same process: some stacks have grown since, others have shrunk.
sed -e 's/^#+ 1 112 4 400 3 300 4 400 1 100/#+ 1 112 9 900 7 700 9 900 2 200/' -e '/^#+ 2 112/d' -e '/^ .*0x401055/d' \
	"$data/report_heap/ours.heap" >"$dir/older.heap"

# models FILE OPTIONS...: the page of FILE adds up what it has, and has what report's own sums are.
models()
{
	exits '0 2' memdiag report "$@" --format=html --force -o "$dir/m.html" && node "$top_srcdir/tests/live/report-model.js" "$dir/m.html" &&
		totals "$@"
}

# The sum of each type in the page is that of report.
totals()
{
	python3 - "$dir/m.html" >"$dir/totals" <<-'PROGRAM' || return
	import base64, gzip, json, re, sys
	page = open(sys.argv[1]).read()
	data = json.loads(gzip.decompress(base64.b64decode(re.search(r'class="profile"[^>]*>([^<]*)<', page)[1])))
	for kind, values in zip(data["types"], data["samples"]["values"]):
	    print(kind["name"], sum(values))
	PROGRAM
	while read -r type total; do
		exits '0 2' memdiag report "$@" --value="$type" --json -n 1 && json_is ".data.shown == $total" || return
	done <"$dir/totals"
}

for file in report_heap/ours.heap report_heap/symbols.heap report_heap/jemalloc-threads.heap report_heap/gperftools.heap \
	report_pprof/go-1.19.pb.gz report_heaptrack/version-3.txt; do
	check "page of $file" models "$data/$file"
	check "page of $file by lines" models "$data/$file" --by=line
done
check 'page of objects' models "$data/report_heap/jemalloc-threads.heap" --by=object --allocators
check 'page of a difference' models "$data/report_heap/ours.heap" --base "$dir/older.heap"
check 'page of what a filter leaves' models "$data/report_heap/ours.heap" --focus=outer --hide=inner
check 'page of nothing' models "$data/report_heap/ours.heap" --focus=nosuchfunction
for seed in $(seq "$first" "$last"); do
	check "profile $seed is made" python3 "$top_srcdir/tests/live/report-oracle.py" "$MEMDIAG" "$dir" "$seed"
	check "page of profile $seed" models "$dir/own.heap"
done

# Lines of source, from a directory.
mkdir "$dir/source"
printf 'one\n%s\n' "$(seq 2 60)" >"$dir/source/server.c"
check 'lines of source' exits 0 memdiag report "$data/report_heap/ours.heap" --source="$dir/source" --format=html --force -o "$dir/m.html"
# shellcheck disable=SC2016 # node reads it
check 'each line has its text' node -e '
	const data = JSON.parse(require("zlib").gunzipSync(Buffer.from(require("fs").readFileSync(process.argv[1], "utf8")
		.match(/class="profile"[^>]*>([^<]*)</)[1], "base64")));
	const l = data.lines;
	process.exit(l.line.length >= 4 && l.line.every((line, i) => l.text[i] === String(line)) ? 0 : 1);' "$dir/m.html"
finish

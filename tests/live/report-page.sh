#!/bin/sh
# The page of report in a browser: every view has the numbers of the report's other formats, for every type of values, and does
# what a user asks for; hostile names and scripts do nothing.
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
need chromium chromedriver python3 jq
data=$top_srcdir/tests/data
pages=$dir/pages
mkdir "$pages"

# An older profile of the same process: some stacks have grown since, others have shrunk.
sed -e 's/^#+ 1 112 4 400 3 300 4 400 1 100/#+ 1 112 9 900 7 700 9 900 2 200/' -e '/^#+ 2 112/d' -e '/^ .*0x401055/d' \
	"$data/report_heap/ours.heap" >"$dir/older.heap"

# report FILE OPTIONS...: 2 if names are missing.
reports()
{
	exits '0 2' memdiag report "$@"
}

# page NAME FILE OPTIONS...: the page of a profile, and what its numbers are compared with.
page()
{
	page_name=$1
	page_file=$2
	shift 2
	reports "$page_file" "$@" --format=html -o "$pages/$page_name.html" &&
		reports "$page_file" "$@" --json -n 0 && types=$(jq -r '.data.types[].name' "$dir/out") || return
	for type in $types; do
		reports "$page_file" "$@" --value="$type" --json -n 0 -o "$pages/$page_name.$type.json" &&
			reports "$page_file" "$@" --value="$type" --format=folded -o "$pages/$page_name.$type.folded" || return
	done
	# shellcheck disable=SC2086 # words
	echo "$page_name" $types >>"$pages/names"
}

check 'a page with threads and sizes' page ours "$data/report_heap/ours.heap"
check 'a page of a Go program' page go "$data/report_pprof/go-1.19.pb.gz"
check 'a page of heaptrack' page heaptrack "$data/report_heaptrack/version-3.txt"
check 'a page by lines' page lines "$data/report_heap/symbols.heap" --by=line
check 'a page by objects' page objects "$data/report_heap/jemalloc-threads.heap" --by=object --allocators
# A timeline has the values that report has of the recording, and moments.
timeline()
{
	page "$@" && exits '0 2' memdiag timeline "$2" --interval=10ms --format=html --force -o "$pages/$1.html" &&
		echo "$2" >"$pages/$1.recording"
}
check 'a page of a timeline' timeline timeline "$data/report_heaptrack/version-2.txt"
check 'a page of a long timeline' timeline log "$data/history_log/mapped"
check 'a page of a difference' page difference "$data/report_heap/ours.heap" --base "$dir/older.heap"

# The filter of the first page, by report itself.
printf '%s\n%s\n' outer inner >"$pages/filter"
check 'what a filter must show' reports "$data/report_heap/ours.heap" --focus=outer --ignore=inner --json -n 0 -o "$pages/ours.filtered.json"

bad="</script><img src=x onerror=document.title='HARMED'><script>window.harmed=1</script>"
printf '%s' "$bad" >"$pages/hostile-name"
{
	grep -v '^# end' "$data/report_heap/ours.heap"
	echo "# name 0x401077 1	/x.c	$bad"
	printf '# name 0x401088 1	/x.c	\342\200\256rtl %s\n' "$(head -c 65536 /dev/zero | tr '\0' x)"
	echo '# end'
} | sed 's/@ 0x401066 /@ 0x401066 0x401077 0x401088 /' >"$dir/hostile.heap"
check 'a page of hostile names' reports "$dir/hostile.heap" --value=allocated --format=html -o "$pages/hostile.html"

MEMDIAG=$MEMDIAG python3 "$top_srcdir/tests/live/report-page.py" "$pages" >"$dir/results" 2>"$dir/err"
echo $? >"$dir/status"
while IFS= read -r line; do
	case $line in
	'ok '*) check "${line#ok }" true ;;
	*) check "${line#not ok }" false ;;
	esac
done <"$dir/results"
# shellcheck disable=SC2016 # sh reads it
check 'the browser did all of it' sh -c 'cat "$1/err"; [ "$(cat "$1/status")" -eq 0 ] && [ "$(wc -l <"$1/results")" -gt 60 ]' - "$dir"
finish

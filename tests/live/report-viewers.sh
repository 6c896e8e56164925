#!/bin/sh
# The files for speedscope and for the Firefox Profiler, read by those programs themselves: they show the numbers of report.
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
need chromium chromedriver jq node npm python3
data=$top_srcdir/tests/data

# package NAME DIRECTORY: a package of npm, unpacked.
package()
{
	mkdir "$dir/$2" && (cd "$dir/$2" && npm pack "$1" >"$dir/npm" 2>&1 && tar xzf ./*.tgz)
}
package speedscope@1.25.0 speedscope && package @firefox-devtools/profiler-cli@0.10.0 firefox ||
	skip_all "npm cannot fetch the viewers: $(tail -n 1 "$dir/npm")"

# reads FILE OPTIONS...: both have the flat and cum of each function, and the total of each type.
reads()
{
	for format in speedscope firefox; do
		exits '0 2' memdiag report "$@" --format=$format --force -o "$dir/$format.json" || return
	done
	exits '0 2' memdiag report "$@" --json -n 0 && cp "$dir/out" "$dir/report.json" || return
	for type in $(jq -r '.data.types[].name' "$dir/report.json"); do
		exits '0 2' memdiag report "$@" --value="$type" --json -n 0 && cp "$dir/out" "$dir/$type.json" || return
	done
	HOME=$dir python3 "$top_srcdir/tests/live/report-viewers.py" "$dir"
}

for file in report_heap/ours.heap report_heap/symbols.heap report_heap/jemalloc-threads.heap report_pprof/go-1.19.pb.gz \
	report_heaptrack/version-3.txt; do
	check "$file" reads "$data/$file"
done
check 'lines' reads "$data/report_heap/symbols.heap" --by=line
finish

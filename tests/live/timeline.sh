#!/bin/sh
# timeline: local maxima, moments and growth, by a recording with known values and by real ones, which an oracle of its
# own adds up; all formats; what cannot be.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
need jq python3
# In it: 1200 B at 0 and 10 ms, 1300 B at 110 ms, then 100 B, 132 B from 120 ms on; it ends at 300 ms.
recording=$top_srcdir/tests/data/report_heaptrack/version-2.txt

# ---- the whole ----

check 'timeline reads a recording' exits 0 memdiag timeline "$recording" --json
check 'timeline as JSON: the peak' json_is '.data.peak == {blocks: 4, bytes: 1300} and .data.peak_time_ns == 110000000'
check 'timeline as JSON: sums of all blocks' json_is '.data.allocated == {blocks: 6, bytes: 2332} and .data.live == {blocks: 2, bytes: 132} and
	.data.temporary == {blocks: 1, bytes: 1000} and .data.freed == {blocks: 4, bytes: 2200} and .data.duration_ns == 300000000'
check 'timeline as JSON: local maxima' json_is '[.data.intervals[] | [.time_ns, .live_max.bytes, .live_max_time_ns]] ==
	[[0, 1200, 10000000], [100000000, 1300, 110000000], [200000000, 132, 200000000], [300000000, 132, 300000000]]'
check 'timeline as JSON: what is allocated and freed in each interval' json_is \
	'[.data.intervals[] | [.allocated.blocks, .allocated.bytes, .freed.blocks, .freed.bytes]] ==
	[[3, 1200, 1, 1000], [3, 1132, 3, 1200], [0, 0, 0, 0], [0, 0, 0, 0]]'
check 'timeline as JSON: the RSS of each interval, or null' json_is '[.data.intervals[].rss_bytes] == [65536, 262144, null, 131072] and .data.rss_peak_bytes == 262144'
check 'without a moment there is no report' json_is '.data.report == null and .data.from == null and .data.to == null'
check '--interval is taken' exits 0 memdiag timeline "$recording" --interval=10ms --json
check 'shorter intervals have the same peak' json_is '(.data.intervals | length) == 31 and
	([.data.intervals[].live_max.bytes] | max) == 1300 and .data.intervals[12].live_max.bytes == 1300'
check 'an interval begins with what was live before' json_is '.data.intervals[12].live_max_time_ns == 120000000 and
	.data.intervals[13].live_max.bytes == 132'
sed '0,/^- 1$/s//- 1\nc 14\n+ 1\n- 1/' "$recording" >"$dir/twice.txt"
check 'of equal maxima it is the first' sh -c "'$MEMDIAG' timeline '$dir/twice.txt' --json | jq -e '.data |
	.intervals[0].live_max_time_ns == 10000000 and .intervals[0].allocated.blocks == 4 and .temporary.blocks == 2'"
check 'standard input is read' sh -c "'$MEMDIAG' timeline - --json <'$recording' | jq -e '.data.peak.bytes == 1300'"

mkfifo "$dir/pipe"
for command in timeline report; do
	timeout 600 cat "$recording" >"$dir/pipe" &
	check "a pipe is read by $command" exits 0 memdiag $command "$dir/pipe" --json
	wait
	check "a pipe has the same in $command" json_is '(.data.live.bytes // .data.total) == 132'
done
{ gzip -c "$recording"; head -c 1000 /dev/zero; gzip -c /dev/null; head -c 300000 /dev/zero; } >"$dir/padded.gz"
check 'zeros behind gzip are no damage' exits 0 memdiag timeline "$dir/padded.gz" --json
check 'zeros behind gzip: all before them is read' json_is '.data.duration_ns == 300000000 and .data.live.bytes == 132'
if command -v zstd >/dev/null && grep -q '^#define HAVE_ZSTD 1' "$top_builddir/config.h"; then
	# If zstd does not know the size of a file, the window is as long as it may be.
	zstd -q --long=30 <"$recording" >"$dir/long.zst"
	check 'zstd --long=30 is unpacked' exits 0 memdiag timeline "$dir/long.zst" --json
	check 'zstd --long=30: all of it is read' json_is '.data.duration_ns == 300000000 and .data.live.bytes == 132'
else
	skip 'zstd --long=30' 'zstd is not installed'
fi

# ---- events whose order is not known ----

# A log with a block of 100 bytes, and 10 bytes of which the order among threads is not known.
printf 'memdiag-log 3\n\001\001\001\001\000\000\367\001\000\360\001\144\376\001\012\001\012\364\000\000\000\000\000\377\001\001' \
	>"$dir/unordered.mlog"
check 'a log with events in no order' exits 0 memdiag timeline "$dir/unordered.mlog"
check 'the peak in text is marked' grep -q '^peak ~100 B at ' "$dir/out"
check 'CSV of such a log' exits 0 memdiag timeline "$dir/unordered.mlog" --format=csv
check 'CSV has the bytes by which a maximum may be off' grep -qx '0.000,100,1,0.000,100,1,0,0,,0,10' "$dir/out"
check 'JSON of such a log' exits 0 memdiag timeline "$dir/unordered.mlog" --json
check 'JSON has the bytes by which a maximum may be off, and the warning' json_is '.data.intervals[0].live_max_uncertain_bytes == 10 and
	(.warnings | map(select(test("the order of 1 allocations and frees"))) | length) == 1'
rm "$dir/unordered.mlog"

# ---- moments ----

# at OPTIONS...: the sum, and the number of the functions in it.
at()
{
	"$MEMDIAG" timeline "$recording" --json "$@" | jq -c '.data.report | [.total, (.rows | length)]'
}

check '--at takes the local maximum' [ "$(at --at=50ms)" = '[1200,2]' ]
check '--at takes the interval that the time is in' [ "$(at --at=199ms)" = '[1300,2]' ]
check '--at is by --interval' [ "$(at --at=109ms --interval=10ms)" = '[200,2]' ]
check '--peak is the peak' [ "$(at --peak)" = '[1300,2]' ]
check '--at=end is the end' [ "$(at --at=end)" = '[132,2]' ]
check 'seconds are the default' [ "$(at --at=0.1)" = '[1300,2]' ]
check '--from and --to are a difference' exits 0 memdiag timeline "$recording" --from=0s --to=110ms --json
check '--from and --to: what grew' json_is '.data.report.shown == 100 and .data.from.live.bytes == 1200 and .data.to.live.bytes == 1300'
check '--from goes to the end' exits 0 memdiag timeline "$recording" --from=110ms --json
check '--from alone: what shrank' json_is '.data.report.shown == -1168 and .data.to == {time_ns: 300000000, live: {blocks: 2, bytes: 132}, mapped: null}'
check '--to without --from' exits 0 memdiag timeline "$recording" --to=peak --json
check '--to without --from subtracts nothing' json_is '.data.from == null and .data.to.live.bytes == 1300 and .data.report.total == 1300 and
	.data.intervals == null'
check '--to in the first interval' [ "$(at --to=10ms)" = '[1200,2]' ]
check '--objects adds up blocks' sh -c \
	"'$MEMDIAG' timeline '$recording' --peak --objects --json | jq -e '.data.report.total == 4'"
check '--focus and --by are taken' sh -c \
	"'$MEMDIAG' timeline '$recording' --at=end --by=line --focus=main.c:20 --json | jq -e '.data.report.shown == 100'"
check 'a moment as text says when it was' sh -c \
	"'$MEMDIAG' timeline '$recording' --peak | grep -q '^.*version-2.txt at 0.110 s: bytes in use, 1.3 KiB'"
for format in text tree flame html dot json pprof heap folded; do
	check "a moment is written as $format" exits 0 memdiag timeline "$recording" --peak --format=$format -o "$dir/moment.$format"
	check "a moment as $format has its functions" sh -c "test -s '$dir/moment.$format' && {
		[ $format = pprof ] || grep -q leaf '$dir/moment.$format'; }"
done

# ---- formats of the whole ----

check 'the plot is written' exits 0 memdiag timeline "$recording"
check 'the plot fits 80 columns' sh -c "sed '1,/^\$/d' '$dir/out' >'$dir/plot'; grep '[#]' '$dir/plot' && ! grep '.\{81\}' '$dir/plot'"
check 'the plot has one peak' [ "$(tail -n +5 "$dir/out" | tr -cd '*' | wc -c)" -eq 1 ]
check 'the plot says how much and when' grep -q '^peak 1.3 KiB at 0.110 s; at the end 132 B in 2 blocks' "$dir/out"
check 'the plot has RSS, and says where that is unknown' grep -q '256.0 KiB + RSS, blank where it was not measured' "$dir/out"
for columns in 20 50 200; do
	check "the plot fits a terminal of $columns columns" sh -c "
		script -qec 'stty cols $columns; \"$MEMDIAG\" timeline \"$recording\"' /dev/null | tr -d '\r' |
			sed '1,/^\$/d' >'$dir/plot'
		cat '$dir/plot'; grep -q '[#]' '$dir/plot' && ! grep -q '.\{$((columns + 1))\}' '$dir/plot'"
done
check 'CSV is written' exits 0 memdiag timeline "$recording" --format=csv
check 'CSV has a line for each interval' grep -qx '0.100,1300,4,0.110,1132,3,1200,3,262144,,0' "$dir/out"
check 'CSV has nothing where RSS is unknown' grep -qx '0.200,132,2,0.200,0,0,0,0,,,0' "$dir/out"
check 'SVG is written' exits 0 memdiag timeline "$recording" --format=svg -o "$dir/t.svg"
check 'SVG is XML' python3 -c "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])" "$dir/t.svg"
# Each label of the axis stands at its time: the axis begins at 90 and has 1100 pixels.
labels_stand_at_their_times()
{
	grep -o 'x="[0-9.]*" y="330" text-anchor="[a-z]*">[0-9.]* s<' "$1" | sed 's/x="//; s/" y=.*>/ /; s/ s<//' >"$dir/labels"
	awk '{ x[NR] = $1; time[NR] = $2 }
		END {
			for (i = 1; i <= NR; i++) {
				off = x[i] - 90 - 1100 * time[i] / time[NR]
				if (off > 0.1 || off < -0.1)
					bad = 1
			}
			exit bad || NR < 3
		}' "$dir/labels"
}

check 'SVG: labels stand at their times' labels_stand_at_their_times "$dir/t.svg"
check 'SVG has the peak' grep -q 'live, peak 1.3 KiB at 0.110 s' "$dir/t.svg"
check 'HTML is written' exits 0 memdiag timeline "$recording" --format=html -o "$dir/t.html"
check 'HTML has the plot and the report of the peak' sh -c \
	"grep -q 'at the peak, at 0.110 s, 1.3 KiB in 4 blocks' '$dir/t.html' &&
	python3 '$top_srcdir/tests/live/page-data.py' --data '$dir/t.html' >'$dir/t.data' && grep -q '\"leaf\"' '$dir/t.data' &&
	grep -q '\"moments\":{\"at_ns\":.*110000000' '$dir/t.data'"
check 'HTML needs no other file' sh -c "! grep -q 'src=\|href=\|url(' '$dir/t.html'"
sed 's/^s leaf.*/s <script>alert(1);<\/script>\x1b[31m/; s/^X .*/X <img src=x>\x1b[31m/' "$recording" >"$dir/hostile.txt"
for format in html svg massif dhat text csv; do
	check "hostile names are written as $format" exits 0 memdiag timeline "$dir/hostile.txt" --format=$format
	check "hostile names are text in $format" sh -c \
		"! grep -q '$(printf '\033')' '$dir/out' && { [ $format = massif ] || [ $format = dhat ] || [ $format = text ] || ! grep -q '<script>alert\|<img' '$dir/out'; }"
done

# ---- massif ----

check 'a file of massif is written' exits 0 memdiag timeline "$recording" --format=massif -o "$dir/massif.out"
check 'snapshots have the local maxima' sh -c "grep '^time=\|^mem_heap_B=' '$dir/massif.out' | paste -sd ' ' |
	grep -x 'time=10 mem_heap_B=1200 time=110 mem_heap_B=1300 time=200 mem_heap_B=132 time=300 mem_heap_B=132'"
# ms_print leaves a file in TMPDIR.
if command -v ms_print >/dev/null; then
	check 'ms_print reads the file of massif' sh -c "TMPDIR='$dir' ms_print '$dir/massif.out' >'$dir/printed'"
	check 'ms_print has the peak' grep -q '^  1 *110 *1,300 *1,300 ' "$dir/printed"
	check 'ms_print has the stacks' sh -c "sed -n '/^  1 *110/,/^  2 /p' '$dir/printed' |
		grep -q '^->100.00% (1,300B) 0x0: leaf (/src/main.c:20)'"
else
	skip 'ms_print' 'valgrind is not installed'
fi

# ---- DHAT ----

check 'a file of DHAT is written' exits 0 memdiag timeline "$recording" --format=dhat -o "$dir/dhat.json"
cat >"$dir/expected" <<-'END'
	[300,110,true,false]
	[300,3,430,300,3,300,3,100,1,"0x1010: leaf (/src/main.c:20)"]
	[2000,2,10,1000,1,1000,1,0,0,"0x2000: operator new (in /lib/libc.so.6)"]
	[32,1,180,32,1,0,0,32,1,"0x1000: main (/src/main.c:10)"]
END
check 'a file of DHAT has what each site had, at most and at the peak, and how long' sh -c "jq -c '
		[.te, .tg, .bklt, .bkacc], (.ftbl as \$f | .pps[] | [.tb, .tbk, .tl, .mb, .mbk, .gb, .gbk, .eb, .ebk, \$f[.fs[0]]])' \
		'$dir/dhat.json' | diff - '$dir/expected'"
if command -v node >/dev/null && [ -e /usr/libexec/valgrind/dh_view.js ]; then
	cat >"$dir/view.js" <<-'END'
		const fs = require("fs"), vm = require("vm");
		const text = fs.readFileSync(process.argv[2], "utf8") + `
			gData = JSON.parse(input);
			gSelect = { childNodes: gSelectData.map(() => ({})), selectedIndex: 0 };
			buildTree();
			print([gRoot._totalBytes, gRoot._totalBlocks, gRoot._totalLifetimes, gRoot._atTGmaxBytes, gRoot._atTEndBytes]);`;
		vm.runInNewContext(text, { input: fs.readFileSync(process.argv[3], "utf8"), document: {}, window: {},
			print: (values) => console.log(values.join(" ")) });
	END
	check "DHAT's viewer adds it up" sh -c \
		"node '$dir/view.js' /usr/libexec/valgrind/dh_view.js '$dir/dhat.json' | tee /dev/stderr | grep -qx '2332 6 620 1300 132'"
else
	skip "DHAT's viewer adds it up" 'node or valgrind is not installed'
fi

# ---- a file that changes between the two times it is read ----

cat >"$dir/change.c" <<-'END'
	#include <dlfcn.h>
	#include <stdlib.h>
	#include <unistd.h>

	off_t
	lseek(int fd, off_t at, int whence)
	{
		off_t (*real)(int, off_t, int) = (off_t(*)(int, off_t, int))dlsym(RTLD_NEXT, "lseek");

		if (at == 0 && whence == SEEK_SET && system(getenv("CHANGE")) != 0)
			abort();
		return real(fd, at, whence);
	}

	off_t
	lseek64(int fd, off_t at, int whence)
	{
		return lseek(fd, at, whence);
	}
END
${CC:-cc} -D_GNU_SOURCE -shared -fPIC -o "$dir/change.so" "$dir/change.c" -ldl

# changed COMMAND OPTIONS...: the report of a file that COMMAND changes before it is read again.
changed()
{
	local change="$1"
	shift
	cp "$recording" "$dir/changing.txt"
	captured env CHANGE="unset LD_PRELOAD; $change" LD_PRELOAD="$dir/change.so" "$MEMDIAG" timeline "$dir/changing.txt" "$@"
}

grow="test -e '$dir/grown' || printf 'a 5 1\\n+ 3\\nc 200\\n- 3\\n' >>'$dir/changing.txt'; touch '$dir/grown'"
check 'timeline --from of a file that grows meanwhile' exits 0 changed "$grow" --from=110ms --json
check 'a file that grows is read as far as before' json_is '.data.to.live.bytes == 132 and .data.report.shown == -1168'
check 'the file has grown while it was read' test -e "$dir/grown"
rm -f "$dir/grown"
check 'timeline --at of a file that shrinks meanwhile: status 1' exits_saying 1 'it has become shorter' changed "truncate -s 60 '$dir/changing.txt'" --at=110ms
check 'timeline --peak of a file that is empty meanwhile: status 1' exits_saying 1 'it has become shorter' changed ": >'$dir/changing.txt'" --peak
check 'timeline of a file whose times change meanwhile: status 1' exits_saying 1 'it has changed' \
	changed "sed 's/^c .*/c 0/' '$recording' >'$dir/changing.txt'" --at=110ms

# ---- real recordings ----

# same_as_oracle FILE INTERVAL
same_as_oracle()
{
	python3 "$top_srcdir/tests/live/timeline-oracle.py" "$MEMDIAG" "$1" "$2"
}

if ! grep -q '^#define HAVE_ZSTD 1' "$top_builddir/config.h"; then
	skip 'real recordings' 'this memdiag was built without libzstd'
else
	real=$top_srcdir/tests/data/report_heaptrack/heaptrack-1.4.zst
	for interval in 1 10 100 1000; do
		check "a recorded program: maxima of $interval ms, moments and growth" same_as_oracle "$real" $interval
	done
	if command -v heaptrack >/dev/null; then
		cat >"$dir/program.py" <<-'END'
			import json
			data = [{"number": i, "text": str(i) * 3} for i in range(3000)]
			for i in range(5):
			    kept = json.loads(json.dumps(data[: 1000 * (i % 3 + 1)]))
		END
		check 'python3 is recorded' env PYTHONMALLOC=malloc heaptrack -o "$dir/python" /usr/bin/python3 "$dir/program.py"
		check 'python3: maxima, moments and growth' same_as_oracle "$dir/python.zst" 20
		check 'python3 as a file of massif' exits 0 memdiag timeline "$dir/python.zst" --interval=1ms --format=massif \
			-o "$dir/python.out"
		check 'python3 as a file of DHAT' sh -c "'$MEMDIAG' timeline '$dir/python.zst' --format=dhat -o '$dir/python.json'
			[ \"\$('$MEMDIAG' timeline '$dir/python.zst' --json | jq -c '.data | [.allocated.bytes, .live.bytes, .peak.bytes]')\" = \
				\"\$(jq -c '.pps | [(map(.tb) | add), (map(.eb) | add), (map(.gb) | add)]' '$dir/python.json')\" ]"
		check 'python3 as a file of massif has at most 100 snapshots' [ "$(grep -c ^snapshot= "$dir/python.out")" -le 100 ]
		check 'python3 as a file of massif: one snapshot is the peak' [ "$(grep -c ^heap_tree=peak "$dir/python.out")" -eq 1 ]
		! command -v ms_print >/dev/null ||
			check 'ms_print reads that of python3' sh -c "TMPDIR='$dir' ms_print '$dir/python.out' | grep -q 'Detailed snapshots'"
	else
		skip 'python3: maxima, moments and growth' 'heaptrack is not installed'
	fi
fi

# ---- what cannot be ----

check 'timeline of nothing: a usage error' exits_saying 64 'which recording' memdiag timeline
check 'timeline of two files: a usage error' exits_saying 64 'one at a time' memdiag timeline a b
# ---- logs of memdiag -----------------------------------------------------------------------------

# Three blocks of 4212 bytes in all are allocated four times, and freed twice: tests/data/history_log.
mkdir "$dir/log"
cp "$top_srcdir/tests/data/history_log/first" "$dir/log/memdiag.20251123-074501.417.42.000001.mlog"
check 'timeline of a directory with a log runs' exits 0 captured memdiag timeline "$dir/log" --json
check 'timeline of a directory with a log has the peak and the end' json_is '.data.peak.bytes == 12636 and .data.live.bytes == 8424'
check 'timeline --peak of a file of a log, by one thread' exits 0 captured memdiag timeline "$dir"/log/*.mlog --threads=1 --peak --json
check 'timeline --peak of a file of a log has the same peak' json_is '.data.report.shown == 12636'
check 'report of a directory with a log runs' exits 0 captured memdiag report "$dir/log" --json
cp "$top_srcdir/tests/data/history_log/later" "$dir/log/memdiag.20251123-074501.417.42.000007.mlog"
check 'timeline of a log with a gap: partial' exits_saying 2 'the number 6 is missing' memdiag timeline "$dir/log"
cp "$top_srcdir/tests/data/history_log/cut" "$dir/log/cut"
check 'timeline of a log that was cut off: partial' exits_saying 2 'it was cut off at byte' memdiag timeline "$dir/log/cut"

# Its third file: 300 bytes and 12288 of mappings were there before; at 10 ms 100 bytes and 1 TiB of a mapping come, which
# has 8192 left at 40 ms; at 120 ms of the others one of 4096 goes, and one has 512 more; at 130 ms 50 bytes come; at
# 230 ms they go, and the 8192.
mapped=$top_srcdir/tests/data/history_log/mapped
check 'timeline of a log with mappings, as CSV' exits 0 memdiag timeline "$mapped" --format=csv
check 'a log with mappings: the most of the first interval' grep -qx '0.000,400,3,0.010,400,3,0,0,,1099511640064,0' "$dir/out"
check 'a log with mappings: the most of the second interval' grep -qx '0.100,450,4,0.130,50,1,0,0,100000,20480,0' "$dir/out"
check 'a log with mappings: the most of the third interval' grep -qx '0.200,450,4,0.200,0,0,50,1,120000,16896,0' "$dir/out"
check 'timeline of a log with mappings, as JSON' exits 0 memdiag timeline "$mapped" --json
check 'a log with mappings: sums of mappings are apart from those of blocks' json_is '.data | .mapped == {blocks: 1, bytes: 8704} and
	.mapped_allocated == {blocks: 3, bytes: 1099511640576} and .mapped_peak == {blocks: 3, bytes: 1099511640064} and
	.mapped_peak_time_ns == 10000000 and .peak == {blocks: 4, bytes: 450} and .live == {blocks: 3, bytes: 400} and
	.allocated == {blocks: 4, bytes: 450}'
check 'timeline --at --value=mapped of a log with mappings' exits 0 memdiag timeline "$mapped" --at=100ms --value=mapped --json
check 'timeline --at --value=mapped: what was mapped then' json_is '.data | .report.total == 16896 and
	.to == {time_ns: 130000000, live: {blocks: 4, bytes: 450}, mapped: {blocks: 2, bytes: 16896}}'
check 'timeline --at of a log with mappings' exits 0 memdiag timeline "$mapped" --at=100ms --json
check 'timeline --at: what was live alone' json_is '.data.report.total == 450'
check 'timeline --from --value=mapped of a log with mappings' exits 0 memdiag timeline "$mapped" --from=100ms --value=mapped --json
check 'timeline --from --value=mapped: the growth of mappings' json_is '.data.report.shown == -8192'
check 'timeline --from --value=mapped --objects of a log with mappings' exits 0 memdiag timeline "$mapped" --from=100ms --value=mapped --objects --json
check 'timeline --from --value=mapped --objects: mappings are counted' json_is '.data.report.shown == -1'
check 'report --value=mapped of a log with mappings' exits 0 memdiag report "$mapped" --value=mapped --json
check 'report --value=mapped: what is mapped at the end' json_is '.data.total == 8704'
check 'report --value=mapped-allocated of a log with mappings' exits 0 memdiag report "$mapped" --value=mapped-allocated --json
check 'report --value=mapped-allocated: all that was mapped' json_is '.data.total == 1099511640576'

check 'timeline of a file that is missing: status 1' exits_saying 1 'No such file' memdiag timeline "$dir/none"
check 'timeline of a profile: status 1' exits_saying 1 'not a recording' memdiag timeline "$top_srcdir/tests/data/report_heap/ours.heap"
check 'timeline of a directory without a log: status 1' exits_saying 1 'no file of a log' memdiag timeline "$dir"
check 'timeline --at behind the end: a usage error' exits_saying 64 "ends at 0.300 s, before 5.000 s" memdiag timeline "$recording" --at=5s
check 'timeline --at=soon: a usage error' exits_saying 64 'is not a time' memdiag timeline "$recording" --at=soon
check 'timeline --peak --from: a usage error' exits_saying 64 'one moment' memdiag timeline "$recording" --peak --from=0
check 'timeline --from behind --to: a usage error' exits_saying 64 'before --to' memdiag timeline "$recording" --from=peak --to=0
check 'timeline --interval=10us: a usage error' exits_saying 64 '1ms at least' memdiag timeline "$recording" --interval=10us
check 'timeline --format=x: a usage error' exits_saying 64 "'x' is not a format" memdiag timeline "$recording" --format=x
check 'timeline --format=tree: a usage error' exits_saying 64 'not a format of the timeline' memdiag timeline "$recording" --format=tree
check 'timeline --peak --format=csv: a usage error' exits_saying 64 'not a format of a report' memdiag timeline "$recording" --peak --format=csv
sed 's/^c 12c/c 7fffffffff/' "$recording" >"$dir/long.txt"
# 549755813887 ms: 2^18 intervals of 100 ms are 26214.4 s, and doubled 15 times enough.
check 'timeline of more intervals than can be kept' exits_saying 0 'the intervals are 3276.8 s: of 100.0 ms there would be too many' \
	memdiag timeline "$dir/long.txt" --json
# jq takes seconds to read so many intervals: it does so once.
jq -c '.data |= (.intervals as $all | del(.intervals) + {
	nr: ($all | length),
	allocated_bytes: ([$all[].allocated.bytes] | add), freed_blocks: ([$all[].freed.blocks] | add),
	max_bytes: ([$all[].live_max.bytes] | max),
	has_first_maxima: ($all | .[0].live_max_time_ns < .[0].time_ns + 1000000000 and all(.[1:][]; .live_max_time_ns == .time_ns))
})' "$dir/out" >"$dir/sums"
mv "$dir/sums" "$dir/out"
check 'more intervals than can be kept become longer ones' json_is '.data | .interval_ns == 3276800000000 and .nr == 167773 and
	.duration_ns == 549755813887000000'
check 'more intervals than can be kept: the same sums' json_is '.data | .peak == {blocks: 4, bytes: 1300} and .live == {blocks: 2, bytes: 132} and
	.allocated_bytes == .allocated.bytes and .freed_blocks == .freed.blocks and .max_bytes == 1300'
check 'more intervals than can be kept: of equal maxima the first counts' json_is '.data.has_first_maxima'
check 'timeline --at of more intervals than can be kept' exits 0 memdiag timeline "$dir/long.txt" --at=3000s --json
check 'timeline --at of more intervals than can be kept: that moment' json_is '.data.report.total == 1300 and .data.to.live.bytes == 1300'
check 'timeline --interval=100h of a long recording' exits 0 memdiag timeline "$dir/long.txt" --interval=100h
check 'timeline --interval=100h says nothing on stderr' test ! -s "$dir/err"

# A log of NR_FILES files of 139 years each in $dir/ages; in each one a block of 1000 bytes is allocated.
cat >"$dir/ages.py" <<'END'
import os, sys

def number(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])

def record(code, *numbers):
    return bytes([code]) + b"".join(number(n) for n in numbers)

directory, nr_files, ticks = sys.argv[1], int(sys.argv[2]), 1 << 42
os.mkdir(directory)
for i in range(nr_files):
    with open(f"{directory}/{i + 1}.mlog", "wb") as f:
        f.write(b"memdiag-log 1\n" + b"".join(number(n) for n in (1, i + 1, 1, 1, i * ticks // nr_files, 0)))
        f.write(record(0xf7, 1, 0))
        if i:
            f.write(record(0xf5, 1, i, 1000 * i))
        f.write(record(0xf0, 1, 1000) + record(0xf3, ticks // nr_files) + record(0xff, 1, i + 1 == nr_files))
END
cat >"$dir/peak.py" <<'END'
import resource, subprocess, sys

# One that takes all memory is to fail by itself.
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
status = subprocess.call(sys.argv[2:])
kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(f"{kib} KiB", file=sys.stderr)
sys.exit(status if status or kib <= int(sys.argv[1]) else 99)
END
for nr_files in 1 2 8; do
	rm -rf "$dir/ages"
	python3 "$dir/ages.py" "$dir/ages" $nr_files
	check "$nr_files files of ages: at most 64 MiB are taken" exits_saying 0 'there would be too many' \
		captured python3 "$dir/peak.py" 65536 "$MEMDIAG" timeline "$dir/ages" --interval=1ms --json
	check "$nr_files files of ages have long intervals" json_is ".data | .interval_ns == 33554432000000 and
		.duration_ns == 4398046511104000000 and (.intervals | length) == 131073 and
		.live == {blocks: $nr_files, bytes: ($nr_files * 1000)} and
		([.intervals[].allocated.bytes] | add) == $nr_files * 1000"
done

check 'a file that was cut off' exits_saying 2 'it was cut off' memdiag timeline "$top_srcdir/tests/data/report_heaptrack/cut.gz"
head -c 5 "$top_srcdir/tests/data/report_heaptrack/version-2.gz" >"$dir/header.gz"
{ printf 'v 10400 2\na 1 0\n' && yes '+ 0' | head -n 1100000 && printf 'c 7ffffffffff\n'; } >"$dir/lives.txt"
check 'lifetimes that no number holds' exits_saying 1 'no blocks live so long' \
	memdiag timeline "$dir/lives.txt" --interval=10000h --format=dhat
check 'a file that was cut off in its header' exits_saying 1 "header.gz': it was cut off" memdiag timeline "$dir/header.gz"
check 'it is partial in JSON' sh -c \
	"'$MEMDIAG' timeline '$top_srcdir/tests/data/report_heaptrack/cut.gz' --json 2>/dev/null | jq -e .partial"
check 'a file that is cut off has an empty timeline' sh -c \
	"printf 'v 10400 3\n' | '$MEMDIAG' timeline - | grep 'peak 0 B at 0.000 s'"
finish

#!/bin/sh
# Recordings of heaptrack as profiles: what its own tool says of them, all versions of the format, raw files, and files
# that are damaged.
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
need jq python3
data=$top_srcdir/tests/data/report_heaptrack
grep -q '^#define HAVE_ZSTD 1' "$top_builddir/config.h" && has_zstd=yes || has_zstd=

# ---- by hand ----

# totals FILE: blocks and bytes allocated, in use, at the peak, temporary.
totals()
{
	"$MEMDIAG" report "$1" --json -q | jq -c '[.data.types[].total]'
}

for file in version-0.txt version-1.txt version-2.txt version-2.gz version-3.txt version-3.zst; do
	if [ "${file##*.}$has_zstd" = zst ]; then
		check "$file is refused without libzstd" exits_saying 1 'built without libzstd' memdiag report "$data/$file"
		continue
	fi
	check "$file is read" exits 0 memdiag report "$data/$file" --json --value=peak
	check "$file: blocks and bytes" [ "$(totals "$data/$file")" = '[6,2332,2,132,4,1300,1,1000]' ]
	check "$file: the format and the command" json_is '.data.format == "heaptrack" and
		.data.comments[0] == "command: ./program with words"'
	check "$file: a function is inlined, and operator new is left out" sh -c \
		"[ \"\$('$MEMDIAG' report '$data/$file' --format=folded --value=peak)\" = 'main;main;leaf 1300' ]"
	check "$file: lines" sh -c "'$MEMDIAG' report '$data/$file' --by=line -b | grep -q '132 .* main main.c:10\$'"
done
check 'recordings are compared' exits 0 memdiag report "$data/version-1.txt" --base "$data/version-2.txt" --json
check 'equal ones do not differ' json_is '.data.rows == []'
check 'a recording on standard input is read' sh -c \
	"'$MEMDIAG' report - --json <'$data/version-2.gz' | jq -e '.data.total == 132'"
check 'what is written as pprof has the same values' sh -c \
	"'$MEMDIAG' report '$data/version-2.txt' --format=pprof | '$MEMDIAG' report - --json | jq -e '
		[.data.types[].total] == [6,2332,2,132,4,1300,1,1000]'"
check 'what is written as .heap has them and the names' sh -c \
	"'$MEMDIAG' report '$data/version-2.txt' --format=heap | tee '$dir/heap' | '$MEMDIAG' report - --format=folded \
		--value=peak | grep -x 'main;main;leaf 1300'"
check '.heap has no mappings where names would be looked up wrongly' sh -c "! grep -q r-xp '$dir/heap'"
check 'a raw file is read' exits 0 memdiag report "$data/raw.txt" --json
check 'a raw file has values and modules' json_is '[.data.types[].total] == [4,2200,3,1200,3,1200,1,1000] and
	([.data.rows[].name] | index("0x7f0000002010") and index("program+0x1010"))'
check 'a module that dlclose() took has names for what it called before' sh -c \
	"'$MEMDIAG' report '$data/raw.txt' -q --format=folded --value=peak | grep -x '.*;program+0x1010;libc.so.6+0x2010 1000'"

# ---- damaged ----

# damaged SED: version-2.txt, changed by it, as $dir/damaged.
damaged()
{
	sed "$1" "$data/version-2.txt" >"$dir/damaged"
}

# refused SED WORDS
refused()
{
	damaged "$1"
	exits_saying 1 "$2" memdiag report "$dir/damaged"
}

check 'a file that was cut off is read' exits_saying 2 'it was cut off in line' memdiag report "$data/cut.gz"
head -c -3 "$data/version-2.txt" >"$dir/torn"
check 'a line that was cut off is not read' exits_saying 2 'it was cut off in line 37' memdiag report "$dir/torn" --json
check 'what is before it is read' json_is '.data.total == 132 and .partial'
{ head -c 180 "$data/version-2.gz"; printf 'xxxx'; } >"$dir/broken.gz"
check 'compressed data that is damaged is read up to there' exits_saying 2 'compressed data is damaged\|was cut off' \
	memdiag report "$dir/broken.gz"
check 'a newer version is refused' refused 's/^v .*/v 20000 4/' "version 4 of heaptrack's format"
check 'a kind that is not there is refused' refused 's/^+ 2$/+ ffffffff/' "line 33: .* no line 'a'"
check 'a number that is too large is refused' refused 's/^+ 2$/+ 11111111111111111/' 'line 33'
check 'a size that cannot be is refused' refused 's/^a 3e8 3/a ffffffffffffffff 3/' 'so many bytes'
check 'a stack that is not there is refused' refused 's/^a 3e8 3/a 3e8 ffffff/' 'a stack that is not there'
check 'a caller that comes later is refused' refused 's/^t 2 1/t 2 3/' 'a caller that is not there'
check 'a place that is not there is refused' refused 's/^t 2 1/t 9 1/' 'a place that is not there'
check 'a name that is not there is refused' refused 's/^i 1010 1 4/i 1010 1 44/' 'a name that is not there'
check 'a time that cannot be is refused' refused 's/^c 78/c fffffffffffffff/' 'invalid time'
check 'a line of no kind is refused' refused 's/^R 40/Z 40/' 'line 28: it is of no kind'
check 'more freed than allocated is refused' refused 's/^+ 2$/- 1/' 'frees more of a site than was allocated'
check 'two recordings in one file are refused' refused '$ { p; s/.*/v 10000 2/; }' 'line 38: another recording begins'
check 'a raw part is refused' refused '$ { p; s/.*/x \/bin\/true/; }' 'line 38: it is raw'
damaged 's/^c 78/c 1/'
check 'a time that goes back is said' exits_saying 0 'line 27: the time goes back' memdiag report "$dir/damaged"
damaged 's/^s leaf.*/s <script>alert(1);<\/script>\x1b[31m/'
check 'a hostile name is read' exits 0 memdiag report "$dir/damaged" --format=html
check 'a hostile name is only in the packed data of HTML' sh -c "! grep -q 'alert(1)' '$dir/out' &&
	python3 '$top_srcdir/tests/live/page-data.py' --data '$dir/out' | grep -q '<script>alert(1)'"
memdiag report "$dir/damaged"
check 'a hostile name is printable in text' sh -c "! grep -q '$(printf '\033')' '$dir/out'"

# ---- real programs, and heaptrack's own tool ----

# recorded NAME COMMAND...: record it as $dir/NAME.zst.
recorded()
{
	name=$1
	shift
	PYTHONMALLOC=malloc heaptrack -o "$dir/$name" "$@"
	ls "$dir/$name".*
}

# same_as_heaptrack_print NAME
same_as_heaptrack_print()
{
	python3 "$top_srcdir/tests/live/report-heaptrack.py" "$MEMDIAG" "$(ls "$dir/$1".[zg]*)"
}

cat >"$dir/program.py" <<'END'
import json
data = [{"number": i, "text": str(i) * 3} for i in range(2000)]
kept = json.loads(json.dumps(data))
END
printf '#include <string>\n#include <vector>\nstd::vector<std::string> v(10, "abc");\n' >"$dir/program.cc"
cat >"$dir/program.sql" <<'END'
create table t (a, b);
with recursive c(i) as (select 1 union all select i + 1 from c where i < 5000) insert into t select i, hex(i) from c;
create index x on t (b);
select count(*) from t;
END

# Types but for temporary blocks: a raw file knows the blocks, not only their kinds.
same_values()
{
	for file in "$@"; do
		"$MEMDIAG" report "$file" --json -q | jq -c '[.data.types[:6][].total]'
	done >"$dir/values"
	cat "$dir/values"
	[ "$(sort -u "$dir/values" | wc -l)" -eq 1 ]
}

# By object, and by function where libraries have no debug information beyond their symbols.
same_names()
{
	for file in "$@"; do
		"$MEMDIAG" report "$file" --by=object --value=peak --json -q | jq -c '[.data.rows[] | [.name, .flat, .cum]] | sort'
	done >"$dir/names"
	cat "$dir/names"
	[ "$(sort -u "$dir/names" | wc -l)" -eq 1 ]
}

# compare NAME COMMAND...
compare()
{
	if ! command -v "$2" >/dev/null; then
		skip "$1 is recorded" "$2 is not installed"
		return
	fi
	check "$1 is recorded" recorded "$@"
	check "$1: totals and each stack are those of heaptrack_print" same_as_heaptrack_print "$1"
}

if ! command -v heaptrack >/dev/null || ! command -v heaptrack_print >/dev/null; then
	skip 'recordings of real programs' 'heaptrack is not installed'
elif [ ! "$has_zstd" ]; then
	skip 'recordings of real programs' 'this memdiag was built without libzstd'
else
	compare python3 /usr/bin/python3 "$dir/program.py"
	compare sqlite3 sqlite3 :memory: ".read $dir/program.sql"
	cc1plus=$(g++ -print-prog-name=cc1plus 2>/dev/null)
	compare cc1plus "${cc1plus:-cc1plus}" -quiet "$dir/program.cc" -o /dev/null
	check 'a raw recording is made' heaptrack -r -o "$dir/raw" sqlite3 :memory: ".read $dir/program.sql"
	interpret=$(find /usr/lib /usr/libexec -name heaptrack_interpret 2>/dev/null | head -n 1)
	check 'it is interpreted' sh -c "zstd -dcq '$dir/raw.raw.zst' | '$interpret' >'$dir/interpreted'"
	check 'a raw recording has the values of an interpreted one' same_values "$dir/raw.raw.zst" "$dir/interpreted"
	check 'a raw recording has the names of an interpreted one' same_names "$dir/raw.raw.zst" "$dir/interpreted"
fi
finish

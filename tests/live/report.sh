#!/bin/sh
# report: what its options do, hostile names, and files that are none.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
need jq
data=$top_srcdir/tests/data/report_heap
ours=$data/ours.heap

# row NAME: "FLAT CUM" of the row, from --json.
row()
{
	jq -r --arg name "$1" '.data.rows[] | select(.name == $name) | "\(.flat) \(.cum)"' "$dir/out"
}

# has_row NAME FLAT CUM
has_row()
{
	[ "$(row "$1")" = "$2 $3" ] || {
		jq -c '.data.rows[] | [.name, .flat, .cum]' "$dir/out"
		return 1
	}
}

# ---- what is added up ----

check 'report reads a profile of ours' exits 0 memdiag report "$ours" --json
check 'a caller has what it called in cum' has_row outer 0 500
check "malloc's share goes to its caller" has_row main 600 1100
check 'malloc itself is not shown' test -z "$(row malloc)"
check '--allocators is taken' exits 0 memdiag report "$ours" --json --allocators
check 'malloc is shown with --allocators' has_row malloc 600 600
check '--value=peak is taken' exits 0 memdiag report "$ours" --json --value=peak
check 'the peak is added up' has_row main 0 1033
check '--value=temporary --objects is taken' exits 0 memdiag report "$ours" --json --value=temporary --objects
check 'temporary blocks are added up' has_row main 0 3
check '--focus is taken' exits 0 memdiag report "$ours" --json --value=allocated --focus='^outer$'
check 'only stacks with a match are shown' json_is '.data.shown == 2000 and .data.total == 2600'
check '--ignore is taken' exits 0 memdiag report "$ours" --json --value=allocated --ignore=outer
check 'stacks with a match are left out' json_is '.data.shown == 600 and .data.total == 2600'
check '--hide is taken' exits 0 memdiag report "$ours" --json --hide='leaf|inner'
check 'the caller of hidden functions gets their share' has_row outer 500 500
check '--by=line is taken' exits 0 memdiag report "$ours" --json --by=line
check 'an inlined function has a line of its own' has_row 'inner server.c:20' 0 500
check '--base is taken' exits 0 memdiag report "$ours" --json --base "$ours"
check 'a profile less itself is nothing' json_is '.data.shown == 0 and .data.rows == []'
check 'threads and sizes are listed' sh -c "'$MEMDIAG' report '$ours' --json | jq -e '
	.data.threads == [{tid: 4711, name: \"main\", value: 300}, {tid: 4712, name: \"worker <1>\", value: 200}] and
	.data.sizes == [{size_bytes: 112, value: 500}]'"

# jemalloc 5.3 writes the line of each thread so that its own mean scales it, and 5.2 so that the threads add up
# before they are scaled.
check 'threads of jemalloc 5.3 are read' exits 0 memdiag report "$data/jemalloc-5.3-threads.heap" --json
check 'each thread of jemalloc 5.3 has its share, and together they have the total' json_is '
	(.data.threads | map(.value / 1e6 | round)) == [113, 102, 1] and
	(.data.total - (.data.threads | map(.value) | add) | . >= 0 and . < 1e5) and .data.total == ([.data.rows[] | .flat] | add)'
check 'no share of jemalloc 5.3 is more than the total' json_is '.data.total as $total | all(.data.rows[]; .cum <= $total)'
printf 'heap_v2/524288\n@ 0x1\n t*: 191: 1019000 [0: 0]\n t1: 1: 1000000 [0: 0] large\n t2: 190: 19000 [0: 0] small\n' \
	>"$dir/jemalloc-5.2.heap"
check 'threads of jemalloc 5.2 are read' exits 0 memdiag report "$dir/jemalloc-5.2.heap" --json
check 'each thread of jemalloc 5.2 has its share, and together they have the total' json_is '
	(.data.threads | map(.value / 1e5 | round)) == [995, 12] and .data.total == (.data.threads | map(.value) | add)'
printf 'heap_v2/524288\n@ 0x1\n t*: 4: 400000 [0: 0]\n t1: 1: 100000 [0: 0]\n' >"$dir/lacking.heap"
check 'a profile of jemalloc that lacks a thread is read' exits 0 memdiag report "$dir/lacking.heap" --json
check 'a profile of jemalloc that lacks a thread: the rest belongs to none' json_is '
	.data.threads[0].value * 4 - .data.total | fabs < 4'

# ---- how it is written ----

check 'the letters of other tools are taken' exits 0 memdiag report -p "$MEMDIAG" -f "$ours" -t -o "$dir/table"
check 'the table has flat, sum and cum' grep -q 'FLAT  *FLAT%  *SUM%  *CUM  *CUM%  *FUNCTION' "$dir/table"
check 'the table has shares' grep -q '600 B  *54.5%  *54.5%  *1.1 KiB  *100.0%  *main' "$dir/table"
check '-n 1 is taken' exits 0 memdiag report "$ours" -n 1
check 'rows that are left out are counted' grep -q '^and 3 more' "$dir/out"
check '-b is taken' exits 0 memdiag report "$ours" -b
check 'bytes are exact with -b' grep -q '^ *600 ' "$dir/out"
check '--format=tree is taken' exits 0 memdiag report "$ours" --format=tree
check 'a callee is indented below its caller' grep -q '^ *500 B .*  0 B  *    inner$' "$dir/out"
check '--format=folded is taken' exits 0 memdiag report "$ours" --format=folded --value=temporary
check 'a semicolon in a name is no border' grep -q '^main;outer;inner;temp:orary 667$' "$dir/out"
check 'what is written as .heap is what was read' sh -c \
	"'$MEMDIAG' report '$ours' --format=heap --symbols-inside | diff - '$ours'"
check 'a profile on standard input is read' sh -c "'$MEMDIAG' report - <'$ours' | grep -q main"
check 'pprof goes through a pipe' sh -c \
	"'$MEMDIAG' report '$ours' --format=pprof | '$MEMDIAG' report - --value=peak -b | grep -q '333.*temp;orary'"

# A profile.proto whose places have names and no addresses, as languages without machine code have them.
nameless()
{
	python3 - "$dir/nameless.pb" <<-'PROGRAM'
	import sys
	def field(number, value):
	    if isinstance(value, int):
	        return bytes([number << 3, value])
	    return bytes([number << 3 | 2, len(value)]) + value
	strings = ["", "inuse_objects", "count", "inuse_space", "bytes", "root", "leaf"]
	p = field(1, field(1, 1) + field(2, 2)) + field(1, field(1, 3) + field(2, 4))
	p += field(2, field(1, bytes([2, 1])) + field(2, bytes([3, 90])))
	for i, name in ((1, 5), (2, 6)):
	    p += field(4, field(1, i) + field(4, field(1, i))) + field(5, field(1, i) + field(2, name))
	open(sys.argv[1], "wb").write(p + b"".join(field(6, s.encode()) for s in strings))
	PROGRAM
}
if command -v python3 >/dev/null; then
	check 'a profile without addresses is made' nameless
	check 'a profile without addresses is written as .heap' exits 0 memdiag report "$dir/nameless.pb" --format=heap \
		-o "$dir/nameless.heap"
	check 'the .heap of a profile without addresses is read' exits 0 memdiag report "$dir/nameless.heap" --json
	check 'a leaf without an address keeps its name' has_row leaf 90 90
	check 'a root without an address keeps its name' has_row root 0 90
	sed -e 's/inuse_objects/tcmal_objects/; s/inuse_space/tcmal_space/' "$dir/nameless.pb" >"$dir/other.pb"
	check '--objects with types of another name' exits 0 memdiag report "$dir/other.pb" --json --objects
	check '--objects with types of another name: blocks are added up' json_is '.data.type == "tcmal_objects"'
	python3 -c 'import sys; d = open(sys.argv[1], "rb").read()
for name, new in ((b"inuse_objects", b"objects"), (b"inuse_space", b"space")):
    d = d.replace(bytes([0x32, len(name)]) + name, bytes([0x32, len(new)]) + new)
open(sys.argv[2], "wb").write(d)' "$dir/nameless.pb" "$dir/plain.pb"
	check '--objects with types called objects and space' exits 0 memdiag report "$dir/plain.pb" --json --objects
	check '--objects with types called objects and space: blocks are added up' json_is '.data.type == "objects"'
	sed 's/tcmal_objects/tcmal_abjects/' "$dir/other.pb" >"$dir/none.pb"
	check '--objects without such a type is refused' exits_saying 64 'has no values of type tcmal_objects' \
		memdiag report "$dir/none.pb" --objects
else
	skip 'a profile without addresses' 'python3 is not installed'
fi

# A part that is small compared with all, but all that is shown.
{
	echo 'heap profile: 2: 100000100 [ 2: 100000100] @ heapprofile'
	echo '  1: 100000000 [ 1: 100000000] @ 0x1000'
	echo '  1: 100 [ 1: 100] @ 0x2000 0x3000'
	echo
	echo 'MAPPED_LIBRARIES:'
} >"$dir/small.heap"
check '--format=tree with --focus on a small part' exits 0 memdiag report "$dir/small.heap" --format=tree --focus=0x1fff -b
check '--format=tree with --focus on a small part shows it' grep -q '^ *100 .*0x1fff' "$dir/out"
check '--format=dot with --focus on a small part' exits 0 memdiag report "$dir/small.heap" --format=dot --focus=0x1fff
check '--format=dot with --focus on a small part shows it' grep -q 'label=.*0x1fff' "$dir/out"

# ---- names of strangers ----

# A name with everything that terminals, HTML and other formats obey, and one of 64 KiB.
printf '%s' "$(sed 's/inner$/\\033[31m<b>\&amp;"'"'"'\\000x\\377/' "$ours")" >"$dir/hostile"
long=$(head -c 65536 /dev/zero | tr '\0' x)
{
	grep -v '^# end' "$ours"
	echo "# name 0x401077 1	/x.c	$long"
	echo '# end'
} | sed 's/0x401066 0x401022/0x401077 0x401022/' >"$dir/long"
{ cat "$dir/hostile" && echo; } >"$dir/hostile.heap"
for format in text tree folded json heap; do
	check "a hostile name is written as $format" exits 0 memdiag report "$dir/hostile.heap" --format=$format
	check "no control byte is in $format" sh -c "! LC_ALL=C grep -q '[^[:print:][:space:]]' '$dir/out'"
	check "a name of 64 KiB is written as $format" exits 0 memdiag report "$dir/long" --value=allocated --format=$format
done

# ---- files that are torn, or none ----

for bytes in 40 200 500 800 1100; do
	head -c $bytes "$ours" >"$dir/torn"
	check "of a file of ours cut at $bytes bytes the whole part is kept" sh -c \
		"'$MEMDIAG' report '$dir/torn' --json >'$dir/out' 2>'$dir/err'
		case \$? in
		1) [ $bytes -lt 200 ] && grep -q 'line 1' '$dir/err' ;;
		2) grep -q 'was cut off' '$dir/err' && jq -e .partial '$dir/out' ;;
		*) exit 1 ;;
		esac"
done
refuses()	# refuses WORDS TEXT: a file that says TEXT
{
	# shellcheck disable=SC2059 # it is a format
	printf "$2" >"$dir/bad"
	check "refused: $1" exits_saying 1 "$1" memdiag report "$dir/bad"
}
refuses "it is empty" ''
refuses 'bad.*: it is not a profile, but JSON' '{"schema": 1}'
refuses 'not a profile, but of /proc/PID/smaps: memdiag maps' \
	'55d0-55d1 r--p 00000000 fe:00 1234 /bin/x\nSize:    4 kB\nRss:   4 kB\n'
refuses 'not a profile, but of /proc/PID/maps: memdiag maps' '55d0-55d1 r--p 00000000 fe:00 1234 /bin/x\n55d2-55d3 rw-p 0 0:0 0\n'
refuses 'not a profile, but the XML of malloc_info' '<malloc version="1">\n'
refuses "not a profile, but jemalloc's statistics" '___ Begin jemalloc statistics ___\n'
refuses 'not a profile, but a heap dump of Java' 'JAVA PROFILE 1.0.2\0'
refuses "not a profile, but of Java's Flight Recorder" 'FLR\0\0'
refuses 'not a profile, but of memray' 'memray\0\1'
refuses 'not a profile, but a CPU profile of gperftools' '\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\020\047'
refuses 'not a profile, but compressed by xz: unpack' '\3757zXZ\0\0'
refuses 'not a profile, but compressed by bzip2: unpack' 'BZh91AY'
refuses 'not a profile, but of massif: ms_print' 'desc: --massif\n'
# As go reads them: packed, and behind what jemalloc has printed.
plain='heap profile: 1: 100 [ 1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x1234\n\nMAPPED_LIBRARIES:\n'
printf "$plain" | gzip >"$dir/packed.heap"
{ echo '<jemalloc>: Leak approximation summary: ~100 bytes'; echo '<jemalloc>: Run jeprof'; printf "$plain"; } >"$dir/said.heap"
for kind in packed said; do
	check "a heap file that is $kind is read" exits 0 memdiag report "$dir/$kind.heap" --json
	check "a heap file that is $kind has its sum" json_is '.data.total == 100'
done
refuses 'line 1: .*sampling rate is not a number' 'heap_v2/x\n'
refuses 'line 1: .*not a profile of type' 'heap profile: 1: 2 [ 3: 4] @ growth\n'
refuses "line 1: .*its type" 'heap profile: 1: 2 [ 3: 4]\n'
printf '%s\n' 'heap profile: 1: 100 [ 1: 100] @ heapprofile' '# memdiag heap 1' \
	'# values alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes' '# time -7' \
	'1: 100 [ 1: 100] @ 0x1234' '' 'MAPPED_LIBRARIES:' '# end' >"$dir/before-1970.heap"
check 'a time before 1970: the file is written again' exits 0 memdiag report --format=heap -q -o "$dir/again-1970.heap" \
	"$dir/before-1970.heap"
check 'a time before 1970: and read' exits 0 memdiag report -q "$dir/again-1970.heap"
refuses 'line 2: .*it is not .COUNT: BYTES' 'heap profile: 1: 2 [ 3: 4] @ heapprofile\n1: 2 @ 0x1\n'
refuses 'line 2: .*an invalid address' 'heap profile: 1: 2 [ 3: 4] @ heapprofile\n1: 2 [3: 4] @ 0x1 main\n'
refuses 'The file ends there: it was cut off' 'heap profile: 1: 2 [ 3: 4] @ heapprofile\n1: 2 [3'
refuses 'neither .@ ADDRESSES. nor' 'heap_v2/1\nx\n'

# A stack without frames, and names that are empty: one of them was that of a NUL.
check 'empty names and stacks are read' exits 0 memdiag report "$data/empty.heap" --format=heap -o "$dir/copy.heap"
check 'and written' exits 0 memdiag report "$dir/copy.heap" --json
check 'so that nothing is lost' json_is '.partial == false and .data.total == 30 and .data.shown == 30'

refuses 'neither a heap profile nor a whole profile.proto' 'hello, world\n'
refuses 'it was cut off' '\037\213\010\000\000'
refuses 'compressed data is damaged' '\037\213\010\000\000\000\000\000\000\003\377\377\377\377'
check 'a program is no profile' exits_saying 1 'it is not a profile, but a program' memdiag report "$MEMDIAG"
check 'a file that is missing' exits_saying 1 'No such file' memdiag report "$dir/nowhere"
check 'a type that the file lacks' exits_saying 64 'no values of type peak_space; it has alloc_objects' memdiag report \
	"$data/symbols.heap" --value=peak
check 'an expression that is not valid' exits_saying 64 '.*focus: not a regular expression' memdiag report "$ours" --focus='('
check 'a difference is no .heap file' exits_saying 64 'negative values; use --format=pprof' memdiag report "$ours" \
	--base "$ours" --format=heap
check 'no file' exits_saying 64 'which profile' memdiag report
check 'two files' exits_saying 64 'two profiles' memdiag report "$ours" "$ours"
check 'an unknown format' exits_saying 64 "'x' is not a format" memdiag report "$ours" --format=x
check 'a file that is not a program' exits_saying 1 "cannot read '.*ours.heap' as a program" memdiag report -p "$ours" \
	"$data/gperftools.heap"

# ---- names from programs ----

cat >"$dir/program.cc" <<'PROGRAM'
#include <stdio.h>
namespace shop {
template <class T> struct basket {
	__attribute__((noinline)) void *fill() { return __builtin_return_address(0); }
};
inline __attribute__((always_inline)) void *inlined() { basket<int> b; return b.fill(); }
__attribute__((noinline)) void *outer() { void *p = inlined(); __asm__ volatile(""); return p; }
}
int main()
{
	char line[4096];
	printf("%p\n", shop::outer());
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof line, maps)) fputs(line, stdout);
	return !maps;
}
PROGRAM
# profile_of PROGRAM [BUILD_ID]: a profile of it with one stack, of the return address that it prints before its maps.
profile_of()
{
	"$1" >"$dir/maps" || return
	{
		echo 'heap profile: 1: 100 [ 1: 100] @ heapprofile'
		echo '# memdiag heap 1'
		echo "1: 100 [ 1: 100] @ $(head -n 1 "$dir/maps")"
		echo 'MAPPED_LIBRARIES:'
		sed 1d "$dir/maps"
	} >"$dir/made.heap"
	if [ -n "${2-}" ]; then
		build_id=$(sed -n "s,^\([0-9a-f]*\)-.* r-xp .*$dir/program,# build-id 0x\1 $2,p" "$dir/made.heap")
		echo "$build_id" >>"$dir/made.heap"
	fi
	echo '# end' >>"$dir/made.heap"
}
if command -v c++ >/dev/null &&
	c++ -g -O1 -Wl,--build-id=0x1234567890123456789012345678901234567890 -o "$dir/program" "$dir/program.cc"; then
	profile_of "$dir/program"
	check 'a program that was compiled with debug information is read' exits 0 memdiag report "$dir/made.heap" --json --by=line
	check 'an inlined function is named, with its line' has_row 'shop::inlined program.cc:6' 100 100
	check 'the function that another was inlined into has a row' has_row 'shop::outer program.cc:7' 0 100
	check 'C++ is demangled' exits 0 memdiag report "$dir/made.heap" --json
	check 'without arguments' has_row 'shop::outer' 0 100
	profile_of "$dir/program" 00000000000000000000
	check 'another build-id is reported' exits_saying 0 \
		'program is not the file that was profiled: its build-id is 1234567890.*, not 0000' memdiag report "$dir/made.heap"
	check 'and its names are not used' sh -c "! grep -q shop '$dir/out'"
	check 'nor without a word if it is asked for' exits_saying 0 'names may be wrong' memdiag report "$dir/made.heap" -p \
		"$dir/program"
	check 'but then they are shown' grep -q 'shop::inlined' "$dir/out"
	cp "$dir/program" "$dir/moved" && rm "$dir/program"
	profile_of "$dir/moved"
	sed -i "s,$dir/moved,$dir/program," "$dir/made.heap"
	check 'a program that is missing is reported' exits_saying 0 'program cannot be read' memdiag report "$dir/made.heap"
	check 'its addresses are shown' grep -q 'program+0x' "$dir/out"
	check '-p says where it is now' sh -c \
		"'$MEMDIAG' report '$dir/made.heap' -p '$dir/moved' 2>&1 | tee '$dir/out' | grep -q 'shop::inlined'"
	check 'and nothing is missing then' sh -c "! grep -q 'cannot be read' '$dir/out'"
else
	skip 'names from programs' 'c++ is missing'
fi

cat >"$dir/jit.heap" <<PROFILE
heap profile: 1: 100 [ 1: 100] @ heapprofile
# memdiag heap 1
# pid 4194305
1: 100 [ 1: 100] @ 0x7f0000001010
MAPPED_LIBRARIES:
7f0000001000-7f0000002000 r-xp 00000000 00:00 0
# end
PROFILE
# No process has this PID (the kernel's PID_MAX_LIMIT).
map=/tmp/perf-4194305.map
if [ -e $map ]; then
	skip 'code made at run time' "$map is there"
else
	elsewhere=$map
	echo '7f0000001000 20 Java;made::at run time' >$map
	check 'code made at run time is named by perf-PID.map' sh -c \
		"'$MEMDIAG' report '$dir/jit.heap' | grep -q 'Java;made::at run time'"
fi
check '-f before another option is no force, and says so' exits 64 memdiag report "$ours" -f -o "$dir/new"
check '-f before another option names --force' grep -q -e "'-o' is not a profile: -f is --file here; --force replaces" "$dir/err"
check '-f with a second profile is refused' exits 64 memdiag report "$ours" -f "$ours"
check '-f with a second profile names --force' grep -q -e 'two profiles: .*--force' "$dir/err"
finish

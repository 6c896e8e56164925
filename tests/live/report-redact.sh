#!/bin/sh
# report --redact: none of a profile's names is in any format, and all of its numbers are; --keep and --redact-key.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
need jq python3
tool=$top_srcdir/tests/live/report-redact.py
data=$top_srcdir/tests/data
formats='text tree flame html dot json pprof heap folded'
! command -v dot >/dev/null || formats="$formats graph"

# ---- profiles with known names -------------------------------------------------------------------

cat >"$dir/known.heap" <<'END'
heap profile:      9:     1700 [    18:     3200] @ heapprofile
# memdiag heap 1
# values alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes
# period 524288
# pid 987654321
# time 1795123456789012345
# comment made on zhost.example by zprocess --ztoken
# thread 987654321 zthread
# thread 987654322 zworker
     5:      500 [    10:     1000] @ 0x7d5ec3e7a011 0x7d5ec3e7a022 0x7d5ec3e7a033
#+ 1 112 4 400 3 300
#+ 2 112 6 600 2 200
     1:      600 [     1:      600] @ 0x7d5ec3e7a055 0x7d5ec3e7a033
     1:      200 [     4:     1200] @ 0x7d5ec4e7a066 0x7d5ec3e7a022 0x7d5ec3e7a033
     2:      400 [     3:      400] @ 0x7d5ec5e7a077 0x7d5ec6e7a088 0x7d5ec3e7a099

MAPPED_LIBRARIES:
7d5ec3e7a000-7d5ec3e7b000 r-xp 00001000 00:00 0                 /srv/zdirectory/zprogram
7d5ec4e7a000-7d5ec4e7b000 r-xp 00001000 00:00 0                 /usr/lib/zlibrary/libc.so.6
7d5ec5e7a000-7d5ec5e7b000 r-xp 00001000 00:00 0                 /usr/lib/zlibrary/libcrypto.so.3
7d5ec6e7a000-7d5ec6e7b000 r-xp 00001000 00:00 0                 /usr/lib/zlibrary/libstdc++.so.6
# build-id 0x7d5ec3e7a000 zb01d123456789abcdef
# build-id 0x7d5ec4e7a000 5eec2e7b01d123456789
# name 0x7d5ec3e7a011 10	/home/zalice/zsource.c	zleaf
# name 0x7d5ec3e7a022 20	/home/zalice/zsource.c	zinner
# name 0x7d5ec3e7a022 21	/home/zalice/zsource.c	zouter
# name 0x7d5ec3e7a033 30	/home/zalice/zsource.c	zmain
# name 0x7d5ec3e7a055 50	/home/zalice/zsource.c	malloc
# name 0x7d5ec4e7a066 60	/home/zalice/strdup.c	__GI___strdup
# name 0x7d5ec5e7a077 70	/home/zalice/zcrypto.c	zcipher
# name 0x7d5ec6e7a088 80	/home/zalice/string.cc	std::string::_M_create
# name 0x7d5ec3e7a099 90	/home/zalice/zother.c	zleaf
# end
END
{
	grep -o -w -E 'z[a-z]+|zhost\.example|9876543[0-9]*|1795123456789012345|zb01d[0-9a-f]*|5eec2e7b01d[0-9]*' "$dir/known.heap" |
		grep -v -x 'zdirectory'
	echo zdirectory
	grep -o '7d5ec[0-9a-f]*' "$dir/known.heap" | cut -c 6-
	printf '%s\n' libcrypto strdup.c string.cc libstdc "${dir##*/}"	# the last is where the file is
} | sort -u >"$dir/known.names"
check 'a profile with known names is written for pprof' exits 0 memdiag report "$dir/known.heap" --format=pprof -o "$dir/known.pb.gz"
# A log and a recording with such names.
sed -e 's,/bin/program,/srv/zdirectory/zprogram,; s/main\.c/zsource.c/; s/s 4 main/s 5 zmain/; s/leaf(int)/zleaf(int)/' \
	-e 's,^s c /srv,s 18 /srv,; s,^s b /src/zsource,s d /src/zsource,; s,^s 9 z,s a z,; s,^X .*,X ./zprocess --ztoken,' \
	"$data/report_heaptrack/version-3.txt" >"$dir/known.heaptrack"
printf '%s\n' zdirectory zprogram zmain zleaf zsource zprocess ztoken >"$dir/heaptrack.names"

# An empty profile, whose reports have what is each format's own.
printf 'heap profile: 0: 0 [ 0: 0] @ heapprofile\n\nMAPPED_LIBRARIES:\n' >"$dir/none.heap"
for format in $formats; do
	"$MEMDIAG" report "$dir/none.heap" --format="$format" -o "$dir/own.$format" >/dev/null 2>&1 || : >"$dir/own.$format"
done

# redact FILE FORMAT OPTIONS...: into $dir/FORMAT.
redact()
{
	local file="$1" format="$2"
	shift 2
	memdiag report "$file" --redact --format="$format" -n 0 --force -o "$dir/$format" "$@"
}

# all_names FILE: the names in what is not redacted.
all_names()
{
	local by
	for by in function line object; do
		"$MEMDIAG" report "$1" --json --by=$by -n 0 --allocators >"$dir/by.$by" 2>/dev/null || [ $? -eq 2 ] || return
	done
	python3 "$tool" names "$dir/by.function" "$dir/by.line" "$dir/by.object"
}

# A file cannot be written in each format: "0 1" for those that lack a type.
redacts_all()
{
	local file="$1" name="$2" statuses="$3" format
	for format in $formats; do
		check "$name: --redact --format=$format" exits "$statuses" redact "$file" "$format"
		[ -e "$dir/$format" ] || continue
		check "$name: --redact --format=$format has no name" \
			python3 "$tool" scan "$dir/names" "$dir/own.$format" "$dir/$format"
		rm -f "$dir/$format"
	done
}

# The stacks and values are the same by functions, lines and objects, and as pprof.
keeps_numbers()
{
	local file="$1" by
	for by in function line object; do
		"$MEMDIAG" report "$file" --format=folded --by=$by >"$dir/one" 2>/dev/null || [ $? -eq 2 ] || return
		"$MEMDIAG" report "$file" --format=folded --by=$by --redact >"$dir/two" 2>/dev/null || [ $? -eq 2 ] || return
		python3 "$tool" same "$dir/one" "$dir/two" || return
	done
	"$MEMDIAG" report "$file" --format=pprof >"$dir/one" 2>/dev/null || [ $? -eq 2 ] || return
	"$MEMDIAG" report "$file" --format=pprof --redact >"$dir/two" 2>/dev/null || [ $? -eq 2 ] || return
	python3 "$tool" shape "$dir/one" | sed '1d' >"$dir/one.shape" && [ -s "$dir/one.shape" ] &&
		python3 "$tool" shape "$dir/two" | sed '1d' | diff "$dir/one.shape" -
}

for input in known.heap known.pb.gz known.heaptrack; do
	case $input in
	*.heaptrack) cp "$dir/heaptrack.names" "$dir/names" ;;
	*) cp "$dir/known.names" "$dir/names" ;;
	esac
	check "the names of $input are there without --redact" sh -c "'$MEMDIAG' report '$dir/$input' --format=pprof -o '$dir/plain' --force;
		! python3 '$tool' scan '$dir/names' '$dir/own.pprof' '$dir/plain' && rm '$dir/plain'"
	redacts_all "$dir/$input" "$input" '0 2'
	check "$input: --redact keeps stacks and values" keeps_numbers "$dir/$input"
done

# ---- the files of other tests, with the names that their own reports have --------------------------

formats='text html json pprof heap folded'
for input in report_heap/jemalloc-threads.heap report_heap/symbols.heap report_pprof/go-1.19.pb.gz history_log/later; do
	all_names "$data/$input" >"$dir/names"
	check "$input: its names are found" test -s "$dir/names"
	redacts_all "$data/$input" "$input" '0 1 2'
	check "$input: --redact keeps stacks and values" keeps_numbers "$data/$input"
done

# ---- what is kept ---------------------------------------------------------------------------------

check '--keep=libc' exits 0 memdiag report "$dir/known.heap" --redact --keep=libc --json --by=line -n 0 --allocators
check "--keep=libc keeps libc's function and line" json_is 'any(.data.rows[]; .name == "__GI___strdup strdup.c:60")'
check '--keep=libc keeps no function of libcrypto or libstdc++' json_is 'all(.data.rows[]; .name | test("cipher|_M_create") | not)'
check '--keep=libc keeps malloc' json_is 'any(.data.rows[]; .name | startswith("malloc "))'
check '--keep=libc keeps no directory' json_is 'all(.data.rows[]; (.object // "") | test("zlib|zdir") | not)'
check '--keep=libc,libstdc++' exits 0 memdiag report "$dir/known.heap" --redact --keep=libc,libstdc++ --json -n 0 --allocators
check '--keep=libc,libstdc++ keeps both' json_is '[.data.rows[] | .name] | (index("__GI___strdup") and index("std::string::_M_create"))'
check '--keep=libc,libstdc++ keeps no other' json_is 'all(.data.rows[]; .name | test("^z|cipher") | not)'
check 'two functions of one name have one hash' json_is '
	[.data.rows[] | .name | select(startswith("function-")) | split(" ")[0]] | (length == 6 and (unique | length) == 5)'
check 'a file that a hash stands for is distinguished' json_is '[.data.rows[] | select(.name | test("\\(file-"))] | length == 2'
check 'PID, TIDs and time are left out' exits 0 memdiag report "$dir/known.heap" --redact --format=heap
check 'PID, TIDs and time are left out: a .heap' sh -c "! grep -e '^# pid' -e '^# time' -e '# thread 9' '$dir/out'"
check '--keep-ids --keep-times' exits 0 memdiag report "$dir/known.heap" --redact --keep-ids --keep-times --format=heap
check '--keep-ids keeps PID and TIDs' sh -c "grep -q '^# pid 987654321' '$dir/out' && grep -q '^# thread 987654322 thread-' '$dir/out'"
check '--keep-times keeps the time' grep -q '^# time 1795123456789012345' "$dir/out"
check 'JSON' exits 0 memdiag report "$dir/known.heap" --redact --json
check 'JSON has no time' json_is '.generated_at == null'
check '--keep-times --json' exits 0 memdiag report "$dir/known.heap" --redact --keep-times --json
check '--keep-times keeps the time of the report' json_is '.generated_at | length == 20'

# A difference is redacted after it was taken.
check '--base' exits 0 memdiag report "$dir/known.heap" --redact --base "$dir/known.heap" --json
check '--base is redacted' sh -c "! grep -q known '$dir/out'"
check '--base is subtracted' json_is '.data.shown == 0 and (.data.base | startswith("profile-"))'

# What is redacted can be read, and redacted again.
check 'a redacted .heap is written' exits 0 memdiag report "$dir/known.heap" --redact --format=heap -o "$dir/redacted.heap"
check 'a redacted .heap is read without a warning' exits_saying 0 '^$' sh -c "'$MEMDIAG' report '$dir/redacted.heap' --json >'$dir/out' 2>'$dir/err'; echo >>'$dir/err'"
check 'a redacted .heap has the objects' exits 0 memdiag report "$dir/redacted.heap" --json --by=object
check 'a redacted .heap has the objects: three of them' json_is '[.data.rows[] | .name | select(startswith("object-"))] | unique | length >= 3'

# ---- keys -----------------------------------------------------------------------------------------

head -c 32 /dev/urandom >"$dir/key"
head -c 32 /dev/urandom >"$dir/other-key"
for key in key key other-key; do
	memdiag report "$dir/known.heap" --redact --redact-key "$dir/$key" && cat "$dir/out" >"$dir/by.$key.${again-}" && again=again
done
check 'one key makes one output' cmp "$dir/by.key." "$dir/by.key.again"
check 'another key makes other names' sh -c "! cmp '$dir/by.key.' '$dir/by.other-key.again'"
"$MEMDIAG" report "$dir/known.heap" --redact >"$dir/one"
"$MEMDIAG" report "$dir/known.heap" --redact >"$dir/two"
check 'without a key each run has another one' sh -c "! cmp '$dir/one' '$dir/two'"
printf 'too short' >"$dir/short"
check 'a short key is refused' exits_saying 64 'too short: it has 9 bytes of 16' memdiag report "$dir/known.heap" --redact --redact-key "$dir/short"
check 'a missing key is refused' exits 1 memdiag report "$dir/known.heap" --redact --redact-key "$dir/missing"
check 'nothing is printed without a key' test ! -s "$dir/out"
for option in --keep=libc --redact-key="$dir/key" --keep-ids --keep-times; do
	check "${option%%=*} without --redact is refused" exits_saying 64 'are for --redact' memdiag report "$dir/known.heap" "$option"
done
for option in --focus=z --ignore=z --hide=z; do
	check "$option with --redact is refused" exits_saying 64 'match names' memdiag report "$dir/known.heap" --redact "$option"
done

# ---- a warning has names ---------------------------------------------------------------------------

grep -v '^# end' "$dir/known.heap" >"$dir/cut.heap"
check 'a file that is cut off' exits 2 memdiag report "$dir/cut.heap" --redact --json
check 'a file that is cut off: partial, and the warning is not in the output' json_is '.partial and (.warnings | length) == 1'
check 'a file that is cut off: its name is on stderr alone' sh -c "! grep -q cut.heap '$dir/out'"

# ---- a process that is recorded --------------------------------------------------------------------

if [ -e "$top_builddir/libmemdiag-agent.so" ] && has_hooks; then
	mkdir "$dir/zdirectory"
	cp "$TRACEES/idle" "$dir/zdirectory/zprogram"
	check 'a log is recorded' exits 0 memdiag run --record=log-fast -o "$dir/zlog" -- sh -c "echo | '$dir/zdirectory/zprogram'"
	printf '%s\n' zdirectory zprogram zlog "${dir##*/}" >"$dir/names"
	all_names "$dir/zlog" | grep -v -e '^libc' -e '^ld-linux' >>"$dir/names"
	redacts_all "$dir/zlog" 'a log' '0 2'
	check 'a log: --redact keeps stacks and values' keeps_numbers "$dir/zlog"
	start_tracee idle
	check 'a process is recorded' exits 0 memdiag record start --pid "$tracee_pid"
	printf '%s\n' idle "$tracee_pid" >"$dir/names"
	check 'record report --redact' exits 0 memdiag record report --pid "$tracee_pid" --redact
	check 'record report --redact: the process has no name' sh -c "! grep -w -F -f '$dir/names' '$dir/out'"
	check 'record report --redact --every' exits 0 memdiag record report --pid "$tracee_pid" --redact --every 100ms --count 2
	check 'record report --redact --every: no time' sh -c "! grep -q -E '[0-9]{4}-[0-9]{2}-[0-9]{2}' '$dir/out'"
	check 'record report --redact --every: both reports have the same names' sh -c \
		"[ \$(grep -c ^profile- '$dir/out') -eq 2 ] && [ \$(grep -o '^profile-[0-9a-f]*' '$dir/out' | sort -u | wc -l) -eq 1 ]"
	check 'record report --redact --save is refused' exits_saying 64 'one at a time' \
		memdiag record report --pid "$tracee_pid" --redact --save "$dir/saved"
	check 'record report --redact --addresses is refused' exits_saying 64 'lists addresses' \
		memdiag record report --pid "$tracee_pid" --redact --addresses 3
	check 'the record ends' exits 0 memdiag record stop --pid "$tracee_pid" -o "$dir/end"
	check 'the target lives on' end_tracee
else
	skip 'a process that is recorded' 'the agent is not made, or hooks no functions here'
fi
finish

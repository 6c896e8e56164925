#!/bin/sh
# heap on living processes: equal to what malloc_info says of itself, sums that add up, every table,
# words it does not know, and a target that is as it was.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/heap-lib.sh"
need jq

# On a machine that is busy with other tests threads take their time to stop.
budget='--max-stop 300s'

# shellcheck disable=SC2086 # $budget is two words, here and below
start_tracee bloat 16
remember
check 'the document is malloc_info'\''s' same_xml
check 'by lists alone heap prints the same XML' same_xml --bins-only
# shellcheck disable=SC2086
check 'heap runs' exits 0 memdiag heap --pid "$tracee_pid" $budget --json
check 'its schema is named' json_is '.schema == "memdiag.heap/1" and (.partial | not)'
check 'nothing is said on stderr' test ! -s "$dir/err"
check 'what has to agree does' json_is '.data.checks | length == 5 and all(.holds and (.name == "resident" or
	.name == "in_use" or .difference == 0))'
check 'all arenas are exact' json_is \
	'.data.certainty == "exact" and (.data.arenas | length == 13 and all(.certainty == "exact"))'
check 'each arena adds up to what it has' json_is '.data.arenas | all(.system_bytes == .in_use_bytes +
	.cached_bytes + .fast_bytes + .binned_bytes + .top_bytes + .overhead_bytes)'
check 'what it is for adds up to what is resident' json_is \
	'.data.arenas | all(.resident_bytes == ([.accounting[].bytes] | add))'
check 'the pages add up to what is resident' \
	json_is '.data.arenas | all(.resident_bytes == (.pages |
	.live_bytes + .mixed_bytes + .trimmable_bytes + .cached_bytes + .top_bytes))'
check 'the totals are the sums of the arenas' \
	json_is '(.data.totals.resident_bytes == ([.data.accounting[].bytes] | add)) and
	.data.totals.resident_bytes == ([.data.arenas[].resident_bytes] | add)'
check 'each thread has its arena' json_is '(.data.threads | length == 13) and
	([.data.threads[].arena] | unique | length == 13)'
check 'the main arena is under its address' json_is '.data.arenas[0] | .main and .address[:2] == "0x"'
check 'sizes add up to the chunks in use' json_is '([.data.sizes[].in_use_chunks] | add) ==
	([.data.arenas[] | .in_use_chunks + .cached_chunks] | add)'
check 'it was stopped, within the limit' json_is \
	'.data.stop | .times > 0 and .longest_us < 300000000 and .looks >= 1'
check 'not stopped, an idle process is consistent' exits 0 \
	memdiag heap --pid "$tracee_pid" --no-stop --json
check 'not stopped, an idle process is not exact' \
	json_is '.data.certainty == "consistent" and .data.stop.times == 0'
# shellcheck disable=SC2086
check 'only the lists' exits 0 memdiag heap --pid "$tracee_pid" $budget --bins-only --json
check 'the sizes of lists alone have no chunks in use' \
	json_is '.data.sizes | all(has("in_use_chunks") | not)'

# shellcheck disable=SC2086
check 'the summary' exits 0 memdiag heap --pid "$tracee_pid" $budget
check 'begins with the process' sh -c "head -n 1 '$dir/out' | grep -q '^bloat $tracee_pid (glibc '"
check 'the table shows what can be trimmed' \
	grep -q 'free, trimmable .* MiB  in 13 arenas; see memdiag trim' \
	"$dir/out"
check 'how sure it is' grep -q '^Arenas: 13 exact. The process was stopped [0-9]* times*, for ' "$dir/out"
# Sentences are broken to the width of a terminal only.
check 'the table fits 80 columns' test -z "$(grep -v '^[A-Z]*  ' "$dir/out" | grep '.\{81\}')"
# shellcheck disable=SC2086
check 'all tables' exits 0 memdiag heap --pid "$tracee_pid" $budget --arenas --pages --histogram --free \
	--pins --threads -n 5 -b
for column in CERTAINTY RETURNED RESERVED 'CHUNKS FROM' 'FREE CHUNK' 'FREE BELOW' NAME; do
	check "there is $column" grep -q "$column" "$dir/out"
done
check 'five lines of each' sh -c "[ \$(grep -c '^and .* more; -n 0 shows all' '$dir/out') = 5 ]"
check 'bytes are exact' sh -c "! grep -v '^VERDICT' '$dir/out' | grep -q 'iB'"
check 'the target is as before' unharmed
check 'the target with all tables lives on' end_tracee

# ---- memory that a child shares ----

start_tracee trimmable 32 fork
had=$(private_kib "$tracee_pid")
check 'a program with a child that shares its memory' exits 0 memdiag heap --pid "$tracee_pid" $budget --json
check 'shares it as before' test $(($(private_kib "$tracee_pid") - had)) -lt 100
check 'the program with a child that shares its memory lives on' end_tracee

# ---- threads of the kernel's ----

# start_workers: one of them has run at least, and so has its name.
start_workers()
{
	start_tracee kernel-workers
	until grep -qs '^iou-wrk' "/proc/$tracee_pid/task/"*/comm; do
		lives "$tracee_pid" || break
		sleep 0.01
	done
}

"$TRACEES/kernel-workers" </dev/null >"$dir/probe" 2>&1
if [ $? -ne 77 ]; then
	start_workers
	# shellcheck disable=SC2086
	check 'a program with workers of io_uring' exits 0 memdiag heap --pid "$tracee_pid" $budget --json
	check 'is exact: they have no cache' json_is '.data.certainty == "exact" and .data.threads_with_unknown_cache == 0'
	if command -v gcore >/dev/null && gcore -o "$dir/core" "$tracee_pid" >"$dir/gcore" 2>&1; then
		check 'workers of io_uring have no cache in a core file' exits 0 memdiag heap --core "$dir/core.$tracee_pid" --json
		check 'a core file with workers of io_uring is exact' json_is '.data.certainty == "exact"'
	else
		skip 'workers of io_uring in a core file' 'gcore made none'
	fi
	if has_hooks; then
		check 'it can be counted' exits 0 memdiag count start --pid "$tracee_pid"
		check 'exactly' sh -c "! grep '~' '$dir/out'"
	else
		skip 'it can be counted' 'this memdiag was built without Zydis'
	fi
	check 'it lives on' end_tracee
	if setarch --uname-2.6 true 2>/dev/null; then
		start_workers
		# shellcheck disable=SC2086
		check 'to a memdiag that takes the kernel for one before 5.10' \
			exits 0 captured setarch --uname-2.6 "$MEMDIAG" heap --pid "$tracee_pid" $budget --json
		check 'the flag, which means something else there, shows no worker' \
			json_is '.data.threads_with_unknown_cache > 0'
		check 'it lives on' end_tracee
	else
		skip 'the flag of workers before 5.10' 'setarch --uname-2.6 is refused'
	fi
else
	skip 'workers of io_uring' 'this kernel has no io_uring'
fi

# ---- by the lists alone ----
# By the lists fence posts at the ends of heaps are seen, and i386's odd tops.
same_account()
{
	local members='.data.arenas | map([.certainty, .system_bytes, .in_use_bytes, .overhead_bytes,
		.binned_bytes, .top_bytes, (.heaps | length)])'
	# shellcheck disable=SC2086
	exits 0 memdiag heap --pid "$tracee_pid" $budget --json && json "$members" >"$dir/walked" &&
		exits 0 memdiag heap --pid "$tracee_pid" $budget --bins-only --json &&
		json "$members" >"$dir/listed" && diff "$dir/walked" "$dir/listed" &&
		json_is ".data.arenas | length == 3 and (.[2].heaps | length >= 2)"
}
start_tracee idle 2 150000000
check 'by the lists heaps are as chunk by chunk' same_account
# shellcheck disable=SC2086
check 'what pins them' exits 0 memdiag heap --pid "$tracee_pid" $budget --bins-only --pins
check 'is not known then' grep -q '^What keeps the heaps of 3 of 3 arenas from shrinking is not known' "$dir/out"
# shellcheck disable=SC2086
check 'in JSON' exits 0 memdiag heap --pid "$tracee_pid" $budget --bins-only --json
check 'by lists alone the last chunk in use is unknown' json_is '[.data.arenas[].heaps[] | .last_in_use, .free_below_bytes] | unique == [null]'
check 'the target lives on' end_tracee
if [ -x "$TRACEES/idle-i386" ]; then
	start_tracee idle-i386 2 3000000
	check 'i386: by the lists heaps are as chunk by chunk' same_account
	check 'i386: what threads have cached is not known' json_is '.data |
		.totals.cached_bytes == null and .threads == null and
		(.arenas | all(.cached_bytes == null and .cached_chunks == null))'
	# shellcheck disable=SC2086
	check 'i386: as text' exits 0 memdiag heap --pid "$tracee_pid" $budget --arenas --threads
	check 'i386: there is a ?' grep -Eq '^ +0 +1 .*B +\? +' "$dir/out"
	check 'i386: which is explained' grep -q '^What threads have cached is not known' "$dir/out"
	check 'i386: and there are no threads' grep -q '^Which arena each thread uses, .* is unknown' \
		"$dir/out"
	check 'i386: the target lives on' end_tracee
else
	skip 'by the lists of a program of 32 bit' 'such a program cannot be built or run here'
fi

# ---- blocks with mappings of their own ----
# They have a page more than what was asked for, and half of each was written to.
start_tracee large 5
# shellcheck disable=SC2086
check 'large blocks' exits 0 memdiag heap --pid "$tracee_pid" $budget --json
check 'are found one by one, as malloc counts' json_is '.data.mmapped | .agrees and .count == 5 and
	.found_count == 5 and .bytes == 15 * 1048576 + 5 * 4096 and .bytes == .found_bytes'
check 'large blocks are listed with their sizes' json_is '.data.mmapped.chunks | map(.bytes) ==
	[5, 4, 3, 2, 1 | . * 1048576 + 4096]'
check 'large blocks are listed with what is resident' \
	json_is '.data.mmapped | (.chunks | map(.resident_bytes) |
	add) == .resident_bytes and .resident_bytes == 15 * 524288 + 5 * 4096'
# shellcheck disable=SC2086
check 'as a table' exits 0 memdiag heap --pid "$tracee_pid" $budget --mmapped -n 2 -b
check 'the largest first' sh -c "grep -A 1 '^ *MAPPED BLOCK' '$dir/out' |
	grep -q '^0x[0-9a-f]*000  *5246976  *2625536  *0\$'"
check 'as many large blocks as -n asks for' grep -q '^and 3 more; -n 0 shows all' "$dir/out"
check 'the summary has them' grep -q '^  large blocks  *15749120  5 with mappings of their own$' "$dir/out"
ask hide >"$dir/answer"
# shellcheck disable=SC2086
check 'behind what the program mapped itself' exits 0 memdiag heap --pid "$tracee_pid" $budget --json
check 'large blocks behind a mapping of the program are found' json_is '.data.mmapped | .agrees and .found_count == 5'
ask spoil >"$dir/answer"
# shellcheck disable=SC2086
check 'of one the header is damaged' exits 0 memdiag heap --pid "$tracee_pid" $budget --json
check 'it is not found, which is said' json_is '.data.mmapped | .count == 5 and .found_count == 4 and
	(.agrees | not)'
# shellcheck disable=SC2086
check 'the text has the large blocks with a damaged header' exits 0 memdiag heap --pid "$tracee_pid" $budget --mmapped
check 'a damaged header: the difference is shown' \
	grep -q '^Check failed: large blocks found: 4, blocks that malloc counts: 5, difference -1\.$' "$dir/out"
check 'a damaged header: the blocks that were found are shown' \
	grep -q '^  large blocks .* 5 with mappings of their own; found 4 of 5, .* of 15.0 MiB$' "$dir/out"
check 'the target lives on' end_tracee

# ---- mallocs it cannot read ----
start_tracee idle 2
check 'a budget of nothing is no stop' exits 0 memdiag heap --pid "$tracee_pid" --max-stop 0ms --json
check 'a budget of nothing: no stop is reported' json_is '.data.stop.times == 0'
check 'a budget of nothing: the target lives on' end_tracee
if [ -x "$TRACEES/idle-musl" ]; then
	start_tracee idle-musl
	check 'musl has no arenas' exits 5 memdiag heap --pid "$tracee_pid"
	check 'a musl program lives on after heap' end_tracee
else
	skip 'musl has no arenas' 'there is no musl-gcc'
fi

# ---- memory that was written over ----
start_tracee corrupt chunk
check 'a chunk whose size is garbage' exits 2 memdiag heap --pid "$tracee_pid" $budget --arenas
check 'makes its arena approximate' grep -q '^ *~1 .*  approximate$' "$dir/out"
check 'an arena that is not exact has a reason' grep -q '^arena 1: .' "$dir/out"
check 'an arena that was not damaged is exact' grep -q '^ *0 .*  exact$' "$dir/out"
check 'the mark is explained' grep -q '^~ is approximate' "$dir/out"
check 'it is a partial answer' exits_saying 2 'approximate: 1 of 2 arenas' memdiag heap "$tracee_pid" $budget --json
check 'a damaged chunk: the JSON is partial and says why' json_is '.partial and .data.certainty == "approximate" and
	[.data.arenas[].certainty] == ["exact", "approximate"] and .data.arenas[1].why != null'
check 'the target lives on' end_tracee

# ---- cores ----
if command -v gcore >/dev/null; then
	start_tracee idle 2
	# shellcheck disable=SC2086
	check 'heap before the core' exits 0 memdiag heap --pid "$tracee_pid" $budget --json
	cp "$dir/out" "$dir/live.json"
	check 'a core is made' gcore -o "$dir/core" "$tracee_pid"
	core=$dir/core.$tracee_pid
	check 'heap of the core' exits 0 memdiag heap --core "$core" --json
	check 'the core file has the same arenas as the process' sh -c "
		members='.data.arenas[] | [.index, .address, .system_bytes, .in_use_bytes,
			.cached_bytes, .fast_bytes, .binned_bytes, .top_bytes]'
		jq -c \"\$members\" '$dir/live.json' >'$dir/a'; jq -c \"\$members\" '$dir/out' >'$dir/b'
		[ -s '$dir/a' ] && diff '$dir/a' '$dir/b'"
	check 'the core file has the same sizes as the process' sh -c "
		jq .data.sizes '$dir/live.json' >'$dir/a'; jq .data.sizes '$dir/out' | diff '$dir/a' -"
	check 'what is resident is a lower bound' json_is .data.resident_at_least
	check 'its name is reported' json_is ".data.core == \"$core\""
	check 'heap of the core file prints text' exits 0 memdiag heap --core "$core" --arenas
	check 'heap of the core file says that resident bytes are a lower bound' sh -c "grep -q '^Resident in .*, at least:' '$dir/out' &&
		grep -q 'has no holes' '$dir/err'"
	check 'heap of the core file names the file' grep -q "core $core" "$dir/out"
	check 'the target lives on' end_tracee
else
	skip 'heap of a core' 'gcore is not installed'
fi
echo text >"$dir/text"
check 'a file that is not a core file' exits 5 memdiag heap --core "$dir/text"
check 'a core that is not there' exits 1 memdiag heap --core "$dir/nowhere"

# ---- threads that have ended ----

# Data that they leave in their arenas may look like caches, of which there are more than threads then; by chance.
knows_caches()
{
	start_tracee ledger
	obeys 'throng 100' && exits 0 memdiag heap --pid "$tracee_pid" --json &&
		json_is '.data.totals.cached_bytes > 0' && end_tracee
}

check 'threads that have ended: what is cached is known' each_of 12 knows_caches

# ---- words it does not know ----
check 'no process and no core' exits_saying 64 'use --pid PID, or --core FILE' \
	memdiag heap
check 'a process and a core file together are refused' exits_saying 64 'not both' memdiag heap 1 --core x
check 'a sysroot for a process' exits_saying 64 'is for --core' memdiag heap 1 --sysroot /
check 'two documents' exits_saying 64 'one document at a time' memdiag heap 1 --xml --json
check 'a stop that is no duration' exits_saying 64 'is not a duration' memdiag heap 1 --max-stop=x
check 'a number of milliseconds that is no number is refused' exits_saying 64 'is not a number' memdiag heap 1 --max-stop-ms=x
check 'lines that are no number' exits_saying 64 'is not a number' memdiag heap 1 -n x
finish

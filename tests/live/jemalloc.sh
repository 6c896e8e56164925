#!/bin/sh
# Processes whose malloc is jemalloc's: info says what jemalloc says of itself, trim gives back what it keeps, and
# nothing else changes.  What the program gets from mallctl() itself is the truth.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq

library=$(find /usr/lib /usr/lib64 -name 'libjemalloc.so.2' 2>/dev/null | head -n 1)
[ -n "$library" ] || skip_all 'libjemalloc is not installed'

# start_jemalloc LIBRARY ARGUMENTS...
start_jemalloc()
{
	local with="$1"
	shift
	start_command env LD_PRELOAD="$with" "$TRACEES/jemalloc" "$@"
}

# value NAME BYTES: what mallctl() answers the program: of the statistics that were taken last, which memdiag did.
value()
{
	local answer
	answer=$(ask "get $1 $2")
	case $answer in
	*' none') echo null ;;
	*) echo "${answer##* }" ;;
	esac
}

# agrees FILTER NAME [PAGE]: that part of the JSON is what mallctl(NAME) says, times PAGE.
agrees()
{
	local ours theirs
	ours=$(json "$1")
	theirs=$(value "$2" "${4:-8}")
	[ "$ours" = $((theirs * ${3:-1})) ] || {
		echo "$1 is $ours, $2 is $theirs"
		return 1
	}
}

totals_agree()
{
	for name in allocated active metadata resident mapped retained; do
		agrees ".data.jemalloc.${name}_bytes" "stats.$name" || return
	done
}

# arena_agrees N: all that is said of arena N.
arena_agrees()
{
	local i="stats.arenas.$1" a=".data.jemalloc.arenas[] | select(.index == $1) |" page
	page=$(value arenas.page 8)
	agrees "$a .threads" "$i.nthreads" 1 4 &&
		agrees "$a .active_bytes" "$i.pactive" "$page" &&
		agrees "$a .dirty_bytes" "$i.pdirty" "$page" &&
		agrees "$a .muzzy_bytes" "$i.pmuzzy" "$page" &&
		agrees "$a .cached_bytes" "$i.tcache_bytes" &&
		agrees "$a .mapped_bytes" "$i.mapped" &&
		agrees "$a .retained_bytes" "$i.retained" &&
		agrees "$a .resident_bytes" "$i.resident" &&
		[ "$(json "$a .allocated_bytes")" = $(($(value $i.small.allocated 8) + $(value $i.large.allocated 8))) ] &&
		[ "$(json "$a .metadata_bytes")" = $(($(value $i.base 8) + $(value $i.internal 8))) ]
}

# arenas_agree: each arena there is is listed, and no other, with what it has.
arenas_agree()
{
	local n=0 slots
	slots=$(value arenas.narenas 4)
	while [ $n -lt "$slots" ]; do
		if [ "$(value arena.$n.initialized 1)" = 1 ]; then
			arena_agrees $n || return
		else
			json_is "[.data.jemalloc.arenas[] | select(.index == $n)] == []" || return
		fi
		n=$((n + 1))
	done
	json_is ".data.arena_count == (.data.jemalloc.arenas | length)"
}

adds_up()
{
	json_is '([.data.accounting[].bytes] | add) == .data.totals.rss_bytes'
}

# as_large_as_before: RSS, VIRT and the number of mappings and descriptors.
size()
{
	grep -E '^Vm(RSS|Size)|^Threads' "/proc/$tracee_pid/status"
	wc -l <"/proc/$tracee_pid/maps"
	find "/proc/$tracee_pid/fd" | wc -l
}

# ---- info ----

start_jemalloc "$library" 4
for load in 'fill 1 3000' 'fill 100 500' 'drop 3' 'drop 1'; do
	ask "$load" >"$dir/said"
	check "$load: info" exits 0 memdiag info --pid "$tracee_pid" --json
	cp "$dir/out" "$dir/info.json"
	check "$load: is one of jemalloc's" json_is '.data.allocator == "jemalloc" and
		(.data.jemalloc.version | test("^[345][.]")) and .data.jemalloc.prefix == ""'
	check "$load: totals are jemalloc's own" totals_agree
	check "$load: arenas are jemalloc's own" arenas_agree
	check "$load: the lines add up to RSS" adds_up
	check "$load: it was asked in the borrowed thread" json_is '.data.borrow.mode == "thread"'
done
check 'info of jemalloc: the verdict retained for what is free' json_is '[.verdicts[].id] | index("retained")'
check 'info of jemalloc as text runs' exits 0 memdiag info --pid "$tracee_pid"
check 'info of jemalloc as text: names the release of jemalloc' grep -q '(jemalloc [345][.]' "$dir/out"
check 'info of jemalloc as text: NEXT is memdiag trim' grep -q "^NEXT  *memdiag trim -p $tracee_pid\$" "$dir/out"
check 'info --arena 0 of jemalloc runs' exits 0 memdiag info --pid "$tracee_pid" --arena 0 --json
check 'info --arena 4000 of jemalloc: a usage error' exits_saying 64 'no arena 4000' memdiag info --pid "$tracee_pid" --arena 4000
check 'info --arena 0 of jemalloc runs once more' exits 0 memdiag info --pid "$tracee_pid" --arena 0 --json
check 'info --arena 0 of jemalloc has that arena alone' json_is '[.data.jemalloc.arenas[].index] == [0]'

# The first time, jemalloc made itself tables for the answers.  From then on nothing is left.
remember
size >"$dir/size"
again()
{
	exits 0 memdiag info --pid "$tracee_pid" --json &&
		json_is '.data.borrow.mode == "thread"'
}
same_size()
{
	size | diff "$dir/size" -
}
check 'info of jemalloc 20 times in a row' each_of 20 again
check '20 times info leave nothing in the process' same_size
check 'the process is unchanged after 20 times info' unharmed
for options in --xml --method=read --capture=fd2; do
	check "$options is glibc's" exits_saying 5 'is for glibc' memdiag info --pid "$tracee_pid" $options
done

check 'doctor of a process with jemalloc runs' exits '0 2' memdiag doctor --pid "$tracee_pid"
check 'doctor of jemalloc: mallctl can be called' grep -q '^ *yes *calls .*mallctl can be called' "$dir/out"
check 'doctor of jemalloc: threads can be borrowed' grep -q '^ *yes *threads ' "$dir/out"

# ---- trim ----

ask 'fill 100 800' >"$dir/said"
ask 'drop 1' >"$dir/said"
remember
check 'trim -n of jemalloc runs' exits 0 memdiag trim -n --pid "$tracee_pid" --json
page=$(value arenas.page 8)
free_pages()
{
	local n=0 sum=0 all
	all=$(value arenas.narenas 4)
	while [ $n -lt "$all" ]; do
		if [ "$(value arena.$n.initialized 1)" = 1 ]; then
			sum=$((sum + $(value stats.arenas.$n.pdirty 8) + $(value stats.arenas.$n.pmuzzy 8)))
		fi
		n=$((n + 1))
	done
	echo $((sum * page))
}
predicted=$(json .data.predicted.rss_bytes)
check 'trim -n of jemalloc predicts the free pages' test "$predicted" = "$(free_pages)"
check 'trim -n of jemalloc predicts more than 30 MB' test "$predicted" -gt 30000000
check 'trim -n of jemalloc gives nothing back' test "$(ask refresh && free_pages)" != 0
check 'trim of jemalloc with a short --max-lock: refused' exits_saying 6 'max-lock.*nothing was changed' \
	memdiag trim --max-lock 1ms --pid "$tracee_pid"
for options in --tops '--pad 1M'; do
	# shellcheck disable=SC2086 # an option and its argument
	check "$options is glibc's" exits_saying 5 'is for glibc' memdiag trim --pid "$tracee_pid" $options
done
# jemalloc gives pages back by itself as time goes by, and only when the program allocates: not here.
check 'trim of jemalloc runs' exits 0 memdiag trim --pid "$tracee_pid" --json
check 'trim of jemalloc: RSS falls by what was free' json_is ".data.released_bytes > $predicted * 0.9 and
	.data.released_bytes < $predicted * 1.1"
check 'trim of jemalloc: no page is free any more' json_is '.data.jemalloc.after | .dirty_bytes + .muzzy_bytes == 0'
check 'the program has no free page after trim' test "$(ask refresh >"$dir/said" && free_pages)" = 0
check 'trim of jemalloc as text runs' exits 0 memdiag trim --pid "$tracee_pid"
check 'trim -n of jemalloc as text runs' exits 0 memdiag trim -n --pid "$tracee_pid"
check 'the process is unchanged after trim' unharmed

# ---- a thread of its own ----

check 'info --mode=helper of jemalloc runs' exits 0 memdiag info --mode=helper --pid "$tracee_pid" --json
check 'info --mode=helper of jemalloc has used a helper' json_is '.data.borrow.mode == "helper"'
check 'arenas with a helper are jemalloc'"'"'s own' totals_agree
size >"$dir/size"
nr=$(json .data.arena_count)
helps()
{
	exits 0 memdiag info --mode=helper --pid "$tracee_pid" --json && json_is ".data.arena_count == $nr"
}
check 'ten helpers make one arena at most' each_of 10 helps
check 'ten helpers leave no more than the first one' same_size
check 'the target lives on' end_tracee

# ---- busy ----

start_jemalloc "$library" 6
ask spin >"$dir/said"
# On a busy machine a thread is not held for as long as all arenas would take.
check 'info while threads allocate' each_of 20 exits '0 2' memdiag info --pid "$tracee_pid"
check 'trim while threads allocate' each_of 10 exits 0 memdiag trim --pid "$tracee_pid"
check 'the program answers after info and trim while threads allocate' test "$(ask rest)" = resting
check 'the target lives on' end_tracee

# ---- who may not be borrowed ----

# A first call in such a thread would make an arena, and a cache.
start_jemalloc "$library" 0 '' stdio
fresh=$(ask fresh)
check 'a thread that has not used jemalloc is left alone' exits_saying 6 \
	"thread ${fresh#fresh } .*has not used jemalloc yet" memdiag info --pid "$tracee_pid" --wait 2s
check 'the target lives on' end_tracee
start_jemalloc "$library" 1 '' stdio
check 'info of a process of which one thread has used jemalloc' exits 0 memdiag info --pid "$tracee_pid" --json
check 'info borrows the thread that has used jemalloc' json_is ".data.borrow.tid != $tracee_pid"
check 'the target lives on' end_tracee

# jemalloc's own threads wait inside it, for ever.
start_command env MALLOC_CONF=background_thread:true LD_PRELOAD="$library" "$TRACEES/jemalloc" 2
check 'info of jemalloc with background threads' exits '0 2' memdiag info --pid "$tracee_pid" --json
check 'info of jemalloc has background threads' json_is .data.jemalloc.background_thread
# borrows_no_other: the borrowed thread is one of the program's.
borrows_no_other()
{
	exits '0 2' memdiag info --pid "$tracee_pid" --json &&
		! grep jemalloc_bg "/proc/$tracee_pid/task/$(json .data.borrow.tid)/comm"
}
check 'info of jemalloc borrows no background thread' each_of 10 borrows_no_other
check 'trim of jemalloc with background threads' exits '0 2' memdiag trim --pid "$tracee_pid"
check 'the target lives on' end_tracee
start_command env MALLOC_CONF=background_thread:true LD_PRELOAD="$library" "$TRACEES/jemalloc" 0 '' stdio
check 'info of jemalloc with background threads alone: no thread to borrow' exits_saying 6 'inside' memdiag info --pid "$tracee_pid" --wait 1s
check 'the target lives on' end_tracee

# ---- under a filter, where each call is followed ----

start_command env LD_PRELOAD="$library" "$TRACEES/contained" "$TRACEES/jemalloc" 2
check 'info of jemalloc under a seccomp filter' exits 0 memdiag info --pid "$tracee_pid" --json
check 'info of jemalloc under a seccomp filter: its own totals' totals_agree
check 'info of jemalloc under a seccomp filter: its own arenas' arenas_agree
check 'trim of jemalloc under a seccomp filter' exits 0 memdiag trim --pid "$tracee_pid"
check 'the target lives on' end_tracee
start_command env LD_PRELOAD="$library" "$TRACEES/seccomp" list
check 'info of jemalloc under a seccomp filter that kills' exits 0 memdiag info --pid "$tracee_pid" --json
check 'trim of jemalloc under a seccomp filter that kills' exits 0 memdiag trim --pid "$tracee_pid"
check 'the target lives on' end_tracee

# ---- other ways to have jemalloc ----

archive=$(find /usr/lib /usr/lib64 -name 'libjemalloc_pic.a' 2>/dev/null | head -n 1)
# make_library NAME OBJCOPY-OPTIONS...: the same jemalloc with other names, or fewer.
make_library()
{
	local name="$1" exported="$2"
	shift 2
	objcopy "$@" "$archive" "$dir/$name.a" &&
		printf '{ global: %s local: *; };\n' "$exported" >"$dir/$name.map" &&
		"${CXX:-c++}" -shared -o "$dir/$name.so" -Wl,--version-script="$dir/$name.map" \
			-Wl,--whole-archive "$dir/$name.a" -Wl,--no-whole-archive -lpthread -ldl -lm &&
		strip "$dir/$name.so"
}
functions='malloc; free; calloc; realloc; posix_memalign; aligned_alloc; memalign; valloc; malloc_usable_size;'
if [ -n "$archive" ] && command -v objcopy >/dev/null &&
	make_library je "$functions je_mallctl;" --redefine-sym mallctl=je_mallctl >"$dir/made" 2>&1; then
	start_jemalloc "$dir/je.so" 2 je_
	check 'info of jemalloc with a prefix' exits 0 memdiag info --pid "$tracee_pid" --json
	check 'info of jemalloc with a prefix: names the prefix' json_is '.data.jemalloc.prefix == "je_"'
	check 'info of jemalloc with a prefix: its own totals' totals_agree
	check 'trim of jemalloc with a prefix' exits 0 memdiag trim --pid "$tracee_pid"
	check 'the target lives on' end_tracee

	# ---- linked into the program ----

	# link_program NAME ARCHIVE OPTIONS...
	link_program()
	{
		local name="$1" with="$2"
		shift 2
		"${CC:-cc}" -O1 -pthread -I"$top_srcdir/tests/tracees" "$@" -o "$dir/$name" \
			"$top_srcdir/tests/tracees/jemalloc.c" -Wl,--whole-archive "$with" -Wl,--no-whole-archive \
			-lstdc++ -lm -ldl
	}
	if link_program whole "$archive" -DLINKED=mallctl >"$dir/made" 2>&1; then
		start_command "$dir/whole" 3
		ask 'fill 10 300' >"$dir/said"
		check 'info of jemalloc in the program' exits 0 memdiag info --pid "$tracee_pid" --json
		check 'info of jemalloc in the program: names the program' json_is ".data.jemalloc.path == \"$dir/whole\""
		check 'info of jemalloc in the program: its own totals' totals_agree
		check 'info of jemalloc in the program: its own arenas' arenas_agree
		ask spin >"$dir/said"
		check 'info of jemalloc in the program while threads allocate' each_of 20 exits '0 2' memdiag info --pid "$tracee_pid"
		check 'trim of jemalloc in the program' exits 0 memdiag trim --pid "$tracee_pid"
		check 'info --malloc=glibc with jemalloc in the program: refused' exits_saying 5 'not use glibc malloc' \
			memdiag info --malloc=glibc --pid "$tracee_pid"
		check 'the target lives on' test "$(ask rest)" = resting
		check 'the program with jemalloc in it ends with 0' end_tracee
		start_command "$dir/whole" 0 '' stdio
		ask fresh >"$dir/said"
		check 'info with jemalloc in the program: a thread that has not used it is left alone' exits_saying 6 'has not used jemalloc yet' \
			memdiag info --pid "$tracee_pid" --wait 2s
		check 'the program whose thread has not used jemalloc ends with 0' end_tracee
		strip -o "$dir/stripped" "$dir/whole"
		start_command "$dir/stripped" 1
		check 'info with jemalloc in a stripped program: refused' exits_saying 5 'not use glibc malloc but its own' \
			memdiag info --pid "$tracee_pid"
		check 'the stripped program lives on' end_tracee
	else
		skip 'in the program' "it cannot be linked: $(head -n 1 "$dir/made")"
	fi
	# As Redis and others have it: their own functions call je_malloc(), libc's malloc() is glibc's.
	objcopy --redefine-sym mallctl=je_mallctl --redefine-sym malloc=je_malloc --redefine-sym free=je_free \
		--redefine-sym calloc=je_calloc --redefine-sym realloc=je_realloc \
		--redefine-sym posix_memalign=je_posix_memalign --redefine-sym aligned_alloc=je_aligned_alloc \
		--redefine-sym memalign=je_memalign --redefine-sym valloc=je_valloc \
		--redefine-sym malloc_usable_size=je_malloc_usable_size "$archive" "$dir/prefixed.a"
	if link_program beside "$dir/prefixed.a" -DLINKED=je_mallctl -DMALLOC=je_malloc -DFREE=je_free \
		>"$dir/made" 2>&1; then
		start_command "$dir/beside" 3
		ask 'fill 10 300' >"$dir/said"
		check 'info of jemalloc beside glibc asks jemalloc' exits 0 memdiag info --pid "$tracee_pid" --json
		check 'info of jemalloc beside glibc: names the prefix' json_is '.data.jemalloc.prefix == "je_"'
		check 'info of jemalloc beside glibc: its own totals' totals_agree
		check 'info of jemalloc beside glibc: a note names glibc' says 'malloc() of the program is glibc'
		check 'info --malloc=glibc of jemalloc beside glibc runs' exits 0 memdiag info --malloc=glibc --pid "$tracee_pid" --json
		check 'info --malloc=glibc of jemalloc beside glibc has the arenas of glibc' json_is '.data.allocator == "glibc" and .data.arena_count > 0'
		check 'trim of jemalloc beside glibc purges jemalloc' exits 0 memdiag trim --pid "$tracee_pid" --json
		check 'trim --malloc=glibc of jemalloc beside glibc runs' exits 0 memdiag trim --malloc=glibc --pid "$tracee_pid" --json
		check 'the program with jemalloc beside glibc ends with 0' end_tracee
	else
		skip 'beside glibc' "it cannot be linked: $(head -n 1 "$dir/made")"
	fi
	start_tracee idle 2
	check 'info --malloc=jemalloc of a program without jemalloc: refused' exits_saying 5 'no jemalloc' memdiag info --malloc=jemalloc --pid "$tracee_pid"
	check 'the program without jemalloc ends with 0' end_tracee

	make_library none "$functions" >"$dir/made" 2>&1
	start_command env LD_PRELOAD="$dir/none.so" "$TRACEES/idle" 2
	remember
	for command in info trim; do
		check "without mallctl(): $command is refused" exits_saying 5 'not use glibc malloc but its own' \
			memdiag $command --pid "$tracee_pid"
	done
	check 'the process is unchanged after info and trim were refused' unharmed
	check 'the target lives on' end_tracee
else
	skip 'with a prefix, and without mallctl()' 'libjemalloc_pic.a, objcopy or a linker is not here'
fi
finish

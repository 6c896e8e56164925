#!/bin/sh
# memdiag trace of programs that ask for memory in all ways: whose calls are named malloc's, children, exec, storms,
# many mappings, hostile names, files that are gone, and namespaces.
# shellcheck disable=SC3043,SC2034 # every sh we know has local; trace-lib.sh reads the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/trace-lib.sh"
can_trace || skip_all "tracing is not permitted here: $(cat "$dir/err")"
mib=1048576
page=$(getconf PAGESIZE)
# So that page by page storms of others fill no buffer.
trace_options="$trace_options --min-size=$((3 * page))"
in_json='def names: [.frames[].functions[].name]; def with($f): [.data.stacks[] | select(names | index($f))];'

# no_line WORDS: no call is printed that matches WORDS.
no_line()
{
	! grep -e "$1" "$dir/out"
}

# gets COMMAND WORDS: give the tracee the COMMAND until a line matches WORDS; again, as its record may be lost, when any
# other process has filled the buffers.
gets()
{
	eventually gets_once "$@"
}
gets_once()
{
	local nr=0
	ask "$1" >/dev/null || return
	until has_line "$2"; do
		nr=$((nr + 1))
		lives "$trace_pid" && [ $nr -lt 200 ] || return
		sleep 0.02
	done
}

# is_traced: until the calls before this one are printed.
is_traced()
{
	gets before ' 6291456 .* maps_before_exec <- '
}

# stop_trace: end the trace, which may have lost records.
stop_trace()
{
	kill -TERM "$trace_pid"
	is_stopped
}
is_stopped()
{
	wait "$trace_pid"
	trace_status=$?
	[ $trace_status -eq 0 ] || { [ $trace_status -eq 2 ] && says '^memdiag: [1-9][0-9]* records were lost'; }
}
says_no_more()
{
	! grep -v -e '^memdiag: tracing ' -e ' records were lost' -e ' the return was not seen' "$dir/err"
}

# names_all: the stack of a call of the program and of one of malloc have all names.
names_all()
{
	begin_trace && is_traced && gets "malloc $mib" '  \[malloc\] asks_malloc <- does <- main <- .*_start' && stop_trace &&
		says_no_more
}

# ---- what malloc asks for ------------------------------------------------------------------------

start_tracee map-ways
check 'a trace begins' begin_trace --stack-size=64K
check "malloc's own mmap() is marked" gets "malloc $mib" ' mmap  *10[0-9]* .* \[malloc\] asks_malloc <- '
check "a thread's stack is not malloc's" gets thread ' mmap  *3[0-9]* .* \[reserve\] .* makes_thread <- '
check 'a new arena is' gets arena ' mmap  *[0-9]* .* \[malloc\] asks_malloc <- asks_in_thread <- start_thread'
check 'functions with malloc in their names ask' gets 'named 65536' ' mmap  *65536 .* maps_below <- malloc_callback'
for name in my_malloc_pool malloc_of_mine hostile_name maps_below; do
	check "$name is not malloc" has_line " mmap  *65536  [0-9a-f]*  $name <- "
done
check 'a System V segment is attached' gets 'shmat 1048576' ' shmat  *1048576 .* attaches <- '
check 'a System V segment is detached' gets shmdt ' shmdt  *-1048576 .* detaches <- '
check 'a stack of 80 frames' gets 'deep 80' ' mmap .* maps_below <- goes_deep <- '
check 'the trace ends' stop_trace
check 'it has no warning' says_no_more
check 'the sums of malloc are marked, those of others are not' python3 - "$dir/out" <<-'END'
	import re, sys
	rows = open(sys.argv[1]).read().rstrip().split("\n\n")[2:]
	for row in rows:
	    is_mallocs = re.search(r"^  #\d+ .* asks_malloc at ", row, re.M) is not None
	    assert row.split("\n")[0].endswith("[malloc]") == is_mallocs, row
	assert sum(row.split("\n")[0].endswith("[malloc]") for row in rows) >= 2
END

# has_deep NUMBER: so many frames of goes_deep() are in a stack, and END is how it ends.
has_deep()
{
	json_is "$in_json"' with("goes_deep") as $s | ($s | length) == 1 and $s[0].end == "'"$2"'" and
		([$s[0] | names[] | select(. == "goes_deep")] | length) '"$1"' and .data.events.cut_stacks == '"$3"
}
deep()
{
	begin_trace --json --stack-size="$1" && ask "deep 80" >/dev/null && stop_trace
}
check '--stack-size=64K' unless_lost deep 64K
check '--stack-size=64K: all of a deep stack' has_deep '== 80' complete 0
check '--stack-size=64K: no warning' has_nothing_to_say
check '--stack-size=4K' unless_lost deep 4K
check '--stack-size=4K: a deep stack is cut' has_deep '< 20' cut 1
check '--stack-size=4K: a warning has the number of cut stacks' says '^memdiag: 1 stacks are cut: .*--stack-size'
check 'the program lives on' end_tracee

# ---- children, and other programs ----------------------------------------------------------------

start_tracee map-ways
check '--follow-children: the trace begins' begin_trace --follow-children
check '--follow-children: a call after fork()' gets fork ' mmap  *5242880 .* maps_in_child <- '
child_of "$tracee_pid"
check '--follow-children: it has the PID of the child' has_line "  $child  *mmap  *5242880 .* maps_in_child <- forks"
first_child=$child
check '--follow-children: a call after vfork() and exec' gets vfork ' mmap  *7340032 .* maps_after_exec <- '
child=$(tr ' ' '\n' <"/proc/$tracee_pid/task/$tracee_pid/children" | grep -vxF -e "$first_child" -e '')
check '--follow-children: it has the PID of that child' has_line "  $child  *mmap  *7340032 .* maps_after_exec <- "
check '--follow-children: the break of that child begins unknown' \
	has_line "  $child  *brk  *9437184 .* breaks_after_exec"
for nr in 1 2 3 4 5; do
	ask late >/dev/null
done
check '--follow-children: a call after vfork() and before exec has the names of the parent' \
	gets late ' mmap  *4194304 .* maps_in_child <- vforks <- does <- main <- '
check '--follow-children: no call of 4 MiB has other names' eval "! grep ' mmap  *4194304 ' '$dir/out' | grep -v maps_in_child"
check '--follow-children: the parent goes on' is_traced
check '--follow-children: the trace ends' stop_trace
check '--follow-children: sums of the first child' \
	grep -q "^map-ways $first_child: 5242880 mapped in 1 call," "$dir/out"
check '--follow-children: sums of the second' grep -q "^map-ways $child: 7340032 mapped in 1 call," "$dir/out"
check '--follow-children: no other break' no_line ' brk  *-*[0-9]*[0-9] .*\(maps\|forks\)'
check 'children end' ask reap

without_children()
{
	begin_trace && ask fork >/dev/null && ask vfork >/dev/null && is_traced && stop_trace && ask reap >/dev/null
}
check 'without --follow-children' without_children
check 'without --follow-children: no call of a child' no_line 'maps_in_child\|after_exec'
only_of()
{
	! sed '1d; /^$/,$d' "$dir/out" | grep -v "^ *[0-9.]*  *$1 "
}
check 'without --follow-children: no other thread' only_of "$tracee_pid"

check 'exec: the trace begins' begin_trace
check 'exec: a call before' gets before ' mmap  *6291456 .*  maps_before_exec <- does'
check 'exec: a call after' gets exec ' mmap  *7340032 .*  maps_after_exec <- '
check 'exec: the break begins unknown' has_line ' brk  *9437184 .* breaks_after_exec <- '
check 'exec: the new program goes on' gets "malloc $mib" '\[malloc\] asks_malloc <- '
check 'exec: the trace ends' stop_trace
brk_calls()
{
	[ "$(sed '1d; /^$/,$d; /\[malloc\]/d' "$dir/out" | grep -c '^ *[0-9.]*  *[0-9]*  *brk  ')" -eq 1 ]
}
check 'exec: the break moved once' brk_calls
check 'exec: the first line has what is left' grep -q '^map-ways [0-9]*, .* left, .* resident' "$dir/out"

exec_json()
{
	begin_trace --json && ask before >/dev/null && ask exec >/dev/null && stop_trace
}
check 'exec in a trace with --json' unless_lost exec_json
check 'exec in a trace with --json: two programs with one PID' json_is '
	[.data.programs[] | .is_over] == [true, false] and ([.data.programs[] | .pid] | unique | length) == 1'
check 'exec in a trace with --json: nothing is left of the first' json_is "$in_json"'
	with("maps_before_exec") as $before | with("maps_after_exec") as $after | ($before | length) == 1 and
	$before[0].left_bytes == null and $before[0].mapped_bytes == 6291456 and $before[0].end == "complete" and
	$after[0].left_bytes == 7340032'
check 'exec in a trace with --json: totals are the sums of the rows' json_is '
	.data.totals.left_bytes == ([.data.stacks[].left_bytes] | add) and .data.totals.left_bytes > 0 and
	.data.totals.resident_bytes == ([.data.stacks[].resident_bytes] | add)'

# When the first segment is attached, its size is read: by then the process may execute the next program already.
exec_while_read()
{
	begin_trace --json && ask "shmat $mib" >/dev/null && ask before >/dev/null && ask 'deep 20' >/dev/null &&
		ask exec >/dev/null && stop_trace
}
for nr in 1 2 3 4; do
	check "exec while memdiag reads the process, time $nr" unless_lost exec_while_read
	check "exec while memdiag reads the process, time $nr: stacks are the first program's" json_is "$in_json"'
		[(with("maps_before_exec"), with("goes_deep"))[] | .end] == ["complete", "complete"]'
done
check 'the program lives on' end_tracee

start_tracee zombie-leader later
# has_more_lines NR: give the tracee "map" until more than NR lines of it are printed, in a round of their own.
has_more_lines()
{
	local nr=0
	ask map >/dev/null || return
	until [ "$(grep -c ' mmap  *3145728 .*map_on_command' "$dir/out")" -gt "$1" ]; do
		nr=$((nr + 1))
		lives "$trace_pid" && [ $nr -lt 200 ] || return
		sleep 0.02
	done
}
leader_ends()
{
	local round=0
	begin_trace && ask end >/dev/null || return
	while [ $round -lt 4 ]; do
		has_more_lines $round || return
		round=$((round + 1))
	done
	stop_trace
}
check 'the main thread ends while others go on: their calls are traced' unless_lost leader_ends
check 'the main thread ends while others go on: the sums have what is left' \
	grep -q '^zombie-leader [0-9]*, .* left, .* resident' "$dir/out"
check 'the main thread ends while others go on: RSS is known at the end' grep -q '^RSS .* -> ' "$dir/out"
check 'the main thread ends while others go on: the program lives on' end_tracee

# Each child is read, which needs open files; all of them are let go.
start_tracee map-ways
nr_files()
{
	nr=$(find "/proc/$trace_pid/fd" 2>/dev/null | wc -l)
}
has_no_more_files()
{
	nr_files
	[ "$nr" -le "$had_files" ]
}
come_and_go()
{
	local round=0 i last
	begin_trace --follow-children && is_traced && nr_files && had_files=$nr most=0 || return
	while [ $round -lt 6 ]; do
		round=$((round + 1))
		i=0
		while [ $i -lt 16 ]; do
			i=$((i + 1))
			ask fork >/dev/null || return
		done
		last=$(tr ' ' '\n' <"/proc/$tracee_pid/task/$tracee_pid/children" | sort -n | tail -n 1)
		wait_for "$trace_pid" "$dir/out" "  $last  *mmap  *5242880 .* maps_in_child" || return
		nr_files
		[ "$nr" -gt "$had_files" ] || return
		[ "$nr" -le $most ] || most=$nr
		ask reap >/dev/null && eventually has_no_more_files || return
	done
	echo "files: $had_files, with 16 children $most"
	stop_trace && [ "$(grep -c ' mmap  *5242880 .* maps_in_child' "$dir/out")" -eq 96 ]
}
check '96 children that come and go: no file stays open' come_and_go
check 'the parent of many children lives on' end_tracee

# ---- storms --------------------------------------------------------------------------------------

start_tracee map-ways
nr_storm=$(some 40000)
storm_in()
{
	begin_trace --json --min-size=0 "$@" && ask "storm $nr_storm" >/dev/null && stop_trace
}
says_what_is_lost()
{
	has_status 2 && says '^memdiag: [1-9][0-9]* records were lost' && json_is '.partial and
		.data.events.lost_records > 0 and (.warnings | map(select(test("records were lost"))) | length) == 1'
}
# Half of the calls map a page.
is_bound()
{
	json_is "$in_json"' [with("storms")[] | .map_calls] | (add // 0) <= '"$nr_storm" && json_is "$in_json"'
		[with("storms")[] | .mapped_bytes] | (add // 0) <= '"$nr_storm * $page"
}
for size in '4K 16K' '8K 1K'; do
	words="a storm with --buffer=${size% *} --stack-size=${size#* }"
	check "$words" storm_in --buffer="${size% *}" --stack-size="${size#* }"
	check "$words: what is lost is said" says_what_is_lost
	check "$words: the sums are bounds" is_bound
done
check 'a storm with a large buffer' unless_lost storm_in --stack-size=2K
storm_is_exact()
{
	has_status 0 && json_is "$in_json"' .partial == false and ([with("storms")[] | .map_calls] | add) == '"$nr_storm"' and
		([with("storms")[] | .mapped_bytes] | add) == ([with("storms")[] | .freed_bytes] | add)'
}
check 'a storm with a large buffer: all of it is seen' storm_is_exact

# cpu_ticks: the processor time that memdiag has used.
cpu_ticks()
{
	# The name is in brackets, and may have blanks.
	# shellcheck disable=SC2046 # words
	set -- $(sed 's/.*) //' "/proc/$trace_pid/stat")
	ticks=$((${12} + ${13}))
}

# memdiag reads the code that compilers make at most for a small part of its time: with many mappings, reading them at
# each call would take a hundred times longer.
jit_storm()
{
	local nr before plain
	nr=$(some 10000)
	ask 'vmas 3000' >/dev/null && begin_trace --min-size=0 --stack-size=2K && is_traced || return
	cpu_ticks
	before=$ticks
	ask "storm $nr" >/dev/null && gets "malloc $((2 * mib))" '\[malloc\] asks_malloc' && cpu_ticks || return
	plain=$((ticks - before)) before=$ticks
	ask "jit $nr" >/dev/null && gets 'deep 5' ' maps_below <- goes_deep ' && cpu_ticks && stop_trace || return
	echo "ticks: $plain, with code $((ticks - before))"
	[ $((ticks - before)) -le $((plain * 4 + 50)) ]
}
check 'a storm of mappings that code may be in costs memdiag no more than others' jit_storm
echo "# $(head -n 1 "$dir/check.said")"
check 'the program lives on after storms' end_tracee

# ---- many mappings -------------------------------------------------------------------------------

many=1000
[ "$MEMDIAG_TEST_SHARE" -lt 100 ] || many=60000	# the kernel allows 65530
complete_stacks()
{
	json_is "$in_json"' [.data.stacks[] | .end] | unique == ["complete"]' &&
		json_is "$in_json"' with("goes_deep")[0] | ([names[] | select(. == "goes_deep")] | length) == 20'
}
many_vmas()
{
	begin_trace --json && ask 'deep 20' >/dev/null && ask "vmas $many" >/dev/null &&
		ask 'deep 20' >/dev/null && stop_trace
}
start_tracee map-ways
check "$many mappings are made in a trace" unless_lost many_vmas
check "$many mappings are made in a trace: stacks are complete" complete_stacks
check "$many mappings are made in a trace: one stack has both calls" json_is "$in_json"'
	[with("goes_deep")[] | .map_calls] == [2] and [with("makes_vmas")[] | .left_bytes] == ['"$many * $page"']'
check 'the program with many mappings lives on' end_tracee
start_tracee map-ways
ask "vmas $many" >/dev/null
deep_only()
{
	begin_trace --json && ask 'deep 20' >/dev/null && stop_trace
}
check "$many mappings before a trace" unless_lost deep_only
check "$many mappings before a trace: stacks are complete" complete_stacks
check 'the program that had many mappings lives on' end_tracee

# ---- names ---------------------------------------------------------------------------------------

hostile=$(printf 'a\n b\033[31m;c@d \377\302 <x>')
function=$(printf 'my;name@here \033[1mx\ny')
printable()
{
	! LC_ALL=C grep -n '[^ -~]' "$dir/out" "$dir/err"
}
in_folded()
{
	begin_trace --format=folded && ask 'named 65536' >/dev/null && stop_trace && printable &&
		! grep -v '^[^ ].*;.* [0-9]*$' "$dir/out" && [ "$(grep -c ' 65536$' "$dir/out")" -eq 4 ]
}
in_text()
{
	begin_trace && gets 'named 65536' ' maps_below\| ? .* <- lfind ' && stop_trace && printable &&
		[ "$(grep -c ' mmap  *65536 ' "$dir/out")" -eq 4 ]
}
in_json()
{
	begin_trace --json && ask 'named 65536' >/dev/null && stop_trace &&
		json_is '[.data.stacks[] | select(.mapped_bytes == 65536)] | length == 4'
}
cp "$TRACEES/map-ways" "$dir/$hostile"
strip -s "$dir/$hostile" 2>/dev/null
start_command "$dir/$hostile"
check 'a hostile name of a stripped program: text' in_text
check 'a hostile name of a stripped program: the file is in the stacks' \
	grep -q '^  #[0-9].* ? (a.* b.*31m;c@d ' "$dir/out"
check 'a hostile name of a stripped program: folded' in_folded
check 'a hostile name of a stripped program: JSON' in_json
check 'a hostile name of a stripped program: the names of its stacks are complete' json_is '
	[.data.stacks[] | .end] | unique == ["complete"]'
stripped_malloc()
{
	begin_trace && gets "malloc $mib" ' mmap  *10[0-9]* .* \[malloc\] ' && stop_trace
}
check "a stripped program: malloc's mmap() is marked" stripped_malloc
check 'a program with a hostile name lives on' end_tracee

if command -v objcopy >/dev/null; then
	objcopy -g --redefine-sym "hostile_name=$function" "$TRACEES/map-ways" "$dir/functions"
	start_command "$dir/functions"
	check 'a hostile name of a function: text' in_text
	check 'a hostile name of a function: it is not cut' \
		grep -q ' mmap .*  my;name@here .*x.*y <- maps_by_names' "$dir/out"
	check 'a hostile name of a function: folded' in_folded
	check 'a hostile name of a function: it is one frame of folded stacks' \
		grep -q ';maps_by_names;my[^;]*name@here [^;]* 65536$' "$dir/out"
	check 'a hostile name of a function: JSON' in_json
	check 'a hostile name of a function: JSON has all of it' json_is "$in_json"'
		[.data.stacks[] | names[] | select(startswith("my;name@here ") and endswith("y"))] | length == 1'
	check 'a program with a hostile function lives on' end_tracee
else
	skip 'a hostile name of a function' 'objcopy is not installed'
fi

# ---- files that are gone -------------------------------------------------------------------------

cp "$TRACEES/map-ways" "$dir/deleted"
start_command "$dir/deleted"
rm "$dir/deleted"
check 'a deleted program' names_all
check 'a deleted program lives on' end_tracee
libc=$(sed -n 's/.* \(\/.*libc\.so\.6\)$/\1/p' "/proc/self/maps" | head -n 1)
if [ -n "$libc" ]; then
	mkdir "$dir/lib"
	cp "$libc" "$dir/lib/libc.so.6"
	start_command env LD_LIBRARY_PATH="$dir/lib" "$TRACEES/map-ways"
	rm "$dir/lib/libc.so.6"
	check 'a deleted library is in use' grep -q 'lib/libc.so.6 (deleted)' "/proc/$tracee_pid/maps"
	check 'a deleted library' names_all
	check 'a program with a deleted library lives on' end_tracee
else
	skip 'a deleted library' 'libc.so.6 is not in use'
fi

# ---- namespaces ----------------------------------------------------------------------------------

if unshare --pid --fork --mount-proc true 2>"$dir/err"; then
	start_command unshare --pid --fork --mount-proc "$TRACEES/map-ways"
	outer=$tracee_pid
	child_of "$outer"
	from_outside()
	{
		trace_target=$child begin_trace && gets before "  $child  *mmap  *6291456 .* maps_before_exec <- " && stop_trace
	}
	check 'a PID namespace, from outside' from_outside
	from_inside()
	{
		: >"$dir/err"
		# shellcheck disable=SC2086 # words
		nsenter --target "$child" --pid --mount "$MEMDIAG" trace $trace_options -b --pid 1 \
			>"$dir/out" 2>"$dir/err" &
		trace_pid=$!
		started="$started $trace_pid"
		wait_for "$trace_pid" "$dir/err" '^memdiag: tracing 1 ' &&
			gets before '^ *[0-9.]*  *1  *mmap  *6291456 .* maps_before_exec <- ' &&
			gets arena '^ *[0-9.]*  *[2-9]  .*\[malloc\] asks_malloc <- asks_in_thread ' || return
		kill -TERM "$(cat "/proc/$trace_pid/task/$trace_pid/children")"
		is_stopped
	}
	if command -v nsenter >/dev/null; then
		case $MEMDIAG in
		/*) ;;
		*) MEMDIAG=$PWD/$MEMDIAG ;;
		esac
		check 'a PID namespace, from inside' from_inside
	else
		skip 'a PID namespace, from inside' 'nsenter is not installed'
	fi
	check 'the program in a PID namespace lives on' end_tracee "$outer"
else
	skip 'a PID namespace' "no such namespace can be made: $(head -n 1 "$dir/err")"
fi

mkdir "$dir/inner"
if unshare --mount mount -t tmpfs none "$dir/inner" 2>"$dir/err"; then
	# shellcheck disable=SC2016 # for the inner shell
	start_command unshare --mount sh -c 'mount -t tmpfs none "$1" && cp "$2" "$1/only-here" && exec "$1/only-here"' sh \
		"$dir/inner" "$TRACEES/map-ways"
	check 'a program of another mount namespace is not here' test ! -e "$dir/inner/only-here"
	check 'a program of another mount namespace' names_all
	check 'a program of another mount namespace lives on' end_tracee
else
	skip 'another mount namespace' "no such namespace can be made: $(head -n 1 "$dir/err")"
fi
finish

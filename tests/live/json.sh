#!/bin/sh
# doc/json.md lists the members that --json prints, of each command: no member is missing, none is made up, and
# each has its type.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/trace-lib.sh"
need jq

doc=$top_srcdir/doc/json.md

# ---- what the document says ----------------------------------------------------------------------

# Tables of "| `path` | type | ..." below headings of one word in backquotes: "## `info`" is a command, and
# "### `stop`" a shape, which is the type of other members; "(all)" stands for the members of a shape.  Writes
# "command path types", tab-separated, with all shapes in full.
cat >"$dir/members.awk" <<'PROGRAM'
/^#+ `[a-z-]+`$/ { name = $2; gsub(/`/, "", name); if ($1 == "##") is_command[name] = 1; next }
/^#/ { name = ""; next }
name != "" && /^\| (`|\(all\))/ {
	split($0, cell, / *\| */)
	gsub(/`/, "", cell[2])
	if ((name, cell[2]) in type) { print "twice:", name, cell[2] > "/dev/stderr"; failed = 1 }
	type[name, cell[2]] = cell[3]
	list[name] = list[name] " " cell[2]
	is_used[cell[3]] = 1
}
function write_member(command, path, t, null)
{
	if (t ~ / or null$/) { null = " null"; sub(/ or null$/, "", t) }
	if (t ~ /^list of /) {
		print command "\t" path "\tarray" null
		sub(/^list of /, "", t)
		write_member(command, path "[]", t)
	} else if (t in list) {
		print command "\t" path "\tobject" null
		write(command, path ".", t)
	} else {
		print command "\t" path "\t" t null
	}
}
function write(command, prefix, shape, member, nr, i)
{
	nr = split(list[shape], member, " ")
	for (i = 1; i <= nr; i++)
		if (member[i] == "(all)")
			write(command, prefix, type[shape, member[i]])
		else
			write_member(command, prefix member[i], type[shape, member[i]])
}
END {
	for (command in is_command) {
		write(command, "", "document")
		write(command, "data.", command)
	}
	exit failed
}
PROGRAM

documented()
{
	awk -f "$dir/members.awk" "$doc" >"$dir/documented" && [ -s "$dir/documented" ]
}

# ---- what memdiag prints -------------------------------------------------------------------------

# The members of the document on standard input, as "path type"; an element of a list is "list[]".
members()
{
	jq -r '. as $document | paths as $p |
		($p | map(if type == "number" then "[]" else "." + . end) | join("")[1:]) as $path |
		(getpath($p) as $v | $v | type |
			if . == "number" and ($v | floor) == $v then "integer" else . end) as $type |
		"\($path)\t\($type)"' | sort -u
}

# Add the members of the last document to those that were seen.
takes_members()
{
	cat "$dir/err"
	sed -n '1,/"schema"/s/.*"schema": "memdiag\.\([a-z]*\)\/1".*/\1/p' "$dir/out" >"$dir/schema"
	members <"$dir/out" | sed "s/^/$(cat "$dir/schema")	/" >>"$dir/seen"
	[ -s "$dir/schema" ]
}

# prints STATUS COMMAND...: run it, and takes_members.
prints()
{
	exits "$@" && takes_members
}

# prints_line STATUS COMMAND...: the same for a document that is one line.
prints_line()
{
	exits "$@" || return
	jq . "$dir/out" >"$dir/pretty" && mv "$dir/pretty" "$dir/out" && takes_members
}

# runs OPTIONS...: 'memdiag run', whose standard output is the program's.
runs()
{
	"$MEMDIAG" run "$@" --json -f -o "$dir/out" -- true 2>"$dir/err"
}

# With --profile --output is for its files.
runs_profiled()
{
	"$MEMDIAG" run --profile --json -o "$dir/p" -- true 2>"$dir/out"
	: >"$dir/err"
}

# The same with a log, whose files --output is for.
runs_logged()
{
	"$MEMDIAG" run --record=log-fast --json -o "$dir/logs" -- true 2>"$dir/out"
	: >"$dir/err"
}

# left_out WORDS WHY: members that only it prints are not looked for.
nr_left_out=0
left_out()
{
	nr_left_out=$((nr_left_out + 1))
	skip "$@"
}

: >"$dir/seen"
check 'the document has tables' documented

start_tracee bloat 2
two=$tracee_pid
start_tracee bloat 4
pid=$tracee_pid
check 'info as JSON' prints 0 memdiag info "$pid" --json
check 'info --arena as JSON' prints 0 memdiag info "$pid" --json --arena 1 --method=inject
cp "$dir/out" "$dir/info.json"
check 'info by reading as JSON' prints 0 memdiag info "$pid" --json --method=read
check 'info --from as JSON' prints 0 memdiag info --from "$top_srcdir/tests/data/malloc_info/glibc-2.41.xml" --json
check 'info --from of an old document as JSON' prints 0 memdiag info --from "$top_srcdir/tests/data/malloc_info/made-2.10.xml" \
	--json --arena 1
for by in class object arena thread mapping; do
	check "maps --by=$by as JSON" prints 0 memdiag maps "$pid" --json --by=$by
done
check 'maps --class as JSON' prints 0 memdiag maps "$pid" --json --class heap --object '*' --range 0-ffffffffffffff
check 'maps --pss as JSON' prints 0 memdiag maps "$pid" --json --pss
check 'maps --by=mapping --pss as JSON' prints 0 memdiag maps "$pid" --json --by=mapping --pss
check 'maps --rss-from=none as JSON' prints 0 memdiag maps "$pid" --json --rss-from=none
check 'maps as JSON' prints 0 memdiag maps "$pid" --json
cp "$dir/out" "$dir/maps.json"
check 'maps --at as JSON' prints 0 memdiag maps "$pid" --at "$(sed -n 's/-.*libc[.]so.*//p' "/proc/$pid/maps" | head -n 1)" --json
check 'maps --at of a heap as JSON' prints 0 memdiag maps "$pid" --at "$(sed -n 's/-.*[[]heap]$//p' "/proc/$pid/maps")" --json
check 'maps --at of a stack as JSON' prints 0 memdiag maps "$pid" --at "$(sed -n 's/-.*[[]stack]$//p' "/proc/$pid/maps")" --json
check 'maps of two processes as JSON' prints 0 memdiag maps "$pid" $$ --pss --json
for command in info heap 'trim -n' trim; do
	# shellcheck disable=SC2086 # a command and its options
	check "$command of two processes as JSON" prints 0 memdiag $command "$pid" "$two" --json
done
cat "/proc/$pid/smaps" >"$dir/smaps"
check 'maps --from as JSON' prints 0 memdiag maps --from "$dir/smaps" --pss --json
check 'maps --from of maps as JSON' prints 2 memdiag maps --from "$top_srcdir/tests/data/maps/glibc-2.42.maps" --json
check 'maps --from by mapping as JSON' prints 0 memdiag maps --from "$dir/smaps" --by=mapping --json
check 'maps --from --at as JSON' prints 0 memdiag maps --from "$dir/smaps" --json --at "$(sed -n 's/-.*libc[.]so.*//p' "$dir/smaps" | head -n 1)"
check 'maps --diff as JSON' prints 0 memdiag maps "$pid" --json --diff "$dir/maps.json"
check 'watch as JSON' prints_line 0 memdiag watch "$pid" --json -n 1 --view=heap --max-stop=300s
check 'stacks as JSON' prints 0 memdiag stacks "$pid" --json
start_tracee takes-memory 1
# On a busy machine records of others may be lost.
traces()
{
	begin_trace --json "$@" && plays 1 300 && { end_trace || [ "$trace_status" -eq 2 ]; }
}
trace_to_end()
{
	begin_trace --json && plays 2 300 && end_tracee && { ends_trace 0 || [ "$trace_status" -eq 2 ]; }
}
if can_trace; then
	check 'trace as JSON' prints 0 traces
	check 'trace --rss as JSON' prints 0 traces --rss --period 7
	check 'trace of a process that ends as JSON' prints 0 trace_to_end
else
	left_out 'trace' 'it is not permitted here'
fi
tracee_pid=$pid
check 'heap as JSON' prints 0 memdiag heap "$pid" --json
cp "$dir/out" "$dir/heap.json"
check 'trim -n as JSON' prints 0 memdiag trim -n "$pid" --json
check 'trim as JSON' prints 0 memdiag trim "$pid" --json --tops --recheck 1ms
check 'doctor as JSON' prints '0 2' memdiag doctor "$pid" --json
check 'maps --by=mapping as JSON' prints 0 memdiag maps "$pid" --json --by=mapping
cp "$dir/out" "$dir/mappings.json"
for command in info maps mappings heap; do
	check "diff of $command as JSON" prints 0 memdiag diff "$dir/$command.json" "$dir/$command.json" --json
done
check 'report as JSON' prints 0 memdiag report "$top_srcdir/tests/data/report_heap/ours.heap" --by=line --json
check 'report of a file without names as JSON' prints 0 memdiag report "$top_srcdir/tests/data/report_heap/jemalloc-threads.heap" \
	--json --base "$top_srcdir/tests/data/report_heap/jemalloc-threads.heap"
check 'report of threads without ids as JSON' prints 0 memdiag report \
	"$top_srcdir/tests/data/report_heap/jemalloc-threads.heap" --json
check 'report of one without mappings as JSON' prints 0 memdiag report "$top_srcdir/tests/data/report_heap/go-text.heap" --json
for options in '' --peak '--from 100ms --to end'; do
	# shellcheck disable=SC2086 # options
	check "timeline $options as JSON" prints 0 memdiag timeline "$top_srcdir/tests/data/report_heaptrack/version-2.txt" $options --json
	# shellcheck disable=SC2086 # options
	check "timeline of a log $options as JSON" prints 0 memdiag timeline "$top_srcdir/tests/data/history_log/mapped" $options --json
done
if command -v gcore >/dev/null; then
	check 'gcore' gcore -o "$dir/core" "$pid"
	check 'heap --core as JSON' prints 0 memdiag heap --core "$dir/core.$pid" --json
else
	left_out 'heap --core' 'gcore is not installed'
fi
census_pid=$tracee_pid
start_tracee holders
for command in leaks types retained; do
	check "$command as JSON" prints '0 1' memdiag $command "$tracee_pid" --json --max-stop 300s
done
for command in types retained; do
	check "$command is saved" exits 0 memdiag $command "$tracee_pid" --json --max-stop 300s -f -o "$dir/$command.json"
	check "diff of $command as JSON" prints 0 memdiag diff "$dir/$command.json" "$dir/$command.json" --json
done
check 'types --diff as JSON' prints 0 memdiag types "$tracee_pid" --json --max-stop 300s --diff "$dir/types.json"
for command in leaks types retained; do
	check "$command --fork as JSON" prints '0 1 2' memdiag $command "$tracee_pid" --json --fork --max-stop 300s
done
for by in module arena size contents holder; do
	check "types --by=$by as JSON" prints 0 memdiag types "$tracee_pid" --by=$by --json --max-stop 300s
done
if command -v g++ >/dev/null; then
	holders_pid=$tracee_pid
	check 'the program with classes' g++ -std=c++17 -I"$top_srcdir/tests/tracees" -o "$dir/classes" \
		"$top_srcdir/tests/tracees/classes.cc"
	start_command "$dir/classes"
	check 'objects are lost' obeys 'lose 20'
	check 'leaks of objects as JSON' prints 1 memdiag leaks "$tracee_pid" --json --max-stop 300s
	check 'retained --holds of a type as JSON' prints 0 memdiag retained "$tracee_pid" --json --max-stop 300s --holds 'shapes::circle'
	check 'the program with classes lives on' end_tracee
	tracee_pid=$holders_pid
else
	left_out 'leaks of objects' 'g++ is not installed'
fi
check 'retained --holds as JSON' prints 0 memdiag retained "$tracee_pid" --json --max-stop 300s \
	--holds "$(sed -n 's/^held static //p' "$dir/$tracee_pid.out")"
if command -v gcore >/dev/null; then
	check 'gcore of holders' gcore -o "$dir/core" "$tracee_pid"
	for command in leaks types retained; do
		check "$command --core as JSON" prints '0 1' memdiag $command --core "$dir/core.$tracee_pid" --json
	done
else
	left_out 'leaks, types and retained --core' 'gcore is not installed'
fi
check 'holders lives on' end_tracee
tracee_pid=$census_pid
check 'the target lives on' end_tracee
check 'the second target lives on' end_tracee "$two"
if [ -e "$top_builddir/libmemdiag-agent.so" ] && has_hooks; then
	start_tracee loser
	check 'a record begins' memdiag record start --pid "$tracee_pid" --wait=300s --timeout=600s
	check 'blocks are lost while it is recorded' obeys 'small 3'
	echo size:41 >"$dir/suppressions"
	check 'leaks with stacks as JSON' prints 1 memdiag leaks "$tracee_pid" --json --max-stop 300s --suppressions "$dir/suppressions"
	check 'the third target lives on' end_tracee
else
	left_out 'leaks with stacks' 'malloc cannot be hooked on this processor'
fi

library=$(find /usr/lib /usr/lib64 -name 'libjemalloc.so.2' 2>/dev/null | head -n 1)
if [ -n "$library" ]; then
	start_command env MALLOC_CONF=prof:true,prof_active:false LD_PRELOAD="$library" "$TRACEES/jemalloc" 2
	check 'info of jemalloc as JSON' prints 0 memdiag info "$tracee_pid" --json
	check 'trim -n of jemalloc as JSON' prints 0 memdiag trim -n "$tracee_pid" --json
	check 'trim of jemalloc as JSON' prints 0 memdiag trim "$tracee_pid" --json
	check 'profile start of jemalloc as JSON' prints 0 memdiag profile start "$tracee_pid" --json
	check 'profile status of jemalloc as JSON' prints 0 memdiag profile status "$tracee_pid" --json
	check 'watch of jemalloc as JSON' prints_line 0 memdiag watch "$tracee_pid" --json -n 1 --view=heap --max-stop=300s
	check 'profile stop of jemalloc as JSON' prints 0 memdiag profile stop "$tracee_pid" --json -o "$dir/p"
	check 'the target lives on' end_tracee
else
	left_out 'info and trim of jemalloc' 'libjemalloc is not installed'
fi

start_tracee trimmable 8 fork
check 'trim -n of a process with a child as JSON' prints 0 memdiag trim -n "$tracee_pid" --json
check 'the target lives on' end_tracee

# With a file that is mapped twice.
start_tracee mappings "$dir"
check 'maps of one with many mappings as JSON' prints '0 2' memdiag maps "$tracee_pid" --json
check 'the target lives on' end_tracee

# Whose arena is damaged.
start_tracee corrupt chunk
check 'heap of a damaged one as JSON' prints 2 memdiag heap "$tracee_pid" --json
check 'the target lives on' end_tracee
start_tracee corrupt cut
check 'trim -n of a damaged one as JSON' prints '0 2' memdiag trim -n "$tracee_pid" --json
check 'the target lives on' end_tracee
start_tracee spin
# It predicts again if the process has run meanwhile, which a busy machine may not let it do.
predicts_again()
{
	while prints 0 memdiag trim -n "$tracee_pid" --json; do
		! jq -e '.data.predicted.again' "$dir/out" >"$dir/again" || return 0
	done
	return 1
}
check 'trim -n of one that runs' predicts_again
check 'the target lives on' end_tracee

if [ -e "$top_builddir/libmemdiag-agent.so" ]; then
	check 'run as JSON' prints 0 runs --follow-children --limit 64M
	check 'run --profile as JSON' prints 0 runs_profiled
	check 'run --record=log-fast as JSON' prints 0 runs_logged
	start_command "$MEMDIAG" run -q --follow-children --limit 64M --limit-total 128M -- "$TRACEES/idle" 2
	child_of "$tracee_pid"
	check 'status of two processes as JSON' prints 2 memdiag status "$child" 4194304 --json
	check 'status of a family as JSON' prints 0 memdiag status "$child" --json
	check 'the target lives on' end_tracee
else
	left_out 'run and status' 'the agent is not made for this processor'
fi
if [ -e "$top_builddir/libmemdiag-agent.so" ] && has_hooks; then
	start_tracee ledger
	check 'profile start as JSON' prints 0 memdiag profile start --rate 1 "$tracee_pid" --json
	check 'the ledger works' obeys 'mix 100'
	check 'status of a profiled process as JSON' prints 0 memdiag status "$tracee_pid" --json
	check 'info of a profiled process as JSON' prints 0 memdiag info "$tracee_pid" --json
	check 'watch of a profiled process as JSON' prints_line 0 memdiag watch "$tracee_pid" --json -n 1
	check 'profile stop as JSON' prints 0 memdiag profile stop "$tracee_pid" --json -o "$dir/r"
	check 'count start as JSON' prints 0 memdiag count start "$tracee_pid" --json
	check 'status as JSON' prints 0 memdiag status "$tracee_pid" --json
	check 'count stop as JSON' prints 0 memdiag count stop "$tracee_pid" --json
	check 'record start as JSON' prints 0 memdiag record start "$tracee_pid" --json
	check 'record status as JSON' prints 0 memdiag record status "$tracee_pid" --json
	check 'the ledger works on' obeys 'mix 300'
	check 'record report with addresses as JSON' prints 0 memdiag record report "$tracee_pid" --addresses 3 --json
	check 'record report of sizes as JSON' prints 0 memdiag record report "$tracee_pid" --min-size 1 --json
	check 'record dump as JSON' prints 0 memdiag record dump "$tracee_pid" --json -o "$dir/w"
	check 'record stop as JSON' prints 0 memdiag record stop "$tracee_pid" --json -o "$dir/w"
	check 'record start with a log as JSON' prints 0 memdiag record start --mode log-fast "$tracee_pid" --json -o "$dir/log"
	check 'status with a log as JSON' prints 0 memdiag status "$tracee_pid" --json
	check 'record status with a log as JSON' prints 0 memdiag record status "$tracee_pid" --json
	check 'record stop with a log as JSON' prints 0 memdiag record stop "$tracee_pid" --json
	check 'record report of a log, by age and size as JSON' prints 0 memdiag record report "$dir/log" --older 1ms --min-size 1 --max-size 1G --json
	check 'profile start as JSON' prints 0 memdiag profile start "$tracee_pid" --json
	check 'profile status as JSON' prints 0 memdiag profile status "$tracee_pid" --json
	check 'profile dump as JSON' prints 0 memdiag profile dump "$tracee_pid" --json -o "$dir/p"
	check 'profile stop as JSON' prints 0 memdiag profile stop "$tracee_pid" --json -o "$dir/p"
	check 'profile --push to a port that refuses as JSON' prints 2 memdiag profile -s 100ms "$tracee_pid" --json --push http://127.0.0.1:1
	check 'profile as JSON' prints 0 memdiag profile -s 100ms "$tracee_pid" --json -o "$dir/q"
	check 'the target lives on' end_tracee
else
	left_out 'count' 'this memdiag hooks no functions'
fi

# ---- both ways -----------------------------------------------------------------------------------

# Every member that was printed is documented, with its type.  An integer is a number as well.
all_documented()
{
	sort -u "$dir/seen" | awk -F '\t' '
		NR == FNR { type[$1, $2] = " " $3 " "; next }
		!(($1, $2) in type) { print "not in doc/json.md:", $1, $2, $3; failed = 1; next }
		index(type[$1, $2], " " $3 " ") || $3 == "integer" && index(type[$1, $2], " number ") { next }
		{ print "another type:", $1, $2, $3 ", not" type[$1, $2]; failed = 1 }
		END { exit failed }' "$dir/documented" -
}

# Every member that is documented was printed by its command; of the envelope, by any command.
all_printed()
{
	awk -F '\t' '
		NR == FNR { printed[$1, $2] = 1; printed[$2] = 1; next }
		$2 ~ /^data/ && ($1, $2) in printed { next }
		$2 !~ /^data/ && $2 in printed { next }
		# The documents of several processes have the members that the document of one has.
		{ rest = $2 }
		sub(/^data\.processes\[\]\./, "", rest) && (($1, rest) in printed || rest in printed) { next }
		# The report of a timeline has the members that any report has.
		$1 == "timeline" && sub(/^data\.report\./, "data.", rest) && ("report", rest) in printed { next }
		{ print "never printed:", $1, $2; failed = 1 }
		END { exit failed }' "$dir/seen" "$dir/documented"
}

check 'all members that are printed are documented' all_documented
if [ "$nr_left_out" -eq 0 ]; then
	check 'all members that are documented are printed' all_printed
else
	skip 'all members that are documented are printed' 'not all commands could run'
fi
finish

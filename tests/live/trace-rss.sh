#!/bin/sh
# memdiag trace --rss against a program that knows which of its functions touched how many pages, and against the
# kernel's own count of its page faults.
# shellcheck disable=SC3043,SC2034 # every sh we know has local; trace-lib.sh reads the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/trace-lib.sh"
can_trace || skip_all "tracing is not permitted here: $(cat "$dir/err")"
page=$(getconf PAGESIZE)
huge=2097152
# All page faults of the machine go to these buffers.
trace_options="$trace_options --stack-size=4K"
in_json='def names: [.frames[].functions[].name]; def with($f): [.data.stacks[] | select(names | index($f))];
	def sum($f; $value): [with($f)[] | .[$value]] | add // 0;'

# count_faults: sets $minor and $major to the page faults of the tracee until now.
count_faults()
{
	# The name is in brackets, and may have blanks.
	# shellcheck disable=SC2046 # words
	set -- $(sed 's/.*) //' "/proc/$tracee_pid/stat")
	minor=$8 major=${10}
}

# trace_of COMMAND OPTIONS...: trace the tracee while it does COMMAND; sets $answer, and $minor and $major to the page
# faults meanwhile.  $meanwhile is called when the trace has begun.
meanwhile=:
trace_of()
{
	local command="$1" minor_before major_before
	shift
	count_faults
	minor_before=$minor major_before=$major
	begin_trace --rss --json "$@" && $meanwhile || return
	answer=$(ask "$command")
	kill -TERM "$trace_pid"
	wait "$trace_pid"
	trace_status=$?
	count_faults
	minor=$((minor - minor_before)) major=$((major - major_before))
	[ -n "$answer" ]
}

# sums_are FUNCTION VALUE N [VALUE N]...: the sums of the stacks with FUNCTION.
sums_are()
{
	local function="$1"
	shift
	while [ $# -gt 1 ]; do
		json_is "$in_json"' sum("'"$function"'"; "'"$1"'") == '"$2" || {
			echo "$1 of $function is not $2"
			return 1
		}
		shift 2
	done
}

# has_all_faults: with --period=1 the kernel has counted so many, and no more.
has_all_faults()
{
	json_is '.data.totals.minor_faults == '"$minor"' and .data.totals.major_faults == '"$major" || {
		echo "the kernel counted $minor minor and $major major ones"
		return 1
	}
}

# ---- each page fault -----------------------------------------------------------------------------

start_tracee map-ways
nr=$(some 12000)
touched()
{
	# shellcheck disable=SC2086 # words
	set -- $answer
	has_status 0 && [ $# -eq 4 ] && for function in a b c d; do
		sums_are touches_$function minor_faults "$1" major_faults 0 touched_bytes $(($1 * page)) \
			resident_bytes $(($1 * page)) huge_bytes 0 || return
		shift
	done
}
for seed in 1 2 3; do
	check "--period=1, seed $seed: a trace" unless_lost trace_of "touch $seed $nr" --period=1
	check "--period=1, seed $seed: pages by function" touched
	check "--period=1, seed $seed: the kernel counted as many page faults" has_all_faults
	check "--period=1, seed $seed: complete stacks" json_is "$in_json"'
		[.data.stacks[] | select(names | any(startswith("touches_"))) | .end] | unique == ["complete"]'
done
# Linux puts what the program that began last asks for into the records of both.
other_begins()
{
	"$MEMDIAG" trace $trace_options --stack-size=1K -b --rss --pid $$ >"$dir/other" 2>"$dir/other-err" &
	other_pid=$!
	started="$started $other_pid"
	wait_for "$other_pid" "$dir/other-err" '^memdiag: tracing '
}
# beside_another COMMAND OPTIONS...: as trace_of, while another program traces page faults of another process.
beside_another()
{
	local status
	meanwhile=other_begins
	trace_of "$@"
	status=$?
	meanwhile=:
	kill "$other_pid"
	wait "$other_pid"
	return "$status"
}
check 'beside another trace of page faults: a trace' unless_lost beside_another "touch 4 $nr" --period=1
check 'beside another trace of page faults: pages by function' touched
check 'beside another trace of page faults: the kernel counted as many page faults' has_all_faults
check 'discarded memory: a trace' unless_lost trace_of "discard $nr" --period=1
check 'discarded memory: what is kept is resident' sums_are touches_and_keeps minor_faults $((2 * nr)) \
	touched_bytes $((2 * nr * page)) resident_bytes $((nr * page))
check 'discarded memory: the kernel counted as many page faults' has_all_faults
check 'threads: a trace' unless_lost trace_of arena --period=1
check 'threads: the kernel counted as many page faults' has_all_faults
check 'threads: those of another thread are with its stack' json_is "$in_json"'
	sum("asks_in_thread"; "minor_faults") > 0 and ([with("asks_in_thread")[] | names | index("start_thread")] | all)'

# ---- a sample ------------------------------------------------------------------------------------

# within_bounds PERIOD: each fault is counted with a chance of 1 in PERIOD, so the estimate of N faults has a variance
# of N (PERIOD - 1).  Six times its root is exceeded by chance once in 500 million times.
within_bounds()
{
	python3 - "$dir/out" "$1" "$answer" <<-'END'
		import json, math, sys
		period = int(sys.argv[2])
		stacks = json.load(open(sys.argv[1]))["data"]["stacks"]
		sums = {}
		for stack in stacks:
		    assert stack["minor_faults"] % period == 0, stack
		    for name in {f["name"] for frame in stack["frames"] for f in frame["functions"]}:
		        sums[name] = sums.get(name, 0) + stack["minor_faults"]
		wanted = dict(zip("abcd", map(int, sys.argv[3].split())))
		wanted["all"] = sum(wanted.values())
		sums["touches_all"] = sum(sums.get("touches_" + c, 0) for c in "abcd")
		for name, n in wanted.items():
		    got, bound = sums.get("touches_" + name, 0), 6 * math.sqrt(n * (period - 1)) + period
		    assert abs(got - n) <= bound, "touches_%s: %d, not %d +- %d" % (name, got, n, bound)
	END
}
check 'the program that touched each page lives on' end_tracee
start_tracee map-ways
for seed in 4 5; do
	check "a period of 61, seed $seed: a trace" unless_lost trace_of "touch $seed 16000"
	check "a period of 61, seed $seed: the estimates are near" within_bounds 61
done
check 'a period of 7: a trace' unless_lost trace_of 'touch 6 8000' --period=7
check 'a period of 7: the estimates are near' within_bounds 7
check 'a period of 7: JSON says so' json_is '.data.period == 7 and .data.kind == "faults"'

# ---- huge pages, and files -----------------------------------------------------------------------

trace_huge()
{
	trace_of 'huge 4' --period=1
}
unless_lost trace_huge
if [ "$answer" = 4 ]; then
	check 'huge pages: one page fault touches all of it' sums_are touches_huge minor_faults 4 \
		touched_bytes $((4 * huge)) resident_bytes $((4 * huge)) huge_bytes $((4 * huge))
	check 'huge pages: the kernel counted as many page faults' has_all_faults
else
	skip 'huge pages' "the kernel gave $answer of 4"
fi

head -c 4194304 /dev/urandom >"$dir/file"
check 'a file: a trace' unless_lost trace_of "read $dir/file" --period=1
check 'a file: the kernel counted as many page faults' has_all_faults
check 'a file: it is named' json_is "$in_json"'
	sum("reads_file"; "minor_faults") + sum("reads_file"; "major_faults") >= 4194304 / 65536 and
	sum("reads_file"; "minor_faults") + sum("reads_file"; "major_faults") <= 4194304 / '"$page"
if [ "$major" -gt 0 ]; then
	check 'a file: it was read from disk' sums_are reads_file major_faults "$major"
else
	skip 'a file: it was read from disk' 'it was in memory'
fi
check 'a file: a trace with the default period' unless_lost trace_of "read $dir/file"
if [ "$major" -gt 0 ]; then
	check 'a file: each major page fault is counted' json_is ".data.totals.major_faults == $major"
else
	skip 'a file: each major page fault is counted' 'it was in memory'
fi
check 'the program lives on' end_tracee

# ---- text, and children --------------------------------------------------------------------------

start_tracee map-ways
trace_in_text()
{
	begin_trace --rss --period=1 && ask 'touch 7 500' >/dev/null || return
	kill -TERM "$trace_pid"
	wait "$trace_pid"
	trace_status=$?
}
text()
{
	unless_lost trace_in_text && has_status 0 &&
		sed -n 's/^\([0-9]*\) touched in \([0-9]*\) page faults, \([0-9]*\) resident.*/\1 \2 \3/p' "$dir/out" >"$dir/rows" &&
		[ "$(awk -v page="$page" '$1 == $2 * page && $3 <= $1 { nr += $2 } END { print (nr >= 500) }' "$dir/rows")" -eq 1 ] &&
		! grep ' THREAD ' "$dir/out"
}
check 'text' text

# Memory that was mapped before the trace is no call in it.
mapped_before()
{
	begin_trace && ask touch >/dev/null || return
	kill -TERM "$trace_pid"
	wait "$trace_pid"
	trace_status=$?
}
says_rss()
{
	unless_lost mapped_before && has_status 0 && grep -q "memdiag trace --rss -p $tracee_pid shows which code" "$dir/out"
}
if command -v python3 >/dev/null; then
	map_ways_pid=$tracee_pid
	start_command python3 -c 'import mmap, sys
m = mmap.mmap(-1, 64 << 20)
print("ready", flush=True)
for line in sys.stdin:
	for i in range(0, len(m), 4096):
		m[i] = 1
	print("done", flush=True)
print("alive", flush=True)'
	check 'without --rss: which command shows the growth' says_rss
	check 'without --rss: the program lives on' end_tracee
	tracee_pid=$map_ways_pid
else
	skip 'without --rss: which command shows the growth' 'no python3 here'
fi

# Copy on write of a child is in no stack of the parent.
child_is_left_out()
{
	unless_lost trace_of fork --period=1 && has_all_faults && json_is '.data.programs | length == 1'
}
check 'a child is left out' child_is_left_out
child_is_followed()
{
	unless_lost trace_of fork --period=1 --follow-children && has_status 0 &&
		json_is '[.data.programs[] | .pid] | unique | length == 2' &&
		json_is '.data as $data | [$data.stacks[] | select(.pid != $data.programs[0].pid) | .minor_faults] | add > 0'
}
check '--follow-children: two programs' child_is_followed
ask reap >/dev/null
check 'the program lives on after that' end_tracee
finish

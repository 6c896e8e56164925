#!/bin/sh
# check: exit statuses, the one line, and performance data of a monitoring plugin, read by a parser of its own; values against
# status, maps and heap; and every way to know nothing.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/cgroup-lib.sh"
need jq python3 setpriv strace

# plugin STATUS WORDS COMMAND...: whether COMMAND exits with STATUS, its line matches WORDS, and its data agree with STATUS.
# Leaves them as JSON in $dir/out.
plugin()
{
	local status="$1" words="$2" got
	shift 2
	"$@" >"$dir/line" 2>"$dir/err"
	got=$?
	cat "$dir/line" "$dir/err"
	[ "$got" -eq "$status" ] || {
		echo "exit status $got, not $status"
		return 1
	}
	grep -q -e "$words" "$dir/line" && python3 "$top_srcdir/tests/live/check-plugin.py" "$status" <"$dir/line" >"$dir/out"
}

# checked STATUS WORDS ARGUMENTS...: plugin, of memdiag check, which may stop the process for long on a busy machine.
checked()
{
	local status="$1" words="$2"
	shift 2
	plugin "$status" "$words" "$MEMDIAG" check --max-stop=300s --timeout=600s "$@"
}

# is METRIC FILTER: whether the data of METRIC are so.
is()
{
	json_is ".metrics[\"$1\"] | $2"
}

# ---- statuses and ranges -------------------------------------------------------------------------

start_tracee tops 3
pid=$tracee_pid
rss=$(awk '/^VmRSS/ { print $2 * 1024 }' "/proc/$pid/status")
check 'OK' checked 0 "^MEMDIAG OK - tops $pid: rss .* MiB |" -p "$pid" -w 'rss>1T' -c 'rss>2T'
check 'OK: RSS is that of status, and the limits are ranges' is rss \
	". == {value: $rss, unit: \"B\", warn: \"$((1 << 40))\", crit: \"$((1 << 41))\", min: \"0\", max: \"\"}"
check 'WARNING' checked 1 "^MEMDIAG WARNING - tops $pid: rss .* MiB > 1.0 MiB |" -p "$pid" -w 'rss>1M' -c 'rss>2T'
check 'CRITICAL' checked 2 "^MEMDIAG CRITICAL - tops $pid: rss .* MiB > 2.0 MiB |" -p "$pid" -w 'rss>1M' -c 'rss>2M'
check 'CRITICAL without -w' checked 2 'CRITICAL' "$pid" -c 'virt>0'
check 'UNKNOWN' checked 3 "^MEMDIAG UNKNOWN - there is no process 4194304\$" -p 4194304 -w 'rss>1M'
check 'one condition of several is enough' checked 1 ': swap 0 B <= 0 B' -p "$pid" -w 'rss>1T' -w 'swap<=0' -w 'virt>1T'
check 'all that hold are named' checked 1 ': rss .* > 1.0 MiB, virt .* > 1.0 MiB |' -p "$pid" -w 'rss>1M' -w 'virt>1M' -c 'rss>1T'
check 'a number of bytes' checked 1 ": rss $rss > 1048576 |" -b -p "$pid" -w 'rss>1M'
check '>= at the value' checked 1 WARNING -p "$pid" -w "rss>=$rss"
check '>= at the value: its range' is rss ".warn == \"$((rss - 1))\""
check '> at the value' checked 0 OK -p "$pid" -w "rss>$rss"
check '<= at the value' checked 1 WARNING -p "$pid" -w "rss<=$rss"
check '<= at the value: its range' is rss ".warn == \"$((rss + 1)):\""
check '< at the value' checked 0 OK -p "$pid" -w "rss<$rss"
check 'from both sides' checked 0 OK -p "$pid" -w 'rss<1M' -w 'rss>1T'
check 'from both sides: one range' is rss ".warn == \"$((1 << 20)):$((1 << 40))\""
check 'threads' checked 2 "threads 4 >= 4 |" -p "$pid" -w 'threads>1' -c 'threads>=4'
check 'threads have no unit' is threads '.unit == "" and .value == 4 and .warn == "1" and .crit == "3"'
check 'a percentage of RSS' checked 1 '> 12.5%rss (' -p "$pid" -w 'virt>12.5%rss'
check 'a percentage of RSS: its range, and the whole' is virt ".warn == \"$((rss / 8))\" and .max == \"$rss\""
check 'a percentage of RAM' checked 0 OK -p "$pid" -w 'rss>99.999%ram'
ram=$(awk '/^MemTotal/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)
check 'a percentage of RAM: its range, and the whole' is rss ".max == \"$ram\" and .warn == \"$((ram * 99999 / 100000))\""

# ---- the values of maps and heap -----------------------------------------------------------------

memdiag maps "$pid" --json
cp "$dir/out" "$dir/maps"
check 'all classes' checked 0 OK -p "$pid" -w 'stack>1T' -w 'heap>1T' -w 'exe>1T' -w '.so>1T' -w 'file>1T' -w 'shm>1T' -w 'anon>1T' -w 'arenas>1000'
check 'all classes: as maps has them' python3 - "$dir/maps" "$dir/out" <<'PROGRAM'
import json, sys
maps, data = (json.load(open(name)) for name in sys.argv[1:])
rss = {of["name"]: of["rss_bytes"] for of in maps["data"]["groups"]}
metrics = data["metrics"]
wrong = [name for name in ("stack", "heap", "exe", ".so", "file", "shm", "anon") if metrics[name]["value"] != rss.get(name, 0)]
sys.exit(f"{wrong}: {metrics} {rss}" if wrong else 0)
PROGRAM
# same_as_heap: whether the metrics of the tracee's heap are those of heap.
same_as_heap()
{
	memdiag heap "$tracee_pid" --json || return
	jq -c '.data | (.accounting | map({(.kind): .bytes}) | add) as $of | [.totals.pages.trimmable_bytes, $of.free_stranded,
		($of.free_thread_tops // 0) + ($of.free_main_top // 0), .totals.in_use_bytes, (.arenas | length)]' "$dir/out" >"$dir/heap"
	checked 0 OK -p "$tracee_pid" -w 'trimmable>1T' -w 'stranded>1T' -w 'tops>1T' -w 'in-use>1T' -w 'arenas>1000' || return
	cat "$dir/heap"
	json_is "[.metrics | .trimmable, .stranded, .tops, .[\"in-use\"], .arenas | .value] == $(cat "$dir/heap")"
}
check 'the heap: as heap has it' same_as_heap
check 'the heap: tops are in memory' is tops '.value > 1000000'
start_tracee bloat 4
check 'the heap: as heap has it' same_as_heap
check 'the heap: some can be trimmed' is trimmable '.value > 1000000'
check 'the heap: WARNING' checked 1 'trimmable .* > 1.0 MiB' -p "$tracee_pid" -w 'trimmable>1M' -w 'in-use>1T'
check 'the target lives on' end_tracee
tracee_pid=$pid

# stops ARGUMENTS...: whether check stops threads for them.
stops()
{
	strace -f -o "$dir/trace" -e trace=ptrace "$MEMDIAG" check --max-stop=300s --timeout=600s "$@" >"$dir/line" 2>&1
	grep -q 'PTRACE_\(SEIZE\|INTERRUPT\)' "$dir/trace"
}
check 'the heap is read with a stop' stops -p "$pid" -w 'trimmable>1T'
no_stop()
{
	! stops "$@" && grep -q '^MEMDIAG OK' "$dir/line"
}
check 'rss is read without one' no_stop -p "$pid" -w 'rss>1T' -c 'rss>50%ram'
check 'classes and arenas are read without one' no_stop -p "$pid" -w 'heap>1T' -c 'arenas>1000'

# ---- what cannot be compared ---------------------------------------------------------------------

check 'no condition' checked 3 'use -w CONDITION or -c CONDITION' -p "$pid"
check 'an unknown metric: all are listed' checked 3 "condition 'size>1': 'size' is not a metric: there are rss, swap, .*, in-use\$" -p "$pid" -w 'size>1'
check 'an unknown comparison' checked 3 "'=' is not a comparison: there are >, >=, < and <=" -p "$pid" -c 'rss=1'
check 'an invalid size' checked 3 "'lots' is not a size: say 500M, 1.5G or 80%limit" -p "$pid" -w 'rss>1M' -c 'rss>lots'
check 'an invalid percentage' checked 3 "'free' is not limit, rss or ram" -p "$pid" -w 'rss>1%free'
check 'a condition with |, a newline and escapes is one line' checked 3 'is not a metric' -p "$pid" -w "$(printf 'a|b\n\033[31m>1')"
for words in --frobnicate --warning --json '-p 0' '--max-stop=x' '--timeout=0'; do
	# shellcheck disable=SC2086 # a list of words
	check "usage: $words" exits 3 captured "$MEMDIAG" check "$pid" -w 'rss>1' $words
	check "usage: $words: nothing but the reason" sh -c "[ ! -s '$dir/out' ] && [ -s '$dir/err' ]"
done
check 'no process is named' exits_saying 3 'which process' captured "$MEMDIAG" check -w 'rss>1'
check 'a name of no process' checked 3 "there is no process called 'no|such'\|there is no process called 'no/such'" -p 'no|such' -w 'rss>1'
check 'a kernel thread' checked 3 'is a kernel thread' -p 2 -w 'rss>1'
check 'a process that has ended' checked 3 'has ended\|there is no process' -p "$(sh -c 'echo $$')" -w 'rss>1'
check '--timeout' plugin 3 '^MEMDIAG UNKNOWN - gave up, --timeout has passed$' "$MEMDIAG" check "$pid" -w 'rss>1' --timeout=1us
check 'a full disk' plugin 3 'UNKNOWN - cannot write\|UNKNOWN - .*No space left' "$MEMDIAG" check "$pid" -w 'rss>1' -o /dev/full
check '-o FILE' exits 1 captured "$MEMDIAG" check "$pid" -w 'rss>1' -o "$dir/line.of"
check '-o FILE has the line' grep -q '^MEMDIAG WARNING' "$dir/line.of"
cp "$MEMDIAG" "$dir/memdiag"
as_nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
# shellcheck disable=SC2086 # a list of words
{
	check 'without rights RSS is known' plugin 1 WARNING $as_nobody "$dir/memdiag" check "$pid" -w 'rss>1M'
	check 'without rights classes are not' plugin 3 "UNKNOWN - tops $pid: .*CAP_SYS_PTRACE is missing" \
		$as_nobody "$dir/memdiag" check "$pid" -w 'heap>1M'
	check 'without rights classes have no value' is heap '. == null'
	check 'without rights the heap is not' plugin 3 "UNKNOWN - tops $pid: .*CAP_SYS_PTRACE is missing" \
		$as_nobody "$dir/memdiag" check "$pid" -w 'trimmable>1M'
}
check 'the target lives on' end_tracee

# ---- several processes ---------------------------------------------------------------------------

name=md-$$-check
cp "$TRACEES/idle" "$dir/$name"
start_command "$dir/$name" 1
one=$tracee_pid
start_command "$dir/$name" 3 20000000
two=$tracee_pid
check 'all of a name: OK' checked 0 'OK - 2 processes: rss ' -p "$name" --all -w 'rss>1T'
check 'all of a name: their number' is processes '.value == 2'
check 'all of a name: the largest RSS' is rss ".value == $(awk '/^VmRSS/ { print $2 * 1024 }' "/proc/$two/status")"
between=$(awk '/^VmRSS/ { sum += $2 * 1024 / 2 } END { printf "%.0f", sum }' "/proc/$one/status" "/proc/$two/status")
check 'all of a name: the worst is named' checked 2 "CRITICAL - $name $two: rss .* > .*; 1 of 2 processes" \
	-p "$name" --all -w 'rss>1M' -c "rss>$between"
check 'the worst of two that are as bad' checked 1 "WARNING - $name $two: threads .*; 2 of 2 processes" -p "$one,$two" -w 'threads>0'
check 'the smallest for <' checked 1 "WARNING - $name $one: threads 2 < 3; 1 of 2" -p "$two,$one" -w 'threads<3'
check 'the smallest for <: its value' is threads '.value == 2 and .warn == "3:"'
check 'one of two has ended' checked 0 "OK - $name $one: rss" -p "$one,4194304" -w 'rss>1T'
check 'both have ended' checked 3 UNKNOWN -p 4194303,4194304 -w 'rss>1T'
check 'a thread and its process are one' checked 0 "OK - $name $two: rss" "$two" "$(ls "/proc/$two/task" | tail -n 1)" -w 'rss>1T'
check 'one of two is a kernel thread' checked 3 'UNKNOWN - process 2: .*kernel thread' -p "$one,2" -w 'rss>1T'
check 'a warning is worse than what is unknown' checked 1 "WARNING - $name $one" -p "$one,2" -w 'rss>1'
check 'a name of several without --all' checked 3 'choose one by its PID, or all of them by --all' -p "$name" -w 'rss>1T'
check 'the targets live on' end_tracee "$one"
check 'the targets live on' end_tracee "$two"

# ---- hostile names, another allocator, a limit ---------------------------------------------------

cat >"$dir/hostile.py" <<'PROGRAM'
import ctypes, sys

ctypes.CDLL(None).prctl(15, b"a'|b=1;\n\x1b[c\"\xff", 0, 0, 0)
print("ready", flush=True)
sys.stdin.read()
print("alive", flush=True)
PROGRAM
start_command python3 "$dir/hostile.py"
check 'a hostile name' checked 1 "^MEMDIAG WARNING - a'/b=1;\\\\012\\\\033\\[c\"\\\\377 $tracee_pid: rss" -p "$tracee_pid" -w 'rss>1'
check 'a hostile name: OK' checked 0 'OK' -p "$tracee_pid" -w 'rss>1T'
check 'the target lives on' end_tracee

library=$(find /usr/lib -name 'libjemalloc.so.2' 2>/dev/null | head -n 1)
if [ -n "$library" ]; then
	start_command env LD_PRELOAD="$library" "$TRACEES/idle"
	for metric in trimmable in-use heap arenas; do
		check "jemalloc: $metric" checked 3 "UNKNOWN - idle $tracee_pid: .*malloc is not glibc's\|UNKNOWN - idle $tracee_pid: .*[Ii]ts malloc is" \
			-p "$tracee_pid" -w "$metric>1"
	done
	check 'jemalloc: anon' checked 1 WARNING -p "$tracee_pid" -w 'anon>1'
	check 'the target lives on' end_tracee
else
	skip 'another allocator' 'jemalloc is not installed'
fi

if new_group memory; then
	start_in "$group" "$TRACEES/idle" 1 8000000
	limit_room 65536
	# A limit is in whole pages.
	limit=$(cat "$group/memory.max" 2>/dev/null || cat "$group/memory.limit_in_bytes")
	check 'a cgroup limit: OK' checked 0 OK -p "$tracee_pid" -w 'rss>80%limit'
	check 'a cgroup limit: its range, and the whole' is rss ".warn == \"$((limit * 80 / 100))\" and .max == \"$limit\""
	check 'a cgroup limit: CRITICAL' checked 2 '> 1%limit (' -p "$tracee_pid" -w 'rss>0.1%limit' -c 'rss>1%limit'
	check 'the target lives on' end_tracee
	leave_groups
else
	skip 'a cgroup limit' 'no memory cgroup may be made here'
fi
start_tracee idle
"$MEMDIAG" check "$tracee_pid" -w 'rss>80%limit' >"$dir/line" 2>&1
if [ $? -eq 3 ]; then
	check 'no cgroup limit' checked 3 'limit is unknown: no cgroup limits its memory; use %ram or a size' -p "$tracee_pid" -w 'rss>80%limit'
	check 'no cgroup limit: RSS is known, a range is not' is rss '.value > 0 and .warn == ""'
	check 'no cgroup limit: another condition holds' checked 2 'CRITICAL' -p "$tracee_pid" -w 'rss>80%limit' -c 'rss>1'
else
	skip 'no cgroup limit' 'memdiag itself runs below one'
fi
check 'the target lives on' end_tracee
finish

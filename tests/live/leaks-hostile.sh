#!/bin/sh
# leaks on programs that are there to make it fail: long lists and rings, tables of millions of addresses, many arenas
# and threads, damaged heaps, memory that changes while it is read, limits on memory.  It ends with an answer or says why
# not, and every program lives on.
# shellcheck disable=SC3043,SC3045 # every sh we know has local and ulimit
# shellcheck disable=SC2034 # lib.sh reads it
deadline=3600
. "$top_srcdir/tests/live/lib.sh"
need jq python3
seed=${MEMDIAG_TEST_SEED:-1}

# can_take MIB: whether so much memory is available.
can_take()
{
	awk -v mib="$1" '/^MemAvailable/ { exit !($2 > mib * 1024) }' /proc/meminfo
}

# leaks STATUS OPTIONS...: of the tracee.
leaks()
{
	local status="$1"
	shift
	exits "$status" memdiag leaks --pid "$tracee_pid" --max-stop 300s --lines 0 --json "$@"
}

# ---- graphs ----

# graph WORDS FILTER STATUS SHAPE BLOCKS [LOST]
graph()
{
	local words="$1" filter="$2" status="$3"
	shift 3
	start_tracee graphs "$@"
	remember
	check "$words: leaks" leaks "$status"
	check "$words: what is unreachable" json_is "$filter"
	check "$words: the program is as before" unharmed
	check "$words: it lives on" end_tracee
}

nothing='.data.unreachable.blocks == 0'
one='.data.heads == 1 and (.data.groups | length == 1)'
few=100000
! can_take 6000 || few=10000000
graph "a list of $few blocks" "$nothing" 0 list $few
graph "a lost list of $few blocks" "$one and .data.groups[0].shape == \"list\" and .data.unreachable.blocks == $few" 1 \
	lost-list $few
graph "a lost ring of $few blocks" "$one and .data.groups[0].shape == \"ring\" and .data.unreachable.blocks == $few" 1 \
	lost-ring $few
graph 'a lost tree' "$one and .data.unreachable.blocks == 100000" 1 lost-tree 100000
graph 'a lost cache' '.data.unreachable.blocks == 100001 and .data.heads == 1' 1 lost-cache 100000
graph 'a lost table' '.data.heads == 1 and .data.groups[0].shape == "tree" and .data.unreachable.blocks == 100001' 1 \
	lost-table 1000000
graph '8000 sizes' '.data.heads == 8000 and (.data.groups | length) == 8000' 1 sizes 8000
graph 'blocks with 200 addresses each' "$nothing" 0 large 100000
if can_take 4000; then
	graph 'a table of 100 million addresses' "$nothing" 0 table 100000000
else
	skip 'a table of 100 million addresses' 'less than 4 GB are available'
fi

# ---- arenas and threads ----

GLIBC_TUNABLES=glibc.malloc.arena_max=500 start_tracee chunks 1000 136 2 0 400
check '400 arenas' leaks '0 1'
check 'all were read' json_is '.data.in_use.blocks > 200000 and .data.roots.threads >= 400'
check '400 arenas: the program lives on' end_tracee
start_tracee manythreads 3000
check '3000 threads' leaks 0
check 'the registers of each were read' json_is '.data.roots.threads == 3001'
check '3000 threads: the program lives on' end_tracee
start_tracee zombie-leader
check 'the main thread has ended' leaks 0
check 'the main thread has ended: the program lives on' end_tracee

# ---- damage ----

for damage in chunk cut loop twice cache top; do
	start_tracee corrupt $damage
	remember
	check "$damage: approximate" leaks 2
	check "$damage: and why" json_is '.partial and .data.certainty == "approximate" and .data.why != null'
	check "$damage: the program is as before" unharmed
	check "$damage: it lives on" end_tracee
done
for damage in owner cycle size; do
	start_tracee corrupt $damage
	check "$damage: its arenas are not found" leaks 5
	check "$damage: the program lives on" end_tracee
done
start_tracee corrupt ring
check 'ring: approximate' leaks 2
check 'ring: the program lives on' end_tracee
start_tracee liar huge
check 'a program whose malloc_info lies' leaks 0
check 'the liar lives on' end_tracee

# reads_damaged: a core file with other damage each time, in 60 s and in 1 GiB.
reads_damaged()
{
	local status
	seed=$((seed + 1))
	python3 "$top_srcdir/tests/live/damage-core.py" "$dir/core.$cored" "$dir/damaged" $seed
	timeout -s ABRT 60 "$MEMDIAG" leaks --core "$dir/damaged" --max-memory 1G --lines 0 --json >"$dir/out" 2>"$dir/err"
	status=$?
	case $status in
	0 | 1 | 2 | 5) return ;;
	esac
	echo "seed $seed: exit status $status"
	cat "$dir/err"
	return 1
}
if command -v gcore >/dev/null; then
	for program in 'random-graph 1' 'chunks 1000 136 2 0 3'; do
		# shellcheck disable=SC2086 # a name and arguments
		start_tracee $program
		cored=$tracee_pid
		check "$program: gcore" sh -c "gcore -o '$dir/core' $cored >'$dir/gcore' 2>&1"
		check "$program: core files that are damaged" each_of 300 reads_damaged
		rm -f "$dir/core.$cored" "$dir/damaged"
		check "$program: it lives on" end_tracee
	done
else
	skip 'core files that are damaged' 'gcore is not installed'
fi

# ---- memory that changes ----

# changing: an answer, or the process has ended, or it could not be read in one stop.
changing()
{
	leaks '0 1 2 3 5 6' || return
	case $(cat "$dir/err") in
	*'cannot list'* | *'cannot keep'* | *assert*) return 1 ;;
	esac
}
for program in 'churn 3' 'race 2 threads' 'race 2 execs 1000' shrink 'busy-main 2' 'pieces 1' 'split-heap hidden' 'split-heap foreign'; do
	# shellcheck disable=SC2086 # a name and arguments
	start_tracee $program
	check "$program" each_of 50 changing
	check "$program: it lives on" end_tracee
done

# dies: the program is killed while it is read.
dies()
{
	local reader status
	start_tracee graphs hash 300000
	"$MEMDIAG" leaks --pid "$tracee_pid" --max-stop 300s >"$dir/out" 2>"$dir/err" &
	reader=$!
	seed=$((seed + 1))
	sleep "0.0$(printf %02d $((seed * 7 % 60)))"
	kill -KILL "$tracee_pid"
	wait $reader
	status=$?
	case $status in
	0 | 2 | 3) return ;;
	esac
	echo "exit status $status"
	cat "$dir/err" "$dir/out"
	return 1
}
check 'programs that are killed meanwhile' each_of 30 dies

# ---- limits ----

start_tracee graphs hash 3000000 1000
remember
refused='cannot\|takes up to\|memory'
check 'little memory for memdiag: refused, or it fails and says so' exits_saying '1 7' "$refused" memdiag leaks \
	--pid "$tracee_pid" --max-stop 300s --max-memory 32M
check 'nothing is printed then' test ! -s "$dir/out"
for kib in 60000 80000 100000 150000; do
	check "ulimit -v $kib for memdiag: an answer, or it says why not" exits '1' sh -c "ulimit -v $kib
		'$MEMDIAG' leaks --pid $tracee_pid --max-stop 300s >'$dir/out' 2>'$dir/err'"
	check 'one of both' sh -c "[ -s '$dir/err' ] || grep -q '^Unreachable' '$dir/out'"
done
check 'the program is as before' unharmed
check 'all lost blocks are found' leaks 1
check 'as many as it has' json_is '.data.unreachable.blocks == 1000'
check 'it lives on' end_tracee
start_command sh -c "ulimit -v 300000; exec '$TRACEES/graphs' hash 1000000 6"
check 'a program under ulimit -v' leaks 1
check 'and its lost blocks' json_is '.data.unreachable.blocks == 6'
check 'the limited program lives on' end_tracee
finish

#!/bin/sh
# leaks, with and without --fork, gets SIGKILL at 3,200 random moments while it looks at programs that check themselves
# after each wait (tests/tracees/notices): no program has a fault, and nothing is left in one.
# shellcheck disable=SC3043 # every sh we know has local
# shellcheck disable=SC2034 # lib.sh reads it
deadline=7200
. "$top_srcdir/tests/live/lib.sh"
[ -x "$TRACEES/notices" ] || skip_all 'there is no tests/tracees/notices for this architecture'
seed=${MEMDIAG_TEST_SEED:-1}

# random N: sets $random to 0..N-1 (Park and Miller's generator).
random()
{
	seed=$((seed % 2147483647 * 48271 % 2147483647))
	random=$((seed % $1))
}

# millis: sets $now_ms.
millis()
{
	now_ms=$(($(date +%s%N) / 1000000))
}

# is_free: whether no thread of it is traced or stopped.
is_free()
{
	is_untraced && ! grep -h '^State:.[tT]' "/proc/$tracee_pid/task/"*/status
}

# mapped: the mappings of the program.  Its heaps and stacks may grow by themselves: the program compares the bytes.
mapped()
{
	awk '{ print $2, $6 }' "/proc/$tracee_pid/maps" | uniq
}

# has_few_new BEFORE NOW: as diff(1), but two stacks with their guards may be new, and a mapping of a memdiag that was killed.
has_few_new()
{
	diff "$1" "$2" | awk '/^[<>]/ { print } /^</ || /^> [^-r]/ { bad = 1 } /^>/ { nr++ } END { exit bad || nr > 5 }'
}

# children: the processes of the program, also zombies.
children()
{
	grep -l "^PPid:[[:space:]]*$tracee_pid\$" /proc/[0-9]*/status 2>"$dir/ignored"
	return 0
}

is_alone()
{
	children | diff "$dir/children" -
}

# has_no_fault: whether the program itself has found none but that of doc/safety.md, which only a killed memdiag causes:
# EINTR of a call that it would have made again, which nr_interrupted counts.  Where leaks runs in the program, the
# mapping of one that was killed may stay, and stacks of threads do.
has_no_fault()
{
	local said
	said=$(ask check)
	echo "$said"
	nr_interrupted=$(echo "${said#*' faults '}" | awk -v stays="$how" '{
		for (i = 2; i < NF; i += 2)
			known += $i == "EINTR" || (stays && $i == "mappings") ? $(i + 1) : 0
		print $1
		exit $1 != known
	}') && return
	tail -n 5 "$dir/$tracee_pid.err"
	return 1
}

# interrupts_nothing: whether a whole run adds no fault at all.
interrupts_nothing()
{
	local before
	has_no_fault || return
	before=$nr_interrupted
	exits "$statuses" memdiag leaks $how --pid "$tracee_pid" --max-stop 300s && has_no_fault && [ $nr_interrupted -eq "$before" ]
}

# time_run: sets longest_ms to how long a whole run takes, the shortest of five, and a little more.
time_run()
{
	local from
	longest_ms=10000
	for _ in 1 2 3 4 5; do
		millis
		from=$now_ms
		exits "$statuses" memdiag leaks $how --pid "$tracee_pid" --max-stop 300s || return
		millis
		[ $((now_ms - from)) -ge $longest_ms ] || longest_ms=$((now_ms - from + 2))
	done
}

# killed: run it, and kill it within the time that a whole run takes.
killed()
{
	local victim
	random "$longest_ms"
	"$MEMDIAG" leaks $how --pid "$tracee_pid" --max-stop 300s >"$dir/out" 2>"$dir/err" &
	victim=$!
	sleep "$(printf '%d.%03d' $((random / 1000)) $((random % 1000)))"
	! kill -KILL $victim 2>"$dir/kill" || nr_killed=$((nr_killed + 1))
	wait $victim
	eventually is_free && eventually is_alone || return
	nr_runs=$((nr_runs + 1))
	[ $((nr_runs % 20)) -ne 0 ] || has_no_fault
}

# storm HOW WORDS ARGUMENTS...: 400 kills of leaks with option HOW ('': none) on such a program.
storm()
{
	local how="$1" words="$2${1:+, $1}" nr_killed=0 nr_runs=0
	# Shared memory is not in a copy, which makes the result approximate; and libc keeps the stack of a helper.
	local statuses="0 1${1:+ 2}" same=${1:+has_few_new}
	shift 2
	start_tracee notices "$@"
	mapped >"$dir/mapped"
	children >"$dir/children"
	check "$words: leaks" time_run
	check "$words: killed at random moments" each_of "${MEMDIAG_TEST_KILLS:-400}" killed
	check "$words: no fault" has_no_fault
	echo "# $words: killed $nr_killed times of $nr_runs, within $longest_ms ms; $nr_interrupted calls were interrupted"
	check "$words: a third of the runs had not ended" test $((nr_killed * 3)) -gt $nr_runs
	mapped >"$dir/mapped.now"
	check "$words: the same mappings" "${same:-diff}" "$dir/mapped" "$dir/mapped.now"
	check "$words: no copy of it is left" is_alone
	check "$words: the next ones answer, and nothing notices them" each_of 20 interrupts_nothing
	check "$words: the program lives on" end_tracee
}

storm '' 'select()' "$seed" kinds=select
storm '' 'epoll' $((seed + 1)) kinds=epoll
storm '' '4 threads with coroutines' $((seed + 2)) threads=4 coroutines=2
storm '' '12 threads that get signals' $((seed + 3)) threads=12 storm=1
storm '' '44 arenas with a large top' $((seed + 4)) arenas=44,1
storm --fork '4 threads with coroutines' $((seed + 5)) threads=4 coroutines=2
storm --fork '12 threads that get signals' $((seed + 6)) threads=12 storm=1
storm --fork '44 arenas with a large top' $((seed + 7)) arenas=44,1
finish

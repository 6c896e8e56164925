#!/bin/sh
# Files of a profile that are written while the program runs: each so many bytes, when more is in use than ever or
# than a limit, and the stacks of large calls; of a program that memdiag runs, of one that runs already, and of one
# that has the agent alone.  What is in use at the end, and the exit status for it.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
takes=$TRACEES/takes

# words OPTIONS...: the same for the agent alone.
words()
{
	echo "$*" | sed 's/--interval /profile-interval=/; s/--\([a-z]*\) \([0-9]\)/\1=\2/g; s/--//g; s/ /;/g'
}

# begins WORDS...: the tracee under a profile with the triggers WORDS, in the way $way; its files are in $dir/run.
begins()
{
	rm -rf "$dir/run"
	mkdir "$dir/run"
	case $way in
	env)
		start_command env MEMDIAG_AGENT="profile;rate=1;profile-prefix=$dir/run/p;$(words "$@")" \
			LD_PRELOAD="$top_builddir/libmemdiag-agent.so" "$takes"
		talks=$dir/$nr_started.err
		;;
	run)
		start_command "$MEMDIAG" run --profile=1 -o "$dir/run/p" "$@" -- "$takes"
		talks=$dir/$nr_started.err
		;;
	live)
		start_command "$takes" && talks=$dir/talks || return
		env --default-signal "$MEMDIAG" profile --wait=300s --timeout=600s --pid "$tracee_pid" --at-exit --rate 1 -o "$dir/run/p" "$@" \
			>"$dir/written" 2>"$talks" &
		memdiag_pid=$!
		until exits 0 memdiag profile status --pid "$tracee_pid" --json && json_is .data.is_profiling; do
			lives "$memdiag_pid" || return
			sleep 0.05
		done
		;;
	esac
}

# ends: the program ends, and so does what watches it.
ends()
{
	end_tracee || return
	[ "$way" != live ] || { wait "$memdiag_pid"; [ $? = 2 ]; }
}

# file KIND [N]: the file of that kind with that number.
file()
{
	ls "$dir"/run/p.*."$1${2:-0}".*.heap 2>/dev/null
}

is_there()
{
	[ -n "$(file "$@")" ]
}

# comes KIND [N]: wait for it.
comes()
{
	soon is_there "$@"
}

# talks_of PATTERN: wait for a line of what is said that matches it.
talks_of()
{
	soon grep -q -e "$1" "$talks"
}

# nr KIND: how many files of that kind there are.
nr()
{
	find "$dir/run" -name "p.*.$1[0-9]*.*.heap" | wc -l
}

# bytes FILE VALUE: what taker() has there.
bytes()
{
	"$MEMDIAG" report --format=json --value="$2" --lines=0 "$1" |
		jq '[.data.rows[] | select(.name == "taker") | .flat] | add // 0'
}

# frame FUNCTION: a pattern of the line that says it.
frame()
{
	if [ "$way" = env ]; then
		echo '^    .*/takes+0x'
	else
		echo "^    $1\$"
	fi
}

# functions_are NAMES: of the tracee's first two lines of a stack.
functions_are()
{
	sed -n "s|^    $takes+||p" "$talks" | head -2 | addr2line -f -e "$takes" | grep -v ':' | tr '\n' ' ' >"$dir/names"
	cat "$dir/names"
	[ "$(cat "$dir/names")" = "$1 " ]
}

does()
{
	obeys "$*"
}

for way in env run live; do
	[ "$way" != live ] || has_hooks || continue

	check "$way: an interval begins" begins --interval 1M
	check "$way: an interval: less than that" does take 1000000
	check "$way: an interval: more" does take 100000
	check "$way: an interval: a file comes" comes i 0
	check "$way: an interval: it has what was allocated" test "$(bytes "$(file i 0)" allocated)" = 1100000
	check "$way: an interval: what is freed does not count" does drop
	check "$way: an interval: again less" does take 900000
	check "$way: an interval: again more" does take 200000
	check "$way: an interval: another comes" comes i 1
	check "$way: an interval: it has all so far" test "$(bytes "$(file i 1)" allocated)" = 2200000
	check "$way: an interval: the program goes on" ends
	check "$way: an interval: there are no others" test "$(nr i) $(nr u) $(nr a)" = '2 0 0'
	check "$way: an interval: but the last" test "$(bytes "$(file f 0)" allocated)" = 2200000
	check "$way: an interval: they are numbered" sh -c \
		"ls '$dir'/run/p.*.0.i0.*.heap '$dir'/run/p.*.1.i1.*.heap '$dir'/run/p.*.2.f0.*.heap"
	[ "$way" = env ] || check "$way: an interval: it was said" test "$(grep -c '^memdiag: memory profile written: .* allocated so far' "$talks")" = 2

	check "$way: high water begins" begins --high-water
	check "$way: high water: less than the least" does take 1000000
	check "$way: high water: more" does take 100000
	check "$way: high water: a file comes" comes u 0
	check "$way: high water: it has that" test "$(bytes "$(file u 0)" peak)" = 1100000
	check "$way: high water: freed" does drop
	check "$way: high water: as much as before, and 1M" does take 2100000
	check "$way: high water: freed again" does drop
	check "$way: high water: more than that" does take 2200000
	check "$way: high water: another comes" comes u 1
	check "$way: high water: it has what was at the peak" test "$(bytes "$(file u 1)" peak)" = 2200000
	check "$way: high water: the program goes on" ends
	check "$way: high water: there are no others" test "$(nr i) $(nr u) $(nr a)" = '0 2 0'

	check "$way: above begins" begins --above 1M
	check "$way: above: less" does take 1000000
	check "$way: above: more" does take 100000
	check "$way: above: a file comes" comes a 0
	check "$way: above: it has what is in use" test "$(bytes "$(file a 0)" in-use)" = 1100000
	check "$way: above: it stays there" does take 100000
	check "$way: above: freed" does drop
	check "$way: above: so that it is noted" does take 1000
	check "$way: above: above again" does take 1100000
	check "$way: above: another comes" comes a 1
	check "$way: above: the program goes on" ends
	check "$way: above: there are no others" test "$(nr i) $(nr u) $(nr a)" = '0 0 2'

	check "$way: all at once begin" begins --above 1M --high-water --interval 1M --threshold 1M
	check "$way: all at once: one call is for all" does take 1100000
	check "$way: all at once: one file" comes i 0
	check "$way: all at once: another" comes u 0
	check "$way: all at once: a third" comes a 0
	check "$way: all at once: they have the same" test "$(bytes "$(file i 0)" in-use) $(bytes "$(file u 0)" in-use)" = '1100000 1100000'
	check "$way: all at once: the stack is printed" talks_of "$(frame taker)"
	check "$way: all at once: the program goes on" ends

	check "$way: a threshold begins" begins --threshold 1M
	check "$way: a threshold: just less" does large 1048575
	check "$way: a threshold: just as much" does large 1048576
	check "$way: a threshold: its stack is printed" talks_of "$(frame large_taker)"
	if [ "$way" = env ]; then
		check "$way: a threshold: with its size" grep -q 'memdiag: .*thread .*: a call for 1048576 bytes$' "$talks"
		check "$way: a threshold: addr2line knows the functions" functions_are 'large_taker main'
	else
		check "$way: a threshold: with its size" grep -q 'takes (.*thread .*: a call for 1.0 MiB$' "$talks"
		check "$way: a threshold: and those that called it" grep -q '^    main$' "$talks"
	fi
	check "$way: a threshold: again" does large 2000000
	check "$way: a threshold: the program goes on" ends
	check "$way: a threshold: it is printed once" test "$(grep -c 'a call for' "$talks")" = 1
	check "$way: a threshold: no file but the last" test "$(nr i) $(nr u) $(nr a) $(nr f)" = '0 0 0 1'

	check "$way: a directory that is removed: begins" begins --interval 1M
	rm -rf "$dir/run"
	check "$way: a directory that is removed: the program works" does take 2000000
	check "$way: a directory that is removed: and more" does take 2000000
	mkdir "$dir/run"
	check "$way: a directory that is removed: and goes on" does take 2000000
	end_tracee
	[ "$way" != live ] || wait "$memdiag_pid"
	check "$way: a directory that is removed: at most a line for it" test "$(grep -c 'No such file' "$talks")" -le 1
done

# ---- samples are seldom, large calls are not ----

way=run
rm -rf "$dir/run"
mkdir "$dir/run"
start_command "$MEMDIAG" run --profile=1G --threshold 10K -o "$dir/run/p" -- "$takes"
check 'seldom: many small calls' does take 10000
check 'seldom: and more' each_of 10 does take 9000
check 'seldom: one large call' does large 20000
talks=$dir/$nr_started.err
check 'seldom: it is seen' talks_of 'a call for 19.5 KiB'
check 'seldom: the target lives on' end_tracee
check 'seldom: nothing else was' test "$(grep -c 'a call for' "$dir/$nr_started.err")" = 1

# ---- a forked child has large calls of its own ----

way="env"
check 'fork: a threshold begins' begins --threshold 1M --follow
check 'fork: a large call of the parent' does large 2000000
check 'fork: it is printed' talks_of 'a call for 2000000 bytes'
check 'fork: a large call of a child, which ends' does fork 3000000
check 'fork: it is printed, too' grep -q 'a call for 3000000 bytes$' "$talks"
check 'fork: another one of the parent' does take 4000000
check 'fork: it is printed as well' talks_of 'a call for 4000000 bytes'
check 'fork: the program goes on' ends
check 'fork: each is printed once' test "$(grep -c 'a call for' "$talks")" = 3

# ---- in use at the end ----

# leaks STATUS WORDS...: run with WORDS, with 5000 bytes in use at the end.
leaks()
{
	local status="$1"
	shift
	rm -rf "$dir/run"
	mkdir "$dir/run"
	start_command "$MEMDIAG" run -o "$dir/run/p" "$@" -- "$takes"
	does take 5000 && end_as "$status"
}
# end_as STATUS: as end_tracee, but for the status.
end_as()
{
	kill "$(cat "$dir/$tracee_pid.holder")"
	wait "$tracee_pid"
	[ $? = "$1" ]
}
check 'a leak: its status' leaks 23 --leak-check
check 'a leak: it says what is in use' grep -q 'in use at exit, of which 0 B are allowed' "$dir/$nr_started.err"
check 'a leak: by function' grep -q '^ *4.9 KiB .* taker$' "$dir/$nr_started.err"
check 'a leak: and writes the file' test "$(bytes "$(file f 0)" in-use)" = 5000
check 'less than is allowed: its status' leaks 0 --leak-check=1M
check 'less than is allowed: nothing is said' sh -c "! grep -q 'at exit' '$dir/$nr_started.err'"
check 'more than is allowed' leaks 23 --leak-check=4K
check 'quietly' leaks 23 -q --leak-check
check 'quietly: nothing is said' test ! -s "$dir/$nr_started.err"
check 'the status of a program that fails is its own' exits 3 memdiag run -q --leak-check -o "$dir/run/p" -- sh -c 'exit 3'
check 'or that is killed' exits 137 memdiag run -q --leak-check -o "$dir/run/p" -- sh -c 'kill -9 $$'

# ---- bad input ----

for option in interval above threshold; do
	for size in 0 fast -1; do
		check "run --$option=$size" exits 125 memdiag run --$option=$size -- "$takes"
		check "profile --$option=$size" exits 64 memdiag profile --at-exit --$option=$size --pid 1
	done
done
check 'run --leak-check=fast' exits 125 memdiag run --leak-check=fast -- "$takes"
check 'start with a trigger' exits_saying 64 'while memdiag waits' memdiag profile start --high-water --pid 1
check 'stop with one' exits 64 memdiag profile stop --interval 1M --pid 1
finish

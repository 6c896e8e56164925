#!/bin/sh
# The agent's counter and sampler in processes whose malloc is jemalloc's, tcmalloc's or mimalloc's, preloaded or loaded
# while they run: to the byte and the block what the program has noted, also by C++ and by the malloc's own functions;
# and nothing else changes.
# shellcheck disable=SC3043,SC2154,SC2034 # every sh we know has local; lib.sh sets the rest, or uses it
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
need_hooks
need jq
prefix=$dir/p
lib=$(dirname "$(ldconfig -p | sed -n 's/.*(libc6,x86-64).* //p' | grep '/libc\.so\.6$' | head -n 1)")
seed=0

# plays: the tracee does something else each time.
plays()
{
	seed=$((seed + 1))
	obeys "play $seed ${1:-20000} 1"
}

# has_grown: whether what was counted since counting began is what the program has, by malloc_usable_size().
has_grown()
{
	local usable
	usable=$(ask usable) || return
	status '"\(.grown_bytes) \(.grown_blocks)"' >"$dir/grown" || return
	echo "the program: $usable; counted: $(cat "$dir/grown")"
	[ "$usable" = "$(cat "$dir/grown")" ]
}

# besides: what is counted besides what the program has.
besides()
{
	local usable
	usable=$(ask usable) && status "\"\(.blocks_bytes - ${usable% *}) \(.blocks - ${usable#* })\""
}

# counted_alike: whether what is counted besides stays the same while the tracee plays.
counted_alike()
{
	local before after
	before=$(besides) && plays && after=$(besides) && plays && obeys drop || return
	echo "besides the program's: $before, then $after, then $(besides)"
	[ "$before" = "$after" ] && [ "$before" = "$(besides)" ]
}

begins()
{
	exits 0 patiently memdiag profile start --rate 1 --sampler=agent --pid "$tracee_pid" --json
}

# counts VERB: the counter begins or ends, whether or not a profile goes on.
counts()
{
	exits 0 patiently memdiag count "$1" --pid "$tracee_pid" --json &&
		json_is '(.data.was_so_already | not) and .data.foreign == 0 and .data.slots == 0'
}

# in_use_agrees FILE: what it has in use is what the tracee has, of which nothing was there before.
in_use_agrees()
{
	accounts >"$dir/accounts" && has_column "$1" in-use "$dir/accounts" 4 && has_column "$1" in-use "$dir/accounts" 5 -o
}

no_more()
{
	counts_of "$tracee_pid" >"$dir/size.now"
	paste "$dir/size" "$dir/size.now" | awk '{ print } $2 > $1 { more = 1 } END { exit more }'
}

# Nothing is in use before and after it.
on_and_off()
{
	count start && plays 500 && has_grown && begins && plays 500 && has_grown &&
		profile stop -o "$dir/q" && rm "$dir"/q.* && plays 100 && has_grown && counts stop &&
		obeys drop && begins && plays 500 && profile stop -o "$dir/q" &&
		in_use_agrees "$(written)" && rm "$dir"/q.* && plays 100 && obeys drop && same_bytes
}

# running WHAT COMMAND...: a process that runs already.
running()
{
	local what="$1"
	shift
	start_command "$@"
	check "$what, running: it works" plays
	check "$what, running: its code is noted" same_bytes
	check "$what, running: blocks are freed" obeys drop
	check "$what, running: it begins to count" count start
	check "$what, running: what was in use is not known" \
		json_is '.data.before_bytes == null and .data.doubtful_blocks == null and .data.slots == 0'
	check "$what, running: a second start changes nothing" count_already start
	check "$what, running: counted to the byte" eval 'plays && has_grown'
	check "$what, running: and again" eval 'plays && has_grown'
	check "$what, running: status has no number for what is live" \
		status '.live_bytes == null and .blocks == null and .peak_bytes == null'
	check "$what, running: it stops" count stop
	check "$what, running: a second stop changes nothing" count_already stop
	check "$what, running: every byte is as before" same_bytes
	check "$what, running: the blocks are freed" obeys drop
	start_again "$what"
	counts_of "$tracee_pid" >"$dir/size"
	check "$what, running: both, again and again" each_of 12 on_and_off
	check "$what, running: nothing more is left in it" no_more
	check "$what, running: the target lives on" end_tracee
}

# start_again WHAT: another process, which begins with a profile.
start_again()
{
	check "$1, running: the target with a count lives on" end_tracee
	# shellcheck disable=SC2086 # words
	start_command $command
	check "$1, running: a profile begins" begins
	check "$1, running: a second start changes nothing, too" begins
	check "$1, running: as it says" json_is .data.was_so_already
	check "$1, running: it plays" plays
	check "$1, running: a dump is written" profile dump -o "$prefix"
	check "$1, running: exact" exact "$(written)"
	check "$1, running: the stacks are whole" whole "$(written)"
	check "$1, running: it counts, too" counts start
	check "$1, running: status shows both" status '.is_counting and .sampler.is_sampling'
	check "$1, running: the profile ends" profile stop -o "$prefix"
	check "$1, running: exact at the end" exact "$(written)"
	check "$1, running: the count ends" counts stop
	check "$1, running: all is freed" obeys drop
}

# preloaded WHAT LIBRARIES COMMAND...
preloaded()
{
	local what="$1" libraries="$2"
	shift 2
	start_command env LD_PRELOAD="$libraries" "$MEMDIAG" run -q -- "$@"
	check "$what, preloaded: counted to the byte" counted_alike
	check "$what, preloaded: a profile begins" begins
	check "$what, preloaded: counted alike" counted_alike
	check "$what, preloaded: the profile ends" profile stop -o "$prefix"
	check "$what, preloaded: the target lives on" end_tracee
	for words in '' '-q' '-q --limit=1T'; do
		rm -rf "$dir/run"
		mkdir "$dir/run"
		# shellcheck disable=SC2086 # words
		start_command env LD_PRELOAD="$libraries" "$MEMDIAG" run -o "$dir/run/p" $words --profile=1 -- "$@"
		check "$what, run $words --profile: it plays" plays
		accounts >"$dir/accounts"
		check "$what, run $words --profile: the target lives on" end_tracee
		check "$what, run $words --profile: exact" agrees "$dir"/run/p.*.heap
	done
}

# refused WORDS WHAT COMMAND...: a process that the agent does not get into.
refused()
{
	local words="$1" what="$2"
	shift 2
	start_command "$@"
	remember
	check "$what: count is refused" exits_saying 5 "$words" memdiag count start --pid "$tracee_pid"
	check "$what: profile is refused" exits_saying 5 "$words" \
		memdiag profile start --sampler=agent --pid "$tracee_pid"
	check "$what: it is as before" unharmed
	check "$what: the target lives on" end_tracee
}

for name in jemalloc tcmalloc_minimal; do
	# shellcheck disable=SC2086 # words
	if "${CXX:-c++}" -x c -D_GNU_SOURCE -w -I"$top_srcdir/tests/tracees" -o "$dir/in" "$top_srcdir/tests/tracees/sites.c" \
		-x none -Wl,--whole-archive "$lib/lib$name.a" -Wl,--no-whole-archive -pthread -ldl -lm \
		2>"$dir/made"; then
		refused "has ${name%_minimal} linked into the program" "lib$name.a" "$dir/in" 3
		check "lib$name.a: run is refused" exits_saying 125 "has ${name%_minimal} linked into it" \
			memdiag run "$dir/in" 3
	else
		skip "lib$name.a" "it cannot be linked: $(head -n 1 "$dir/made")"
	fi
done
if [ -e "$lib/libtcmalloc_minimal_debug.so.4" ]; then
	refused 'runs with libtcmalloc_minimal_debug' libtcmalloc_minimal_debug.so.4 \
		env LD_PRELOAD="$lib/libtcmalloc_minimal_debug.so.4" "$TRACEES/sites" 3
	start_command env LD_PRELOAD="$lib/libtcmalloc_minimal_debug.so.4" "$MEMDIAG" run -q -- "$TRACEES/sites" 3
	check 'libtcmalloc_minimal_debug.so.4, preloaded: counted to the byte' counted_alike
	check 'libtcmalloc_minimal_debug.so.4, preloaded: the target lives on' end_tracee
else
	skip libtcmalloc_minimal_debug.so.4 'it is not installed'
fi

# preloaded_own WHAT LIBRARY: where functions are called that the preloaded agent does not hook, that is said.
preloaded_own()
{
	start_command env LD_PRELOAD="$2" "$MEMDIAG" run -q --account=requested -- "$TRACEES/sites" 3 own
	check "$1, own, preloaded: status" status .account
	check "$1, own, preloaded: says that calls are not counted" json_is .data.has_uncounted_calls
	check "$1, own, preloaded: blocks have no tails" json_is '.data.account == "usable"'
	check "$1, own, preloaded: the tracee works" plays
	check "$1, own, preloaded: record is refused" exits_saying 5 "record is for glibc's malloc" \
		memdiag record start --pid "$tracee_pid"
	check "$1, own, preloaded: the target lives on" end_tracee
}

for name in libjemalloc.so.2 libtcmalloc.so.4 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	if [ ! -e "$lib/$name" ]; then
		skip "$name" 'it is not installed'
		continue
	fi
	kinds='usual c++ own'
	[ $name != libtcmalloc_minimal.so.4 ] || kinds=usual
	for kind in $kinds; do
		libraries=$lib/$name
		# That malloc does not have all of the operators.
		[ "$kind" != c++ ] || libraries="$libraries $lib/libstdc++.so.6"
		command="env LD_PRELOAD=$(echo "$libraries" | tr ' ' ':') $TRACEES/sites 3 $kind"
		# shellcheck disable=SC2086 # words
		running "$name, $kind" $command
		[ "$kind" = own ] || preloaded "$name, $kind" "$libraries" "$TRACEES/sites" 3 "$kind"
	done
	preloaded_own "$name" "$lib/$name"
	command="env LD_PRELOAD=$lib/$name $TRACEES/sites 1"
	# shellcheck disable=SC2086 # words
	running "$name, one thread" $command
done
finish

#!/bin/sh
# Counting in programs that are linked statically, at a fixed address and at any: memdiag puts the agent
# there itself.  Exact to the byte, whatever stacks threads have; stopped, every byte of code is as it was.
# Programs in which it cannot count are not changed.  With the glibc that the compiler has alone.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/count-lib.sh"
need jq
case $(uname -m) in
x86_64) ;;
*) skip_all 'memdiag counts in static programs on x86-64 only' ;;
esac

# busy_are_reported: of those who are at work status tells the number, though others had their stacks before.
busy_are_reported()
{
	local tid
	status '.threads[] | select(.tid) | .tid' >"$dir/told" || return
	for tid in "/proc/$tracee_pid/task/"*; do
		tid=${tid##*/}
		[ "$tid" = "$tracee_pid" ] || grep -qx "$tid" "$dir/told" || {
			echo "$tid is not among:"
			cat "$dir/told"
			return 1
		}
	done
}

# refused_calls COMMAND: what calls functions of libc says that it cannot.
refused_calls()
{
	exits 5 memdiag "$1" --pid "$tracee_pid" && grep -q 'is linked statically' "$dir/err"
}

is_what_there_is()
{
	local counted
	counted=$(status '.live_bytes - .mapped_bytes') && count stop && starts_surely || return
	echo "counted: $counted, there are $(json .data.before_bytes)"
	json_is ".data.before_bytes == $counted"
}

# share_no_places: threads at work have stacks that others had before, while new ones get theirs.
share_no_places()
{
	local before after
	before=$(rest) && ask 'busy 8' >"$dir/said" && ask 'throng 300' >"$dir/said" &&
		ask 'throng 300' >"$dir/said" && ask calm >"$dir/said" && after=$(rest) || return
	echo "besides the ledger: $before, then $after"
	[ "$before" = "$after" ]
}

nr_agents()
{
	grep -c 'r-xp.*libmemdiag-agent' "/proc/$tracee_pid/maps"
}

cycle()
{
	exits 0 memdiag count stop --pid "$tracee_pid" && exits 0 memdiag count start --pid "$tracee_pid"
}

# counts WORDS: a ledger that has just been started; WORDS say which.
counts()
{
	local words="$1"
	check "$words: the bytes can be read" same_bytes
	check "$words: stopped without a start: nothing changes" count_already stop
	check "$words: no agent is put there by that" sh -c '! grep -q libmemdiag-agent "$1"' sh \
		"/proc/$tracee_pid/maps"
	ask 'throng 100' >"$dir/said"	# libc keeps some stacks, and blocks that belong to them
	check "$words: start" starts_surely
	check "$words: the agent was put there" test "$(nr_agents)" -eq 1
	check "$words: started twice: nothing changes" count_already start
	for command in 'mix 50000' 'crowd 1000' free 'mix 5000' 'throng 100' 'tls 50' 'signals 100' \
		'fibers 100' 'jump 100' 'stdio 100' 'stacks 300' 'throng 100' 'forks 20'; do
		# shellcheck disable=SC2086 # words
		check "$words: counted: $command" does $command
	done
	if [ "$(ask 'scratch 1')" = none ]; then
		skip "$words: counted: scratch 100" 'this libc has no such function'
	else
		check "$words: counted: scratch 100" does 'scratch 100'
	fi
	check "$words: counted: no two threads at one place" share_no_places
	check "$words: what was counted is what there is" is_what_there_is
	check "$words: what a child does is not its parent's" child_changes_nothing fork
	check "$words: nor what one does that libc knows nothing of" child_changes_nothing clone
	check "$words: heap works meanwhile" exits 0 memdiag heap --pid "$tracee_pid"
	check "$words: maps adds up meanwhile" maps_adds_up "$tracee_pid"
	check "$words: info is refused, as before" refused_calls info
	check "$words: trim is refused, as before" refused_calls trim
	ask 'busy 4' >"$dir/said"
	check "$words: status tells who is at work" busy_are_reported
	check "$words: while four threads are busy: stop" count stop
	check "$words: while four threads are busy: start" start_in_time
	ask calm >"$dir/said"
	check "$words: and from then on to the byte" does 'mix 1000'
	check "$words: more stacks than there are places" does 'stacks 5000'
	check "$words: and from then on to the byte" does 'crowd 100'
	counts_of "$tracee_pid" >"$dir/room"
	check "$words: stopped and started fifty times" each_of 50 cycle
	check "$words: it has no more mappings and descriptors" sh -c '[ "$1" = "$2" ]' sh \
		"$(cat "$dir/room")" "$(counts_of "$tracee_pid")"
	check "$words: and one agent" test "$(nr_agents)" -eq 1
	check "$words: counted after that" does 'mix 1000'
	check "$words: stop" count stop
	check "$words: every byte is as it was" same_bytes
	check "$words: stopped twice: nothing changes" count_already stop
	check "$words: the target lives on" end_tracee
}

start_tracee ledger-static
counts 'fixed'
start_tracee ledger-static-pie
counts 'static-pie'

# ---- what the target does not see, or may not read ----

if unshare -m true 2>"$dir/err"; then
	cp "$TRACEES/ledger-static" "$dir"
	# shellcheck disable=SC2016 # for the inner shell
	start_command unshare -m sh -c 'mount --make-rprivate / && cd "$1" &&
		mount -t tmpfs none "$2" && exec ./ledger-static' sh "$dir" "$(realpath "$top_builddir")"
	check 'hidden: start' count start
	check 'hidden: with a copy' grep -q 'r-xp.*/memfd:libmemdiag-agent.so' "/proc/$tracee_pid/maps"
	check 'hidden: counted' does 'mix 1000'
	check 'hidden: stop' count stop
	check 'hidden: the target lives on' end_tracee
else
	skip 'hidden' "no mount namespaces here: $(cat "$dir/err")"
fi

# ---- who never waits ----

start_tracee spin-static
check 'spinning: start' exits 0 memdiag count start --pid "$tracee_pid"
check 'spinning: stop' exits 0 memdiag count stop --pid "$tracee_pid"
check 'spinning: the target lives on' end_tracee

# ---- a filter that ends it for all that memdiag does not say it will do ----

start_tracee seccomp-static load
check 'a filter: start' count start
check 'a filter: threads are counted' counts_threads
check 'a filter: stop' count stop
check 'a filter: the target lives on' end_tracee

# ---- a child goes on when its parent is no more counted ----

start_tracee ledger-static
check 'children: start' count start
check 'children: threads come and go' does 'crowd 20'
child=$(ask child)
check 'children: it is not counted, and status says so' exits 5 memdiag status --pid "$child"
check 'children: it has the hooks, which can be lifted' exits 0 memdiag count stop --pid "$child" --json
check 'children: all of them' json_is '.data.entries > 8'
check 'children: its parent counts on' does 'mix 1000'
ask unchild >"$dir/said"
check 'children: the target lives on' end_tracee

# ---- what is refused ----

# refused WORDS NAME: the tracee NAME, and nothing is changed in it.
refused()
{
	remember
	check "$2: refused" exits 5 memdiag count start --pid "$tracee_pid"
	check "$2: says why" grep -q "$1" "$dir/err"
	check "$2: it is as it was" unharmed
	check "$2: the target lives on" end_tracee
}

strip -o "$dir/stripped" "$TRACEES/ledger-static"
start_command "$dir/stripped"
refused 'stripped of its symbols: cannot find its malloc' stripped
start_tracee taken-static
refused 'the program uses the words of thread' taken
start_tracee old-static
refused 'with a glibc older than 2.34' old

if "${CC:-cc}" -pthread -static -o "$dir/jemalloc" "$top_srcdir/tests/tracees/idle.c" \
	-Wl,--whole-archive -ljemalloc -Wl,--no-whole-archive -lstdc++ -lm 2>"$dir/err"; then
	start_command "$dir/jemalloc"
	refused 'has jemalloc linked into the program' jemalloc
else
	skip 'jemalloc' "it cannot be linked statically: $(head -n 1 "$dir/err")"
fi
finish

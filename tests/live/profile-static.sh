#!/bin/sh
# Profiles of programs that are linked statically, at a fixed address and at any: exact at --rate 1, with whole stacks
# though most have no table of their frames; begun and ended many times, and by a memdiag that is killed.
# shellcheck disable=SC3043,SC2034 # every sh we know has local; lib.sh uses deadline
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
need_hooks
need jq strace
case $(uname -m) in
x86_64) ;;
*) skip_all 'memdiag takes samples in static programs on x86-64 only' ;;
esac
prefix=$dir/p

cycle()
{
	exits 0 memdiag profile start --rate 1 --pid "$tracee_pid" && obeys 'play 1 100 1' &&
		exits 0 memdiag profile stop -o "$prefix" --pid "$tracee_pid" && rm -f "$prefix".*
}

works()
{
	obeys 'play 1 200 1'
}

profiles()
{
	local words="$1" form="$2" file
	start_tracee "$form" 3
	same_bytes
	check "$words: it begins" profile start --rate 1
	check "$words: the agent was loaded" json_is '.data.entries >= 8 and .data.was_so_already == false'
	check "$words: the tracee works" obeys 'play 1 20000 1'
	check "$words: it ends" profile stop -o "$prefix"
	file=$(written)
	check "$words: exact" exact "$file"
	check "$words: the stacks are whole" whole "$file"
	check "$words: all bytes of code are as they were" same_bytes
	check "$words: begun and ended once more" cycle
	counts_of "$tracee_pid" >"$dir/room"
	check "$words: and thirty times" each_of 30 cycle
	check "$words: it has no more mappings and descriptors" sh -c '[ "$1" = "$2" ]' sh "$(cat "$dir/room")" "$(counts_of "$tracee_pid")"
	check "$words: beside the counter" count start
	check "$words: both" cycle
	check "$words: the counter goes on" status .live_bytes
	check "$words: and ends" count stop
	check "$words: begun, killed at each ptrace" killed_each_time ptrace "$((100 / $(some 100)))" works \
		"$MEMDIAG" profile start --rate 1 --pid "$tracee_pid"
	check "$words: then it ends" profile stop -o "$prefix"
	check "$words: all bytes are as they were after that" same_bytes
	check "$words: and it works" cycle
	check "$words: the target lives on" end_tracee
}

profiles 'fixed' sites-static
profiles 'static-pie' sites-static-pie

# ---- threads that have one stack after the other ----

has_threads()
{
	"$MEMDIAG" report --format=json --lines=0 --value=allocated "$(written)" >"$dir/report" &&
		jq '.data.threads | length' "$dir/report" && [ "$(jq '.data.threads | length' "$dir/report")" -ge "$1" ]
}

start_tracee ledger-static
check 'threads: it begins' profile start --rate 1
check 'threads: three hundred' obeys 'crowd 300'
check 'threads: it ends' profile stop -o "$prefix"
check 'threads: each by its number' has_threads 300
check 'threads: the target lives on' end_tracee

# ---- that cannot be profiled ----

cp "$TRACEES/sites-static" "$dir/stripped"
strip "$dir/stripped"
start_command "$dir/stripped" 1
check 'stripped: refused' exits 5 memdiag profile start --pid "$tracee_pid"
check 'stripped: by name' grep -q 'stripped' "$dir/err"
check 'stripped: it lives on' end_tracee
finish

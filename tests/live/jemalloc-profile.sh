#!/bin/sh
# memdiag profile of a process whose malloc is jemalloc's: its own profiler is driven, and the program's account agrees.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
need jq

library=$(find /usr/lib /usr/lib64 -name 'libjemalloc.so.2' 2>/dev/null | head -n 1)
[ -n "$library" ] || skip_all 'libjemalloc is not installed'
prefix=$dir/p

# start_sites CONF: three threads that allocate at known places; sets tracee_pid.
start_sites()
{
	start_command env MALLOC_CONF="$1" LD_PRELOAD="$library" "$TRACEES/sites" 3
}

start_sites prof:true,prof_active:false,lg_prof_sample:0
if ! profile status || ! json_is .data.jemalloc.built_in; then
	end_tracee
	skip_all 'this libjemalloc was built without profiling'
fi
# same_blocks FILE: with a sample for every byte, each site has as many blocks in use as the program says.
same_blocks()
{
	accounts >"$dir/accounts" && has_column "$1" in-use "$dir/accounts" 5 -o
}

# The same bytes, but for the rounding up to classes of sizes: never fewer, and at most a quarter and 16 bytes more.
near_bytes()
{
	local name bytes blocks ours
	accounts >"$dir/accounts" || return
	while read -r name _ _ bytes blocks _; do
		ours=$(value "$1" in-use "${name#site_}")
		[ "$ours" -ge "$bytes" ] && [ "$ours" -le $((bytes + bytes / 4 + 16 * blocks)) ] || {
			echo "$name: $bytes, not $ours"
			return 1
		}
	done <"$dir/accounts"
}

check 'status: enabled, and not active' json_is '.data.jemalloc.enabled and (.data.is_profiling | not)'
check 'stop before it began changes nothing' profile stop -o "$prefix"
check 'and says so' json_is '.data.was_so_already and .data.file == null'
check 'what was before is not in it' obeys 'play 1 20000 1'
check 'it is forgotten' obeys drop
remember
check 'it begins' profile start
check 'at the rate that it was started with' json_is '.data.jemalloc.period_bytes == 1 and
	(.data.was_so_already | not) and .data.noted == null'
check 'nothing was loaded' unharmed
check 'a second start changes nothing' profile start
check 'and says that, too' json_is .data.was_so_already
check 'the tracee works' obeys 'play 1 20000 1'
check 'status' profile status
check 'status knows of it' json_is .data.is_profiling
check 'a dump is written' profile dump -o "$prefix"
first=$(written)
check 'its name has the PID, its kind and the time' \
	expr "$first" : "$prefix\\.$tracee_pid\\.0\\.m0\\.20[0-9]*T[0-9]*\\.heap\$"
check 'the blocks of each site' same_blocks "$first"
check 'the bytes of each site' near_bytes "$first"
check 'it goes on' obeys 'play 2 20000 1'
check 'it ends' profile stop -o "$prefix"
last=$(written)
check 'its last file' expr "$last" : "$prefix\\.$tracee_pid\\.1\\.f0\\.20[0-9]*T[0-9]*\\.heap\$"
check 'the blocks of each site, at the end' same_blocks "$last"
check 'the bytes of each site, at the end' near_bytes "$last"
check 'the stacks lead to the sites' memdiag report --format=folded "$last"
check 'from the threads' grep -q 'start_thread;work;.*site_[0-9] ' "$dir/out"
check 'as pprof' memdiag report --format=pprof -o "$dir/pprof.gz" "$last"
if command -v go >/dev/null; then
	check 'go tool pprof reads that' captured go tool pprof -top "$dir/pprof.gz"
	check 'and knows the sites' grep -q site_ "$dir/out"
else
	skip 'go tool pprof reads that' 'it is not installed'
fi
if command -v jeprof >/dev/null; then
	check 'jeprof reads the file' captured jeprof --text "$TRACEES/sites" "$last"
	check 'with the sites' grep -q site_ "$dir/out"
else
	skip 'jeprof reads the file' 'it is not installed'
fi
check 'a second stop changes nothing' profile stop
check 'as it says' json_is '.data.was_so_already and .data.file == null'
check 'what was noted can still be written' profile dump -o "$prefix"
check 'for people: status' exits 0 memdiag profile status --pid "$tracee_pid"
check 'which says what comes next' grep -q 'memdiag profile start -p' "$dir/out"

# ---- all by itself, and rates ----

check 'a rate of its own' profile --seconds 100ms --rate 4K -o "$prefix"
check 'is in the file' grep -q '^heap_v2/4096$' "$(written)"
check 'no power of two' exits_saying 64 'powers of two' memdiag profile start --rate 1000 --pid "$tracee_pid"
check 'names inside' exits_saying 5 'symbols-inside' memdiag profile start --symbols-inside --pid "$tracee_pid"

interrupted()
{
	local early
	env --default-signal "$MEMDIAG" profile --wait=300s --timeout=600s --pid "$tracee_pid" --seconds 1h -o "$prefix" >"$dir/early" 2>&1 &
	early=$!
	until profile status && json_is .data.is_profiling; do
		lives $early || return
	done
	kill -s "$1" $early
	wait $early && grep -q 'ended early' "$dir/early" &&
		[ -s "$(sed -n 's/^memory profile written by jemalloc: //p' "$dir/early")" ]
}
check 'SIGINT ends it early' interrupted INT
check 'SIGTERM likewise' interrupted TERM
check 'it takes no samples afterwards' profile status
check 'as status says' json_is '.data.is_profiling | not'

# ---- again and again ----

start_and_stop()
{
	profile start && profile stop -o "$dir/q" && rm "$dir"/q.*
}
start_and_stop
counts_of "$tracee_pid" >"$dir/size"
check '50 times' each_of 50 start_and_stop
same_size()
{
	counts_of "$tracee_pid" | diff "$dir/size" -
}
check 'nothing is left of it' same_size
check 'the target lives on' end_tracee

# ---- what it writes by itself, as status shows ----

start_command env MALLOC_CONF=prof:true,prof_active:false,lg_prof_interval:30,prof_final:true,prof_prefix:"$dir/je" \
	LD_PRELOAD="$library" "$TRACEES/sites" 1
check 'status of one with other settings' profile status
check 'shows them' json_is ".data.jemalloc | .interval_bytes == 1073741824 and .dumps_at_exit and
	.prefix == \"$dir/je\""
check 'the target lives on' end_tracee

# ---- without ----

start_sites prof:false
remember
for command in start 'stop -o '"$prefix" 'dump -o '"$prefix" "--seconds 1 -o $prefix"; do
	# shellcheck disable=SC2086 # a command and its options
	check "not enabled: $command" exits_saying 5 'opt.prof is false.*MALLOC_CONF=prof:true,prof_active:false' \
		memdiag profile $command --pid "$tracee_pid"
done
check 'not enabled: status' profile status
check 'not enabled: says so' json_is '.data.jemalloc.built_in and (.data.jemalloc.enabled | not)'
check 'not enabled: it is as before' unharmed
check 'the target lives on' end_tracee

# ---- where the target sees other files, and has no place to write ----

if unshare -m true 2>/dev/null && [ -d /proc/self/fd ]; then
	mkdir "$dir/empty"
	start_command env MALLOC_CONF=prof:true,prof_active:false LD_PRELOAD="$library" \
		unshare -m sh -c "mount -t tmpfs -o ro none '$dir/empty' && cd '$dir/empty' && exec '$TRACEES/sites' 1"
	check 'another mount namespace: it begins' profile start --rate 1
	check 'another mount namespace: it works' obeys 'play 1 2000 1'
	check 'another mount namespace: it ends' profile stop -o "$prefix"
	check 'another mount namespace: the file is here' same_blocks "$(written)"
	check 'the target lives on' end_tracee
else
	skip 'another mount namespace' 'none may be made here'
fi
finish

#!/bin/sh
# status of a process that is profiled: the memory of the sampler is what the kernel says (smaps).
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
need_hooks
need jq
need nm

filter_bytes=65536

# rss_of WHAT: bytes of RSS of the mappings of the tracee that WHAT, a condition of awk, is true of: it may use
# head, the first line of a mapping, and flags.
rss_of()
{
	awk '/^[0-9a-f]+-[0-9a-f]+ / { head = $0 } /^Rss:/ { rss = $2 }
		/^VmFlags:/ { flags = $0 " "; if ('"$1"') sum += rss } END { print sum * 1024 }' "/proc/$tracee_pid/smaps"
}

# agrees: whether status and smaps have the same.  What the agent maps for the sampler has MAP_NORESERVE (nr), which
# the tracee does not use; the filter is part of the library, and has been written to as a whole since the second start.
agrees()
{
	local mapped sites
	memdiag status --pid "$tracee_pid" --json || return
	mapped=$(rss_of 'flags ~ / nr / && head ~ / rw-p 00000000 00:00 0 *$/')
	sites=$(rss_of 'head ~ /memdiag-sites/')
	echo "smaps: $mapped mapped, $sites sites"
	json .data.sampler
	json_is ".data.sampler | .sites_bytes == $sites and $sites > 0 and
		.tables_bytes + .threads_bytes + .live_set_bytes == $mapped + $filter_bytes and
		.resident_bytes == .sites_bytes + .tables_bytes + .threads_bytes + .live_set_bytes and
		(.is_lower_bound | not)"
}

start_tracee ledger
check 'it is counted' count start
check 'never profiled: status' exits 0 memdiag status --pid "$tracee_pid" --json
check 'never profiled: null' json_is '.data.sampler == null'
check 'never profiled: text' memdiag status --pid "$tracee_pid"
check 'never profiled: no line' sh -c "! grep -q ^sampler '$dir/out'"
check 'the target lives on' end_tracee

# Arenas of threads have MAP_NORESERVE, too.
start_command env GLIBC_TUNABLES=glibc.malloc.arena_max=1 "$TRACEES/ledger"
check 'a profile begins' profile start --rate 1
check 'a profile ends' profile stop -o "$dir/p"
check 'another begins' profile start --rate 1
check 'status agrees with smaps' agrees
json .data.sampler.resident_bytes >"$dir/first"
check 'the tracee works' obeys 'mix 20000'
check 'status still agrees with smaps' agrees
check 'and it is more' test "$(json .data.sampler.resident_bytes)" -gt "$(cat "$dir/first")"
check 'there is some of each' json_is '.data.sampler | .tables_bytes > 0 and .threads_bytes > 0 and .live_set_bytes > 0'
check 'samples are taken' json_is .data.sampler.is_sampling
total=$(json .data.sampler.resident_bytes)
check 'the text' memdiag status --pid "$tracee_pid" -b
check 'the text has the same' grep -q "^sampler    $total resident: unwind tables [0-9]*, sites [0-9]*, live set [0-9]*, threads [0-9]*\$" \
	"$dir/out"
check 'profile status' memdiag profile status --pid "$tracee_pid" -b
check 'profile status has the same' grep -q "^takes    $total in the process\$" "$dir/out"
check 'it is stopped' profile stop -o "$dir/p"
check 'what it has noted is still there' agrees
check 'what it kept for threads is given back' json_is '.data.sampler.threads_bytes == 0'
check 'it is stopped, says JSON' json_is '.data.sampler.is_sampling | not'
check 'the text says so' sh -c "'$MEMDIAG' status --pid $tracee_pid | grep -q '^sampler .* resident, stopped: '"

# The list is the process's own memory.
nm -D "$top_builddir/libmemdiag-agent.so" >"$dir/symbols"
# overwrite OFFSET BYTE: eight bytes of the list.
overwrite()
{
	python3 -c '
import sys
pid, symbol, offset, byte = sys.argv[1:]
start = min(int(l.split("-")[0], 16) for l in open("/proc/%s/maps" % pid) if "libmemdiag-agent.so" in l)
with open("/proc/%s/mem" % pid, "r+b", 0) as f:
    f.seek(start + int(symbol, 16) + int(offset))
    f.write(bytes([int(byte)]) * 8)
' "$tracee_pid" "$(sed -n 's/ . memdiag_agent_memory\(@.*\)*$//p' "$dir/symbols")" "$@"
}
check 'a damaged part' overwrite 24 255
check 'a damaged part: status has the rest' exits 2 memdiag status --pid "$tracee_pid" --json
check 'a damaged part: null and a warning' json_is '.data.sampler == null and .data.blocks != null and .partial and
	(.warnings | tostring | test("cannot determine what the sampler takes"))'
check 'another magic' overwrite 0 65
check 'another magic: status has the rest' exits 2 memdiag status --pid "$tracee_pid"
check 'another magic: the text says so' grep -q 'of another memdiag, or damaged' "$dir/err"
check 'the target lives on' end_tracee

start_tracee idle
check 'a profile alone' profile start
check 'a profile alone: status' memdiag status --pid "$tracee_pid"
check 'a profile alone: nothing is counted' grep -q '^counted    nothing: the agent is there for a profile$' "$dir/out"
check 'the target lives on' end_tracee
finish

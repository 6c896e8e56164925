#!/bin/sh
# What the agent has counted in a process, read while it runs; and of those that have no agent.
. "$top_srcdir/tests/live/lib.sh"
need jq

[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"

says()
{
	grep -q -e "$1" "$dir/err" || {
		cat "$dir/err"
		return 1
	}
}

start_command "$MEMDIAG" run -q --limit 2G --on-limit=enomem "$TRACEES/bloat" 4
remember
check 'it tells' exits 0 memdiag status --pid "$tracee_pid"
check 'what there is' grep -q '^live  *[0-9.]* [KMG]iB in [0-9]* blocks, and .* mapped$' "$dir/out"
check 'the limit' grep -q '^limit  *2.0 GiB, on which: enomem$' "$dir/out"
check 'and threads' grep -q " bloat$" "$dir/out"
check 'as JSON' exits 0 memdiag status --pid "$tracee_pid" --json -n 0
check 'that adds up' json_is '.schema == "memdiag.status/1" and
	([.data.threads[].bytes] | add) == .data.live_bytes and
	([.data.threads[].blocks_allocated] | add) == .data.blocks_allocated and
	([.data.threads[].blocks_freed] | add) == .data.blocks_freed and
	.data.blocks == .data.blocks_allocated - .data.blocks_freed and
	.data.peak_bytes >= .data.live_bytes and .data.live_bytes >= .data.mapped_bytes'
check 'to what malloc itself says' test "$(json '.data.live_bytes - .data.mapped_bytes')" -gt 0
threads=$(json '.data.threads | length')
check 'all of its threads' test "$threads" -ge 4
check '-n takes the first' exits 0 memdiag status --pid "$tracee_pid" -n 1
check 'and counts the others' grep -q "^and $((threads - 1)) more" "$dir/out"
check 'a full disk' exits 1 memdiag status --pid "$tracee_pid" -o /dev/full
check 'nothing has changed' unharmed
check 'info works on it as on any other' exits 0 memdiag info --pid "$tracee_pid"
check 'and heap' exits 0 memdiag heap --pid "$tracee_pid"
check 'and trim' exits 0 memdiag trim --pid "$tracee_pid"
check 'it lives on' end_tracee

start_tracee idle
check 'without the agent' exits 5 memdiag status --pid "$tracee_pid"
check 'that is said' says "$tracee_pid (idle) does not have memdiag's agent"
check 'it lives on, too' end_tracee
check 'nobody' exits 3 memdiag status 4194303

# ---- what it says ----

# line WORDS: whether text of the last memdiag has a line that is that.
line()
{
	grep -q -x -e "$1" "$dir/out" || {
		cat "$dir/out"
		return 1
	}
}

# Threads that have gone and left blocks, which another frees.
start_command "$MEMDIAG" run -q "$TRACEES/ledger"
ask 'map 3' >"$dir/said"
ask 'crowd 5' >"$dir/said"
ask free >"$dir/said"
check 'JSON' exits 0 memdiag status --pid "$tracee_pid" --json
check 'has mappings' json_is '.data.mapped_bytes == 3145728 and .data.mappings_made == 6 and
	.data.mapped_peak_bytes > .data.mapped_bytes'
check 'the code' json_is '.data.code_bytes > 4000 and (.data.code_counts | not)'
check 'threads, the largest first' json_is '[.data.threads[].bytes] | . == (sort | reverse) and length > 5'
check 'what is left of those that have gone' json_is \
	'[.data.threads[] | select(.tid == null) | .name] | length > 4 and unique == ["(has ended)"]'
check 'and one that has less than nothing' json_is \
	".data.threads[-1] | .tid == $tracee_pid and .name == \"ledger\" and .bytes < 0"
in_blocks=$(json '"\(.data.live_bytes - .data.mapped_bytes) in \(.data.blocks)"')
less=$(json '.data.threads[-1].bytes')
code=$(json .data.code_bytes)
check 'text' exits 0 memdiag status --pid "$tracee_pid" -b
check 'says what is in blocks, and what is mapped' line "live  *$in_blocks blocks, and 3145728 mapped"
check 'how many mappings' line 'so far .*; 6 mappings made'
check 'that there is no limit' line 'limit  *none'
check 'the code, too' line "code  *$code, not counted"
check 'since when' line "counted  *usable bytes, since $(date -u +%Y)-.*Z; the agent was preloaded"
check 'and nothing of when counting began, which was at once' sh -c "! grep -q ^before '$dir/out'"
check 'no number for a thread that has gone' line ' *-  *[0-9]*  *[0-9]*  *[0-9]*  (has ended)'
check 'and the number of one that is there' line " *$tracee_pid  *$less  *[0-9]*  *[0-9]*  ledger"
check 'text for people' exits 0 memdiag status --pid "$tracee_pid"
check 'has a sign, and a unit' line " *$tracee_pid  *-[0-9.]* [KM]iB .*"
# So many that they have the places of others: what these left is not theirs.
ask 'crowd 150' >"$dir/said"
check 'threads in places of others' exits 0 memdiag status --pid "$tracee_pid" --json -n 0
check 'have but what is theirs' json_is '([.data.threads[].bytes] | add) != .data.live_bytes'
check 'it lives on' end_tracee

start_command env MT_MEMORY_LIMIT=2000000000 LD_PRELOAD="$top_builddir/libmemdiag-agent.so" "$TRACEES/ledger"
check 'under the variables of MemTracer' exits 0 memdiag status --pid "$tracee_pid" -b
check 'the code counts' line 'code  *[1-9][0-9]*, counts for the limit'
check 'and what was asked for' line 'counted  *requested bytes, .*'
check 'it lives on' end_tracee

# Numbers are of the namespace of who reads them.
if [ "$(id -u)" -eq 0 ]; then
	start_command unshare --pid --fork "$MEMDIAG" run -q "$TRACEES/ledger"
	inner=$(cat "/proc/$tracee_pid/task/$tracee_pid/children")
	inner=${inner% }
	check 'in a namespace of its own' exits 0 memdiag status --pid "$inner" --json
	check 'it has the number that we know' json_is \
		".data.threads[0] | .tid == $inner and .name == \"ledger\""
	check 'it lives on' end_tracee
else
	skip 'a namespace of its own' 'it takes root'
fi

# ---- one that lies ----

cat >"$dir/liar.c" <<'END'
/* What it says of its counters is in its argument. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *memdiag_agent_segment;

int
main(int argc, char **argv)
{
	uint32_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int kind = argc > 1 ? atoi(argv[1]) : 0;

	memset(page, kind == 2 ? 0xff : 0x80, 8192);
	memcpy(page, "dmagent1", 8);
	page[2] = 1;		/* version */
	page[3] = 4096;
	page[4] = 128;
	page[5] = 4096;
	page[6] = kind == 3 ? 32 : 4096;	/* threads, of which 32 are mapped */
	page[7] = (uint32_t)getpid();
	memdiag_agent_segment = kind == 0 ? NULL : kind == 1 ? (void *)4096 : page;
	munmap(kind == 3 ? NULL : (char *)page + 4096, 4096);
	puts("ready");
	fflush(stdout);
	getchar();
	puts("alive");
	return 0;
}
END
"${CC:-cc}" -rdynamic -o "$dir/liar" "$dir/liar.c"
for kind in 0 1 2 3; do
	start_command "$dir/liar" $kind
	check "counters that lie ($kind)" exits '0 1 5' memdiag status --pid "$tracee_pid" --json
	check 'what it says is whole' sh -c "jq . '$dir/out' >/dev/null && ! grep -q '[[:cntrl:]]' '$dir/err'"
	check 'as text' exits '0 1 5' memdiag status --pid "$tracee_pid"
	check 'it lives on' end_tracee
done

# A child that is not followed has its parent's segment still.
cat >"$dir/forks.py" <<'END'
import os, sys
child = os.fork()
if child:
    print(child, flush=True)
    print("ready", flush=True)
sys.stdin.read()
if child:
    os.waitpid(child, 0)
    print("alive")
END
if command -v python3 >/dev/null; then
	start_command "$MEMDIAG" run -q python3 "$dir/forks.py"
	child=$(head -n 1 "$dir/$tracee_pid.out")
	check 'a child that is not followed' exits 5 memdiag status --pid "$child"
	check 'is not taken for its parent' says 'is a child of a process that the agent counts in'
	check 'both live on' end_tracee
	start_command "$MEMDIAG" run -q --follow-children python3 "$dir/forks.py"
	child=$(head -n 1 "$dir/$tracee_pid.out")
	check 'one that is followed' exits 0 memdiag status --pid "$child" --json
	check 'has numbers of its own' json_is '.data.live_bytes > 0'
	check 'of which most are from before' json_is \
		'[.data.threads[].name] | index("(others, or before a fork)") != null'
	check 'both live on, too' end_tracee
else
	skip 'children' 'python3 is not installed'
fi
finish

#!/bin/sh
# The agent's counters of a process, read while it runs; and processes without an agent.
. "$top_srcdir/tests/live/lib.sh"
need jq

[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"

start_command "$MEMDIAG" run -q --limit 2G --on-limit=enomem "$TRACEES/bloat" 4
remember
check 'status reads the counters' exits 0 memdiag status --pid "$tracee_pid"
check 'status prints live blocks and mappings' grep -q '^live  *[0-9.]* [KMG]iB in [0-9]* blocks, and .* mapped$' "$dir/out"
check 'status prints the limit and the action on it' grep -q '^limit  *2.0 GiB (on limit: enomem)$' "$dir/out"
check 'the table has the threads' grep -q " bloat$" "$dir/out"
check 'status --json reads the counters' exits 0 memdiag status --pid "$tracee_pid" --json -n 0
check 'the JSON adds up' json_is '.schema == "memdiag.status/1" and
	([.data.threads[].bytes] | add) == .data.live_bytes and
	([.data.threads[].blocks_allocated] | add) == .data.blocks_allocated and
	([.data.threads[].blocks_freed] | add) == .data.blocks_freed and
	.data.blocks == .data.blocks_allocated - .data.blocks_freed and
	.data.peak_bytes >= .data.live_bytes and .data.live_bytes >= .data.mapped_bytes'
check "live bytes are those of malloc's own account" \
	test "$(json '.data.live_bytes - .data.mapped_bytes')" -gt 0
threads=$(json '.data.threads | length')
check 'status lists all threads of the program' test "$threads" -ge 4
check '-n takes the first' exits 0 memdiag status --pid "$tracee_pid" -n 1
check 'the threads that -n hides are counted' grep -q "^and $((threads - 1)) more" "$dir/out"
check 'a full disk' exits 1 memdiag status --pid "$tracee_pid" -o /dev/full
check 'nothing has changed' unharmed
check 'info works on it as on any other' exits 0 memdiag info --pid "$tracee_pid"
check 'heap works beside the agent' exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s
check 'trim works beside the agent' exits 0 memdiag trim --pid "$tracee_pid"
check 'it lives on' end_tracee

start_tracee idle
check 'without the agent' exits 5 memdiag status --pid "$tracee_pid"
check 'a process without the agent is named' says "$tracee_pid (idle) does not have memdiag's agent"
check 'a process without the agent lives on' end_tracee
check 'status of a missing process' exits 3 memdiag status 4194304

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
check 'status of a ledger with ended threads prints JSON' exits 0 memdiag status --pid "$tracee_pid" --json
check 'live bytes are those of blocks and mappings' json_is '.data.blocks_bytes > 0 and
	.data.live_bytes == .data.blocks_bytes + .data.mapped_bytes'
check 'the JSON has the mappings' json_is '.data.mapped_bytes == 3145728 and .data.mappings_made == 6 and
	.data.mapped_peak_bytes > .data.mapped_bytes'
check 'the JSON has the size of the code' json_is '.data.code_bytes > 4000 and (.data.code_counts | not)'
check 'the JSON has the threads, the largest first' json_is '[.data.threads[].bytes] | . == (sort | reverse) and length > 5'
check 'the JSON has the blocks of ended threads' json_is \
	'[.data.threads[] | select(.tid == null) | .name] | length > 4 and unique == ["(has ended)"]'
check 'the JSON has a thread that freed more than it allocated' json_is \
	".data.threads[-1] | .tid == $tracee_pid and .name == \"ledger\" and .bytes < 0"
in_blocks=$(json '"\(.data.live_bytes - .data.mapped_bytes) in \(.data.blocks)"')
less=$(json '.data.threads[-1].bytes')
code=$(json .data.code_bytes)
check 'status -b prints text' exits 0 memdiag status --pid "$tracee_pid" -b
check 'the text has bytes in blocks and in mappings' line "live  *$in_blocks blocks, and 3145728 mapped"
check 'the text has the number of mappings' line 'so far .*; 6 mappings made'
check 'the text shows that there is no limit' line 'limit  *none'
check 'the text has the size of the code' line "code  *$code, not counted"
check 'the text shows since when it counts' line "counted  *usable bytes, since $(date -u +%Y)-.*Z; the agent was preloaded"
check 'the text has no line for blocks from before if it counts from the start' sh -c "! grep -q ^before '$dir/out'"
check 'the text has no number for a thread that has ended' line ' *-  *[0-9]*  *[0-9]*  *[0-9]*  (has ended)'
check 'the text has the number of a living thread' line " *$tracee_pid  *$less  *[0-9]*  *[0-9]*  ledger"
check 'status prints sizes with units' exits 0 memdiag status --pid "$tracee_pid"
check 'a negative size has a sign and a unit' line " *$tracee_pid  *-[0-9.]* [KM]iB .*"
# So many that they have the places of others: what these left is not theirs.
ask 'crowd 150' >"$dir/said"
check 'status reads more threads than there are places' exits 0 memdiag status --pid "$tracee_pid" --json -n 0
check 'the sum of the threads is less than the live bytes if places were reused' json_is '([.data.threads[].bytes] | add) != .data.live_bytes'
check 'it lives on' end_tracee

start_command env MT_MEMORY_LIMIT=2000000000 LD_PRELOAD="$top_builddir/libmemdiag-agent.so" "$TRACEES/ledger"
check 'under the variables of MemTracer' exits 0 memdiag status --pid "$tracee_pid" -b
check "a limit of MemTracer's: the code counts" line 'code  *[1-9][0-9]*, counts for the limit'
check "a limit of MemTracer's: requested bytes are counted" line 'counted  *requested bytes, .*'
check 'it lives on' end_tracee

# Numbers are of the namespace of who reads them.
if [ "$(id -u)" -eq 0 ]; then
	start_command unshare --pid --fork "$MEMDIAG" run -q "$TRACEES/ledger"
	child_of "$tracee_pid"
	inner=$child
	check 'in a namespace of its own' exits 0 memdiag status --pid "$inner" --json
	check 'it has the number that we know' json_is \
		".data.threads[0] | .tid == $inner and .name == \"ledger\""
	check 'it lives on' end_tracee
else
	skip 'a namespace of its own' 'it takes root'
fi

# ---- one that lies ----

cat >"$dir/liar.c" <<'END'
/* Its argument sets what it reports of its counters. */
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
	check 'a child that is not followed and its parent live on' end_tracee
	start_command "$MEMDIAG" run -q --follow-children python3 "$dir/forks.py"
	child=$(head -n 1 "$dir/$tracee_pid.out")
	check 'a child that is followed is read' exits 0 memdiag status --pid "$child" --json
	check 'a child that is followed has numbers of its own' json_is '.data.live_bytes > 0'
	check 'most numbers of a followed child are from before the fork' json_is \
		'[.data.threads[].name] | index("(others, or before a fork)") != null'
	check 'a child that is followed and its parent live on' end_tracee
else
	skip 'children' 'python3 is not installed'
fi
finish

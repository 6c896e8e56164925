#!/bin/sh
# Arenas in the map: each with its heaps, whole heaps of 64 MiB however little of them is used, and
# nothing of them counted elsewhere.
. "$top_srcdir/tests/live/lib.sh"
need jq python3

# class NAME: VIRT of a part of a class
class()
{
	"$MEMDIAG" maps "$tracee_pid" --json |
		jq "[.data.groups[].parts[]? | select(.name == \"$1\").virt_bytes] | add"
}

start_command python3 "$top_srcdir/tests/tracees/arenas.py" 8 16 80
check 'maps runs' exits 0 memdiag maps "$tracee_pid" --by=arena --json
check 'there are a main arena, three others, and the rest' json_is \
	'[.data.groups[].name] | sort ==
	["arena 1", "arena 2", "arena 3", "main arena", "mmapped chunks", "not malloc"]'
arenas='[.data.groups[] | select(.name | startswith("arena "))]'
check 'their heaps are of 64 MiB, two where one is not enough' json_is \
	"$arenas | map(.virt_bytes / 67108864) | sort == [1, 1, 2]"
check 'resident is what was filled' json_is \
	"$arenas | map(.rss_bytes / 8388608 | floor) | sort == [1, 2, 10]"
check 'the structure was checked' json_is "$arenas | map(.confidence) | unique == [\"verified\"]"
check 'they add up to what the map by class says' json_is "($arenas | map(.virt_bytes) | add) == \
	$(class 'thread arenas') + $(class 'shrunk arena ends') + $(class 'arena reserve')"
check 'the block that is too large for them is found by itself' \
	test "$(class 'mmapped chunks')" -ge 52428800
check 'all adds up' json_is \
	'([.data.groups[].rss_bytes] | add) == .data.totals.rss_bytes'
check 'the target lives on' end_tracee

# In pieces of mmap(), between which nothing of it is left out.
start_tracee cause main-in-pieces
check 'brk is blocked: maps runs' exits 0 memdiag maps "$tracee_pid" --by=arena --json
main=$(json '.data.groups[] | select(.name == "main arena").virt_bytes')
check 'its pieces were checked, its brk is the kernel'"'"'s' json_is \
	'.data.groups[] | select(.name == "main arena").confidence == "verified"'
check 'all adds up' json_is \
	'([.data.groups[].rss_bytes] | add) == .data.totals.rss_bytes'
check 'by class they are distinguished, with the same sum' \
	test "$main" -eq $(($(class 'main heap (mmap)') + $(class 'main heap (brk)')))
check 'info runs' exits '0 2' memdiag info "$tracee_pid" --json
check 'malloc says the same' json_is ".data.arenas[0].system_bytes == $main"
check 'next to nothing is not from malloc' json_is \
	'.data.accounting[] | select(.kind == "other_anonymous").bytes < 1048576'
check 'the target lives on' end_tracee

# Where pages are locked a heap gets shorter and keeps them.
start_tracee locked-heap
if grep -q '^locked none' "$dir/$tracee_pid.out"; then
	skip 'what lies behind the end of a locked heap' 'it takes CAP_IPC_LOCK'
else
	check 'locked: maps runs' exits 0 memdiag maps "$tracee_pid" --json
	check 'what lies behind the end of a heap has a class' json_is '[.data.groups[].parts[]? |
		select(.name == "shrunk arena ends").rss_bytes] | add > 15000000'
	check 'the heap of another thread arena is short' json_is '[.data.groups[].parts[]? |
		select(.name == "thread arenas").virt_bytes] | add < 1000000'
	check 'all adds up' json_is "$all_same"
fi
check 'the target lives on' end_tracee

# A reader that finds the top chunk where it was a moment ago may read anything as its size.
start_tracee corrupt top
check 'the size of the top chunk is text: maps adds up' maps_adds_up "$tracee_pid"
check 'the target lives on' end_tracee
finish

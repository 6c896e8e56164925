#!/bin/sh
# The matrix: a program for each cause, and the verdicts that heap and info give it.  heap names that
# cause alone; info, which does not look into the heaps, names it too, or the more general one, or
# nothing, but never another.
. "$top_srcdir/tests/live/lib.sh"
need jq

# ids: the verdicts of the last memdiag, as words in a line.
ids()
{
	json '[.verdicts[].id] | join(" ")'
}

# tried KIND [INFO]: start it and see what is said of it; by info INFO, 'none' or the same.
tried()
{
	kind=$1
	start_tracee cause "$kind"
	by_info=${2:-$kind}
	[ "$by_info" != none ] || by_info=''
	by_heap=$kind
	[ "$kind" != healthy ] || by_heap='' by_info=''
	# On a machine that is busy with other tests threads take their time to stop.
	exits '0 2' memdiag heap --pid "$tracee_pid" --max-stop 300s --json >"$dir/why" || cat "$dir/why"
	said_by_heap=$(ids)
	exits 0 memdiag info --pid "$tracee_pid" --json >"$dir/why" || cat "$dir/why"
	said_by_info=$(ids)
	printf '# %-18s %-18s %s\n' "$kind" "${said_by_heap:--}" "${said_by_info:--}"
	check "heap: $kind: ${by_heap:-nothing}" test "$said_by_heap" = "$by_heap"
	check "info: $kind: ${by_info:-nothing}" test "$said_by_info" = "$by_info"
	check "$kind: the target lives on" end_tracee
}

# says_of ID KIND WORDS [ID]...: KIND gives these verdicts, by heap and by info, and the first has WORDS.
says_of()
{
	id=$1 kind=$2 words=$3
	shift 3
	start_tracee cause "$kind"
	for command in heap info; do
		exits '0 2' memdiag $command --pid "$tracee_pid" --json >"$dir/why" || cat "$dir/why"
		check "$command: $kind: $id $*" test "$(ids)" = "$id${1+ $*}"
		check "$command: $kind: $words" json_is ".verdicts[0].text | contains(\"$words\")"
	done
	check "$kind: the target lives on" end_tracee
}

# can_lock: whether memory of a hundred megabytes may be locked.
can_lock()
{
	[ "$(id -u)" -eq 0 ] || grep -q '^Max locked memory *unlimited' /proc/self/limits
}

# has_huge: whether malloc can be set to use huge pages, and the kernel gives them.
has_huge()
{
	grep -q -e '\[always\]' -e '\[madvise\]' /sys/kernel/mm/transparent_hugepage/enabled &&
		[ "$(getconf GNU_LIBC_VERSION | sed 's/.*\.//')" -ge 35 ]
}

printf '# %-18s %-18s %s\n' PROGRAM HEAP INFO
tried healthy
tried other-allocator
tried virt-only
says_of other-allocator own-sbrk 'by sbrk()'
says_of other-allocator sbrk-between 'by sbrk()'
says_of other-allocator forbidden 'may not be accessed (PROT_NONE)' virt-only
tried shared-memory
tried held-files
says_of held-files held-files 'memfd:cause'
for directory in /var/tmp . "$dir"; do
	case $(stat -f -c %T "$directory") in
	tmpfs | nfs | overlayfs | UNKNOWN*) ;;
	*) CAUSE_FILES=$directory ;;
	esac
done
if [ -n "${CAUSE_FILES-}" ]; then
	export CAUSE_FILES
	tried mapped-files
	tried changed-files
else
	skip 'mapped-files, changed-files' 'no file system on a disk here'
fi
tried static-data
tried page-tables
tried children
tried live-large
tried returned
tried retained
tried threshold-grown
tried tops-stuck
# Each arena reserves 64 MiB: with so many threads that is a thing to say as well.
if [ "$(nproc --all)" -le 3 ]; then
	tried arena-sprawl
else
	skip 'arena-sprawl' 'as many arenas as that takes here also reserve a lot'
fi
skip 'arena-sprawl with glibc 2.44' 'there it makes no more arenas than there are CPUs, or 8'
tried orphan-arenas
tried pinned retained
tried fragmented
tried sparse
tried cache-retained
if has_huge; then
	GLIBC_TUNABLES=glibc.malloc.hugetlb=1
	export GLIBC_TUNABLES
	tried thp
	unset GLIBC_TUNABLES
else
	skip 'thp' 'no transparent huge pages, or a glibc before 2.35 that does not ask for them'
fi
tried fork-shared
tried mmapped-large
tried mmap-limit
if can_lock; then
	tried locked
else
	skip 'locked' 'may not lock memory'
fi
skip 'swapped' 'takes swap that is slow and free; by facts in tests/unit/diagnose-judge'
skip 'swapped-unread' 'takes swap, as swapped does; by facts in tests/unit/diagnose-judge'
skip 'hugetlb' 'takes pages the administrator has set aside; by facts in tests/unit/diagnose-judge'
tried main-in-pieces
tried thread-stacks
tried unjoined-threads
if [ "$(cat /proc/sys/vm/max_map_count)" -le 200000 ]; then
	tried mappings-full
else
	skip 'mappings-full' 'takes too many mappings here; by facts in tests/unit/diagnose-judge'
fi
MALLOC_ARENAS_MAX=1
export MALLOC_ARENAS_MAX
tried env-not-effective
unset MALLOC_ARENAS_MAX
skip 'limit-near' 'takes a cgroup that is nearly full; by facts in tests/unit/diagnose-judge'
skip 'unaccounted' 'takes memory that may not be seen; by facts in tests/unit/diagnose-judge'

start_tracee cause healthy
check 'heap of a healthy program runs' exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s
check 'heap of a healthy program ends with the verdict: nothing to do' sh -c "tail -n 1 '$dir/out' | grep -qx 'VERDICT  nothing to do'"
check 'info of a healthy program runs' exits 0 memdiag info --pid "$tracee_pid"
check 'info of a healthy program ends with the verdict: nothing to do' sh -c "tail -n 1 '$dir/out' | grep -qx 'VERDICT  nothing to do'"
check 'the healthy program lives on' end_tracee
start_tracee cause tops-stuck
check 'heap of a program with stuck tops runs' exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s
check 'heap of a program with stuck tops: the diagnosis' grep -q '^VERDICT  tops-stuck: .* free() only above 60\.' "$dir/out"
check 'heap of a program with stuck tops: what to do now' grep -qx "NEXT     memdiag trim --tops -p $tracee_pid" "$dir/out"
check 'the verdict has the permanent setting' grep -qx 'THEN     start it with MALLOC_TRIM_THRESHOLD_=131072' "$dir/out"
check 'the program with stuck tops lives on' end_tracee
start_tracee cause cache-retained
check 'info --method=read of a program that caches runs' exits 0 memdiag info --pid "$tracee_pid" --method=read --max-lock 5s --json
check 'info that reads the heaps: the verdict is cache-retained' json_is '[.verdicts[].id] == ["cache-retained"]'
check 'the program that caches lives on' end_tracee
finish

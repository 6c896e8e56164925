#!/bin/sh
# info has malloc called in the process, or reads its heaps itself: the answer is the same, and where
# malloc_info() would lock an arena for long it is not called.
. "$top_srcdir/tests/live/lib.sh"
need jq

# what info says of malloc, without what the kernel counts
account()
{
	exits 0 memdiag info --pid "$tracee_pid" --json "$@" || return
	json '.data | del(.arenas[].resident_bytes) | .arenas, .mmapped'
}

same_account()
{
	account --method=inject >"$dir/inject" && account --method=read >"$dir/read" &&
		diff "$dir/inject" "$dir/read"
}

same_xml()
{
	for method in inject read; do
		"$MEMDIAG" info --wait=300s --timeout=600s --pid "$tracee_pid" --xml --method=$method >"$dir/$method" || return
	done
	cmp "$dir/inject" "$dir/read"
}

start_tracee bloat 4
check 'few free chunks: malloc is asked' exits 0 memdiag info --pid "$tracee_pid" --json
check 'few free chunks: method and borrowed thread are shown' \
	json_is '.data | .method == "inject" and .borrow.tid > 0 and .stop.count == 0'
check 'the heaps say the same' same_account
check 'the documents are the same' same_xml
remember
check 'reading changes nothing' exits 0 memdiag info --pid "$tracee_pid" --method=read
check 'reading the heaps leaves the target as it was' unharmed
check 'the text is complete' grep -q '^VERDICT' "$dir/out"
check 'reading prints nothing on stderr' test ! -s "$dir/err"
check 'with -v info says how it has read the heaps' exits 0 memdiag info --pid "$tracee_pid" --method=read -v
check '-v shows that the heaps were read' \
	grep -q 'its heaps were read; it was stopped [0-9]* time' "$dir/err"
check 'no time at all: the heaps are read' exits 0 memdiag info --pid "$tracee_pid" --max-lock 0 --json
check 'without a stop' json_is '.data | .method == "read" and .stop.count == 0'
check 'the target lives on' end_tracee

start_tracee chunks 2000000 120 2
check 'a million free chunks: the heaps are read' exits 0 memdiag info --pid "$tracee_pid" --json
check 'no thread is borrowed' json_is '.data | .method == "read" and .borrow == null'
check 'a million free chunks: a warning names --max-lock' \
	json_is '.warnings | length == 1 and (.[0] | contains("--max-lock"))'
check 'it is the whole answer' json_is '.partial | not'
check 'a million free chunks: reading gives the same account as malloc' same_account
check 'with time enough malloc is asked' \
	exits 0 memdiag info --pid "$tracee_pid" --max-lock 10s --json
check 'with time enough the heaps are not read' json_is '.data.method == "inject"'
check 'the target lives on' end_tracee

# Chunks that small are in fast bins, whose links other releases write in other ways, or have not.
on_release()
{
	start_release_tracee chunks 1000000 80 2 1
	check "$release: half a million in a fast bin" exits 0 memdiag info --pid "$tracee_pid" --json
	check "$release: the heaps are read" json_is '.data.method == "read"'
	check "$release: the answer is the same" same_account
	check "$release: the target lives on" end_tracee
}
for_each_release on_release

check 'two documents at once are refused' exits_saying 64 'one document at a time' \
	memdiag info --pid 1 --xml --json
finish

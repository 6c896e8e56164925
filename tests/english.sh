#!/bin/sh
# Plain English in texts and messages: scripts/check-english, and whether it finds what it is to find.
set -u
dir=$(mktemp -d) || exit
trap 'rm -rf "$dir"' EXIT
nr_failed=0

# rejects N WORDS TEXT: whether N of TEXT's lines are rejected, in a file named $file.
rejects()
{
	printf '%b\n' "$3" >"$dir/$file"
	got=$("$top_srcdir/scripts/check-english" "$dir/$file" | grep -c 'write: ')
	if [ "$got" -eq "$1" ]; then
		echo "# $2: as expected"
	else
		echo "# $2: $got lines were rejected, not $1"
		nr_failed=$((nr_failed + 1))
	fi
}

file=a.c
rejects 1 'a message' '\terr_set(e, 0, "where it is cannot be told");'
rejects 1 'the second string of a line' '\tf("plain", "and what is the matter");'
rejects 3 'a comment' '/* it tells more */\n/*\n * "it tells more"\n */\nint told; /* told */'
rejects 3 'a comment without its subject' '/* What it has. */\nint a; /* Of a. */\n/*\n * Who waits.\n */'
rejects 0 'such words further on' '/* The bytes\n * Of them: What is it?  Who. */\nint a; /* of which */\n/* Often */\n/* WHAT is it. */'
rejects 0 'names' '\tset("blocks_doubtful");'
rejects 1 'behind an escaped quote' '\tf("\\\"x\\\" is told by");'
file=a.md
rejects 2 'a text' 'It tells more.\nMalloc and its kin.'
rejects 0 'code' 'The member `told` and kinds of hotel.'

[ "$nr_failed" -eq 0 ] || { echo 'not ok 1 - the check itself'; echo 1..1; exit 1; }
"$top_srcdir/scripts/check-english"

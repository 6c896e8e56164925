#!/bin/sh
# trim --tops gives back what trim -n --tops predicts, to the byte, and malloc_trim() alone leaves.
. "$top_srcdir/tests/live/lib.sh"
need jq

predicted()
{
	exits 0 memdiag trim -n --pid "$tracee_pid" --json "$@" && json .data.predicted.rss_bytes
}

# A first time leaves the stacks of helpers, which the next ones use again.
start_tracee tops 8
check 'a first time' exits 0 memdiag trim --pid "$tracee_pid" --tops
ask work >"$dir/said"
alone=$(predicted)
all=$(predicted --tops)
echo "# malloc_trim: $alone bytes, with tops $all"
check 'the tops are a lot' test $((all - alone)) -gt 1000000
exits 0 memdiag trim -n --pid "$tracee_pid" --json
check 'and told without --tops, too' json_is \
	"[.data.predicted.arenas[].top_bytes] | add == $((all - alone))"
before=$(ask anon)
check 'trim --tops' exits 0 memdiag trim --pid "$tracee_pid" --tops --json
gone=$((before - $(ask anon)))
check "what was predicted is gone: $gone" test $gone -eq "$all"
check 'eight tops are told of' json_is '.data.tops | .count == 8 and .busy == 0 and .locked_us > 0'
check 'nothing is left' test "$(predicted --tops)" -eq 0
said=$(cat "$dir/said")
check 'the blocks are good' test "$(ask work)" -gt "$said"
check 'the text tells, too' exits 0 memdiag trim --pid "$tracee_pid" --tops
check 'of the tops' grep -q '^with the tops of 8 thread arenas' "$dir/out"
check 'the target lives on' end_tracee

start_tracee tops 8 3
ask busy >"$dir/said"
check 'busy: trim --tops' exits '0 2' memdiag trim --pid "$tracee_pid" --tops
check 'busy: all blocks are good' ask rest
check 'busy: the target lives on' end_tracee
finish

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
memdiag trim --pid "$tracee_pid" --tops
! grep -q 'its libc has no function that waits' "$dir/err" || skip_all 'glibc before 2.32 has no function for that'
check 'trim --tops works' exits 0 memdiag trim --pid "$tracee_pid" --tops
ask work >"$dir/said"
alone=$(predicted)
all=$(predicted --tops)
echo "# malloc_trim: $alone bytes, with tops $all"
check 'the tops are a lot' test $((all - alone)) -gt 1000000
exits 0 memdiag trim -n --pid "$tracee_pid" --json
check 'without --tops the tops are in the forecast as well' json_is \
	"[.data.predicted.arenas[].top_bytes] | add == $((all - alone))"
before=$(ask anon)
check 'trim --tops' exits 0 memdiag trim --pid "$tracee_pid" --tops --json
gone=$((before - $(ask anon)))
check "what was predicted is gone: $gone" test $gone -eq "$all"
check 'trim --tops reports eight tops' json_is '.data.tops | .count == 8 and .busy == 0 and .locked_us > 0'
check 'after trim --tops nothing is predicted' test "$(predicted --tops)" -eq 0
said=$(cat "$dir/said")
check 'the blocks are good' test "$(ask work)" -gt "$said"
check 'the text tells, too' exits 0 memdiag trim --pid "$tracee_pid" --tops
check 'of the tops' grep -q '^with the tops of 8 thread arenas' "$dir/out"
check 'the target lives on' end_tracee

start_tracee tops 8 3
ask busy >"$dir/said"
check 'busy: trim --tops' exits '0 2' patiently memdiag trim --pid "$tracee_pid" --tops
check 'busy: all blocks are good' ask rest
check 'busy: the target lives on' end_tracee
finish

#!/bin/sh
# info on programs whose malloc_info lies: an error in words, never a crash, never a hang, no byte
# of theirs on the terminal, and the program is as it was.
. "$top_srcdir/tests/live/lib.sh"
[ -x "$TRACEES/liar" ] || skip_all 'the liar is not made for this machine'

quiet_about_escapes()
{
	! LC_ALL=C grep -q "$(printf '[\033\007]')" "$dir/out" "$dir/err"
}

for lie in entities nul unbalanced nonsense numbers nothing; do
	start_tracee liar "$lie"
	check "$lie: info fails in words" exits 1 memdiag info --pid "$tracee_pid"
	check "$lie: they are memdiag's" grep -q '^memdiag info: ' "$dir/err"
	check "$lie: no escape byte gets through" quiet_about_escapes
	check "$lie: nothing is printed as if it were true" test ! -s "$dir/out"
	check "$lie: the target lives on" end_tracee
done

start_tracee liar long
check 'long: what there was room for is a partial result' exits 2 memdiag info --pid "$tracee_pid"
check 'long: and says so' grep -q 'text is longer than there was room for' "$dir/err"
check 'long: heaps are whole' exits 2 memdiag info --pid "$tracee_pid" --json
check 'long: not all of them are there' json_is \
	'.partial and (.data.arenas | length | . > 100 and . < 10000)'
check 'long: the raw document is partial, too' exits 2 memdiag info --pid "$tracee_pid" --xml
check 'long: the target lives on' end_tracee

start_tracee liar endless
check 'endless: the time limit holds' exits_at_limit 1 memdiag info --pid "$tracee_pid"
check 'endless: and is reported' grep -q '^memdiag info: .' "$dir/err"

start_tracee liar crash threads
check 'crash: it is reported' exits 1 memdiag info --pid "$tracee_pid"
check 'crash: the target answers' test "$(ask hello)" = "what is 'hello'?"
check 'crash: the target lives on' end_tracee
finish

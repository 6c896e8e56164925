#!/bin/sh
# info on a terminal: bars, no colour that was not asked for, and nothing of a stranger's raw.
. "$top_srcdir/tests/live/lib.sh"
need script

on_terminal()	# on_terminal COMMAND: its output as a terminal of 100 columns gets it
{
	script -qec "stty cols 100; $1" /dev/null </dev/null >"$dir/out"
}

escape=$(printf '\033')
export TERM=xterm
unset NO_COLOR CLICOLOR_FORCE

start_tracee bloat 16
check 'info runs on a terminal' on_terminal "'$MEMDIAG' info $tracee_pid"
check 'on a terminal VERDICT has a colour' grep -q "^$escape\\[1;33mVERDICT$escape" "$dir/out"
check 'a dumb terminal gets no colour' on_terminal "TERM=dumb '$MEMDIAG' info $tracee_pid"
check 'without colour' sh -c "! grep -q '$escape' '$dir/out'"
check 'NO_COLOR switches colour off' on_terminal "NO_COLOR=1 '$MEMDIAG' info $tracee_pid"
check 'on a terminal the table has bars' grep -q '  ####' "$dir/out"
check 'no line is wider than it' awk '{ sub(/\r$/, "") } length > 100 { exit 1 }' "$dir/out"
check 'no escape byte' sh -c "! grep -q '$escape' '$dir/out'"
check 'the document runs on a terminal' on_terminal "'$MEMDIAG' info $tracee_pid --xml"
check 'line by line' grep -q '^</malloc>' "$dir/out"
check 'the target lives on' end_tracee

if [ -x "$TRACEES/liar" ]; then
	for lie in nul nonsense; do
		start_tracee liar "$lie"
		check "a raw document with escapes is made printable ($lie)" \
			on_terminal "'$MEMDIAG' info $tracee_pid --xml"
		check 'none gets through' sh -c "! grep -q '$(printf '[\033\007]')' '$dir/out'"
		check 'escape bytes are shown as octal numbers' grep -q '\\033' "$dir/out"
		check 'the target lives on' end_tracee
	done
fi
finish

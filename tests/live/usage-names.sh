#!/bin/sh
# A process is asked for by its name: that of its comm or of its program, if no other process has it.
. "$top_srcdir/tests/live/lib.sh"
need jq bash

# start_called NAME: an idle program whose file has that name.
start_called()
{
	[ -e "$dir/$1" ] || cp "$TRACEES/idle" "$dir/$1"
	start_command "$dir/$1" 1
}

# named_is PID COMMAND...: whether that command looks at PID.
named_is()
{
	wanted=$1
	shift
	exits 0 memdiag "$@" --json && json_is ".target.pid == $wanted"
}

# The kernel cuts the name to 15 bytes.
name=md-$$-name
long=$name-that-is-long
start_called "$long"
pid=$tracee_pid
for command in info trim maps heap doctor; do
	check "$command: -p NAME" named_is "$pid" $command -p "$long"
	check "$command: a bare NAME" named_is "$pid" $command "$long"
done
check 'the name that the kernel shows' named_is "$pid" maps "$(cat "/proc/$pid/comm")"
check 'before the command' named_is "$pid" -p "$long" maps
rm "$dir/$long"
check 'the program was removed' named_is "$pid" maps "$long"
check 'a part of the name is no name' exits_saying 3 "no process called '$name-that-is-lon'" memdiag maps "$name-that-is-lon"
if has_hooks; then
	check 'count: -p NAME, behind the verb' exits 0 memdiag count start -p "$long"
	check 'count: a bare NAME' exits 0 memdiag count stop "$long"
	check 'status: a bare NAME' exits 0 memdiag status "$long"
	check 'count: the first word is the verb' exits_saying 64 'is neither start nor stop' memdiag count "$long"
fi

start_called start
if has_hooks; then
	check 'count: the second word is a process' exits 0 memdiag count stop start
	check 'of that name' grep -q "^start $tracee_pid does not count" "$dir/out"
fi
check 'a program called as a verb lives on' end_tracee

# ---- more than one ----
start_called "$name"
first=$tracee_pid
check 'the only one' named_is "$first" maps "$name"
for _ in 1 2 3 4 5 6 7 8 9 10; do
	start_called "$name"
done
pids="$pid $first"
check 'several' exits_saying 64 "11 processes are called '$name'; choose one by its PID" memdiag maps "$name"
# By PID, so the first may be the one that is left out; a command line is cut after 60 columns.
command=$(echo "$dir/$name 1" | cut -c -40)
check 'are listed with their command lines, ten of them' sh -c \
	"[ \$(grep -c '^ *[1-9][0-9]*  *[0-9]*[smhd]  *[0-9.]* [KM]iB  *$command' '$dir/err') -eq 10 ]"
check 'the list of candidates is cut' grep -x 'and 1 more' "$dir/err"
check 'nothing is on stdout' test ! -s "$dir/out"
check 'an ambiguous name makes no output file' sh -c "! '$MEMDIAG' maps '$name' -o '$dir/o' 2>/dev/null && [ ! -e '$dir/o' ]"

# A stranger chooses its command line.
cp "$TRACEES/idle" "$dir/$name-evil"
for _ in 1 2; do
	start_command bash -c "exec -a '$(printf '\033[31m\n')' '$dir/$name-evil'"
done
check 'command lines are made printable' exits_saying 64 '2 processes' memdiag maps "$name-evil"
check 'names of candidates are printed without escapes' sh -c "! grep -q '$(printf '\033')' '$dir/err' && grep -q '033.31m' '$dir/err'"
check 'the target lives on' end_tracee

# The list has room for 60 characters of a command line.
cp "$TRACEES/idle" "$dir/$name-long"
sixty=$(printf '%060d' 0)
start_command bash -c "exec -a '$sixty' '$dir/$name-long'"
start_command bash -c "exec -a '${sixty}1' '$dir/$name-long'"
check 'long command lines' exits_saying 64 '2 processes' memdiag maps "$name-long"
check 'one that fits is shown whole' grep -q " $sixty\$" "$dir/err"
check 'one that was cut ends with three dots' grep -q " ${sixty%000}\.\.\.\$" "$dir/err"
check 'the target with a long command line lives on' end_tracee
for tracee_pid in $pids; do
	check 'the target lives on' end_tracee
done
finish

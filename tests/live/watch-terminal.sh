#!/bin/sh
# watch on a terminal, by tmux: each key, sizes, terminals without colour and without a cursor, and what is left behind.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need tmux jq

# ---- a terminal ----------------------------------------------------------------------------------

tmux=$dir/tmux
session=0
TMUX='' command tmux -S "$tmux" -f /dev/null -D >"$dir/tmux.said" 2>&1 &
started="$started $!"

# the_tmux ARGUMENTS...
the_tmux()
{
	TMUX='' command tmux -S "$tmux" "$@"
}

# at_terminal ENVIRONMENT ARGUMENTS...: memdiag with ARGUMENTS in a new session of 80 columns and 24 rows; sets $session, and $watching
# to its number.  When it has ended, the screen has its status.
at_terminal()
{
	local environment="$1"
	shift
	session=$((session + 1))
	rm -f "$dir/number"
	cat >"$dir/session.sh" <<-END
		echo \$\$ >'$dir/number.new'
		mv '$dir/number.new' '$dir/number'
		exec env LC_ALL=C.UTF-8 $environment '$MEMDIAG' $*
	END
	# The shell of tmux's waits for it, and keeps the screen.
	eventually test -S "$tmux"
	the_tmux new-session -d -s "s$session" -x 80 -y 24 \
		"sh '$dir/session.sh'; echo \"status \$?\"; exec sleep 1000"
	eventually test -s "$dir/number"
	watching=$(cat "$dir/number")
}

screen()
{
	the_tmux capture-pane -p -t "s$session" >"$dir/screen"
}

has()
{
	screen && grep -q -e "$1" "$dir/screen"
}

# shows WORDS: whether the screen has a line that matches WORDS, now or soon.
shows()
{
	eventually has "$1" || {
		cat "$dir/screen"
		return 1
	}
}

# press KEY WORDS: after KEY the screen shows WORDS.
press()
{
	the_tmux send-keys -t "s$session" "$1" && shows "$2"
}

# fits COLUMNS: whether no line is longer.
fits()
{
	screen && ! LC_ALL=C.UTF-8 grep -q ".\{$(($1 + 1))\}" "$dir/screen"
}

# is_given_back: whether the terminal has its first screen and its cursor again.
is_given_back()
{
	test "$(the_tmux display-message -p -t "s$session" '#{alternate_on} #{cursor_flag}')" = '0 1'
}

start_tracee bloat 4
pid=$tracee_pid

# ---- keys ----------------------------------------------------------------------------------------

at_terminal '' watch -p "$pid" -i 100ms
check 'the page' shows "^bloat ($pid)  ..:..:..  every 100.0 ms"
check 'classes' shows '^heap '
check 'a graph' shows 'before *RSS$'
check 'a graph of blocks' shows '|.*█'
check 'the last line has the keys' sh -c "tail -n 1 '$dir/screen' | grep -q '^q quit'"
check 'o: objects' press o '^OBJECT .*RSS'
check 'a: arenas' press a '^main arena '
check 't: threads' press t "^$pid bloat "
check 's: sites' press s 'no profile is running'
check 'h: heap' press h 'MEMORY OF MALLOC'
check 'h: its numbers, without a stop' shows '^free trimmable '
check 'S: a stop' press S 'the process was stopped for'
check 'c: classes' press c '^CLASS '
check 'growth is shown in time' shows 'a minute'
check '>: by swap' press '>' '^CLASS '
check 'r' press r '^CLASS '
check 'g: another curve' press g 'before *stack$'
check '?: help' press '?' 'quit$'
check '?: and back' press '?' '^CLASS '
check 'space: pause' press Space 'paused$'
check 'space: go on' press Space 'every 100.0 ms'
check '-: less often' press - 'every 200.0 ms'
check '+: more often' press + 'every 100.0 ms'
check 'o: objects again' press o '^OBJECT '
for key in Down Up PageDown PageUp End Home Left Right '[' ']' x F1; do
	check "$key" press "$key" '^OBJECT '
done

# ---- sizes ---------------------------------------------------------------------------------------

for size in '20 10' '40 5' '132 50' '5 3' '1 1' '80 24'; do
	check "$size" the_tmux resize-window -t "s$session" -x "${size% *}" -y "${size#* }"
	sleep 0.3
	check "$size: no line is longer" eventually fits "${size% *}"
done
check '80 24: the page is whole again' shows '^q quit'
the_tmux resize-window -t "s$session" -x 20 -y 10
check '20 10: RSS is shown' shows '^RSS '
check '20 10: a table is shown' shows '^OBJECT '

# ---- ends ----------------------------------------------------------------------------------------

check 'q: quit' press q 'status 0'
check 'q: the terminal is as before' is_given_back
at_terminal '' watch -p "$pid" -i 100ms
check 'again' shows '^CLASS '
kill -TERM "$watching"
check 'SIGTERM: it ends' shows 'status 0'
check 'SIGTERM: the terminal is as before' is_given_back
at_terminal '' watch -p "$pid" -i 100ms
check 'once more' shows '^CLASS '
check 'Ctrl-C: it ends' press C-c 'status 0'
check 'Ctrl-C: the terminal is as before' is_given_back
at_terminal '' watch -p "$pid" -i 100ms
check 'and again' shows '^CLASS '
the_tmux kill-session -t "s$session"
check 'a terminal that goes: it ends' eventually sh -c "! kill -0 $watching 2>/dev/null"
at_terminal '' watch -p 4194304
check 'an error is not hidden' shows 'there is no process 4194304'

# ---- terminals -----------------------------------------------------------------------------------

# colours: whether the screen has any.
colours()
{
	eventually has 'before *RSS$' || return 2
	the_tmux capture-pane -e -p -t "s$session" | grep -q "$(printf '\033')\\[[0-9;]*3[0-7]m"
}
has_no_colours()
{
	colours
	test "$?" -eq 1
}
at_terminal TERM=screen watch -p "$pid" -i 100ms
check 'colours' colours
press q 'status 0'
at_terminal 'TERM=screen NO_COLOR=1' watch -p "$pid" -i 100ms
check 'NO_COLOR' has_no_colours
press q 'status 0'
at_terminal TERM=vt100 watch -p "$pid" -i 100ms
check 'vt100: no colours' has_no_colours
check 'vt100: q' press q 'status 0'
at_terminal TERM=dumb watch -p "$pid" -n 2 -i 100ms --view=arenas
check 'TERM=dumb: lines' shows 'status 0'
check 'TERM=dumb: both samples' sh -c "test \"\$(grep -c '^ARENA ' '$dir/screen')\" -ge 1"
at_terminal TERM=nothing watch -p "$pid" -n 1
check 'a TERM that is not known: lines' shows 'status 0'
at_terminal LC_ALL=C watch -p "$pid" -i 100ms
check 'not UTF-8: ASCII' shows '|.*#'
check 'not UTF-8: nothing else' sh -c "! LC_ALL=C grep -q '[^ -~]' '$dir/screen'"
press q 'status 0'

# ---- a file --------------------------------------------------------------------------------------

check 'a file of 30 samples' exits 0 memdiag watch "$pid" --batch -q -n 30 -i 50ms --save="$dir/tape"
at_terminal '' watch --replay="$dir/tape" -i 1h
check 'replay: the first' shows 'sample 1 of 30'
check 'replay: right' press Right 'sample 2 of 30, paused'
check 'replay: ]' press ']' 'sample 6 of 30'
check 'replay: [' press '[' 'sample 2 of 30'
check 'replay: left' press Left 'sample 1 of 30'
check 'replay: not before the first' press Left 'sample 1 of 30'
check 'replay: arenas' press a '^main arena '
check 'replay: heap was not saved' press h 'not read'
check 'replay: quit' press q 'status 0'
at_terminal '' watch --replay="$dir/tape" -i 50ms
check 'replay: to its end' shows 'sample 30 of 30'
press q 'status 0'

# ---- the end of the process -----------------------------------------------------------------------

at_terminal '' watch -p "$pid" -i 100ms
check 'the page, before the end' shows '^CLASS '
check 'the target lives on' end_tracee
check 'its end is shown' shows 'has ended$'
check 'its last state stays' shows '^CLASS '
check 'quit' press q 'status 0'
the_tmux kill-server
finish

#!/bin/sh
# Options may stand before the command.  A word is the command only where it is not the argument of an
# option: every command's name is tried as the argument of every common option, in each spelling, each time
# with another command.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq
start_tracee idle 1
elsewhere=$(mktemp -d "${TMPDIR:-/tmp}/memdiag-order.XXXXXX")
commands=$("$MEMDIAG" --list-commands)
# These write a document about any process.
asked='info trim maps heap doctor'

# wrote NAME COMMAND ARGUMENTS...: whether it writes COMMAND's document, and no other, to the file NAME.
wrote()
{
	local name="$1" command="$2" program
	shift 2
	case $MEMDIAG in
	/*) program=$MEMDIAG ;;
	*) program=$PWD/$MEMDIAG ;;
	esac
	rm -f "$elsewhere"/*
	(cd "$elsewhere" && "$program" "$@") >"$dir/said" 2>&1
	[ "$(ls "$elsewhere")" = "$name" ] &&
		grep -q "\"schema\": *\"memdiag.$command/1\"" "$elsewhere/$name" || {
		echo "memdiag $*:"
		cat "$dir/said"
		ls "$elsewhere"
		return 1
	}
}

# next_asked: sets $command to the next of them.
asked_next=0
next_asked()
{
	# shellcheck disable=SC2086 # words
	set -- $asked
	shift $((asked_next % $#))
	command=$1
	asked_next=$((asked_next + 1))
}

# spelled_as HOW NAME COMMAND
spelled_as()
{
	case $1 in
	1) wrote "$2" "$3" -o "$2" "$3" -j -p "$tracee_pid" ;;
	2) wrote "$2" "$3" "-o$2" --json "$3" "$tracee_pid" ;;
	3) wrote "$2" "$3" -jo "$2" "$tracee_pid" "$3" ;;
	4) wrote "$2" "$3" --output "$2" -qvj "$3" -p "$tracee_pid" ;;
	5) wrote "$2" "$3" "--outp=$2" --timeout 600s -p "$tracee_pid" -j -- "$3" ;;
	esac
}

# Each name in each spelling; as there are as many commands as spellings, each name before each command, too.
spelled()
{
	for name in $commands help 12; do
		for how in 1 2 3 4 5; do
			next_asked
			spelled_as $how "$name" "$command" || return
		done
		next_asked
	done
}
check 'a file named as a command' spelled

# is_a_process: whether a process has that name, which anybody may have started; one of memdiag's own has ended.
is_a_process()
{
	[ "$option" != --timeout ] && cat /proc/[0-9]*/comm 2>/dev/null | grep -qxF -e "$name"
}

# All but doctor take a second PID, of a process that does not exist.  Where one does, it is left alone; or it may begin
# just then, and have ended before it is seen.
is_refused()
{
	local nr=0
	while ! is_a_process; do
		exits "64$([ "$command" = doctor ] || echo ' 3')" memdiag $option "$name" "$command" -p "$tracee_pid" && return
		nr=$((nr + 1))
		[ $nr -lt 5 ] || return
	done
	return 0
}

refused()
{
	local nr=0
	until exits "64$([ "$command" = doctor ] || echo ' 3')" memdiag $option "$name" "$command" -p "$tracee_pid"; do
		nr=$((nr + 1))
		! is_a_process || return 0
		[ $nr -lt 5 ] || return
	done
}

refused()
{
	for name in $commands help; do
		for option in -p --pid --timeout; do
			next_asked
			is_refused || {
				echo "$option $name $command"
				return 1
			}
		done
	done
}
check 'a PID or a time named as a command is refused' refused

check 'an option of one command is not taken before it' \
	exits 64 memdiag --sort trim info --pid "$tracee_pid"
check 'options alone are no command' exits 64 memdiag -q --pid "$tracee_pid"
check 'help after options' exits 0 memdiag -q --pid 1 --help
check 'help after options is the help of all commands' sh -c "'$MEMDIAG' --help | cmp - '$dir/out'"
check 'help for an unknown command' exits 64 memdiag help infos
check 'the target lives on' end_tracee
finish

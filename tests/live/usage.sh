#!/bin/sh
# Command lines that cannot be: what is said, the exit status, and that nothing else happens.
. "$top_srcdir/tests/live/lib.sh"
start_tracee idle 1

says()	# says STATUS WORDS ARGUMENTS...
{
	says_status=$1
	says_words=$2
	shift 2
	exits "$says_status" memdiag "$@" && grep -q -e "$says_words" "$dir/err"
}

# diff and run, which look at no process, have tests of their own, and so has count, which wants one more
# word; status needs one with the agent.
for command in $("$MEMDIAG" --list-commands | grep -v -x -e count -e diff -e run -e status); do
	[ "$command" = doctor ] || check "$command: no PID" says 64 'which process' $command
	for pid in 0 -1 9999999999 abc '' 1x '1 2'; do
		check "$command: PID '$pid'" says 64 'is not a process id' $command "--pid=$pid"
	done
	check "$command: two PIDs" says 64 'one at a time' $command 1 2
	check "$command: a PID nobody has" says 3 'no process 4194303' $command 4194303
	check "$command: an option nobody has" says 64 'unrecognized option' $command --frobnicate 1
	check "$command: an option that wants an argument" says 64 'requires an argument' $command --timeout
	check "$command: help" exits 0 memdiag $command --help
	check "$command: help has examples" grep -q '^Examples:' "$dir/out"
	check "$command: -h is the same" sh -c "'$MEMDIAG' $command -h | cmp - '$dir/out'"
	check "$command: help needs no PID and says nothing else" test ! -s "$dir/err"
	check "$command: options may come first" exits 0 memdiag --pid "$tracee_pid" $command
	check "$command: a file that is there stays" sh -c \
		"echo mine >'$dir/file'; '$MEMDIAG' $command '$tracee_pid' -o '$dir/file' 2>'$dir/err'
		[ \$? = 1 ] && [ \"\$(cat '$dir/file')\" = mine ] && grep -q -e --force '$dir/err'"
	check "$command: unless --force" sh -c \
		"'$MEMDIAG' $command '$tracee_pid' -o '$dir/file' -f && ! grep -q mine '$dir/file'"
	check "$command: a full disk" says 1 'No space left' $command "$tracee_pid" -o /dev/full
	check "$command: a full stdout" sh -c \
		"'$MEMDIAG' $command '$tracee_pid' 2>'$dir/err' >/dev/full
		[ \$? = 1 ] && grep -q 'cannot write' '$dir/err'"
	check "$command: a closed stdout" sh -c \
		"'$MEMDIAG' $command '$tracee_pid' 2>'$dir/err' >&-
		[ \$? = 1 ] && grep -q 'cannot write' '$dir/err'"
	check "$command: a closed stderr" sh -c "'$MEMDIAG' $command '$tracee_pid' >/dev/null 2>&-"
	check "$command: all of them closed" sh -c \
		"'$MEMDIAG' $command '$tracee_pid' -o '$dir/closed.$command' <&- >&- 2>&- &&
		test -s '$dir/closed.$command'"
	check "$command: a reader that goes away" sh -c \
		"{ '$MEMDIAG' $command '$tracee_pid' 2>'$dir/err'; echo \$? >'$dir/status'; } | true
		grep -qE '^(0|1)\$' '$dir/status'"
done
check 'info: a mode nobody has' says 64 "'x' is not a mode" info 1 --mode=x
check 'info: a way to capture nobody has' says 64 'is no way to capture' info 1 --capture=x
check 'info: a key nobody has' says 64 'is no key' info 1 --sort=x
check 'info: an arena that is no number' says 64 'is not a number' info 1 --arena=x
check 'info: a wait that is no time' says 64 'is not a duration' info 1 --wait=soon
check 'trim: a pad that is no size' says 64 'is not a size' trim 1 --pad=much
check 'a command nobody has' says 64 "no command 'infos'; did you mean 'info'" infos 1
check 'the target lives on' end_tracee
finish

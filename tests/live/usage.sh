#!/bin/sh
# Command lines that cannot be: what is said, the exit status, and that nothing else happens.
. "$top_srcdir/tests/live/lib.sh"
start_tracee idle 1

# check has other exit statuses, and a test of its own.
# diff, export, report, run and timeline, which look at no process of a number, have tests of their own, and so have count and profile, which want one more
# word; status needs one with the agent.
# trace goes on until it is ended, and root alone may trace; what is wrong with a command line is found before.
may_trace=
if [ "$(id -u)" -eq 0 ] && "$MEMDIAG" trace --mount-tracefs -d 1ms "$tracee_pid" >"$dir/out" 2>"$dir/err"; then
	may_trace=yes
fi

for command in $("$MEMDIAG" --list-commands | grep -v -x -e check -e count -e profile -e record -e diff -e export -e report -e run -e status -e timeline); do
	[ "$command" = doctor ] || check "$command: no PID" exits_saying 64 'which process' memdiag $command
	for pid in 0 -1 9999999999 '' '1 2' '1,'; do
		check "$command: PID '$pid'" exits_saying 64 'is not a process id' memdiag $command "--pid=$pid"
	done
	case $command in
	maps | info | heap | trim | status)
		check "$command: two PIDs that do not exist" exits_saying 3 'no process 4194304' memdiag $command 4194304,4194304
		;;
	*) check "$command: two PIDs" exits_saying 64 'one at a time' memdiag $command 1 2 ;;
	esac
	check "$command: the name of no process" exits_saying 3 "no process called '1x'" memdiag $command --pid=1x
	check "$command: a bare name of no process" exits_saying 3 "no process called 'no such'" memdiag $command 'no such'
	check "$command: a PID that does not exist" exits_saying 3 'no process 4194304' memdiag $command 4194304
	check "$command: an unknown option" exits_saying 64 'unrecognized option' memdiag $command --frobnicate 1
	check "$command: an option that wants an argument" exits_saying 64 'requires an argument' memdiag $command --timeout
	check "$command: help" exits 0 memdiag $command --help
	check "$command: help has examples" grep -q '^Examples:' "$dir/out"
	check "$command: -h is the same" sh -c "'$MEMDIAG' $command -h | cmp - '$dir/out'"
	check "$command: help needs no PID and says nothing else" test ! -s "$dir/err"
	words=$command
	if [ "$command" = trace ]; then
		words='trace --mount-tracefs --buffer=64M -q -d 10ms'
		[ -n "$may_trace" ] || {
			skip "$command: its output" "$(head -n 1 "$dir/err")"
			continue
		}
	fi
	# Without -n, watch runs until it is ended.
	[ "$command" != watch ] || words='watch -n 1'
	check "$command: options may come first" exits 0 memdiag --pid "$tracee_pid" $words
	check "$command: a file that is there stays" sh -c \
		"echo mine >'$dir/file'; '$MEMDIAG' $words '$tracee_pid' -o '$dir/file' 2>'$dir/err'
		[ \$? = 1 ] && [ \"\$(cat '$dir/file')\" = mine ] && grep -q -e --force '$dir/err'"
	check "$command: unless --force" sh -c \
		"'$MEMDIAG' $words '$tracee_pid' -o '$dir/file' -f && ! grep -q mine '$dir/file'"
	null=$(stat -c '%A %u:%g %t:%T' /dev/null)
	check "$command: a device is written to, not replaced" exits 0 memdiag $words "$tracee_pid" -f -o /dev/null
	check "$command: it keeps its mode and owner" [ "$(stat -c '%A %u:%g %t:%T' /dev/null)" = "$null" ]
	check "$command: a full disk" exits_saying 1 'No space left' memdiag $words "$tracee_pid" -o /dev/full
	check "$command: a full stdout" sh -c \
		"'$MEMDIAG' $words '$tracee_pid' 2>'$dir/err' >/dev/full
		[ \$? = 1 ] && grep -q 'cannot write' '$dir/err'"
	check "$command: a closed stdout" sh -c \
		"'$MEMDIAG' $words '$tracee_pid' 2>'$dir/err' >&-
		[ \$? = 1 ] && grep -q 'cannot write' '$dir/err'"
	check "$command: a reader who has had enough" sh -c \
		"rm -f '$dir/pipe'; mkfifo '$dir/pipe'; exec 4<>'$dir/pipe' 5>'$dir/pipe' 4<&-
		'$MEMDIAG' $words '$tracee_pid' >&5 2>'$dir/err' && ! grep . '$dir/err'"
	check "$command: a closed stderr" sh -c "'$MEMDIAG' $words '$tracee_pid' >/dev/null 2>&-"
	check "$command: all of them closed" sh -c \
		"'$MEMDIAG' $words '$tracee_pid' -o '$dir/closed.$command' <&- >&- 2>&- &&
		test -s '$dir/closed.$command'"
	check "$command: a reader that goes away" sh -c \
		"{ '$MEMDIAG' $words '$tracee_pid' 2>'$dir/err'; echo \$? >'$dir/status'; } | true
		grep -qE '^(0|1)\$' '$dir/status'"
done
check 'info: an unknown mode' exits_saying 64 "'x' is not a mode" memdiag info 1 --mode=x
check 'info: an unknown thread' exits_saying 64 "'thread' is not auto, helper or own" memdiag info 1 --thread=thread
for command in info trim count profile record; do
	for word in auto helper thread; do
		check "$command --mode=$word, an older name, is taken" exits 0 memdiag "$command" --mode=$word --help
	done
	check "$command --help does not have the older name" sh -c "'$MEMDIAG' '$command' --help | grep -q -e --thread= &&
		! '$MEMDIAG' '$command' --help | grep -q -e '--mode=.*auto'"
	for word in auto helper own; do
		check "$command --thread=$word is taken" exits 0 memdiag "$command" --thread=$word --help
	done
done
for word in mem-fast mem-record log-fast log-record closed; do
	check "record --mode=$word is taken" exits 0 memdiag record --mode=$word --help
	check "run --record=$word is taken" exits 0 memdiag run --record=$word --help
done
check 'run --record=closed writes the numbers alone' sh -c "mkdir '$dir/closed' && cd '$dir/closed' &&
	'$MEMDIAG' run --record=closed -o numbers -- true && [ \"\$(ls)\" = numbers ]"
check 'run --record writes a profile' sh -c "cd '$dir/closed' && rm numbers &&
	'$MEMDIAG' run --record -o it -- true 2>'$dir/err' && ls | grep '^it[.].*[.]heap\$'"
check 'info: an unknown way to capture' exits_saying 64 'is no way to capture' memdiag info 1 --capture=x
check 'info: an unknown key' exits_saying 64 'is no key' memdiag info 1 --sort=x
check 'info: an arena that is no number' exits_saying 64 'is not a number' memdiag info 1 --arena=x
check 'info: a wait that is no time' exits_saying 64 'is not a duration' memdiag info 1 --wait=soon
check 'trim: a pad that is no size' exits_saying 64 'is not a size' memdiag trim 1 --pad=much
check 'an unknown command' exits_saying 64 "no command 'infos'; did you mean 'info'" memdiag infos 1
check 'the target lives on' end_tracee
finish

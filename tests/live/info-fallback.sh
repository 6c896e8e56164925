#!/bin/sh
# Where no thread of a process can be borrowed info reads its heaps instead, and soon; and threads that wait with a
# signal mask of their own can be borrowed.
. "$top_srcdir/tests/live/lib.sh"
need jq

for sleep in ppoll-masked pselect-masked; do
	start_tracee awkward threads=3 sleep=$sleep
	check "$sleep: trim works" exits 0 memdiag trim --pid "$tracee_pid" --mode=helper
	check "$sleep: info asks" exits 0 memdiag info --pid "$tracee_pid" --json
	check "$sleep: malloc_info() was called" json_is '.data.method == "inject"'
	check "$sleep: nothing is left but a stack" test "$(ask 'check 40 0')" = kept
	check "$sleep: the target lives on" end_tracee
done

# dash waits for its children in sigsuspend().
dash=$(command -v dash) || dash=
if [ -n "$dash" ] && [ "$(uname -m)" = x86_64 ]; then
	# shellcheck disable=SC2016 # of that shell
	"$dash" -c 'trap : USR1; sleep 100000 & echo $! >"$1"; wait' sh "$dir/sleeper" &
	waiting=$!
	started="$started $waiting"
	# 61 is wait4.
	wait_for $waiting "/proc/$waiting/syscall" '^\(130\|61\) '
	if [ -s "$dir/sleeper" ] && grep -q '^130 ' "/proc/$waiting/syscall"; then
		check 'sigsuspend: info answers' exits 0 memdiag info --pid $waiting --json
		check 'sigsuspend: from the heaps' json_is '.data.method == "read"'
		check 'sigsuspend: it was not stopped' json_is '[.data | .. | objects | select(has("longest_us")) | .count] == [0]'
		check 'sigsuspend: the reason names the call' json_is '.warnings | any(test("rt_sigsuspend\\(\\)"))'
		check 'sigsuspend: with --method=inject it does not' \
			exits 6 memdiag info --pid $waiting --method=inject --wait 200ms
	else
		skip 'sigsuspend' 'this dash waits in another call'
	fi
	kill "$(cat "$dir/sleeper")"
	wait "$waiting"
else
	skip 'sigsuspend' 'no dash here'
fi

# A debugger has stopped it: its memory can be read all the same.
if command -v gdb >/dev/null; then
	start_tracee idle
	mkfifo "$dir/held"
	gdb -nx -q -batch -p "$tracee_pid" -ex "shell echo held; cat '$dir/held'" >"$dir/gdb" 2>&1 </dev/null &
	debugger=$!
	started="$started $debugger"
	if wait_for $debugger "$dir/gdb" '^held'; then
		check 'under gdb: info answers' exits 0 memdiag info --pid "$tracee_pid" --json
		check 'under gdb: from the heaps' json_is '.data.method == "read"'
		check 'under gdb: the reason names it' json_is '.warnings | any(test("traced by process [0-9]+ \\(gdb\\)"))'
		check 'under gdb: with --method=inject it does not' \
			exits 4 memdiag info --pid "$tracee_pid" --method=inject
		check 'under gdb: nor does trim' exits 4 memdiag trim --pid "$tracee_pid"
		echo go on >"$dir/held"
		wait $debugger
	else
		skip 'under gdb' 'gdb cannot attach'
	fi
	check 'the target lives on' end_tracee
else
	skip 'under gdb' 'gdb is not installed'
fi

# A shell that waits for a key, in pselect() with a signal mask, as bash's readline does.
bash=$(command -v bash) || bash=
if [ -n "$bash" ] && command -v script >/dev/null; then
	mkfifo "$dir/keys"
	script -qe -c "exec '$bash' --norc --noprofile -i" "$dir/typescript" <"$dir/keys" >"$dir/screen" 2>&1 &
	terminal=$!
	started="$started $terminal"
	exec 8>"$dir/keys"
	# The typed line is echoed: only the answer has no dollar.
	# shellcheck disable=SC2016
	echo 'echo the shell is $$' >&8
	check 'bash: it answers' wait_for $terminal "$dir/screen" 'the shell is [0-9]'
	shell=$(sed -n 's/.*the shell is \([0-9][0-9]*\).*/\1/p' "$dir/screen")
	check 'bash: info answers' each_of 5 exits 0 memdiag info --pid "$shell" --json
	check 'bash: with arenas' json_is '.data.arenas | length > 0'
	# shellcheck disable=SC2016
	echo 'echo the sum is $((40 + 2))' >&8
	check 'bash: it goes on' wait_for $terminal "$dir/screen" 'the sum is 42'
	echo exit >&8
	exec 8>&-
	check 'bash: it ends well' wait $terminal
else
	skip 'bash' 'no bash, or no script(1)'
fi
finish

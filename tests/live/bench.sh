#!/bin/sh
# The bench the other live tests stand on: it must see what it is there to see.
. "$top_srcdir/tests/live/lib.sh"

inner=600	# the deadline of a script within this one

# Whether a script made of these lines fails, with these words in what it says.
script_fails()
{
	{
		echo '. "$top_srcdir/tests/live/lib.sh"'
		cat
	} >"$dir/script.sh"
	env -u MEMDIAG_TEST_DEADLINE deadline="$inner" sh "$dir/script.sh" >"$dir/script.out" 2>&1 && return 1
	cat "$dir/script.out"
	rm -rf "$(sed -n 's/^# scratch is kept in //p' "$dir/script.out")"
	grep -q -e "$1" "$dir/script.out"
}

check 'a failed check is reported' script_fails '^not ok 1 - no' <<-'EOF'
	check no false
	finish
EOF
check 'a killed tracee is reported' script_fails '^not ok 1 - lives' <<-'EOF'
	start_tracee idle
	kill -KILL "$tracee_pid"
	check lives end_tracee
	finish
EOF
check 'a tracee that says less than alive is reported' script_fails '^not ok 1 - lives' <<-'EOF'
	start_command sh -c 'echo ready; cat'
	check lives end_tracee
	finish
EOF
check 'a descriptor more is reported' script_fails 'fd 9 /dev/null' <<-'EOF'
	start_command sh -c 'echo ready; read line; exec 9</dev/null; echo done; cat; echo alive'
	remember
	ask open
	check kept unharmed
	finish
EOF
# On a busy machine a script that has only begun cannot say so.
meets_deadline()
{
	for inner in 1 10 100; do
		echo 'sleep 1000' | script_fails "deadline of $inner s" && return
	done
	return 1
}
check 'a script that hangs meets its deadline' meets_deadline

start_tracee idle 3
remember
check 'it has its threads' test "$(grep -c SigBlk "$dir/before")" -eq 4
check 'a tracee answers' test "$(ask hello)" = "what is 'hello'?"
check 'an untouched process is the same' unharmed
check 'the target lives on' end_tracee

for words in 'bloat 1' 'busy-main' 'busy-main 2' 'churn 2' 'corrupt ring' 'flood' 'flood 3' \
	'heartbeat 3 2 1' 'idle-static' 'liar nothing' 'logger' 'manythreads 20' 'oracle' \
	'oracle multi' 'parked read 1' 'parked sem 1 multi' 'race 2 threads' 'race 2 exec' 'spin' 'vfork' \
	'zombie-leader'
do
	[ -x "$TRACEES/${words%% *}" ] || continue	# not made for this architecture
	# shellcheck disable=SC2086 # a name and arguments
	start_tracee $words
	check "$words keeps the protocol" end_tracee
done
start_tracee oracle
check 'an oracle that was left alone is intact' test "$(ask check)" = intact
check 'the oracle lives on' end_tracee
finish

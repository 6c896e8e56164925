#!/bin/sh
# memdiag profile: a program that runs is sampled, and its own account agrees.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
need_hooks
need jq

# is_profiled: wait until the tracee is.
is_profiled()
{
	until profile status && json_is .data.is_profiling; do
		lives "$tracee_pid" || return
		sleep 0.05
	done
}

prefix=$dir/p

start_tracee sites 3
same_bytes
check 'profile start --rate 1 begins a profile' profile start --rate 1
check 'the agent was loaded, and its hooks are set' json_is '.data.entries > 8 and .data.was_so_already == false'
check 'profile start as JSON: the verb, and no file' json_is '.data.verb == "start" and .data.file == null'
check 'a second profile start changes nothing' profile start
check 'a second profile start says so' json_is .data.was_so_already
check 'the tracee allocates while it is profiled' obeys 'play 1 20000 1'
check 'profile status of a process that is profiled' profile status
check 'profile status has samples and their rate' json_is '.data.is_profiling and .data.noted.period_bytes == 1 and .data.noted.samples > 50000'
check 'profile dump writes a file' profile dump -o "$prefix"
first=$(written)
check 'the file of profile dump has PID, number, kind and time in its name' \
	expr "$first" : "$prefix\\.$tracee_pid\\.0\\.m0\\.20[0-9]*T[0-9]*\\.heap\$"
check 'the file of profile dump is exact' exact "$first"
check 'the tracee allocates after profile dump' obeys 'play 2 20000 1'
check 'all blocks of the profile are freed' obeys drop
check 'profile stop ends the profile' profile stop -o "$prefix"
last=$(written)
check 'profile stop writes the last file' expr "$last" : "$prefix\\.$tracee_pid\\.1\\.f0\\.20[0-9]*T[0-9]*\\.heap\$"
check 'the file of profile stop is exact' exact "$last"
check 'the file of profile stop has nothing in use' test -z "$(values "$last" in-use)"
check 'the file of profile stop has the peak' test "$(values "$last" peak | wc -l)" -gt 4
check 'profile stop restores all bytes of code' same_bytes
check 'a second profile stop changes nothing' profile stop
check 'a second profile stop says so' json_is '.data.was_so_already and .data.file == null'
check 'profile dump after profile stop writes a file' profile dump -o "$prefix"
check 'the file of profile dump after profile stop is exact' exact "$(written)"
check 'profile status after profile stop as text' memdiag profile status --pid "$tracee_pid"
check 'profile status after profile stop says what comes next' grep -q 'memdiag profile dump -p' "$dir/out"

check 'the stacks of the last file are whole' whole "$last"

# ---- all by itself ----

check 'profile --seconds 1s runs' profile --seconds 1s --rate 4K -o "$prefix"
check 'profile --seconds writes a file though nothing was allocated' test -s "$(written)"
check 'report reads the file of profile --seconds' memdiag report "$(written)"

# interrupted SIGNAL: whether a profile that would take an hour ends, and leaves what it has.  A shell without job control
# has SIGINT ignored in the background.
interrupted()
{
	"$MEMDIAG" profile --pid "$tracee_pid" --seconds 1h --rate 1 -o "$prefix" >"$dir/early" 2>&1 &
	local early=$!
	is_profiled || return
	obeys 'play 3 1000 1' || return
	kill -s "$1" $early
	wait $early || return
	grep -q 'ended early' "$dir/early" && same_bytes &&
		memdiag report "$(sed -n 's/^memory profile written: //p' "$dir/early")" && grep -q site_ "$dir/out"
}
check 'SIGINT ends profile --seconds early, and nothing is lost' interrupted INT
check 'SIGTERM ends profile --seconds early, and nothing is lost' interrupted TERM

check 'profile --symbols-inside runs' profile --seconds 100ms --rate 1 --symbols-inside -o "$prefix"
check 'the target lives on' end_tracee

# ---- the process ends, or becomes another ----

# ends_meanwhile: whether what was noted of a process that ends is written.
ends_meanwhile()
{
	start_tracee sites 1
	env --default-signal "$MEMDIAG" profile --pid "$tracee_pid" --seconds 1h --rate 1 -o "$prefix" >"$dir/early" 2>&1 &
	local early=$!
	is_profiled || return
	obeys 'play 3 1000 1' || return
	"$@" || return
	wait $early
	[ $? -eq 2 ] && memdiag report "$(sed -n 's/^memory profile written: //p' "$dir/early")" &&
		grep -q site_ "$dir/out"
}
killed()
{
	kill -KILL "$tracee_pid"
}
check 'profile --seconds of a process that ends meanwhile' ends_meanwhile end_tracee
check 'profile --seconds of a process that is killed meanwhile' ends_meanwhile killed

# becomes LAST WORDS...: a shell becomes the command LAST under a profile with WORDS; whether memdiag's status says so.
becomes()
{
	local last="$1" early status
	shift
	start_command sh -c 'echo ready; read -r _; exec sleep 1000'
	env --default-signal "$MEMDIAG" profile --pid "$tracee_pid" --seconds 1h --rate 1 -o "$prefix" "$@" \
		>"$dir/early" 2>&1 &
	early=$!
	is_profiled || return
	tell words
	until [ "$(cat "/proc/$tracee_pid/comm")" = "$last" ]; do
		lives "$tracee_pid" || return
		sleep 0.01
	done
	kill -INT $early
	wait $early
	status=$?
	cat "$dir/early"
	kill -KILL "$tracee_pid"
	[ $status -eq 2 ]
}
check 'it becomes another program: its status' becomes sleep
check 'it becomes another program: that is said, with both names' \
	grep -q "^sh $tracee_pid became another program, sleep; the file has what there was before\$" "$dir/early"
check 'it becomes another program: no error' sh -c "! grep -q 'did not end' '$dir/early'"
check 'it becomes another program: what the first one allocated is there' \
	memdiag report "$(sed -n 's/^memory profile written: //p' "$dir/early")"
check 'it becomes another program: with that one'\''s names' grep -q 'sh\|dash\|bash' "$dir/out"
check 'it becomes another program: no thread has the name of the second one' \
	sh -c "! grep -q '^# thread.* sleep\$' '$dir'/p.$tracee_pid.*"
check 'it becomes another program, as JSON: its status' becomes sleep --json
check 'it becomes another program, as JSON: its name' \
	jq -e '.data.became == "sleep" and .data.process_ended' "$dir/early"

# ---- beside the counter ----

# nr_changed: in how many words the tracee's code is not what it was at first.
nr_changed()
{
	! same_bytes >/dev/null || return
	cmp -l "$dir/now" "$dir/$tracee_pid.text" | awk '{ print int(($1 - 1) / 8) }' | sort -u | wc -l
}

# is_hooked_for_samples_alone: whether as many functions lead to the agent as when samples are all that it takes.
is_hooked_for_samples_alone()
{
	local now
	now=$(nr_changed)
	echo "$now words changed, $alone for samples alone"
	[ "$now" = "$alone" ]
}

start_tracee ledger
same_bytes
check 'beside the counter: first alone' profile start --rate 1M
alone=$(nr_changed)
check 'beside the counter: it ends' profile stop -o "$prefix"
check 'beside the counter: it counts' count start
check 'beside the counter: exact' does mix 2000
check 'beside the counter: a profile begins' profile start --rate 1
check 'beside the counter: still exact' does mix 2000
check 'beside the counter: both are at it' profile status
check 'beside the counter: samples are taken' json_is '.data.noted.samples > 100'
check 'beside the counter: the profile ends' profile stop -o "$prefix"
check 'beside the counter: exact as ever' does mix 2000
check 'beside the counter: it ends, too' count stop
check 'beside the counter: all bytes of code are as they were' same_bytes
check 'beside the counter: a profile alone' profile start --rate 1
check 'beside the counter: counting begins' count start
check 'beside the counter: exact again' does mix 2000
check 'beside the counter: counting ends' exits 0 memdiag count stop --pid "$tracee_pid"
check 'beside the counter: hooks that only counting needs are gone' is_hooked_for_samples_alone
check 'beside the counter: the profile goes on' profile status
check 'beside the counter: as it says' json_is .data.is_profiling
check 'beside the counter: it is stopped' profile stop -o "$prefix"
check 'beside the counter: the target lives on' end_tracee

# ---- bad input ----

start_tracee idle
check 'profile without verb and time: a usage error' exits_saying 64 'what is to be done' memdiag profile --pid "$tracee_pid"
check 'profile start --seconds: a usage error' exits_saying 64 'without start and stop' memdiag profile start --seconds 1 --pid "$tracee_pid"
check 'profile start --rate 0: a usage error' exits_saying 64 'not a rate' memdiag profile start --rate 0 --pid "$tracee_pid"
check 'profile start --rate fast: a usage error' exits 64 memdiag profile start --rate fast --pid "$tracee_pid"
check 'profile --seconds 0: a usage error' exits_saying 64 'not a DURATION to run for' memdiag profile --seconds 0 --pid "$tracee_pid"
check 'profile into a directory that is missing: status 1' exits_saying 1 'cannot write a profile into' \
	memdiag profile --seconds 1h -o "$dir/none/p" --pid "$tracee_pid"
check 'profile dump of a process without a profile: refused' exits_saying 5 'has no profile' memdiag profile dump --pid "$tracee_pid"
check 'profile stop of a process without a profile' profile stop
check 'profile status of a process without a profile' profile status
check 'profile status of a process without a profile as text' memdiag profile status --pid "$tracee_pid"
check 'profile status of a process without a profile says how to begin one' grep -q 'memdiag profile start' "$dir/out"
check 'the target lives on' end_tracee
finish

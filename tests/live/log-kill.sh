#!/bin/sh
# SIGKILL of the program, of the memdiag that writes its log, or of both, at random moments: each file can be read, and
# its sums are consistent. And a hundred changes of the mode, and files that are removed while a program is busy.
# shellcheck disable=SC3043,SC2034,SC2154 # every sh we know has local; lib.sh reads and sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/record-lib.sh"
. "$top_srcdir/tests/live/log-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
need_hooks
build_truth

# events FILE: how many are in it, by what it has of each site: a block that is no more in use has two.
events()
{
	exits '0 2' memdiag report --format=json "$1" && jq -e '.data.types | map({ (.name): .total }) | add |
		.inuse_space >= 0 and .inuse_space <= .alloc_space and
		.inuse_objects >= 0 and .inuse_objects <= .alloc_objects' "$dir/out" >"$dir/readable" &&
		json '.data.types | map({ (.name): .total }) | add | 2 * .alloc_objects - .inuse_objects'
}

# has_events WANTED: whether the only file of the log has no more in use than was allocated, and at least the events
# that its writer had said to have written before anything was killed.
has_events()
{
	local nr
	[ "$(log_files)" -eq 1 ] && nr=$(events "$dir"/logs/*.mlog.zst) || {
		ls "$dir/logs"
		echo "$nr"
		return 1
	}
	echo "$nr events, of $1"
	[ "$1" -gt 0 ] && [ "$nr" -ge "$1" ] && rm -rf "$dir/logs" || return
	nr_killed=$((nr_killed + 1)) least=$([ "$nr" -lt "$least" ] && echo "$nr" || echo "$least")
}

# killed WHO: a busy program whose log is written, and the processes that $1 names are killed.
killed()
{
	local written
	start_command "$truth" && obeys 'busy 3' && begins_log && until_log '.data.log.events > 0' &&
		written=$(json .data.log.events) || return
	moment
	case $1 in
	program) kill -KILL "$tracee_pid" ;;
	writer) kill -KILL "$writer" ;;
	both) kill -KILL "$writer" "$tracee_pid" ;;
	esac
	gone "$writer"
	kill -KILL "$tracee_pid" 2>/dev/null
	wait "$tracee_pid" 2>/dev/null
	kill "$(cat "$dir/$tracee_pid.holder")"
	has_events "$written"
}

change_mode()
{
	begins_log && patiently memdiag record start --mode mem-fast --pid "$tracee_pid" &&
		log_is '.data | .is_recording and (.log.is_written | not)' && begins_log &&
		patiently memdiag record start --mode closed --pid "$tracee_pid" && rm -rf "$dir/logs"
}

nr_killed=0 least=1000000000
check 'the program is killed' each_of 67 killed program
check 'the writer is killed' each_of 67 killed writer
check 'both are killed' each_of 67 killed both
echo "# killed $nr_killed times; each file has $least events or more"
start_command "$truth"
check 'a busy program' obeys 'busy 5'
check 'its mode is changed' each_of 25 change_mode
check 'the target lives on' end_tracee
finish

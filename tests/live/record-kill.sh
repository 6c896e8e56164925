#!/bin/sh
# SIGKILL of memdiag, or of the program, at random moments of a record: a file with what was recorded is written or can
# be, and its sums are consistent. And a hundred records of a busy program leave nothing in it.
# shellcheck disable=SC3043,SC2034,SC2154 # every sh we know has local; lib.sh reads and sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/record-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
build_truth

# consistent FILE: of the file and of each stack in it: what is in use is no more than what was allocated, and so is
# what was temporary.
consistent()
{
	grep -q '^# memdiag heap' "$1" || return
	"$MEMDIAG" report --format=json "$1" | jq -e '.data.types | map({ (.name): .total }) | add |
		.alloc_space > 0 and .inuse_space >= 0 and .inuse_space <= .alloc_space and
		.inuse_objects >= 0 and .inuse_objects <= .alloc_objects and
		.temporary_space <= .alloc_space - .inuse_space and
		.temporary_objects <= .alloc_objects - .inuse_objects and
		.peak_space <= .alloc_space' >"$dir/consistent"
}

# ends_one PID: wait for a job of this shell; what the shell says of its end is of no interest.
ends_one()
{
	wait "$1" 2>/dev/null
}

# ---- the program is killed ----

killed_in_run()
{
	rm -rf "$dir/run"
	mkdir "$dir/run"
	start_command "$MEMDIAG" run --json --record -o "$dir/run/p" -- "$truth" && obeys "busy $1" || return
	moment
	child_of "$tracee_pid" && kill -KILL "$child"
	ends_one "$tracee_pid"
	kill "$(cat "$dir/$tracee_pid.holder")"
	consistent "$(ls "$dir"/run/p.*.heap)"
}

killed_in_record()
{
	local recorder
	start_command "$truth" && obeys "busy $1" || return
	rm -f "$dir"/killed.*.heap
	"$MEMDIAG" record --seconds 1800 -o "$dir/killed" --json --pid "$tracee_pid" >"$dir/out" 2>"$dir/err" &
	recorder=$!
	until_recording || return
	moment
	kill -KILL "$tracee_pid"
	ends_one "$tracee_pid"
	kill "$(cat "$dir/$tracee_pid.holder")"
	ends_one "$recorder"
	adds_up && json_is .data.process_ended && consistent "$(written)"
}

# until_recording: until the tracee is.
until_recording()
{
	until "$MEMDIAG" record status --json --pid "$tracee_pid" 2>/dev/null |
		jq -e '.data | .is_recording and .noted.allocated.blocks > 0' >"$dir/is-recording"; do
		lives "$tracee_pid" || return
	done
}

# ---- memdiag is killed ----

# recorder_killed [WHEN]: while it begins; with a word while it records.
recorder_killed()
{
	local recorder
	"$MEMDIAG" record --seconds 1800 -o "$dir/left" --json --pid "$tracee_pid" >"$dir/left.out" 2>"$dir/left.err" &
	recorder=$!
	[ -z "${1-}" ] || until_recording || return
	moment
	kill -KILL "$recorder"
	ends_one "$recorder"
	# Killed before it had begun: then this does.
	patiently record start && until_recording && patiently record stop -o "$dir/stopped" && adds_up &&
		consistent "$(written)" && rm -f "$(written)"
}

# ---- many records of one program ----

rss_kib()
{
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$tracee_pid/status"
}

# state: how many descriptors and mappings it has, and its resident KiB.
state()
{
	echo "$(ls "/proc/$tracee_pid/fd" | wc -l) $(wc -l <"/proc/$tracee_pid/maps") $(rss_kib)"
}

one_record()
{
	patiently record start && until_recording && patiently record stop -o "$dir/one" && adds_up && rm -f "$(written)"
}

# Blocks of the program and glibc's own arenas take their time to reach what they are: more than a few records.
leave_nothing()
{
	local before after
	each_of 10 one_record || return
	before=$(state)
	each_of 100 one_record || return
	after=$(state)
	echo "$before" "$after" | awk '{ print
		exit !($4 <= $1 && $5 <= $2 + 12 && $6 <= $3 + 8192) }'
}

check 'run: the program is killed' each_of 20 killed_in_run 3
if ! has_hooks; then
	skip 'live' 'malloc cannot be hooked on this processor'
	finish
fi
check 'live: the program is killed' each_of 20 killed_in_record 4
start_command "$truth"
check 'a busy program' obeys 'busy 5'
check 'memdiag is killed, mostly while it begins' each_of 20 recorder_killed
check 'memdiag is killed while it records' each_of 20 recorder_killed recording
check 'a hundred records leave nothing' leave_nothing
check 'the target lives on' end_tracee
finish

#!/bin/sh
# The files of a log under load, three of which are to stay: on a disk that is full, is read-only then, and has room
# again; in a directory that is removed.  Any of the newest files that follow each other can be read alone, and say
# what the table of the record says, and the program itself.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/record-lib.sh"
. "$top_srcdir/tests/live/log-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq nsenter unshare
need_hooks
unshare -m true 2>"$dir/err" || skip_all 'no mount namespaces'
logs=$dir/disk/logs

# inside COMMAND...: in the mount namespace with the disk.
inside()
{
	nsenter -t "$disk" -m -- "$@"
}

# remount OPTIONS: the disk is another one.
remount()
{
	inside mount -o "remount,$1" "$dir/disk"
}

# A disk of 130 MB has room for one file and a part of the next one.
mkdir "$dir/disk"
unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs -o size=130m none "$0" && echo ready && exec sleep 100000' \
	"$dir/disk" >"$dir/mounted" &
disk=$!
started="$started $disk"
wait_for "$disk" "$dir/mounted" ready || skip_all 'nothing can be mounted'

# names: of the files, the oldest first.
names()
{
	inside sh -c 'cd "$0" && ls -d -- *.mlog*' "$logs"
}

# start_watching: what is the most files that there are at a time, until $dir/stop is there.
start_watching()
{
	# shellcheck disable=SC2016 # for the other shell
	inside sh -c 'most=0
		until [ -e "$1/stop" ]; do
			set -- "$1" "$0"/*.mlog*
			[ $# -le $((most + 1)) ] || most=$(($# - 1))
			set -- "$1"
			sleep 0.02
		done
		echo $most' "$logs" "$dir" >"$dir/most" &
	watcher=$!
	started="$started $watcher"
}

# begins_inside MODE: a log of the tracee, on the disk.
begins_inside()
{
	captured inside "$MEMDIAG" record start --wait=300s --timeout=600s --mode "$1" --files 3 -o "$logs" --pid "$tracee_pid"
}

# churn_until FILTER: the program works until that is so of the status.
churn_until()
{
	until log_is "$1" >"$dir/is"; do
		obeys 'churn 1000000 2' || return
	done
}

# totals FILE|DIR: blocks and bytes that are in use at its end.
totals()
{
	exits '0 2' captured inside "$MEMDIAG" report --format=json "$1" &&
		jq -r '.data.types | map({ (.name): .total }) | add | "\(.inuse_objects) \(.inuse_space)"' "$dir/out"
}

# keep_sum: what is in use by the table of the record that has just ended.
keep_sum()
{
	json '.data.noted.in_use | "\(.blocks) \(.bytes)"' >"$dir/in-use"
	nr_dropped=$(json .data.log.dropped)
	echo "# $(json '.data.log | "\(.events) events in \(.files) files; \(.lost) lost, \(.dropped) dropped"')"
}

# is_read DIR: whether its files have in use at their end what the table has.  What found no room in the log may be
# anything.
is_read()
{
	totals "$1" >"$dir/totals" || {
		cat "$dir/totals"
		return 1
	}
	echo "$(cat "$dir/totals") in use, of the table $(cat "$dir/in-use")"
	[ "$nr_dropped" -gt 0 ] || cmp "$dir/totals" "$dir/in-use"
}

# A run without the files behind a gap is partial.  It has another name for each of the newest files.
each_run_is_read()
{
	local nr all name run
	all=$(names | wc -l)
	nr=0
	while [ $((nr += 1)) -le "$all" ]; do
		run=$dir/disk/run.$nr
		inside mkdir "$run" || return
		for name in $(names | tail -n "$nr"); do
			inside ln "$logs/$name" "$run/$name" || return
		done
		is_read "$run" || {
			echo "the newest $nr"
			return 1
		}
	done
	[ "$nr" -gt 3 ]
}

# has_gap: whether it is said that the last file does not follow the ones before.
has_gap()
{
	exits '0 2' captured inside "$MEMDIAG" timeline "$logs" &&
		says '2 older files of the log are not shown: the number .* is missing'
}

# all_counted: whether each event is in a file, or counted.
all_counted()
{
	json '.data | [.noted, .log]'
	json_is '.data | .log.missing == 0 and (.log | .events + .dropped + .lost + .unmatched) ==
		.noted.allocated.blocks + .noted.freed.blocks'
}

# is_the_programs: whether the record has what the program says, besides what libc has for threads.
is_the_programs()
{
	local blocks
	blocks=$(ask sum | cut -d' ' -f2)
	echo "$blocks blocks by the program, $(json .data.noted.allocated.blocks) recorded"
	json_is ".data.noted | .allocated.blocks + .no_room.blocks - $blocks | . >= 0 and . < 10000"
}

start_tracee fill
check 'a directory' inside mkdir "$logs"
remount ro
check 'on a read-only disk no log begins' exits 1 begins_inside log-fast
check 'which says why' says 'cannot write the log into .*logs: Read-only file system'
check 'and nothing is recorded' log_is '.data.is_recording | not'
remount rw
check 'a log begins' begins_inside log-fast
start_watching
check 'the disk is full' churn_until '.data.log.error == 28 and .data.log.files == 2'
check 'the program works on' obeys 'churn 100000 2'
check 'what is lost is counted' until_log '.data.log.lost > 0'
check 'what was written stays' test "$(names | wc -l)" = 2
check 'people read of it' memdiag record status --pid "$tracee_pid"
check 'why' grep -q 'no file can be written at this moment: No space left on device' "$dir/out"
check 'the disk is read-only' remount ro
check 'that is seen' until_log '.data.log.error == 30'
remount rw,size=2g
check 'there is room again' until_log '.data.log.error == 0 and .data.log.files == 3'
check 'with a gap before it' has_gap
check 'files come and go' churn_until ".data.log.files >= $((3 + $(some 4)))"
lost=$(json .data.log.lost)
check 'the oldest were removed' json_is '.data.log.files_removed == .data.log.files - 3'
check 'the record ends' record stop
check 'each event is written or counted' all_counted
check 'and the record is what the program did' is_the_programs
keep_sum
check 'none were lost but on the full disk' json_is ".data.log.lost == $lost"
check 'three files are left' test "$(names | wc -l)" = 3
check 'each is of 100 MB, or less' inside sh -c '! find "$0" -size +100000000c | grep .' "$logs"
check 'any of the newest can be read' each_run_is_read
touch "$dir/stop"
wait "$watcher"
# The oldest is removed when the newest has its first events.
check 'there were not more than a fourth for a moment' test "$(cat "$dir/most")" -le 4

check 'a log begins again' begins_inside log-record
check 'it has events' churn_until '.data.log.events > 0'
check 'its directory is removed' inside rm -r "$logs"
check 'and made again' churn_until '.data.log.files == 2 and .data.log.error == 0'
check 'the program works' obeys 'churn 100000 2'
check 'the log ends' record stop
check 'what is missing is counted' all_counted
keep_sum
check 'the file that is left is read' is_read "$logs"
check 'the target lives on' end_tracee
kill "$disk"
finish

#!/bin/sh
# timeline of a process: the log that is written of it, found by its PID or name, and followed as it grows.
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

# ---- the log of a process ----

# has_account FILE: whether the last timeline has what the tracee's account in FILE has.
has_account()
{
	awk '/^site_/ { a += $2; b += $3; c += $4; d += $5 }
		END { printf "%.0f %.0f %.0f %.0f\n", a, b, c, d; exit b < 100 }' "$1" >"$dir/wanted" &&
		json '.data | [.allocated.bytes, .allocated.blocks, .live.bytes, .live.blocks] | map(tostring) | join(" ")' |
		diff "$dir/wanted" -
}

# No other process has that name, also where the test runs twice.
name=follow-$$
cp "$truth" "$dir/$name"
start_command "$dir/$name"
check 'a process that was not recorded is refused' exits_saying 5 'has not been recorded, so it has no log' \
	memdiag timeline --pid "$tracee_pid"
check 'a record in memory' record start
check 'has no log either' exits_saying 5 'has no log: its record is in memory' memdiag timeline "$tracee_pid"
check 'its record ends' record stop -o "$dir/memory"
check 'a process that there is not' exits_saying 3 "there is no process 4194304. 'memdiag timeline DIR' reads" \
	memdiag timeline -p 4194304
check 'a word that is neither a file nor a process' exits_saying 3 'Nor is there a file of that name' \
	memdiag timeline not-a-process
check 'a file that there is not' exits_saying 1 'No such file' memdiag timeline "$dir/none"
check 'a file and a process' exits_saying 64 'a file and a process: one at a time' \
	memdiag timeline "$dir/$name" -p "$tracee_pid"
check 'neither' exits_saying 64 'which recording' memdiag timeline --peak

check 'a log begins' begins_log
check 'the program begins from zero' told reset
check 'it works' told 'play 1 20000 0'
check 'it saves its account' told "save $dir/account"
check 'all is in files' until_log '.data | .log.events == .noted.allocated.blocks + .noted.freed.blocks'
check 'the log is found by the PID' exits 0 memdiag timeline --pid "$tracee_pid" --json
check 'it is that directory' json_is ".data.file == \"$(realpath "$dir/logs")\""
check 'it has what the program has allocated' has_account "$dir/account"
check 'and by a number alone' exits 0 memdiag timeline "$tracee_pid" --json
check 'with the same' has_account "$dir/account"
check 'and by the name' exits 0 memdiag timeline "$name" --json
check 'and the same' has_account "$dir/account"
check 'a moment of it' exits 0 memdiag timeline "$tracee_pid" --peak
check 'has functions' grep -q ' site_[0-9]*$' "$dir/out"
check 'a file goes before a name' sh -c 'cd "$1" && ! "$2" timeline "$4" 2>"$3"' - "$dir" "$MEMDIAG" "$dir/err" "$name"
check 'and is refused if it is no recording' says 'it is no recording'

# Another log in the same directory, which is newer.
first=$tracee_pid
start_command "$truth"
check 'another process has a log in that directory' begins_log
check 'a number is told from the other' exits 0 memdiag timeline "$first" --json
check 'by its own log' has_account "$dir/account"
check 'the other one ends' end_tracee
tracee_pid=$first

mv "$dir/logs" "$dir/moved"
check 'a directory that was removed' exits_saying 1 'where process .* writes the log of .*: No such file or directory.* It was removed' \
	memdiag timeline "$tracee_pid"
mv "$dir/moved" "$dir/logs"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	# CAP_SYS_PTRACE, to read the process, but not CAP_DAC_OVERRIDE
	chmod 711 "$dir"
	check 'files of another user' exits_saying 4 'where process .* writes the log of .*: Permission denied' \
		captured setpriv --reuid=65534 --clear-groups --inh-caps=-all,+sys_ptrace --ambient-caps=-all,+sys_ptrace \
		--bounding-set=-all,+sys_ptrace "$MEMDIAG" timeline "$tracee_pid"
else
	skip 'files of another user' 'takes root and setpriv'
fi
check 'the record ends' exits 0 memdiag record stop --pid "$tracee_pid"
check 'its log can still be found' exits 0 memdiag timeline "$tracee_pid" --json
check 'with all of it' has_account "$dir/account"

# ---- followed ----

# follow NAME OPTIONS...: follow the log in the background; what it prints goes to $dir/NAME.
follow()
{
	local name="$1"
	shift
	"$MEMDIAG" timeline --follow "$@" >"$dir/$name" 2>"$dir/$name.err" &
	eval "$name"=$!
}

# until_lines FILE NR: until FILE has so many lines.
until_lines()
{
	until [ "$(wc -l <"$dir/$1")" -ge "$2" ]; do
		lives "$tracee_pid" || return
		sleep 0.02
	done
}

# ended NAME [STATUS]: whether that follower ends with STATUS, 0 if not given.
ended()
{
	local status
	eval "wait \"\$$1\""
	status=$?
	[ $status -eq "${2:-0}" ] || {
		echo "exit status $status"
		cat "$dir/$1.err"
		return 1
	}
}

# unchanged: whether the process has been left alone: nobody traces it, and it has mapped nothing since.
unchanged()
{
	grep -q '^TracerPid:	0$' "/proc/$tracee_pid/status" && diff "$dir/maps.before" "/proc/$tracee_pid/maps"
}

rm -rf "$dir/logs"
check 'a log to be followed begins' begins_log
follow text --pid "$tracee_pid" --interval 50ms
follow csv --pid "$tracee_pid" --interval 50ms --format csv
follow json "$dir/logs" --json
follow longer "$dir/logs"/*.mlog* --interval 1s --format csv
check 'lines come while it is written' until_lines csv 3
cp "/proc/$tracee_pid/maps" "$dir/maps.before"
nr_lines=$(wc -l <"$dir/csv")
check 'and more of them' until_lines csv $((nr_lines + 3))
check 'nothing has happened to the process' unchanged
check 'it begins from zero' told reset
for seed in 1 2 3; do
	check "the program works: $seed" told "play $seed 20000 0"
	nr_lines=$(wc -l <"$dir/csv")
	check "lines come: $seed" until_lines csv $((nr_lines + 2))
done
check 'it saves its account' told "save $dir/account"
check 'the record ends' exits 0 memdiag record stop --pid "$tracee_pid"
for name in text csv json longer; do
	check "and so does the follower: $name" ended $name
	check "without a word: $name" test ! -s "$dir/$name.err"
done

# sums_are_account: whether the sums of the lines of CSV are those that the program has saved.
sums_are_account()
{
	awk '/^site_/ { a += $2; b += $3 } END { printf "%.0f %.0f\n", a, b; exit b < 100 }' "$dir/account" >"$dir/wanted" &&
		awk -F, 'NR > 1 { a += $5; b += $6 } END { printf "%.0f %.0f\n", a, b }' "$dir/csv" | diff "$dir/wanted" -
}

check 'the lines have what the program has allocated' sums_are_account
check 'they are those of the timeline' exits 0 memdiag timeline "$tracee_pid" --interval 50ms --format csv
check 'all of them' diff "$dir/out" "$dir/csv"
check 'longer intervals' exits 0 memdiag timeline "$tracee_pid" --interval 1s --format csv
check 'are those of the timeline, too' diff "$dir/out" "$dir/longer"
check 'JSON' exits 0 memdiag timeline "$tracee_pid" --interval 1s --json
jq -c '.data.intervals[]' "$dir/out" >"$dir/wanted"
check 'is an object in each line' diff "$dir/wanted" "$dir/json"
check 'text has as many lines' [ "$(wc -l <"$dir/text")" -eq "$(wc -l <"$dir/csv")" ]
check 'below their names' sh -c "head -n 1 '$dir/text' | grep -q '^ *TIME *LIVE *BLOCKS *ALLOCATED *FREED *RSS$'"
check 'a log that has its end is shown' exits 0 memdiag timeline --follow "$tracee_pid" --interval 50ms --format csv
check 'as the timeline does' diff "$dir/out" "$dir/csv"
check 'a terminal has the plot' sh -c "
	TERM=xterm script -qec '\"$MEMDIAG\" timeline --follow \"$dir/logs\"' /dev/null | tr -d '\r' >'$dir/plot'
	cat '$dir/plot'; grep -q '^ .* MiB + live' '$dir/plot' && grep -q '[*]#' '$dir/plot'"
check 'a dumb one has lines' sh -c "
	TERM=dumb script -qec '\"$MEMDIAG\" timeline --follow \"$dir/logs\"' /dev/null | grep -q '^ *TIME *LIVE'"

# fits ROWS COLUMNS: whether the plot is as wide as the terminal, and not higher.
fits()
{
	TERM=xterm script -qec "stty rows $1 cols $2; '$MEMDIAG' timeline --follow '$dir/logs'" /dev/null |
		tr -d '\r' | tail -n +2 >"$dir/plot"
	cat "$dir/plot"
	[ "$(wc -l <"$dir/plot")" -le $(($1 - 2)) ] && grep -q "^ *0 +-\{$(($2 - 12))\}$" "$dir/plot" &&
		! grep -q "^.\{$(($2 + 1))\}" "$dir/plot"
}
for rows in 60 24 16 12; do
	check "a plot for $rows rows" fits $rows 100
	cp "$dir/plot" "$dir/plot.$rows"
done
check 'of 60 it has RSS' grep -q 'RSS' "$dir/plot.60"
check 'of 12 only what is live' [ "$(grep -c '^ *0 +-' "$dir/plot")" -eq 1 ]

# Asked to end, or the reader has gone.
check 'another log' begins_log
for signal in INT TERM HUP; do
	# The job opens its output when it gets to run: until then there must be no lines of the last one.
	: >"$dir/asked"
	# A background job ignores SIGINT, and what is ignored stays so.
	env --default-signal=INT "$MEMDIAG" timeline --follow "$tracee_pid" --interval 10ms >"$dir/asked" 2>"$dir/asked.err" &
	asked=$!
	check "SIG$signal: it follows" until_lines asked 3
	kill -s $signal $asked
	check "SIG$signal ends it" ended asked
	check "SIG$signal: without a word" test ! -s "$dir/asked.err"
done
# waits_for_reader: whether SIGTERM ends one whose output is a pipe that is full, and is not read: of what the
# log has already only a page fits into it.
waits_for_reader()
{
	mkfifo "$dir/pipe"
	python3 -c '
import fcntl, os, struct, sys, termios, time
f = os.open(sys.argv[1], os.O_RDWR)  # so it waits for no writer
fcntl.fcntl(f, 1031, 4096)  # F_SETPIPE_SZ
print("small", flush=True)
have = 0
while not have:
    have, = struct.unpack("i", fcntl.ioctl(f, termios.FIONREAD, b"    "))
    time.sleep(0.01)
print("full", flush=True)
sys.stdin.read()' "$dir/pipe" <"$dir/go" >"$dir/reader" &
	reader=$!
	exec 9>"$dir/go"
	wait_for $reader "$dir/reader" small || return
	"$MEMDIAG" timeline --follow "$tracee_pid" --interval 1ms --format csv >"$dir/pipe" 2>"$dir/asked.err" &
	asked=$!
	wait_for $reader "$dir/reader" full && kill -TERM $asked && ended asked && ! kill -0 $asked 2>/dev/null && kill -0 $reader
}
mkfifo "$dir/go"
check 'a reader that does not read' waits_for_reader
exec 9>&-
wait "$reader"

# grows: whether the plot follows the size of the terminal.
grows()
{
	TERM=xterm script -qefc "stty rows 40 cols 80; tty >'$dir/tty'; exec '$MEMDIAG' timeline --follow '$tracee_pid'" \
		"$dir/screen" </dev/null >"$dir/script" 2>&1 &
	screen=$!
	wait_for $screen "$dir/screen" '0 +-\{68\}.$' && stty -F "$(cat "$dir/tty")" cols 110 &&
		wait_for $screen "$dir/screen" '0 +-\{98\}.$'
}
check 'the plot gets as wide as the terminal' grows
kill $screen
wait $screen

check 'a reader that goes away ends it' sh -c "'$MEMDIAG' timeline --follow '$tracee_pid' --interval 10ms 2>'$dir/err' | head -n 3 >'$dir/out'"
check 'without a word' test ! -s "$dir/err"

# The writer is killed.
follow left "$dir/logs" --interval 10ms --format csv
check 'a log whose writer will be killed is followed' until_lines left 3
kill -KILL "$writer"
check 'it ends, and is partial' ended left 2
check 'and it is said why' grep -q 'has no end: its writer was ended' "$dir/left.err"
exits 2 memdiag timeline "$dir/logs" --interval 10ms --format csv >/dev/null
check 'the lines are those of the timeline' diff "$dir/out" "$dir/left"

# The program ends.
check 'a log of a program that will end' begins_log
follow gone --pid "$tracee_pid" --interval 10ms --format csv
check 'it is followed' until_lines gone 3

# 2^22 ms in a log that is made by hand: a block of 100 bytes at their begin, and one at their end.
mkdir "$dir/ages"
{
	printf 'memdiag-log 2\n\001\001\001\001\000\000\367\001\000\360\001\144'
	printf '\363\200\200\200\002\360\001\144\377\002\001'
} >"$dir/ages/1.mlog"
check 'more intervals than can be kept' exits_saying 0 \
	'from 0.000 s on the intervals are 40.0 ms: of shorter ones there would be too many' \
	memdiag timeline --follow "$dir/ages" --interval 10ms --format csv
check 'become longer ones' sh -c "awk -F, 'NR > 1 { n += sprintf(\"%.3f\", (NR - 2) * 0.04) != \$1; a += \$5 }
	END { print n, a, NR; exit n || a != 200 || NR != 104859 }' '$dir/out'"

check 'what cannot be followed: another recording' exits_saying 64 'only a log can be followed' \
	memdiag timeline --follow "$top_srcdir/tests/data/report_heaptrack/version-2.txt"
check 'a pipe' exits_saying 64 'only a log can be followed' \
	captured sh -c "cat '$dir/logs'/*.000001.mlog* | head -c 1000000 | '$MEMDIAG' timeline --follow - --format csv"
check 'a moment' exits_saying 64 'not for a moment' memdiag timeline --follow "$dir/logs" --peak
check 'another format' exits_saying 64 'writes text, csv or json, not svg' memdiag timeline --follow "$dir/logs" --format svg

# ---- the end ----

check 'the target lives on' end_tracee
check 'a follower ends with it' ended gone
check 'without a word' test ! -s "$dir/gone.err"
check 'a process that has ended' exits_saying 3 'there is no process' memdiag timeline "$tracee_pid"
finish

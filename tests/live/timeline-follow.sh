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
check 'timeline of a process that was not recorded: refused' exits_saying 5 'has not been recorded, so it has no log' \
	memdiag timeline --pid "$tracee_pid"
check 'record start begins a record in memory' record start
check 'timeline of a process whose record is in memory: refused' exits_saying 5 'has no log: its record is in memory' memdiag timeline "$tracee_pid"
check 'record stop ends the record in memory' record stop -o "$dir/memory"
check 'timeline of a process that does not exist: status 3' exits_saying 3 "there is no process 4194304. 'memdiag timeline DIR' reads" \
	memdiag timeline -p 4194304
check 'timeline of a word that is neither a file nor a process: status 3' exits_saying 3 'Nor is there a file of that name' \
	memdiag timeline not-a-process
check 'timeline of a file that is missing: status 1' exits_saying 1 'No such file' memdiag timeline "$dir/none"
check 'timeline of a file and a process: a usage error' exits_saying 64 'a file and a process: one at a time' \
	memdiag timeline "$dir/$name" -p "$tracee_pid"
check 'timeline of nothing: a usage error' exits_saying 64 'which recording' memdiag timeline --peak

check 'record start begins a log to be found' begins_log
check 'the program begins from zero' obeys reset
check 'the program allocates while its log is written' obeys 'play 1 20000 0'
check 'the program saves its account of the log' obeys "save $dir/account"
check 'the files of the log have all events' until_log '.data | .log.events == .noted.allocated.blocks + .noted.freed.blocks'
check 'timeline --pid finds the log of a process' exits 0 memdiag timeline --pid "$tracee_pid" --json
check 'timeline --pid names the directory of the log' json_is ".data.file == \"$(realpath "$dir/logs")\""
check 'timeline --pid has what the program has allocated' has_account "$dir/account"
check 'timeline of a number finds the log of a process' exits 0 memdiag timeline "$tracee_pid" --json
check 'timeline of a number has what the program has allocated' has_account "$dir/account"
check 'timeline of a name finds the log of a process' exits 0 memdiag timeline "$name" --json
check 'timeline of a name has what the program has allocated' has_account "$dir/account"
check 'timeline --peak of a process runs' exits 0 memdiag timeline "$tracee_pid" --peak
check 'timeline --peak of a process has functions' grep -q ' site_[0-9]*$' "$dir/out"
check 'timeline of a file that has the name of a process: fails' sh -c 'cd "$1" && ! "$2" timeline "$4" 2>"$3"' - "$dir" "$MEMDIAG" "$dir/err" "$name"
check 'timeline of a file that has the name of a process: says that it is not a recording' says 'it is not a recording'

# Another log in the same directory, which is newer.
first=$tracee_pid
start_command "$truth"
check 'another process has a log in that directory' begins_log
check 'timeline of a number with two logs in one directory runs' exits 0 memdiag timeline "$first" --json
check 'timeline of a number with two logs has its own log' has_account "$dir/account"
check 'the second process with a log ends' end_tracee
tracee_pid=$first

mv "$dir/logs" "$dir/moved"
check 'timeline of a process whose directory was removed: status 1' exits_saying 1 'where process .* writes the log of .*: No such file or directory.* It was removed' \
	memdiag timeline "$tracee_pid"
mv "$dir/moved" "$dir/logs"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	# CAP_SYS_PTRACE, to read the process, but not CAP_DAC_OVERRIDE
	chmod 711 "$dir"
	check 'timeline of a process whose log is of another user: status 4' exits_saying 4 'where process .* writes the log of .*: Permission denied' \
		captured setpriv --reuid=65534 --clear-groups --inh-caps=-all,+sys_ptrace --ambient-caps=-all,+sys_ptrace \
		--bounding-set=-all,+sys_ptrace "$MEMDIAG" timeline "$tracee_pid"
else
	skip 'files of another user' 'takes root and setpriv'
fi
check 'record stop ends the log that was found' exits 0 memdiag record stop --pid "$tracee_pid"
check 'timeline of a process whose record has ended runs' exits 0 memdiag timeline "$tracee_pid" --json
check 'timeline of a process whose record has ended has all of it' has_account "$dir/account"

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
check 'timeline --follow prints lines while the log is written' until_lines csv 3
cp "/proc/$tracee_pid/maps" "$dir/maps.before"
nr_lines=$(wc -l <"$dir/csv")
check 'timeline --follow prints more lines later' until_lines csv $((nr_lines + 3))
check 'timeline --follow has not changed the process' unchanged
check 'the program begins from zero before it is followed' obeys reset
for seed in 1 2 3; do
	check "the program that is followed allocates: seed $seed" obeys "play $seed 20000 0"
	nr_lines=$(wc -l <"$dir/csv")
	check "timeline --follow prints lines: seed $seed" until_lines csv $((nr_lines + 2))
done
check 'the program that is followed saves its account' obeys "save $dir/account"
check 'record stop ends the log that is followed' exits 0 memdiag record stop --pid "$tracee_pid"
for name in text csv json longer; do
	check "timeline --follow ends with its log: $name" ended $name
	check "timeline --follow ends without a word: $name" test ! -s "$dir/$name.err"
done

# sums_are_account: whether the sums of the lines of CSV are those that the program has saved.
sums_are_account()
{
	awk '/^site_/ { a += $2; b += $3 } END { printf "%.0f %.0f\n", a, b; exit b < 100 }' "$dir/account" >"$dir/wanted" &&
		awk -F, 'NR > 1 { a += $5; b += $6 } END { printf "%.0f %.0f\n", a, b }' "$dir/csv" | diff "$dir/wanted" -
}

check 'timeline --follow: the sum of the lines is what the program has allocated' sums_are_account
check 'timeline of the log that was followed, as CSV' exits 0 memdiag timeline "$tracee_pid" --interval 50ms --format csv
check 'timeline --follow: all lines are those of timeline' diff "$dir/out" "$dir/csv"
check 'timeline with intervals of 1 s, as CSV' exits 0 memdiag timeline "$tracee_pid" --interval 1s --format csv
check 'timeline --follow with intervals of 1 s: the lines are those of timeline' diff "$dir/out" "$dir/longer"
check 'timeline with intervals of 1 s, as JSON' exits 0 memdiag timeline "$tracee_pid" --interval 1s --json
jq -c '.data.intervals[]' "$dir/out" >"$dir/wanted"
check 'timeline --follow --json: an object in each line' diff "$dir/wanted" "$dir/json"
check 'timeline --follow as text has as many lines as CSV' [ "$(wc -l <"$dir/text")" -eq "$(wc -l <"$dir/csv")" ]
check 'timeline --follow as text: the first line has the names of columns' sh -c "head -n 1 '$dir/text' | grep -q '^ *TIME *LIVE *BLOCKS *ALLOCATED *FREED *RSS$'"
check 'timeline --follow of a log that has its end runs' exits 0 memdiag timeline --follow "$tracee_pid" --interval 50ms --format csv
check 'timeline --follow of a log that has its end: the lines are those of timeline' diff "$dir/out" "$dir/csv"
check 'timeline --follow on a terminal draws the plot' sh -c "
	TERM=xterm script -qec '\"$MEMDIAG\" timeline --follow \"$dir/logs\"' /dev/null | tr -d '\r' >'$dir/plot'
	cat '$dir/plot'; grep -q '^ .* MiB + live' '$dir/plot' && grep -q '[*]#' '$dir/plot'"
check 'timeline --follow on a dumb terminal prints lines' sh -c "
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
	check "timeline --follow on a terminal of $rows rows" fits $rows 100
	cp "$dir/plot" "$dir/plot.$rows"
done
check 'timeline --follow on a terminal of 60 rows has RSS' grep -q 'RSS' "$dir/plot.60"
check 'timeline --follow on a terminal of 12 rows has only what is live' [ "$(grep -c '^ *0 +-' "$dir/plot")" -eq 1 ]

# Asked to end, or the reader has gone.
check 'record start begins another log to be followed' begins_log
for signal in INT TERM HUP; do
	# The job opens its output when it gets to run: until then there must be no lines of the last one.
	: >"$dir/asked"
	# A background job ignores SIGINT, and what is ignored stays so.
	env --default-signal=INT "$MEMDIAG" timeline --follow "$tracee_pid" --interval 10ms >"$dir/asked" 2>"$dir/asked.err" &
	asked=$!
	check "SIG$signal: timeline --follow prints lines" until_lines asked 3
	kill -s $signal $asked
	check "SIG$signal ends timeline --follow" ended asked
	check "SIG$signal ends timeline --follow without a word" test ! -s "$dir/asked.err"
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
check 'timeline --follow waits for a reader that does not read' waits_for_reader
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

check 'timeline --follow ends when its reader goes away' sh -c "'$MEMDIAG' timeline --follow '$tracee_pid' --interval 10ms 2>'$dir/err' | head -n 3 >'$dir/out'"
check 'timeline --follow ends without a word when its reader goes away' test ! -s "$dir/err"

# The writer is killed.
follow left "$dir/logs" --interval 10ms --format csv
check 'a log whose writer will be killed is followed' until_lines left 3
kill -KILL "$writer"
check 'timeline --follow of a log whose writer was killed: partial' ended left 2
check 'timeline --follow of a log whose writer was killed: says why' grep -q 'has no end: its writer was ended' "$dir/left.err"
exits 2 memdiag timeline "$dir/logs" --interval 10ms --format csv >/dev/null
check 'timeline --follow of a log whose writer was killed: the lines are those of timeline' diff "$dir/out" "$dir/left"

# The program ends.
check 'record start begins a log of a program that will end' begins_log
follow gone --pid "$tracee_pid" --interval 10ms --format csv
check 'timeline --follow of a program that will end prints lines' until_lines gone 3

# 2^22 ms in a log that is made by hand: a block of 100 bytes at their begin, and one at their end.
mkdir "$dir/ages"
{
	printf 'memdiag-log 2\n\001\001\001\001\000\000\367\001\000\360\001\144'
	printf '\363\200\200\200\002\360\001\144\377\002\001'
} >"$dir/ages/1.mlog"
check 'timeline --follow of more intervals than can be kept' exits_saying 0 \
	'from 0.000 s on the intervals are 40.0 ms: of shorter ones there would be too many' \
	memdiag timeline --follow "$dir/ages" --interval 10ms --format csv
check 'timeline --follow of more intervals than can be kept: longer ones' sh -c "awk -F, 'NR > 1 { n += sprintf(\"%.3f\", (NR - 2) * 0.04) != \$1; a += \$5 }
	END { print n, a, NR; exit n || a != 200 || NR != 104859 }' '$dir/out'"

check 'timeline --follow of a heaptrack file: a usage error' exits_saying 64 'only a log can be followed' \
	memdiag timeline --follow "$top_srcdir/tests/data/report_heaptrack/version-2.txt"
check 'timeline --follow of a pipe: a usage error' exits_saying 64 'only a log can be followed' \
	captured sh -c "cat '$dir/logs'/*.000001.mlog* | head -c 1000000 | '$MEMDIAG' timeline --follow - --format csv"
check 'timeline --follow --peak: a usage error' exits_saying 64 'not for a moment' memdiag timeline --follow "$dir/logs" --peak
check 'timeline --follow --format svg: a usage error' exits_saying 64 'writes text, csv or json, not svg' memdiag timeline --follow "$dir/logs" --format svg

# ---- the end ----

check 'the target lives on' end_tracee
check 'timeline --follow ends with its process' ended gone
check 'timeline --follow ends without a word with its process' test ! -s "$dir/gone.err"
check 'timeline of a process that has ended: status 3' exits_saying 3 'there is no process' memdiag timeline "$tracee_pid"
finish

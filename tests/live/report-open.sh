#!/bin/sh
# report --open: the page is in a directory that only the user may enter, and xdg-open gets it without the limits that memdiag has
# set for itself; what goes wrong is reported, and no directory without a page is left.
# shellcheck disable=SC3045 # every sh we know has these limits
. "$top_srcdir/tests/live/lib.sh"
unset DEBUGINFOD_URLS
profile=$top_srcdir/tests/data/report_heap/ours.heap
mkdir "$dir/bin" "$dir/tmp" "$dir/empty"
# xdg-open: writes its argument, the modes of the file and of its directory, and its own limits.
cat >"$dir/bin/xdg-open" <<'END'
#!/bin/sh
here=$(dirname "$0")
printf '%s\n' "$#" "$1" >"$here/arguments"
stat -c %a "$1" "$(dirname "$1")" >"$here/modes"
ulimit -d >"$here/limit"
cat /proc/self/oom_score_adj >"$here/score"
exit "$(cat "$here/status")"
END
chmod 755 "$dir/bin/xdg-open"
echo 0 >"$dir/bin/status"

# opens OPTIONS...: memdiag report --open, with the xdg-open above.
opens()
{
	TMPDIR=$dir/tmp PATH=$dir/bin:$PATH "$MEMDIAG" "$@" >"$dir/out" 2>"$dir/err"
}

# is_left NUMBER: as many pages are below TMPDIR, and as many directories.
is_left()
{
	[ "$(find "$dir/tmp" -type f | wc -l)" -eq "$1" ] && [ "$(find "$dir/tmp" -mindepth 1 -type d | wc -l)" -eq "$1" ]
}

# exits_with STATUS WORDS OPTIONS...: a report with --open exits with STATUS and its message has WORDS.
exits_with()
{
	wanted_status=$1
	wanted_words=$2
	shift 2
	opens "$@"
	[ $? -eq "$wanted_status" ] && grep -q -e "$wanted_words" "$dir/err"
}

check 'report --open' opens report "$profile" --open
check 'one page is written' is_left 1
page=$(find "$dir/tmp" -name report.html)
check 'xdg-open has it as its only argument' sh -c '[ "$(cat "$1/bin/arguments")" = "1
$2" ]' - "$dir" "$page"
check 'only the user may read it, and enter its directory' sh -c '[ "$(tr "\n" " " <"$1/bin/modes")" = "600 700 " ]' - "$dir"
check 'its path is reported' grep -q "^The page is $page\$" "$dir/err"
check 'nothing is printed besides' test ! -s "$dir/out"
check 'it is a page of the profile' grep -q '<h1>.*ours.heap</h1>' "$page"
check 'it is the page of --format=html' sh -c "'$MEMDIAG' report '$profile' --format=html -o '$dir/page' && cmp '$dir/page' '$page'"
check 'the limit of memory is that of the user' sh -c '[ "$(cat "$1/bin/limit")" = "$(ulimit -d)" ]' - "$dir"
check 'the OOM killer does not prefer it' sh -c '[ "$(cat "$1/bin/score")" = "$(cat /proc/self/oom_score_adj)" ]' - "$dir"
lowered()
{
	ulimit -S -d 500000
	opens report "$profile" --open && [ "$(cat "$dir/bin/limit")" = 500000 ]
}
check 'a limit that the user has set stays' lowered
rm -r "$dir/tmp"/*

check '-q' opens report "$profile" --open -q
check '-q prints nothing' test ! -s "$dir/err"
rm -r "$dir/tmp"/*

echo 3 >"$dir/bin/status"
check 'xdg-open fails' exits_with 1 "'xdg-open' failed; open '$dir/tmp/memdiag-.*/report.html' in a browser" report "$profile" --open
check 'the page stays' is_left 1
rm -r "$dir/tmp"/*
echo 0 >"$dir/bin/status"

check 'xdg-open is missing' sh -c 'TMPDIR=$1/tmp PATH=$1/empty "$2" report "$3" --open 2>"$1/err"; [ $? -eq 1 ] &&
	grep -q "xdg-open. is not installed; open .$1/tmp/memdiag-.*/report.html. in a browser" "$1/err"' - "$dir" "$MEMDIAG" "$profile"
check 'the page stays, too' is_left 1
rm -r "$dir/tmp"/*

check 'a profile that does not exist' exits_with 1 'nosuchfile' report "$dir/nosuchfile" --open
check 'a file that is no profile' exits_with 1 'xdg-open' report "$dir/bin/xdg-open" --open
check 'no directory is left of them' is_left 0
check 'a TMPDIR that does not exist' sh -c 'TMPDIR=$1/nowhere "$2" report "$3" --open 2>"$1/err"; [ $? -eq 1 ] &&
	grep -q "cannot create a directory in .$1/nowhere" "$1/err"' - "$dir" "$MEMDIAG" "$profile"
for option in --format=tree --json; do
	check "--open with $option is refused" exits_with 64 '--open opens a page' report "$profile" --open "$option"
done
check '--open with --output is refused' exits_with 64 '--open writes one page' report "$profile" --open -o "$dir/x"

start_tracee idle
check '--open with --every is refused' exits_with 64 '--open writes one page' record report --pid "$tracee_pid" --open --every 1s
check 'no directory is left of them, either' is_left 0
check 'a record of a process' exits 0 memdiag record start --pid "$tracee_pid"
check 'record report --open' opens record report --pid "$tracee_pid" --open
check 'its page is written' is_left 1
check 'the record is ended' exits 0 memdiag record stop --pid "$tracee_pid" -o "$dir/record"
check 'the target lives on' end_tracee
finish

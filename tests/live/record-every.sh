#!/bin/sh
# memdiag record report --every: reports of a process again and again, each with what it has then, and what ends them.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
need_hooks
if env --default-signal=INT true 2>/dev/null; then
	with_int='env --default-signal=INT'
else
	with_int=
fi

start_tracee ages
check 'without a record' exits_saying 5 'has not been recorded' memdiag record report "$tracee_pid" --every 100ms
check 'a record begins' exits 0 patiently memdiag record start --pid "$tracee_pid"
ask 'make 0 10 100' >/dev/null
for words in '--every=0' '--every=-1' '--every=99ms' '--every=1y' '--every=x' '--every=' '--every=99999999999999999999h' \
	'--every=1s --count=0' '--every=1s --count=-1' '--every=1s --count=x' '--every=1s --count=99999999999' '--every=1s -s 0' \
	'--every=1s -s -1' '--count=3' '-s 3' '--every=1s --save x' '--every=1s --format=pprof' '--every=1s --format=html'; do
	# shellcheck disable=SC2086 # words
	check "a command line that cannot be: $words" exits 64 memdiag record report --pid "$tracee_pid" $words
done
echo >"$dir/file"
check 'a file, which stays as it is' exits_saying 64 'is for a process' memdiag record report "$dir/file" --every 1s
check 'memdiag report has no such option' exits 64 memdiag report --pid "$tracee_pid" --every 1s

# ---- what is written -----------------------------------------------------------------------------

check '--count 3 as JSON' exits 0 memdiag record report "$tracee_pid" --every 100ms --count 3 --by=function --json
check 'is three lines' test "$(wc -l <"$dir/out")" -eq 3
check 'each is a document' test "$(jq -r '.schema + " " + (.data.rows[] | select(.name == "site_0") | .flat | tostring)' "$dir/out" |
	uniq -c | tr -s ' ')" = ' 3 memdiag.report/1 1000'
check '--count 2 as text' exits 0 memdiag record report "$tracee_pid" --every 100ms --count 2 --by=function -n 1
check 'each begins with the time' test "$(grep -c '^20[0-9][0-9]-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-5][0-9]$' "$dir/out")" -eq 2
check 'each has its table' test "$(grep -c ' site_0$' "$dir/out")" -eq 2
check '-o FILE has all of them' exits 0 memdiag record report "$tracee_pid" --every 100ms --count 2 --json -o "$dir/all"
check 'as lines' test "$(jq -c .schema "$dir/all" | wc -l)" -eq 2

# begin_every OPTIONS...: reports begin, in $dir/out; returns with the first.
begin_every()
{
	: >"$dir/out"
	$with_int "$MEMDIAG" record report --pid "$tracee_pid" --by=function --every 100ms "$@" >"$dir/out" 2>"$dir/err" &
	every=$!
	started="$started $every"
	wait_for "$every" "$dir/out" site_0
}
# ends STATUS: it ends by itself, or by a signal before, with STATUS.
ends()
{
	wait "$every"
	[ $? -eq "$1" ] || {
		cat "$dir/err"
		return 1
	}
}
sees_growth()
{
	begin_every --json && ask 'make 1 3 5000' >/dev/null && wait_for "$every" "$dir/out" site_1 && ask 'drop 1 3' >/dev/null &&
		eventually sh -c "! tail -n 1 '$dir/out' | grep -q site_1" && kill -TERM "$every" && ends 0 &&
		jq -es '[.[] | [.data.rows[] | select(.name == "site_1") | .flat] | add // 0] as $all | ($all | max) == 15000 and $all[0] == 0 and $all[-1] == 0' \
			"$dir/out"
}
check 'each has what is in use then' sees_growth
for signal in INT TERM HUP; do
	ends_by_signal()
	{
		begin_every && kill "-$signal" "$every" && ends 0
	}
	check "SIG$signal ends it" ends_by_signal
done
lasts()
{
	local before after
	before=$(ask now)
	exits 0 memdiag record report "$tracee_pid" --every 100ms -s 1s --json || return
	after=$(ask now)
	[ $((after - before)) -ge 1000 ] && [ "$(wc -l <"$dir/out")" -ge 2 ]
}
check '-s 1s ends it after a second' lasts
mkfifo "$dir/fifo"
closed_pipe()
{
	head -n 2 "$dir/fifo" >"$dir/head" &
	"$MEMDIAG" record report --pid "$tracee_pid" --every 100ms --json >"$dir/fifo" 2>"$dir/err" &
	every=$!
	started="$started $every"
	ends 0 && [ "$(wc -l <"$dir/head")" -eq 2 ]
}
check 'a closed pipe ends it' closed_pipe
# A reader that rests does not keep it from ending.
resting()
{
	{
		until [ -e "$dir/go" ]; do
			sleep 0.05
		done
	} <"$dir/fifo" &
	reader=$!
	started="$started $reader"
	$with_int "$MEMDIAG" record report --pid "$tracee_pid" --every 100ms --json >"$dir/fifo" 2>"$dir/err" &
	every=$!
	started="$started $every"
	eventually grep -q '^SigBlk:.*[1-9a-f]' "/proc/$every/status" && sleep 1 && kill -INT "$every" && ends 0
	status=$?
	: >"$dir/go"
	return $status
}
check 'a reader that rests: SIGINT ends it' resting
check 'a full disk' exits 1 memdiag record report "$tracee_pid" --every 100ms --count 2 -o /dev/full
process_ends()
{
	begin_every --json && end_tracee && ends 0
}
check 'the process ends, and so does it' process_ends
check 'what was written is whole' jq -es 'length > 0 and all(.schema == "memdiag.report/1")' "$dir/out"
finish

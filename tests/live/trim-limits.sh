#!/bin/sh
# trim does nothing where it would lock an arena for too long; and --recheck tells what came back.
. "$top_srcdir/tests/live/lib.sh"
need jq

start_tracee trimmable 64
remember
exits 0 memdiag trim -n --pid "$tracee_pid" --json
rss=$(json .data.predicted.rss_bytes)
check 'above --max-lock it refuses' exits 6 memdiag trim --pid "$tracee_pid" --max-lock 1ms
check 'the refusal says for how long an arena would be locked' grep -q 'lock an arena .* for about [0-9.]* ms' "$dir/err"
check 'stderr advises -n or a greater --max-lock' grep -q -e '-n, .* greater --max-lock' "$dir/err"
check 'nothing was changed' unharmed
check 'a prediction does not refuse' exits 0 memdiag trim -n "$tracee_pid" --max-lock 1ms --json
check 'the prediction says that trim would refuse' json_is '.data.caveats[0].id == "lock"'
check 'after a refusal the same amount is predicted' json_is ".data.predicted.rss_bytes == $rss"
check 'no time at all is too little' exits 6 memdiag trim --pid "$tracee_pid" --max-lock 0
check 'as much as it takes is enough' exits 0 memdiag trim --pid "$tracee_pid" --max-lock 2s --json
check 'the trim gave memory back' \
	json_is ".data.before.arenas_resident_bytes - .data.after.arenas_resident_bytes
	| . > $rss - 100000 and . < $rss + 100000"
check 'with nothing to give back no time is enough' \
	exits 0 memdiag trim --pid "$tracee_pid" --max-lock 1ms
check 'the target lives on' end_tracee

# rechecked: trim, and the target uses as much again when the first look is printed.  On a busy machine memdiag may have
# looked twice by then: it is done again with more time.
rechecked()
{
	for seconds in 3 30 300; do
		: >"$dir/text"
		"$MEMDIAG" trim --pid "$tracee_pid" --timeout 600s --wait 300s --recheck $seconds >"$dir/text" 2>"$dir/err" &
		trimmer=$!
		until grep -q '^released' "$dir/text"; do
			lives "$trimmer" || break
			sleep 0.01
		done
		again=$(ask again)
		lives "$trimmer"
		is_between=$?
		wait "$trimmer" || return
		[ $is_between -ne 0 ] || return 0
	done
	return 1
}
start_tracee trimmable 32
check 'with --recheck it looks twice' rechecked
check 'what came back is reported' grep -q "^$seconds.0 s later RSS is .*: [0-9.]* MiB came back$" "$dir/text"
check 'the amount that came back is at least what the program took' test "$again" -gt 1000000
check 'the other way to say it' exits 0 memdiag trim "$tracee_pid" --recheck 10ms --json
check '--recheck in JSON has numbers' json_is \
	'.data.recheck | .after_ms == 10 and .came_back_bytes >= 0 and .rss_bytes > 0'
check 'nothing can be looked at again that was not done' \
	exits 64 memdiag trim -n "$tracee_pid" --recheck 1
check 'the target lives on' end_tracee

# ---- where --max-lock may not hold: more threads run than there are processors, and ours may not come first

# trim_at_limit COMMAND...: that trim has as much time as its prediction takes, and hardly more.
trim_at_limit()
{
	start_tracee trimmable 64
	exits 0 memdiag trim -n --pid "$tracee_pid" --json || return
	limit=$(($(json .data.predicted.longest_lock_us) + 1))
	"$@" trim --pid "$tracee_pid" --max-lock ${limit}us --json >"$dir/out" 2>"$dir/err" || {
		cat "$dir/err"
		return 1
	}
}

if [ "$(nice -n -1 nice 2>/dev/null)" = -1 ] && command -v setpriv >/dev/null; then
	burners=
	for _ in $(seq "$(getconf _NPROCESSORS_ONLN)"); do
		nice -n 19 sh -c 'while :; do :; done' &
		burners="$burners $!"
	done
	started="$started $burners"
	check 'without the right to a higher priority' trim_at_limit \
		setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice "$MEMDIAG"
	check 'it warns that --max-lock may not hold' json_is '.warnings | any(test("^--max-lock .* may not hold"))'
	check 'the target lives on' end_tracee
	check 'with it' trim_at_limit "$MEMDIAG"
	check 'it does not warn' json_is '.warnings | any(test("may not hold")) | not'
	check 'the target lives on' end_tracee
	# shellcheck disable=SC2086 # numbers
	kill $burners
else
	skip 'it warns that --max-lock may not hold' 'we may not raise a priority'
fi
finish

#!/bin/sh
# trim does nothing where it would lock an arena for too long; and --recheck tells what came back.
. "$top_srcdir/tests/live/lib.sh"
need jq

start_tracee trimmable 64
remember
exits 0 memdiag trim -n --pid "$tracee_pid" --json
rss=$(json .data.predicted.rss_bytes)
check 'above --max-lock it refuses' exits 6 memdiag trim --pid "$tracee_pid" --max-lock 1ms
check 'and says for how long it would be locked' grep -q 'lock an arena .* for about [0-9.]* ms' "$dir/err"
check 'and what to do' grep -q -e '-n, .* greater --max-lock' "$dir/err"
check 'nothing was changed' unharmed
check 'a prediction does not refuse' exits 0 memdiag trim -n "$tracee_pid" --max-lock 1ms --json
check 'but says that it would' json_is '.data.caveats[0].id == "lock"'
check 'all of it is there still' json_is ".data.predicted.rss_bytes == $rss"
check 'no time at all is too little' exits 6 memdiag trim --pid "$tracee_pid" --max-lock 0
check 'as much as it takes is enough' exits 0 memdiag trim --pid "$tracee_pid" --max-lock 2s --json
check 'and it went' json_is ".data.before.arenas_resident_bytes - .data.after.arenas_resident_bytes
	| . > $rss - 100000 and . < $rss + 100000"
check 'with nothing to give back no time is enough' \
	exits 0 memdiag trim --pid "$tracee_pid" --max-lock 1ms
check 'the target lives on' end_tracee

# It uses as much again when the first look is printed.
start_tracee trimmable 32
: >"$dir/text"
"$MEMDIAG" trim --pid "$tracee_pid" --recheck 3 >"$dir/text" 2>"$dir/err" &
trimmer=$!
until grep -q '^released' "$dir/text"; do
	kill -0 "$trimmer" || break
	sleep 0.01
done
again=$(ask again)
check 'with --recheck it looks twice' wait "$trimmer"
check 'what came back is told' grep -q '^3.0 s later RSS is .*: [0-9.]* MiB came back$' "$dir/text"
check 'and was something' test "$again" -gt 1000000
check 'the other way to say it' exits 0 memdiag trim "$tracee_pid" --recheck 10ms --json
check 'has numbers' json_is \
	'.data.recheck | .after_ms == 10 and .came_back_bytes >= 0 and .rss_bytes > 0'
check 'nothing can be looked at again that was not done' \
	exits 64 memdiag trim -n "$tracee_pid" --recheck 1
check 'the target lives on' end_tracee
finish

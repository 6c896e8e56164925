#!/bin/sh
# A process that may open no file any more (Landlock) is given the agent as a copy in memory.
. "$top_srcdir/tests/live/lib.sh"
need_hooks

"$TRACEES/landlock" </dev/null >"$dir/probe" 2>&1
[ $? -ne 77 ] || skip_all 'this kernel has no Landlock'
start_tracee landlock
check 'under Landlock: count starts' exits 0 memdiag count start --pid "$tracee_pid"
check 'under Landlock: the agent counts' exits 0 memdiag status --pid "$tracee_pid"
check 'under Landlock: count stops' exits 0 memdiag count stop --pid "$tracee_pid"
check 'under Landlock: the target lives on' end_tracee
finish

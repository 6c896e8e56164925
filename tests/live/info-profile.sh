#!/bin/sh
# info of a process that is being profiled: the stacks that hold most are the tracee's own account of them.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
need_hooks
need jq

info()
{
	exits 0 memdiag info --pid "$tracee_pid" "$@"
}

# prints_line PATTERN: whether text of the last memdiag has such a line.
prints_line()
{
	grep -q -E -e "$1" "$dir/out" || {
		cat "$dir/out"
		return 1
	}
}

# largest: lines "site_N BYTES BLOCKS" of the tracee's own, the three that hold most.
largest()
{
	accounts | sort -k 4,4nr | awk 'NR <= 3 { print $1, $4, $5 }'
}

# is_top: whether info has the same three, to the byte, with their shares.
is_top()
{
	local all
	all=$(accounts | awk '{ n += $4 } END { print n }')
	largest >"$dir/want"
	json '.data.profile.stacks[] | "\(.function) \(.in_use_bytes) \(.in_use_blocks)"' >"$dir/got"
	cat "$dir/want" "$dir/got"
	cmp "$dir/want" "$dir/got" && json_is ".data.profile.in_use_bytes == $all and
		all(.data.profile.stacks[]; .share == .in_use_bytes / $all and (.caller | . == \"step\" or . == \"work\"))"
}

start_tracee sites 2
check 'no profile: info' info --json
check 'no profile: JSON has null' json_is '.data.profile == null'
check 'no profile: the text' info
check 'no profile: the text has no line for it' sh -c "! grep -q PROFILE '$dir/out'"

check 'a profile begins' profile start --rate 1
check 'just begun: info' info --json
check 'just begun: JSON has no stack' json_is '.data.profile | .stacks == [] and .samples == 0 and .in_use_bytes == 0 and
	.period_bytes == 1 and (now - .started_ns / 1000000000) < 600'
check 'just begun: the text' info
check 'just begun: the text has no sample' prints_line '^PROFILE .*, and has no sample yet: it takes one for every 1 B allocated$'
check 'just begun: what comes next' prints_line "^NEXT     memdiag profile dump -p $tracee_pid\$"

check 'the tracee works' obeys 'play 1 20000 1'
check 'info --json' info --json
check 'the stacks are those that hold most, to the byte' is_top
check 'info by reading' info --json --method=read
check 'the same when the heaps are read' is_top
check 'the text' info -b
one=$(largest | sed -n '1s/ .*//p')
bytes=$(largest | sed -n '1s/.* \(.*\) .*/\1/p')
check 'the text has the first of them' prints_line "^ *~$bytes +[0-9.]+%  $one < (step|work)\$"
check 'a line for each' test "$(grep -c -E ' < (step|work)$' "$dir/out")" -eq 3
check 'of several processes' exits 2 memdiag info "$tracee_pid" 4194304 --json
check 'each has its own' json_is '.data.processes[0].data.profile.stacks | length == 3'

check 'everything is freed' obeys drop
check 'freed: info' info --json
check 'freed: nothing is in use' json_is '.data.profile | .stacks == [] and .in_use_bytes == 0 and .samples > 1000'
check 'freed: the text' info
check 'freed: the text says so' prints_line '^PROFILE .*; nothing of what it has sampled since is in use$'

check 'at another rate' profile stop -o "$dir/p"
check 'a stopped profile: info' info --json
check 'a stopped profile: nothing is shown that is out of date' json_is '.data.profile == null'
check 'a rate with few samples' profile start --rate 1M
check 'the tracee works' obeys 'play 7 4000 1'
check 'few samples: info' info --json
json '.data.profile.samples_in_use' >"$dir/few"
check 'few samples: there are few' test "$(cat "$dir/few")" -lt 10
check 'few samples: the text' info
check 'few samples: the text says so' prints_line 'too few to rely on|is in use$|has no sample yet'

# The sites are in the process's own memory, which may be damaged.
check 'damaged: the head is overwritten' python3 -c '
import sys
for line in open("/proc/%s/maps" % sys.argv[1]):
    if "memdiag-sites" in line:
        at = int(line.split("-")[0], 16)
with open("/proc/%s/mem" % sys.argv[1], "r+b", 0) as f:
    f.seek(at)
    f.write(b"\xff" * 64)
' "$tracee_pid"
check 'damaged: info' info --json
check 'damaged: a warning, and everything else' json_is '.data.profile == null and .data.arena_count >= 1 and
	(.warnings | tostring | test("cannot read the profile"))'
check 'the target lives on' end_tracee
finish

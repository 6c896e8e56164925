#!/bin/sh
# The agent's static probe points (otel_memory:alloc, otel_memory:free), read by the kernel as other tools do: one hit
# for each sample, with the block, its size, and the bytes that it stands for; one for each sampled block that is freed.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/tracefs-lib.sh"
need jq readelf

# A copy, which only this test's process uses: memdiag takes the one beside it.
mkdir "$dir/copy"
cp "$MEMDIAG" "$top_builddir/libmemdiag-agent.so" "$dir/copy"
agent=$dir/copy/libmemdiag-agent.so
MEMDIAG=$dir/copy/memdiag

# place PROBE: its offset in the agent's file; its code is in a segment whose offsets are addresses.
place()
{
	readelf -nW "$agent" | sed -n "/Name: $1\$/{n;s/ *Location: 0x0*\([0-9a-f]*\),.*/\1/p;}"
}

# operands PROBE: as the note has them.
operands()
{
	readelf -nW "$agent" | sed -n "/Name: $1\$/{n;n;s/ *Arguments: *//p;}"
}

[ -n "$(place alloc)" ] || skip_all 'the agent was built without sys/sdt.h'

probe()
{
	echo "p:$group/$1 $agent:0x$(place "$1") $2" >>"$tracing/uprobe_events"
}

# hits PROBE: how often it was hit.
hits()
{
	sed -n "s/^ *[^ ]* *$1 *\([0-9]*\) .*/\1/p" "$tracing/uprobe_profile"
}

equal()
{
	echo "$1, $2"
	[ "$1" = "$2" ]
}

case $(uname -m) in
x86_64)
	check 'alloc has its arguments in their registers' equal "$(operands alloc)" '8@%rdi 8@%rsi 8@%rdx'
	check 'free likewise' equal "$(operands free)" '8@%rdi'
	block=%di size=%si weighted=%dx
	;;
*) skip_all 'which registers have the arguments is written down for x86-64 only' ;;
esac
check 'they can be probed' probe alloc "block=$block:u64 size=$size:u64 weighted=$weighted:u64"
check 'both of them' probe free "block=$block:u64"

# members PROBE WORD: that member of each of its events.
members()
{
	sed -n "s/.*: $1: (.* $2=\([0-9]*\).*/\1/p" "$dir/trace"
}

sums()
{
	members "$@" | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

# all_are_freed: whether the blocks of both probes are the same, as often.
all_are_freed()
{
	members alloc block | sort >"$dir/taken"
	members free block | sort >"$dir/given"
	[ -s "$dir/taken" ] && cmp "$dir/taken" "$dir/given"
}

# record: what the probes show while the tracee works.
record()
{
	local instance="$tracing/instances/$group"
	mkdir "$instance" && echo 65536 >"$instance/buffer_size_kb" &&
		echo 1 >"$instance/events/$group/enable" || return
	"$@" && cp "$instance/trace" "$dir/trace"
	status=$?
	echo 0 >"$instance/events/$group/enable"
	rmdir "$instance"
	return $status
}

works()
{
	obeys 'play 1 5000 1' && obeys drop
}

start_tracee sites 2
check 'a profile begins' profile start --rate 1
check 'the tracee works' record works
check 'a profile ends' profile stop -o "$dir/p"
"$MEMDIAG" report --format=json --value=allocated "$(written)" >"$dir/allocated"
"$MEMDIAG" report --format=json --value=allocated --objects "$(written)" >"$dir/blocks"
check 'one hit for each sample' equal "$(grep -c ': alloc: (' "$dir/trace")" "$(jq .data.total "$dir/blocks")"
check 'the sizes are those of the blocks' equal "$(sums alloc size)" "$(jq .data.total "$dir/allocated")"
check 'and stand for themselves at this rate' equal "$(sums alloc weighted)" "$(jq .data.total "$dir/allocated")"
check 'each block that was freed' all_are_freed

check 'at another rate' profile start --rate 4K
check 'the tracee works again' record works
check 'it ends' profile stop -o "$dir/p"
"$MEMDIAG" report --format=json --value=allocated "$(written)" >"$dir/allocated"
check 'a sample stands for more' test "$(sums alloc weighted)" -gt "$(sums alloc size)"
check 'for what the file says, but for rounding' equal "$(($(sums alloc weighted) / 1000))" "$(($(jq .data.total "$dir/allocated") / 1000))"
check 'the target lives on' end_tracee
finish

#!/bin/sh
# memdiag profile of a program whose addresses are limited (ulimit -v): it keeps nearly all of them for itself, and the
# profile is exact.
# shellcheck disable=SC3043,SC3045,SC2154 # every sh we know has local and ulimit; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
sites=$TRACEES/sites
limit_kib=400000

# size PID: its addresses, in KiB.
size()
{
	sed -n 's/^VmSize:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"
}

# limited COMMAND...: it may have no more addresses than that.
limited()
{
	start_command sh -c 'ulimit -v "$0"; exec "$@"' $limit_kib "$@"
}

# takes_little BEFORE NOW: of the limit no more than a sixteenth.
takes_little()
{
	echo "$1 KiB, then $2 KiB"
	[ "$2" -ge "$1" ] && [ $(($2 - $1)) -le $((limit_kib / 16)) ]
}

# is_exact NAME FILE
is_exact()
{
	check "$1: the file is exact" agrees "$2"
}

limited "$sites" 2
plain=$(size "$tracee_pid")
if has_hooks; then
	check 'live: it begins' profile start --rate 1
	check 'live: it takes few addresses' takes_little "$plain" "$(size "$tracee_pid")"
	check 'live: it works' obeys 'play 7 20000 1'
	accounts >"$dir/accounts"
	check 'live: it ends' profile stop -o "$dir/live"
	is_exact live "$(written)"
else
	skip 'live: it takes few addresses' 'malloc cannot be hooked on this processor'
fi
check 'live: the target lives on' end_tracee

limited env MEMDIAG_AGENT="profile;rate=1;profile-prefix=$dir/env" LD_PRELOAD="$top_builddir/libmemdiag-agent.so" \
	"$sites" 2
check 'environment: it takes few addresses' takes_little "$plain" "$(size "$tracee_pid")"
check 'environment: it works' obeys 'play 7 20000 1'
accounts >"$dir/accounts"
check 'environment: the target lives on' end_tracee
is_exact environment "$(ls "$dir"/env.*.heap)"

for how in program 'memdiag as well'; do
	if [ "$how" = program ]; then
		start_command "$MEMDIAG" run -q --profile=1 -o "$dir/run" -- \
			sh -c 'ulimit -v "$0"; exec "$@"' $limit_kib "$sites" 2
	else
		limited "$MEMDIAG" run -q --profile=1 -o "$dir/run" -- "$sites" 2
	fi
	child_of "$tracee_pid"
	own=$child
	check "run, limits the $how: it takes few addresses" takes_little "$plain" "$(size "$own")"
	check "run, limits the $how: it works" obeys 'play 7 20000 1'
	accounts >"$dir/accounts"
	check "run, limits the $how: the target lives on" end_tracee
	is_exact "run, limits the $how" "$(ls "$dir"/run.*.heap | tail -n 1)"
	rm -f "$dir"/run.*.heap
done
# Private memory that may be written to is limited by another number.
data_size()
{
	sed -n 's/^VmData:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"
}

start_command sh -c 'ulimit -d "$0"; exec "$@"' $limit_kib "$sites" 2
plain=$(data_size "$tracee_pid")
check 'the target lives on' end_tracee
for job in profile record; do
	start_command "$MEMDIAG" run -q --$job -o "$dir/data" -- sh -c 'ulimit -d "$0"; exec "$@"' $limit_kib "$sites" 2
	child_of "$tracee_pid"
	own=$child
	check "run --$job, data is limited: it takes little of it" takes_little "$plain" "$(data_size "$own")"
	check "run --$job, data is limited: it works" obeys 'play 7 20000 1'
	check "run --$job, data is limited: the target lives on" end_tracee
	rm -f "$dir"/data.*.heap
done
finish

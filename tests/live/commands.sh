#!/bin/sh
# Every command on targets of every kind: quiet, with one thread, computing, allocating, with 500 threads, and static.
# Each answers, and leaves the target as it was.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
need jq

is_left_well()
{
	check "$1: no thread is traced" is_untraced
	! has_hooks || check "$1: the code is as it was" same_bytes
	check "$1: lives on" end_tracee
}

# all_work WORDS STATUS NAME ARGUMENTS...: each command on a tracee exits with STATUS.
all_work()
{
	local words="$1" status="$2"
	shift 2
	start_tracee "$@"
	! has_hooks || same_bytes
	all_exit "$words" "$status"
	! [ "${counts-}" ] || check "$words: goes on" goes_on 10
	is_left_well "$words"
}

all_work quiet 0 idle 2 1000000
all_work 'one thread' 0 idle 0
counts=yes
all_work computing 0 spin
# What changes while it is read is not counted, and 2 says so.
all_work allocating '0 2' churn 2
counts=
all_work '500 threads' 0 manythreads 500 256

# Nothing can be called in a static program: these say so.
if "${CC:-cc}" -static -O1 -pthread -I"$top_srcdir/src" -o "$dir/static" "$top_srcdir/tests/tracees/idle.c" 2>"$dir/cc"; then
	start_command "$dir/static" 2
	all_exit static '0 5'
	check 'static: no thread is traced' is_untraced
	check 'static: lives on' end_tracee
else
	skip static 'no static libc'
fi
finish

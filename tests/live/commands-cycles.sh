#!/bin/sh
# The counter and the profile, on and off 20 times: after the first time the target gets no more mappings, descriptors
# and threads, and its code is as it was.
. "$top_srcdir/tests/live/lib.sh"
need_hooks
. "$top_srcdir/tests/live/commands-lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
need jq

has_no_more()
{
	{
		find "/proc/$tracee_pid/fd" -type l -printf 'fd %f %l\n' | sort
		find "/proc/$tracee_pid/task" -mindepth 1 -maxdepth 1 | sort
		grep 'r-xp\|\.so' "/proc/$tracee_pid/maps"
	} >"$dir/has"
	[ -e "$dir/had" ] || cp "$dir/has" "$dir/had"
	diff "$dir/had" "$dir/has"
}

on_and_off()
{
	for verb in start stop; do
		exits 0 memdiag_as "$1 $verb" || return
	done
	same_bytes && has_no_more && goes_on 100
}

start_tracee churn 3
same_bytes
for what in count profile; do
	rm -f "$dir/had"
	check "$what: on and off 20 times" each_of 20 on_and_off "$what"
done
check 'the target lives on' end_tracee
finish

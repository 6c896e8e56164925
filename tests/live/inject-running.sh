#!/bin/sh
# Targets without a waiting thread: one is stopped at a moment that is proven safe.
. "$top_srcdir/tests/live/lib.sh"
need jq

works()
{
	before=$(ask count)
	exits 0 patiently memdiag info --method=inject --wait=300s --timeout=600s --pid "$tracee_pid" --json || return
	json_is '.data.arenas | length >= 1' || return
	[ "$(ask count)" -gt "$before" ]
}

start_tracee spin
check 'a program that computes only: ten answers, and it works' each_of 10 works
check 'it lives on' end_tracee

start_tracee busy-main
check 'one thread, mostly in malloc: five answers, and it works' each_of 5 works
check 'it lives on' end_tracee
finish

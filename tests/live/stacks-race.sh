#!/bin/sh
# Processes that execute another program or end, at every moment while their stacks are read.
. "$top_srcdir/tests/live/lib.sh"
need jq

# Whether all stacks are of one program: those of the old one are complete, but for threads that begin; the new one has
# one thread, which may be in ld.so.
is_of_one_program()
{
	[ ! -s "$dir/out" ] || json_is '.data.thread_count == 1 or (
		[.data.stacks[] | select(.end != "complete") | .frames[0].functions[-1].name // "" |
			select(test("clone") | not)] == [])'
}

# raced WHAT US
raced()
{
	start_tracee race 30 "$1" "$2" || return
	tell go
	exits '0 3' patient_stacks --json || return
	[ "$1" != exec ] || is_of_one_program || return
	case $1 in
	exec*)
		until [ "$(grep -c ready "$dir/$tracee_pid.out")" -eq 2 ]; do
			lives "$tracee_pid" || return
		done
		;;
	esac
	end_tracee || {
		echo "after $2 us"
		return 1
	}
}
at_every_moment()
{
	us=0
	while [ $us -le 20000 ]; do
		raced "$1" $us || return
		us=$((us + 400 * 100 / MEMDIAG_TEST_SHARE))
	done
}
for what in exec exec_by_other exit exit_group; do
	check "$what while stacks are read" at_every_moment $what
done

# Over and over: between any two things that memdiag does.
start_tracee race 12 execs 3000
check 'a process that executes itself all the time' each_of 200 exits '0 3' patient_stacks --no-lines
is_said()
{
	patient_stacks --no-lines
	says 'has executed another program' >"$dir/said"
}
check 'a process that executes itself all the time: it is said when it did meanwhile' soon is_said
check 'a process that executes itself all the time lives on' end_tracee
finish

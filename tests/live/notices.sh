#!/bin/sh
# Every command on programs that check themselves after each wait: registers, results, timeouts, memory and more
# (tests/tracees/notices.c).  scripts/notices makes more runs.
# shellcheck disable=SC3043,SC2086 # every sh we know has local; commands and arguments are words
. "$top_srcdir/tests/live/lib.sh"
[ -x "$TRACEES/notices" ] || skip_all 'there is no tests/tracees/notices for this architecture'

# begin ARGUMENTS...: start such a program.
begin()
{
	start_tracee notices "$@"
	nr_known=0
}

# has_no_more ANSWER: whether ANSWER, the program's counts, has no more faults than the last one.
has_no_more()
{
	local nr="${1#*' faults '}" nr_before=$nr_known
	nr_known=${nr%% *}
	[ "$nr_known" != "$nr_before" ] || return 0
	echo "the program says: $1"
	tail -n 5 "$dir/$tracee_pid.err"
	return 1
}

# notices_nothing COMMAND: whether the program finds no fault after COMMAND; mappings of an agent may stay.
notices_nothing()
{
	case $1 in
	count* | profile* | record*) has_no_more "$(ask 'check agent')" ;;
	*) has_no_more "$(ask check)" ;;
	esac
}

# 1: leaks has found something.
unnoticed()
{
	exits '0 1 2 6' memdiag "$@" --pid "$tracee_pid" && notices_nothing "$1"
}

# all_unnoticed WORDS TIMES COMMAND...: check each COMMAND, TIMES times.
all_unnoticed()
{
	local words="$1" times="$2" command
	shift 2
	for command in "$@"; do
		check "$words: no fault in the program after $times of $command" each_of "$times" unnoticed $command
	done
}

# both_ways WORDS: check the commands that load an agent.
both_ways()
{
	local what
	for what in count profile record; do
		check "$1: no fault after $what start" unnoticed $what start
		[ $what != count ] || check "$1: no fault after status" unnoticed status
		check "$1: no fault after $what stop" unnoticed $what stop
	done
}

end()
{
	check "$1: the program lives on" end_tracee
	check "$1: no fault at the end" has_no_more "$(grep '^waits' "$dir/$tracee_pid.out" | tail -n 1)"
}

cd "$dir" || exit
begin 1
all_unnoticed 'one thread' 20 info 'info --capture=fd2' trim 'trim --mode=thread' 'trim --tops' heap leaks retained stacks
all_unnoticed 'one thread' 4 'info --method=read' 'trim --dry-run' maps doctor
! has_hooks || both_ways 'one thread'
if memdiag trace --mount-tracefs -d 0.1 --pid "$tracee_pid" || [ $? -ne 4 ]; then
	all_unnoticed 'one thread' 2 'trace --mount-tracefs -d 0.1'
else
	skip 'one thread: no fault in the program after trace' 'it is not permitted here'
fi
end 'one thread'

for kind in select epoll poll sigtimedwait; do
	begin 2 kinds=$kind
	all_unnoticed "one thread in $kind()" 20 trim
	end "one thread in $kind()"
done

begin 3 threads=4 coroutines=2
all_unnoticed '4 threads with coroutines' 8 info 'info --capture=fd2' 'info --mode=thread' trim 'trim --tops' heap leaks stacks
all_unnoticed '4 threads with coroutines' 2 'trim --mode=thread' 'trim --dry-run' maps doctor
! has_hooks || both_ways '4 threads with coroutines'
end '4 threads with coroutines'

begin 4 threads=12 storm=1
all_unnoticed '12 threads that get signals' 8 info trim heap leaks stacks
end '12 threads that get signals'

begin 5 arenas=44,1
all_unnoticed '44 arenas with a large top' 4 'trim --tops' info trim heap leaks
end '44 arenas with a large top'

begin 6 threads=3 kinds=poll fds=10000 monotonous=1
all_unnoticed 'poll() on 10,000 descriptors' 20 heap leaks stacks
end 'poll() on 10,000 descriptors'
finish

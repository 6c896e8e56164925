#!/bin/sh
# Processes that are hard to call into, made at random: small stacks, locked memory, blocked signals, hardly
# any address space.  Each command works or refuses, and the process has kept what it had.
. "$top_srcdir/tests/live/lib.sh"

# KiB of address space and of locked memory that may be more: a helper's stack with its guard page; then
# the agent, too, without the table of what is mapped, which it does not need yet.
small='40 40'
large='20000 1500'

: "${first:=1}"
last=$((first + $(some 60) - 1))
nr_worked=0

echo_and_fail()
{
	echo "$*"
	return 1
}

for seed in $(seq "$first" "$last"); do
	start_tracee awkward "$seed"
	what=$(ask what)
	more=$small
	for command in info trim 'count start' 'count stop' info; do
		# shellcheck disable=SC2086 # two words
		memdiag $command --pid "$tracee_pid" --wait 500ms
		status=$?
		[ "$status" -ne 0 ] || nr_worked=$((nr_worked + 1))
		case $command in count*) more=$large ;; esac
		said=$(ask "check $more")
		case "$status $said" in
		[01256]\ kept) ;;
		*)
			check "$seed: $command, $what" echo_and_fail "exit status $status; $said"
			sed 's/^/#   /' "$dir/err"
			break
			;;
		esac
	done
	check "$seed lives on ($what)" end_tracee
done
check 'most of it worked' test "$nr_worked" -gt $(((last - first + 1) * 5 / 2))
finish

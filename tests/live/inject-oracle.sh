#!/bin/sh
# Registers, vector registers, MXCSR, x87 control word, red zone, errno, signal mask, alternate
# stack, dispositions, descriptors and heap of a target that checks itself.
. "$top_srcdir/tests/live/lib.sh"
need jq

intact_after()
{
	exits 0 memdiag "$@" --pid "$tracee_pid" && is_intact
}

is_intact()
{
	said=$(ask check)
	[ "$said" = intact ] || {
		echo "the oracle says: $said"
		return 1
	}
}

for how in '' multi; do
	[ -x "$TRACEES/oracle" ] || skip_all 'there is no oracle for this architecture'
	# shellcheck disable=SC2086 # nothing or a word
	start_tracee oracle $how
	for command in info trim 'info --capture=fd2' 'info --mode=thread' 'trim --mode=thread'; do
		# shellcheck disable=SC2086 # a command and its options
		check "${how:-single}: intact after ten of $command" each_of 10 intact_after $command
	done
	check "${how:-single}: the target lives on" end_tracee
done

# Two at once: the second must wait or be refused, and change nothing.
start_tracee oracle multi
together()
{
	"$MEMDIAG" info --wait=300s --timeout=600s --pid "$tracee_pid" >"$dir/out.1" 2>"$dir/err.1" &
	one=$!
	"$MEMDIAG" info --wait=300s --timeout=600s --pid "$tracee_pid" >"$dir/out.2" 2>"$dir/err.2" &
	for each in $one $!; do
		wait "$each"
		case $? in
		0 | 4 | 6) ;;
		*)
			cat "$dir/err.1" "$dir/err.2"
			return 1
			;;
		esac
	done
	is_intact
}
check 'two memdiags at once leave the target intact' each_of 5 together
check 'the target of two memdiags lives on' end_tracee
finish

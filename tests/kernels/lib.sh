# lib: what the tests in machines of scripts/check-kernels share.  They change settings of the whole system, so they run
# nowhere else.  Read after tests/live/lib.sh and tests/live/commands-lib.sh.
#
#	$nobody			words that run a command as another user, without capabilities
#	start_own NAME...	as start_tracee, as that user
#	set_to FILE VALUE	write a setting, if the kernel has it
#	works WORDS [WHO...]	checks: every command works on $tracee_pid, run as WHO, and it lives on
# shellcheck disable=SC2034,SC2154 # tests/live/lib.sh reads and sets the rest

[ -d /run/memdiag-kernels ] || skip_all 'it needs a machine of scripts/check-kernels'
nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'

start_own()
{
	# shellcheck disable=SC2145,SC2086 # the first word is the program; $nobody is a list of words
	start_command $nobody "$TRACEES/$@"
}

set_to()
{
	[ -e "$1" ] && echo "$2" >"$1"
}

works()
{
	words=$1
	shift
	all_exit "$words" 0 "$@"
	check "$words: lives on" end_tracee
}

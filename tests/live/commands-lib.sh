# commands-lib: every command of memdiag that looks at a process; read after lib.sh.
#
#	$commands	a line each, with options
#	all_exit WORDS STATUS [WHO...]
#			a check for each command on $tracee_pid, run as WHO (words such as setpriv and its options): it exits
#			with STATUS ('0 6' is either)
#	all_refuse WORDS WHY [WHO...]
#			a check for each: it exits with 4, and says WHY on stderr; maps may print what it can read without
#			the right, with the same words, and then exits with 2
# shellcheck disable=SC3043,SC2034,SC2154 # every sh we know has local; lib.sh sets the rest

# Any user may write files there.
mkdir "$dir/written"
chmod 1777 "$dir/written"

commands='info
info --method=read
trim --dry-run
trim
maps
maps --by=mapping
heap
stacks'
if has_hooks; then
	commands="$commands
count start
status
count stop
profile start
profile stop --output $dir/written/profile
record --seconds 0.2 --output $dir/written/record"
fi

# memdiag_as COMMAND WHO...: run it on $tracee_pid; what it prints stays in $dir/out and $dir/err.
memdiag_as()
{
	local command="$1" limits='--timeout=600s'
	shift
	shorten $command
	about_command=$short
	case $command in
	info* | 'trim' | count* | profile* | record*) limits="$limits --wait=300s" ;;
	heap | stacks | *--dry-run) limits="$limits --max-stop=300s" ;;
	esac
	# shellcheck disable=SC2086 # words
	captured "$@" "$MEMDIAG" $command $limits --pid "$tracee_pid" </dev/null
}

# each_command FUNCTION ARGUMENTS...: FUNCTION COMMAND ARGUMENTS... for each.
each_command()
{
	while read -r command <&4; do
		"$1" "$command" "$@"
	done 4<<-LIST
		$commands
	LIST
}

check_exit()	# COMMAND check_exit WORDS STATUS WHO...
{
	local command="$1" words="$3" status="$4"
	shift 4
	check "$words: $command" exits "$status" memdiag_as "$command" "$@"
}

all_exit()
{
	each_command check_exit "$@"
}

refuses()	# STATUS WHY COMMAND...
{
	local status="$1" why="$2"
	shift 2
	exits "$status" "$@" || return
	cat "$dir/out" "$dir/err"
	grep -q -e "$why" "$dir/out" "$dir/err"
}

check_refusal()	# COMMAND check_refusal WORDS WHY WHO...
{
	local command="$1" words="$3" why="$4"
	shift 4
	case $command in
	maps*) check "$words: $command" refuses '2 4' "$why" memdiag_as "$command" "$@" ;;
	*) check "$words: $command" refuses 4 "$why" memdiag_as "$command" "$@" ;;
	esac
}

all_refuse()
{
	each_command check_refusal "$@"
}

#!/bin/sh
# The completions of bash, zsh and fish, in the shells themselves: commands, options, words, files, processes and
# programs.  No name of a process is run.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/help-lib.sh"

need ps
PATH=$top_builddir:$PATH
HOME=$dir/home XDG_CONFIG_HOME=$dir/home XDG_DATA_HOME=$dir/home XDG_CACHE_HOME=$dir/home
export PATH HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME
work=$dir/work	# where the shells are
mkdir "$HOME" "$work"
tab='	'

# ---- what is asked and expected ----------------------------------------------------------------

# Command lines to be completed with files.
files_for='maps --diff
report -f
report -p
report
diff
timeline
record report --since
record report --save
trace --calls'

# And with processes, programs and other words.
other_queries()
{
	printf 'memdiag %s\n' '' 'maps --lines=' 'maps --lines ' 'run --limit ' 'trace --calls=' 'heap --sysroot=' \
		'report --pid ' "info --pid=$tracee_pid" "info -p $tracee_pid" "info $tracee_pid" 'info idl' 'info --pid=idl' \
		'info ' 'info evil' 'count ' 'record ' 'profile ' 'run tru' 'run --limit 64M tru' 'run --limit=64M --json tru' \
		'run --profile tru' 'trace -p 1 -- tru' 'run --follow'
}

# expect COMMAND: lines "COMMAND<tab>QUERY<tab>CANDIDATE" for its options, and for the words of each option that no
# command before it has with the same words.  They follow =, and in maps also a space: the last word is empty then.
expect()
{
	help_options "$1" | sed -n "s/^--/$1${tab}memdiag $1 --$tab&/p"
	"$MEMDIAG" --list-options="$1" | grep -e '^--.* .* ' | grep -v -x -F -f "$dir/rows" | tee "$dir/new-rows" |
		awk -v command="$1" '{
			for (i = 3; i <= NF; i++) {
				print command "\tmemdiag " command " " $1 "=\t" $i
				if (command == "maps")
					print command "\tmemdiag " command " " $1 " \t" $i
			}
		}'
	cat "$dir/new-rows" >>"$dir/rows"
}

make_queries()
{
	: >"$dir/rows"
	for name in $commands 'record report'; do
		expect "$name"
	done >"$dir/expected"
	{
		cut -f 2 "$dir/expected" | uniq
		echo "$files_for" | sed 's/.*/memdiag & /'
		other_queries
	} >"$dir/queries"
}

# ---- checks ------------------------------------------------------------------------------------

# ask SHELL SCRIPT: "QUERY<tab>CANDIDATE" for all queries, in $dir/answers.
ask()
{
	shell=$1
	options=
	[ "$shell" != zsh ] || options=-f
	(cd "$work" && "$shell" $options "$top_srcdir/tests/live/complete.$shell" "$top_srcdir/scripts/completion/$2" \
		"$dir/queries" "$dir/$shell") || return
	[ "$(grep -c '^> ' "$dir/$shell")" -eq "$(wc -l <"$dir/queries")" ] || return
	awk -v OFS='\t' '
		/^> / { query = substr($0, 3); next }
		{ sub(/^--[a-z-]*=/, ""); sub(/\/$/, ""); print query, $0 }' "$dir/$shell" | sort -u >"$dir/answers"
}

# candidates QUERY: what is offered.
candidates()
{
	awk -F '\t' -v query="memdiag $1" '$1 == query { print $2 }' "$dir/answers"
}

# offers QUERY CANDIDATE...: each of them is offered.
offers()
{
	local query="$1"
	shift
	candidates "$query" >"$dir/offered"
	for word in "$@"; do
		grep -q -x -F -e "$word" "$dir/offered" || return
	done
}

offers_nothing()
{
	[ -z "$(candidates "$1")" ]
}

offers_commands()
{
	echo "$commands" >"$dir/some"
	candidates '' | grep -v '^-' | diff "$dir/some" -
}

# offers_expected COMMAND: its options and their words, and no others.  fish has no word with a dot for an empty one.
offers_expected()
{
	sed -n "s/^$1$tab//p" "$dir/expected" | sort -u >"$dir/some"
	[ "$shell" != fish ] || sed -i "/ $tab\./d" "$dir/some"
	[ -s "$dir/some" ] && cut -f 1 "$dir/some" | sort -u | awk -F '\t' '
		NR == FNR { queries[$1]; next } $1 in queries' - "$dir/answers" | diff "$dir/some" -
}

# A process's name is a stranger's: it is not run as a command, and not offered as a word to be run.
runs_no_name()
{
	candidates 'info ' | grep -q -E "^$evil_pid( |\$)" && [ ! -e "$work/x" ] && offers_nothing 'info evil'
}

check_shell()
{
	local name
	if ! command -v "$1" >/dev/null; then
		skip "$1" "$1 is not installed"
		return
	fi
	check "$1 answers" ask "$1" "$2"
	check "$1 has the commands" offers_commands
	for name in $commands 'record report'; do
		check "$1 has the options of $name and their words" offers_expected "$name"
	done
	for name in 'maps --lines=' 'maps --lines ' 'run --limit '; do
		check "$1 has nothing for $name" offers_nothing "$name"
	done
	while read -r name; do
		check "$1 has files for $name" offers "$name " a-file
	done <"$dir/files_for"
	check "$1 has files after =" offers 'trace --calls=' a-file
	check "$1 has directories after =" offers 'heap --sysroot=' a-directory
	for name in 'info --pid=' 'info -p ' 'info '; do
		check "$1 has the process for $name" offers "$name$tracee_pid" "$tracee_pid"
	done
	check "$1 has processes for report --pid" [ "$(candidates 'report --pid ' | wc -l)" -gt 1 ]
	check "$1 has names of processes" offers 'info idl' idle
	check "$1 has names of processes after =" offers 'info --pid=idl' idle
	check "$1 has the verbs of count" offers 'count ' start stop
	check "$1 has the verbs of profile" offers 'profile ' start stop dump status
	check "$1 has the verbs of record" offers 'record ' start stop dump status report
	for name in run 'run --limit 64M' 'run --limit=64M --json' 'run --profile' 'trace -p 1 --'; do
		check "$1 has programs for $name" offers "$name tru" true
	done
	check "$1 has options before the program" offers 'run --follow' --follow-children
	check "$1 runs no name of a process" runs_no_name
}

commands=$("$MEMDIAG" --list-commands | sort)
echo "$files_for" >"$dir/files_for"
: >"$work/a-file"
mkdir "$work/a-directory"
# The kernel keeps 15 bytes of a name.
cp "$(command -v sleep)" "$work/evil\$(touch x)"
(cd "$work" && exec "./evil\$(touch x)" 1000) &
evil_pid=$!
started="$started $evil_pid"
until ps -p $evil_pid -o comm= | grep -q touch; do
	kill -0 $evil_pid || exit
done
start_tracee idle
make_queries
check_shell bash memdiag
check_shell zsh _memdiag
check_shell fish memdiag.fish
check 'the target lives on' end_tracee
finish

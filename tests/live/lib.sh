# lib: what every live test begins with.  A test reads
#
#	#!/bin/sh
#	deadline=1800			# seconds for the whole script, only to end one that hangs; the default
#	. "$top_srcdir/tests/live/lib.sh"
#	start_tracee idle
#	check 'maps runs' exits 0 memdiag maps --pid "$tracee_pid"
#	check 'the target lives on' end_tracee
#	finish
#
# It speaks TAP, waits for words and never for time, and ends by proving that the target still
# works.  A deadline only ends a hang, and is 300 s or more: a loaded machine may be a hundred times slower.
# To run one by hand: top_srcdir=SRC top_builddir=BUILD sh SRC/tests/live/NAME.sh
#
# Its parts are memdiag-lib.sh (commands, and what they print), tracee-lib.sh (programs to look at), release-lib.sh (those on other
# releases of glibc) and kept-lib.sh (what a process must have kept); doc/howto/test.md has a table of their functions.
#
#	$dir			scratch, kept on failure
#	$elsewhere		a directory that is removed at the end, whatever comes
#	$TRACEES $MEMDIAG	the test programs, the program
# shellcheck disable=SC3043,SC3045,SC2034,SC2154 # every sh we know has local and ulimit; make and the tests set and read the rest
set -u
export LC_ALL=C
umask 022
ulimit -S -c 0
: "${deadline:=1800}"

# The whole script runs under a deadline: timeout signals the process group, so a command that
# hangs goes too, and the trap below still says what happened and cleans up.
if [ -z "${MEMDIAG_TEST_DEADLINE-}" ]; then
	MEMDIAG_TEST_DEADLINE=$deadline
	export MEMDIAG_TEST_DEADLINE
	exec timeout -s XCPU -k 10 "$deadline" sh "$0" "$@"
fi

TRACEES=$top_builddir/tests/tracees
MEMDIAG=$top_builddir/memdiag
dir=$(mktemp -d "${TMPDIR:-/tmp}/memdiag-test.XXXXXX") || exit 99
chmod 755 "$dir"
nr_checks=0
nr_failed=0
nr_started=0
started=
elsewhere=

leave()
{
	status=$?
	trap - EXIT
	for pid in $started; do
		# A number may be somebody else's by now: thousands of threads use them up.
		grep -q "^PPid:	$$\$" "/proc/$pid/status" 2>/dev/null || continue
		kill -CONT "$pid" 2>/dev/null
		kill -KILL "$pid" 2>/dev/null
	done
	[ -z "$elsewhere" ] || rm -rf "$elsewhere"
	if [ "$status" -eq 0 ]; then
		rm -rf "$dir"
	else
		echo "# scratch is kept in $dir"
	fi
	exit "$status"
}
trap leave EXIT
trap 'echo "# the deadline of $MEMDIAG_TEST_DEADLINE s has passed"; exit 1' XCPU
trap 'exit 1' HUP INT TERM

# ---- checks ----------------------------------------------------------------------------------

# The subject of the checks, with which their names end: the process that was started last, and the last command of
# memdiag.
about_process=
about_command=

# shorten WORDS...: sets $short to WORDS without directories, the numbers of processes, and scripts.
shorten()
{
	local word
	short=
	for word in "$@"; do
		word=${word##*/}
		case $word in
		*[!A-Za-z0-9_=.,:+@%-]*) word=... ;;
		*[!0-9]* | '' | ? | ??) ;;
		*) [ "$word" != "${tracee_pid-}" ] || word=PID ;;
		esac
		short="$short $word"
	done
	short=${short# }
}

# check WORDS COMMAND...: a test point, ok if COMMAND succeeds.  COMMAND may be a function.
check()
{
	local words="$1" about
	shift
	nr_checks=$((nr_checks + 1))
	if "$@" >"$dir/check.said" 2>&1; then
		about=$about_process${about_command:+; $about_command}
		echo "ok $nr_checks - $words${about:+ [${about#; }]}"
	else
		nr_failed=$((nr_failed + 1))
		about=$about_process${about_command:+; $about_command}
		echo "not ok $nr_checks - $words${about:+ [${about#; }]}"
		echo "#   failed: $*"
		[ -s "$dir/check.said" ] || cat "$dir/err" >"$dir/check.said" 2>/dev/null
		head -n 30 "$dir/check.said" | sed 's/^/#   /'
	fi
}

# skip WORDS WHY: a test point that cannot be tried here.
skip()
{
	nr_checks=$((nr_checks + 1))
	echo "ok $nr_checks - $1 # SKIP $2"
}

# skip_all WHY: the whole script cannot be tried here.
skip_all()
{
	echo "1..0 # SKIP $1"
	exit 0
}

# need COMMAND...: skip all unless each of them is there.
need()
{
	for command in "$@"; do
		command -v "$command" >/dev/null || skip_all "$command is not installed"
	done
}

# has_hooks: whether this memdiag can hook functions, which 'memdiag count' needs.
has_hooks()
{
	grep -q '^#define HAVE_ZYDIS 1' "$top_builddir/config.h"
}

# need_hooks: skip all unless it can.
need_hooks()
{
	has_hooks || skip_all 'this memdiag was built without Zydis: it hooks no functions'
}

finish()
{
	echo "1..$nr_checks"
	[ "$nr_failed" -eq 0 ]
	exit
}

# near A B MOST: whether A and B differ by MOST at most.
near()
{
	local difference=$(($1 - $2))
	echo "$1 and $2"
	[ "${difference#-}" -le "$3" ]
}

. "$top_srcdir/tests/live/memdiag-lib.sh"
. "$top_srcdir/tests/live/tracee-lib.sh"
. "$top_srcdir/tests/live/release-lib.sh"
. "$top_srcdir/tests/live/kept-lib.sh"

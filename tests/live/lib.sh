# lib: what every live test begins with.  A test reads
#
#	#!/bin/sh
#	deadline=60			# seconds for the whole script; this is the default
#	. "$top_srcdir/tests/live/lib.sh"
#	start_tracee idle
#	check 'maps runs' exits 0 memdiag maps --pid "$tracee_pid"
#	check 'the target lives on' end_tracee
#	finish
#
# It speaks TAP, waits for words and never for time, and ends by proving that the target still
# works.  To run one by hand: top_srcdir=SRC top_builddir=BUILD sh SRC/tests/live/NAME.sh
#
# Here, for the tests:
#	$dir			scratch, kept on failure
#	$elsewhere		a directory that is removed at the end, whatever comes
#	$TRACEES $MEMDIAG	the test programs, the program
#	check, skip, skip_all, need, finish
#	exits, each_of, memdiag, json, maps_adds_up
#					run a command, memdiag, look into its --json
#	start_tracee, start_command, tell, ask, end_tracee, wait_for
#	for_each_release, start_release_tracee, release_program
#					the same on other releases of glibc
#	remember, unharmed		what a process must have kept
# shellcheck disable=SC3043,SC3045,SC2154 # every sh we know has local and ulimit; make sets the rest
set -u
export LC_ALL=C
umask 022
ulimit -S -c 0
: "${deadline:=60}"

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

# check WORDS COMMAND...: a test point, ok if COMMAND succeeds.  COMMAND may be a function.
check()
{
	local words="$1"
	shift
	nr_checks=$((nr_checks + 1))
	if "$@" >"$dir/check.said" 2>&1; then
		echo "ok $nr_checks - $words"
	else
		nr_failed=$((nr_failed + 1))
		echo "not ok $nr_checks - $words"
		echo "#   failed: $*"
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

finish()
{
	echo "1..$nr_checks"
	[ "$nr_failed" -eq 0 ]
	exit
}

# ---- memdiag ---------------------------------------------------------------------------------

# memdiag ARGUMENTS...: run it; what it says stays in $dir/out and $dir/err.
memdiag()
{
	"$MEMDIAG" "$@" >"$dir/out" 2>"$dir/err"
}

# exits STATUS COMMAND...: whether COMMAND exits with STATUS; '0 6' is either.
exits()
{
	local wanted="$1" got
	shift
	"$@"
	got=$?
	case " $wanted " in
	*" $got "*) return ;;
	esac
	echo "exit status $got, not $wanted"
	[ "$1" != memdiag ] || cat "$dir/err"
	return 1
}

# some N: of N repetitions those that are to be made: all, or a part for who has no time.
: "${MEMDIAG_TEST_SHARE:=100}"	# percent
some()
{
	echo $((($1 * MEMDIAG_TEST_SHARE + 99) / 100))
}

# each_of N COMMAND...: run COMMAND N times; all must succeed.
each_of()
{
	local times time=0
	times=$(some "$1")
	shift
	while [ "$time" -lt "$times" ]; do
		time=$((time + 1))
		"$@" || {
			echo "that was time $time of $times"
			return 1
		}
	done
}

# json FILTER: that part of the last memdiag's --json, as jq prints it.
json()
{
	jq -r "$1" "$dir/out"
}

# json_is FILTER: whether it is true.
json_is()
{
	# Of an empty file jq 1.6 says that everything is true.
	{ [ -s "$dir/out" ] && jq -e "$1" "$dir/out" >/dev/null; } || {
		jq -c . "$dir/out" | cut -c -1000
		return 1
	}
}

# maps_adds_up PID: whether memdiag maps comes to the kernel's VmSize and VmRSS, or says by name what
# changed meanwhile.
maps_adds_up()
{
	exits 0 memdiag maps --pid "$1" --json && json_is '
		[.data.identities[] | select(.name == "VmSize" or .name == "VmRSS") |
			.difference_bytes == 0 or
			(.explained_by | . != null and . != "not explained")] == [true, true]'
}

# ---- programs to look at ----------------------------------------------------------------------

# lives PID: whether it has not ended; one that nobody has waited for yet has, unless other threads of it
# go on.
lives()
{
	grep -q -e '^State:.[^XZ]' -e '^Threads:.\([2-9]\|[0-9][0-9]\)' "/proc/$1/status" 2>/dev/null
}

# wait_for PID FILE WORDS: until FILE has a line that matches WORDS; fails if PID ends before.
wait_for()
{
	until grep -q -e "$3" "$2" 2>/dev/null; do
		lives "$1" || grep -q -e "$3" "$2" || return
		sleep 0.01
	done
}

# start_tracee NAME ARGUMENTS...: start tests/tracees/NAME; returns when it has said "ready".
# Sets tracee_pid.
start_tracee()
{
	local name="$1"
	shift
	start_command "$TRACEES/$name" "$@"
}

# start_command COMMAND...: start any program that speaks the protocol of tests/tracees/tracee.h.
# Sets tracee_pid, which names its files: $dir/PID.in .out .err and .holder, the process that
# holds its stdin open.
start_command()
{
	local stream
	nr_started=$((nr_started + 1))
	mkfifo "$dir/$nr_started.in"
	# A background job without job control gets /dev/null for stdin: name it.
	"$@" <"$dir/$nr_started.in" >"$dir/$nr_started.out" 2>"$dir/$nr_started.err" &
	tracee_pid=$!
	sleep 1000 >"$dir/$nr_started.in" &
	started="$started $tracee_pid $!"
	echo $! >"$dir/$tracee_pid.holder"
	for stream in in out err; do
		# Numbers are used again: an earlier one's may be there.
		ln -sf $nr_started.$stream "$dir/$tracee_pid.$stream"
	done
	if ! wait_for "$tracee_pid" "$dir/$tracee_pid.out" '^ready'; then
		echo "# $* did not get ready"
		sed 's/^/#   /' "$dir/$tracee_pid.err"
		exit 1
	fi
}

# tell WORDS [PID]: give a tracee a command.
tell()
{
	echo "$1" >"$dir/${2:-$tracee_pid}.in"
}

# ask WORDS [PID]: the same; prints the line it answers.
ask()
{
	local pid="${2:-$tracee_pid}" nr_lines
	nr_lines=$(wc -l <"$dir/$pid.out")
	tell "$1" "$pid"
	until [ "$(wc -l <"$dir/$pid.out")" -gt "$nr_lines" ]; do
		lives "$pid" || return
		sleep 0.01
	done
	sed -n "$((nr_lines + 1))p" "$dir/$pid.out"
}

# end_tracee [PID]: close its stdin; it must say "alive" and exit with 0.
end_tracee()
{
	local pid="${1:-$tracee_pid}"
	kill "$(cat "$dir/$pid.holder")"
	wait "$pid" || {
		echo "exit status $?"
		cat "$dir/$pid.err"
		return 1
	}
	[ "$(tail -n 1 "$dir/$pid.out")" = alive ] || {
		tail -n 3 "$dir/$pid.out"
		return 1
	}
}

# ---- other releases of glibc ---------------------------------------------------------------------

# for_each_release FUNCTION: call it once for every release that scripts/glibc-releases has fetched,
# with $release (2.31), $loader and $libdir set; those that lack are skipped by name.
for_each_release()
{
	"$top_srcdir/scripts/glibc-releases" --offline >"$dir/releases" 2>"$dir/releases.err"
	sed -n 's/.*not here: //p' "$dir/releases.err" | tr ' ' '\n' >"$dir/releases.missing"
	while read -r suite <&3; do
		skip "glibc of Debian $suite" 'not fetched: see scripts/glibc-releases'
	done 3<"$dir/releases.missing"
	# The first is the oldest: what is built for it runs on all.
	read -r release loader libdir <"$dir/releases" || return 0
	sysroot=${libdir%/lib/*}
	while read -r release loader libdir <&3; do
		if [ -e "$sysroot/usr/include/stdio.h" ]; then
			"$1"
		else
			skip "glibc $release" 'the oldest release is not here to build for'
		fi
	done 3<"$dir/releases"
}

# release_program NAME: build tests/tracees/NAME to run on all of the releases; sets $program.
release_program()
{
	program=$dir/$1
	[ ! -x "$program" ] || return 0
	# Without -B gcc finds this machine's own libc first, by the way it was built.
	"${CC:-cc}" --sysroot="$sysroot" -B"$sysroot/usr/lib/${libdir##*/}" -O1 -pthread \
		-I"$top_srcdir/src" -o "$program" "$top_srcdir/tests/tracees/$1.c" -lrt -ldl
}

# start_release_tracee NAME ARGUMENTS...: as start_tracee, on the glibc of $release.
start_release_tracee()
{
	release_program "$1" || exit
	shift
	start_command "$loader" --library-path "$libdir" "$program" "$@"
}

# ---- what a process must have kept --------------------------------------------------------------

# snapshot PID FILE: descriptors, signal state of each thread, and mappings.  Anonymous memory is
# one sum, as glibc may keep the stack of a thread that has ended (nptl/allocatestack.c).
snapshot()
{
	{
		find /proc/"$1"/fd -type l -printf 'fd %f %l\n' | sort
		grep -E '^Sig(Blk|Ign|Cgt)|^Tracer' /proc/"$1"/task/*/status
		awk '$6 != "" && $6 != "[heap]" { print "map", $1, $2, $3, $6 }' /proc/"$1"/maps
	} >"$2"
	awk '$6 == "" { split($1, a, "-"); print a[1], a[2] }' /proc/"$1"/maps |
		while read -r from to; do
			echo $((0x$to - 0x$from))
		done | awk '{ sum += $1 } END { printf "%.0f\n", sum }' >"$2.anon"
}

# remember [PID]: what unharmed will compare with.
remember()
{
	snapshot "${1:-$tracee_pid}" "$dir/before"
}

# unharmed [PID]: whether the process is as it was, but for at most one cached thread stack with
# its guard page.
unharmed()
{
	local more stack
	snapshot "${1:-$tracee_pid}" "$dir/after"
	diff "$dir/before" "$dir/after" || return
	more=$(($(cat "$dir/after.anon") - $(cat "$dir/before.anon")))
	stack=$(($(ulimit -s) * 1024 + $(getconf PAGESIZE)))
	[ "$more" -eq 0 ] || [ "$more" -eq "$stack" ] || {
		echo "$more bytes of anonymous memory more"
		return 1
	}
}

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
# Here, for the tests:
#	$dir			scratch, kept on failure
#	$elsewhere		a directory that is removed at the end, whatever comes
#	$TRACEES $MEMDIAG	the test programs, the program
#	check, skip, skip_all, need, need_hooks, finish
#	exits, exits_saying, exits_at_limit, says, each_of, memdiag, patiently, json, json_is, maps_adds_up
#					run a command, memdiag, look into its stderr and its --json
#	has_kernel_threads, knows_huge, $same $all_same
#					what the kernel shows, and filters for sums of maps that are its own
#	killed_at, killed_each_time	kill a command before a system call
#	captured			run any command as memdiag is
#	start_tracee, start_command, tell, ask, goes_on, end_tracee, wait_for, soon, eventually
#	for_each_release, start_release_tracee, release_program
#					the same on other releases of glibc
#	remember, unharmed		what a process must have kept
# shellcheck disable=SC3043,SC3045,SC2154 # every sh we know has local and ulimit; make sets the rest
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

# ---- memdiag ---------------------------------------------------------------------------------

# memdiag ARGUMENTS...: run it; what it prints stays in $dir/out and $dir/err.  Where ARGUMENTS have no limit, it may take
# 600 s, look for a thread to borrow for half of them, and stop a process for as long: on a busy machine the threads get
# a processor late, and a test that expects an answer must not depend on that.  A search that is expected to fail, by
# "exits 6", takes as long as memdiag lets it by itself.
memdiag()
{
	local command="${1-}" asked=" $* "
	shorten "$@"
	about_command=$short
	case $asked in
	*' --max-stop'* | *' --no-stop '* | *' --core'*) ;;
	' heap '* | ' trim '* | ' stacks '*)
		shift
		set -- "$command" --max-stop=300s "$@"
		;;
	' count start '*)	# More time means more attempts.  Only a machine on which none ends in time sets this.
		shift
		set -- "$command" ${MEMDIAG_TEST_COUNT_STOP:+--max-stop="$MEMDIAG_TEST_COUNT_STOP"} "$@"
		;;
	esac
	case "$asked ${wanted-} " in
	*' --wait'* | *' --timeout'* | *' --core'* | *' --help '* | *' 6 '*) ;;
	' info '* | ' trim '* | ' count st'* | ' profile st'* | ' profile dump '* | ' record st'*)
		shift
		set -- "$command" --wait=300s "$@"
		;;
	esac
	case $asked in
	*' --timeout'* | *' --core'*) ;;
	' count st'* | ' doctor '* | ' heap '* | ' info '* | ' maps '* | ' profile st'* | ' profile dump '* | ' record st'* | \
		' stacks '* | ' status '* | ' trim '*)
		shift
		set -- "$command" --timeout=600s "$@"
		;;
	esac
	"$MEMDIAG" "$@" >"$dir/out" 2>"$dir/err"
}

# patiently memdiag ARGUMENTS...: run it again if a call in the target took too long: on a busy machine the threads of a
# program that allocates all the time may hold malloc's lock without a processor.
patiently()
{
	local status=1 nr=0
	while [ $nr -lt 20 ]; do
		nr=$((nr + 1))
		"$@"
		status=$?
		[ $status -eq 1 ] && grep -q 'took too long' "$dir/err" || break
	done
	return $status
}

# captured COMMAND...: any other command, as memdiag runs.
captured()
{
	"$@" >"$dir/out" 2>"$dir/err"
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
	case $1 in
	memdiag | captured | patiently) cat "$dir/err" ;;
	esac
	return 1
}

# says WORDS: whether stderr of the last memdiag has a line that matches WORDS.
says()
{
	grep -q -e "$1" "$dir/err" || {
		cat "$dir/err"
		return 1
	}
}

# exits_saying STATUS WORDS COMMAND...: both.
exits_saying()
{
	local status="$1" words="$2"
	shift 2
	exits "$status" "$@" && says "$words"
}

# exits_at_limit STATUS memdiag ARGUMENTS...: whether it exits with STATUS by a --timeout that passes while it waits for
# something that does not come.  On a busy machine it may pass before memdiag waits for that: then a longer one is tried.
exits_at_limit()
{
	local status="$1" limit
	shift
	for limit in 1s 10s 100s 600s; do
		! exits "$status" "$@" "--timeout=$limit" || return 0
	done
	return 1
}

# killed_at N SYSCALL COMMAND...: run COMMAND, which gets SIGKILL before its Nth SYSCALL.  A word PID of it stands for
# $tracee_pid.  Returns 0 if it was killed, 1 if it made fewer calls and ended with one of $good_statuses, else 2.
good_statuses='0 2'
killed_at()
{
	local when="$1" syscall="$2" status word
	shift 2
	for word in "$@"; do
		shift
		[ "$word" != PID ] || word=$tracee_pid
		set -- "$@" "$word"
	done
	strace -f -o "$dir/strace" -e "trace=$syscall" -e "inject=$syscall:signal=SIGKILL:when=$when" \
		"$@" >"$dir/out" 2>"$dir/err"
	status=$?
	! grep -q 'killed by SIGKILL' "$dir/strace" || return 0
	case " $good_statuses " in
	*" $status "*) return 1 ;;
	esac
	return 2
}

# killed_each_time SYSCALL STEP WELL COMMAND...: COMMAND gets SIGKILL before its first SYSCALL, before the one STEP
# later, and so on until it ends well.  The function WELL must succeed after each time.  Adds to $nr_tried.
# A COMMAND that fails, or ends well without any SYSCALL, found the target still busy with what the killed one had
# left: that is no end, so it runs again.
nr_tried=0
killed_each_time()
{
	local syscall="$1" step="$2" well="$3" when=1 nr=0 nr_failed_runs=0 ended end=
	shift 3
	while :; do
		killed_at $when "$syscall" "$@"
		ended=$?
		if [ $ended -eq 0 ]; then
			nr=$((nr + 1))
			$well && [ $nr -lt 500 ] || {
				echo "killed at $syscall number $when"
				return 1
			}
			when=$((when + step)) end=
		elif [ $ended -eq 1 ] && grep -q "$syscall(" "$dir/strace"; then
			break
		else
			nr_failed_runs=$((nr_failed_runs + 1))
			clock
			: "${end:=$((now + 300))}"
			[ "$now" -lt "$end" ] || {
				echo "it failed $nr_failed_runs times, at last:"
				cat "$dir/err"
				return 1
			}
		fi
	done
	nr_tried=$((nr_tried + nr))
	echo "killed $nr times, failed $nr_failed_runs times"
	[ $nr -gt 0 ]
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
	# For an empty file jq 1.6 says that everything is true.
	{ [ -s "$dir/out" ] && jq -e "$1" "$dir/out" >/dev/null; } || {
		jq -c . "$dir/out" | cut -c -1000
		return 1
	}
}

# Filters: one of maps' identities holds; all do. Before 6.16 the kernel's counters lag behind, also those of a process that
# stands still.
same='(.difference_bytes == 0 or (.explained_by // "" | test("lag behind")))'
# shellcheck disable=SC2034 # tests use it
all_same=".data.identities | length > 2 and all($same)"

# has_kernel_threads: whether PID 2 is one.
has_kernel_threads()
{
	[ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]
}

# knows_huge: whether huge pages are counted without --pss.
knows_huge()
{
	"$MEMDIAG" doctor | grep -q 'by PAGEMAP_SCAN'
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

# clock: sets $now to the seconds since the machine was started.
clock()
{
	read -r now _ </proc/uptime
	now=${now%%.*}
}

# eventually COMMAND...: until COMMAND succeeds, for what happens by itself within moments, if at all.  It fails after
# 300 s, so that a test ends that fails; later ones in the same script then look for two seconds only.
patience=300
eventually()
{
	local end
	clock
	end=$((now + patience))
	until "$@"; do
		clock
		[ "$now" -lt "$end" ] || {
			patience=2
			echo "it did not come: $*"
			return 1
		}
		sleep 0.02
	done
}

# soon COMMAND...: the same of $tracee_pid; fails if that ends before.
soon()
{
	eventually succeeds_or_ends "$@" && [ "$has_succeeded" = yes ]
}

# succeeds_or_ends COMMAND...: whether COMMAND succeeds, which sets has_succeeded, or $tracee_pid has ended.
succeeds_or_ends()
{
	has_succeeded=yes
	! "$@" || return 0
	! lives "$tracee_pid" || return 1
	"$@" || has_succeeded=no
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
	shorten "$@"
	about_process=$short
	about_command=
	nr_started=$((nr_started + 1))
	mkfifo "$dir/$nr_started.in"
	# A background job without job control gets /dev/null for stdin: name it.
	"$@" <"$dir/$nr_started.in" >"$dir/$nr_started.out" 2>"$dir/$nr_started.err" &
	tracee_pid=$!
	sleep "$MEMDIAG_TEST_DEADLINE" >"$dir/$nr_started.in" &
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
	# The whole line: ask() counts from there.
	until [ "$(wc -l <"$dir/$tracee_pid.out")" -gt 0 ] || ! lives "$tracee_pid"; do
		sleep 0.01
	done
}

# tell WORDS [PID]: give a tracee a command.  Opened for both, as opening a pipe whose reader has ended would wait.
tell()
{
	echo "$1" 1<>"$dir/${2:-$tracee_pid}.in"
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

# goes_on N [COMMAND]: until COMMAND (count) is answered with N more than the first time; fails if the tracee ends.
goes_on()
{
	local more="$1" command="${2:-count}" first now
	first=$(ask "$command") || return
	until now=$(ask "$command") && [ "$now" -gt $((first + more)) ]; do
		lives "$tracee_pid" || return
	done
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

# releases_of SET: of the lines of stdin, from the oldest release to the newest, those of SET.
releases_of()
{
	case $1 in
	ends) sed -n '1p; $p' ;;
	between) sed '1d; $d' ;;
	*) cat ;;
	esac
}

# for_each_release FUNCTION: call it once for every release that scripts/glibc-releases has fetched,
# with $release (2.31), $loader and $libdir set; those that lack are skipped by name.  'make check' takes the
# oldest and the newest (MEMDIAG_TEST_RELEASES=ends), releases-between.sh the others.
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
	releases_of "${MEMDIAG_TEST_RELEASES:-all}" <"$dir/releases" >"$dir/releases.set"
	while read -r release loader libdir <&3; do
		if [ -e "$sysroot/usr/include/stdio.h" ]; then
			"$1"
		else
			skip "glibc $release" 'the oldest release is not here to build for'
		fi
	done 3<"$dir/releases.set"
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
		# malloc itself opens that for a moment when a heap shrinks (check_may_shrink_heap()).
		find /proc/"$1"/fd -type l ! -lname /proc/sys/vm/overcommit_memory -printf 'fd %f %l\n' | sort
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
# its guard page, of the size that a helper has.
unharmed()
{
	local more stack
	snapshot "${1:-$tracee_pid}" "$dir/after"
	diff "$dir/before" "$dir/after" || return
	more=$(($(cat "$dir/after.anon") - $(cat "$dir/before.anon")))
	stack=$((32768 + $(getconf PAGESIZE)))
	[ "$more" -eq 0 ] || [ "$more" -eq "$stack" ] || {
		echo "$more bytes of anonymous memory more"
		return 1
	}
}

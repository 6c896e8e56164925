# check-lib: the parts of scripts/check and scripts/check-long.  A script changes to the top of the
# source, reads this file, and then says
#
#	adopt "$@"			see the processes that tests have left; first of all
#	begin				make the folder for logs, build/SCRIPT-logs, with HOME in it, and TMPDIR
#	step NAME COMMAND...		one check, passed if COMMAND succeeds
#	begin_step NAME COMMAND...	a check that runs next to the following ones until end_step has its result
#	tests NAME DIRECTORY VARIABLE MAKE-WORD...
#					make MAKE-WORDs in DIRECTORY; VARIABLE is the variable of make that lists the test
#					programs, and each of their results counts
#	end_if_failed			end here, as what follows would fail as well
#	save_machine_state		save the state of the machine, which finish compares with that at the end
#	finish				run again the test programs that failed, look whether the machine is as it was,
#					and print the sum
#
# A test program that fails is run again by itself at the end, twice.  If it passes both times it is
# FLAKY and counts neither as passed nor as failed; its first log is in flaky/ in the folder for logs.
# More than $most_flaky of them fail the check.
# shellcheck shell=sh
top=$PWD
logs=$top/build/${0##*/}-logs
jobs=$(nproc)
test_jobs=$((2 * jobs))	# tests wait for half of their time
most_flaky=5
longest_wait=300	# seconds that something may need to end
failure='^(FAIL|XPASS|ERROR):'

# adopt: become the parent of each process whose own parent has ended, so that those that tests have
# left are seen: prctl(PR_SET_CHILD_SUBREAPER, 1), which execve() keeps.
adopt()
{
	case ${MEMDIAG_CHECK_ADOPTS-} in "$$" | 0) return ;; esac
	export MEMDIAG_CHECK_ADOPTS=$$
	! command -v perl >/dev/null || exec perl -e '
		my %prctl = (x86_64 => 157, aarch64 => 167);
		chomp(my $machine = `uname -m`);
		$ENV{MEMDIAG_CHECK_ADOPTS} = 0
			unless exists $prctl{$machine} && syscall($prctl{$machine}, 36, 1, 0, 0, 0) == 0;
		exec @ARGV or die' sh "scripts/${0##*/}" "$@"
	MEMDIAG_CHECK_ADOPTS=0
}

begin()
{
	exec </dev/null
	rm -rf "$logs"
	mkdir -p "$logs/flaky" "$logs/first" "$logs/home" || exit
	use_empty_home
	: >"$logs/results"
	: >"$logs/failed"
	# Any user may make files in it, as in /tmp; at the end it must be empty.
	TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/memdiag-check.XXXXXX") && chmod 1777 "$TMPDIR" || exit
	export TMPDIR
	trap 'rmdir "$TMPDIR" 2>/dev/null' EXIT
	trap 'exit 1' HUP INT TERM
}

# use_empty_home: HOME becomes an empty folder in $logs, as programs make files there when they run for the first time
# (chromium, for example).  The user's own still has the releases of glibc and the interpreters of pyenv.
use_empty_home()
{
	users_home=${HOME-}
	export XDG_CACHE_HOME="${XDG_CACHE_HOME:-$users_home/.cache}" PYENV_ROOT="${PYENV_ROOT:-$users_home/.pyenv}"
	export HOME="$logs/home"
}

# started NAME, took: the name and time when a step begins, and the seconds since then.
started()
{
	start=$(date +%s)
	echo "$(date +%T) $1"
}

took()
{
	echo "$(($(date +%s) - start)) s"
}

# result WORD NAME REMARK...: a line of the sum, as automake's tests print them.
result()
{
	echo "$1: $2" >>"$logs/results"
	echo "$@" | sed 's/ /: /'
}

# note_result NAME STATUS: NAME passed or failed as a whole; $logs/NAME.log is its output.
note_result()
{
	if [ "$2" -eq 0 ]; then
		result PASS "$1" "($(took))"
	else
		result FAIL "$1" "($(took))"
		tail -n 40 "$logs/$1.log" | sed 's/^/    /'
	fi
}

step()
{
	name=$1
	shift
	started "$name"
	("$@") >"$logs/$name.log" 2>&1
	note_result "$name" $?
}

# One at a time; a script that ends early waits for it.
begin_step()
{
	began_name=$1
	shift
	started "$began_name"
	(
		("$@")
		status=$?
		echo $(($(date +%s) - start)) >"$logs/$began_name.seconds"
		exit $status
	) >"$logs/$began_name.log" 2>&1 &
	began_pid=$!
}

end_step()
{
	wait "$began_pid"
	status=$? began_pid=''
	start=$(($(date +%s) - $(cat "$logs/$began_name.seconds")))
	note_result "$began_name" $status
}

tests()
{
	name=$1 tested=$2 variable=$3
	shift 3
	printf '%s\n' -C "$tested" "$@" >"$logs/$name.words"
	started "$name"
	# -O: without it the results of two programs that run at once may share a line, and one of them is not seen.
	make -O -C "$tested" -j"$test_jobs" "$@" >"$logs/$name.log" 2>&1
	status=$?
	grep -E '^(PASS|FAIL|XPASS|XFAIL|ERROR|SKIP):' "$logs/$name.log" >"$logs/$name.results"
	grep -E '^SKIP:' "$logs/$name.results"
	check_total
	# "FAIL: tests/live/heap.sh 3 - words": the second word is the program.
	failed=$(awk -v failure="$failure" '$0 ~ failure && !seen[$2]++ { print $2 }' "$logs/$name.results")
	if [ ! -s "$logs/$name.results" ]; then
		echo "no test has run" >>"$logs/$name.log"
		note_result "$name" 1
	elif [ $status -ne 0 ] && [ -z "$failed" ]; then
		note_result "$name" $status
	fi
	for program in $failed; do
		echo "$name $variable $program" >>"$logs/failed"
		cp "$tested/${program%.sh}.log" "$(first_log "$name" "$program")"
		grep -E "$failure $program( |\$)" "$logs/$name.results" | sed 's/^/    first run: /'
	done
	echo "$name: $(grep -c '^PASS' "$logs/$name.results") passed ($(took))"
}

# check_total: all results of the run $name were seen: automake's own sums, which it has from files, are their number.
check_total()
{
	total=$(awk '$1 " " $2 == "# TOTAL:" { sum += $3 } END { print sum + 0 }' "$logs/$name.log")
	seen=$(wc -l <"$logs/$name.results")
	[ "$seen" -eq "$total" ] || result FAIL "$name" "$seen results were seen, but there are $total"
}

# first_log NAME PROGRAM: the path of the log of the first run.
first_log()
{
	echo "$logs/first/$1-$(echo "${2%.sh}" | tr / -).log"
}

# passes NAME VARIABLE PROGRAM: run one test program of a run of tests by itself.
passes()
{
	{
		cat "$logs/$1.words"
		echo "$2=$3"
	} | xargs -d '\n' make >"$logs/again-$1.log" 2>&1 &&
		grep -q '^PASS:' "$logs/again-$1.log" && ! grep -qE "$failure" "$logs/again-$1.log"
}

# forget NAME PROGRAM: leave the results of PROGRAM out of the sum.
forget()
{
	awk -v program="$2" '$2 != program' "$logs/$1.results" >"$logs/kept" &&
		mv "$logs/kept" "$logs/$1.results"
}

run_failed_again()
{
	nr_failed=$(wc -l <"$logs/failed")
	[ "$nr_failed" -gt 0 ] || return 0
	if [ "$nr_failed" -gt $most_flaky ]; then
		echo "$nr_failed test programs failed, more than $most_flaky: none is run again"
		return
	fi
	while read -r name variable program; do
		started "$name: $program again"
		if passes "$name" "$variable" "$program" && passes "$name" "$variable" "$program"; then
			forget "$name" "$program"
			mv "$(first_log "$name" "$program")" "$logs/flaky/"
			echo "$name: $program" >>"$logs/flaky/names"
		fi
		took
	done <"$logs/failed"
}

# show_failed: the failures that count, with what the tests printed about them.
show_failed()
{
	cat "$logs/results" "$logs"/*.results | grep -E "$failure"
	for log in "$logs"/first/*.log; do
		[ -e "$log" ] || continue
		echo "${log##*/}:"
		grep -A 12 '^not ok' "$log" | head -n 60 | sed 's/^/    /'
		tail -n 3 "$log" | sed 's/^/    /'
	done
}

# count WORDS: how many results are one of WORDS.
count()
{
	cat "$logs/results" "$logs"/*.results 2>/dev/null | grep -cE "^($1):"
}

# sum: the closing line, and the end of the script.
sum()
{
	[ -z "${began_pid-}" ] || end_step
	show_failed
	[ ! -e "$logs/flaky/names" ] || sed 's/^/FLAKY: /' "$logs/flaky/names"
	nr_failed=$(count 'FAIL|XPASS|ERROR')
	echo "$(count 'PASS|XFAIL') passed, $nr_failed failed, $(count SKIP) skipped"
	[ "$nr_failed" -eq 0 ]
	exit
}

end_if_failed()
{
	[ "$(count 'FAIL|XPASS|ERROR')" -eq 0 ] || sum
}

# ---- the machine is left as it was found ---------------------------------------------------------

# machine_state: print it, with the names of files in the user's HOME.  What is installed is looked at where nobody
# else works: in a run of the continuous integration, and in a long one.
machine_state()
{
	case ${CI-}${0##*/} in
	true* | *check-long) set -- --installed ;;
	*) set -- ;;
	esac
	HOME=$users_home scripts/machine-state "$@"
}

save_machine_state()
{
	machine_state >"$logs/machine-before"
}

# adopted: the processes that were left, a line for each.
adopted()
{
	[ "$MEMDIAG_CHECK_ADOPTS" = $$ ] || return 0
	# Any process may end meanwhile, and a list of files would end there in mawk.  In one program, as a second child
	# could be seen before it has its name.
	awk -v parent=$$ '
		BEGIN {
			for (i = 1; i < ARGC; i++) {
				ppid = 0
				while ((getline <ARGV[i]) > 0) {
					if ($1 == "Name:") name = $2
					if ($1 == "State:") state = $2
					if ($1 == "Pid:") pid = $2
					if ($1 == "PPid:") ppid = $2
				}
				close(ARGV[i])
				if (ppid == parent && state !~ /[ZX]/ && name !~ /awk$/) print "process", pid, name
			}
		}' /proc/[0-9]*/status 2>/dev/null
}

# is_as_it_was: otherwise prints what is not.  Called without a subshell, which adopted would print.
is_as_it_was()
{
	adopted
	machine_state >"$logs/machine-after"
	diff "$logs/machine-before" "$logs/machine-after"
	# A test program that fails keeps its files.
	[ -s "$logs/failed" ] || find "$TMPDIR" -mindepth 1 -maxdepth 1
}

# What has just been told to end needs a moment.
check_machine()
{
	started machine
	until is_as_it_was >"$logs/machine.log" 2>&1 && [ ! -s "$logs/machine.log" ]; do
		if [ $(($(date +%s) - start)) -gt $longest_wait ]; then
			note_result machine 1
			return
		fi
		sleep 1
	done
	note_result machine 0
}

finish()
{
	run_failed_again
	check_machine
	sum
}

# ---- what both scripts build -------------------------------------------------------------------

# prepare: install what is missing and make configure.
prepare()
{
	step install-deps scripts/install-deps build test
	# Those that are not available are skipped by name in the tests.
	scripts/glibc-releases >"$logs/glibc-releases.log" 2>&1 ||
		grep '^glibc-releases:' "$logs/glibc-releases.log"
	if [ ! -x configure ] || [ -n "$(find configure.ac m4/md_*.m4 -newer configure)" ]; then
		step bootstrap ./bootstrap
	fi
}

# configured NAME CONFIGURE-ARGUMENTS...: go to build/check-NAME.
configured()
{
	directory=$top/build/check-$1
	shift
	mkdir -p "$directory" && cd "$directory" || return
	[ -f Makefile ] || "$top/configure" -q "$@"
}

# build NAME CONFIGURE-ARGUMENTS...: everything, the test programs too.
build()
{
	configured "$@" && make -j"$jobs" && make -j"$jobs" check TESTS=
}

# More optimized, or with more than the numbers of lines, it takes twice as long to build.
configure_asan()
{
	configured asan CFLAGS='-Og -g1 -fsanitize=address,undefined -fno-omit-frame-pointer'
}

# LeakSanitizer traces its own process, which a container may forbid.
leaks_are_detectable()
{
	echo 'int main(void) { return 0; }' >"$logs/leak.c"
	gcc -fsanitize=address -o "$logs/leak" "$logs/leak.c" && "$logs/leak"
}

# asan_words: the word of make with which tests run as the sanitizers need it.
asan_words()
{
	leaks=0
	! leaks_are_detectable >"$logs/leaks.log" 2>&1 || leaks=1
	echo "TESTS_ENVIRONMENT=export ASAN_OPTIONS=detect_leaks=$leaks:abort_on_error=1" \
		"UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1;"
}

# In a container the checkout may belong to another user, for whom git does nothing else.  What a user's git ignores is in
# the user's HOME.
git()
{
	HOME=${users_home-$HOME} command git -c safe.directory="$top" "$@"
}

check_clean()
{
	changes=$(git status --porcelain) || return
	echo "$changes"
	[ -z "$changes" ]
}

# memdiag-lib: commands of memdiag, what they print and how they end; read by lib.sh.
# shellcheck disable=SC3043,SC2034,SC2154 # every sh we know has local; lib.sh and the tests set and read the rest

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

# patient_stacks OPTIONS...: memdiag stacks of the tracee.  No walk takes long; a signal would be held back while a thread
# is stopped.
patient_stacks()
{
	captured timeout -s KILL 900 "$MEMDIAG" stacks --max-stop=300s --timeout=600s "$tracee_pid" "$@"
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

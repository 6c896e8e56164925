# trace-lib: what the tests of memdiag trace share; read after lib.sh.
#
#	begin_trace ARGUMENTS...	memdiag trace of $tracee_pid begins: returns when it traces; sets $trace_pid
#	end_trace [SIGNAL]		it is asked to end; what it has printed is in $dir/out and $dir/err
#	$trace_target, $trace_out	the process, if not $tracee_pid; where its output goes, if not $dir/out
#
# shellcheck disable=SC3043,SC2154,SC2034 # every sh we know has local; lib.sh reads and sets the rest
need jq python3

# can_trace: whether this machine lets us: only root may, and a container may refuse that as well.
can_trace()
{
	"$MEMDIAG" trace --mount-tracefs -d 0.01 $$ >"$dir/out" 2>"$dir/err" || [ $? -ne 4 ]
}

# A shell lets its background jobs ignore SIGINT, which memdiag then leaves alone.
if env --default-signal=INT true 2>/dev/null; then
	with_int='env --default-signal=INT'
else
	with_int=
fi

trace_options='--mount-tracefs --buffer=64M'

# begin_trace_unsaid ARGUMENTS...: with --events or -d, it does not say when it traces.
begin_trace_unsaid()
{
	shorten trace "$@"
	about_command=$short
	: >"$dir/err"
	# shellcheck disable=SC2086 # words
	$with_int "$MEMDIAG" trace $trace_options -b --pid "${trace_target:-$tracee_pid}" "$@" \
		>"${trace_out:-$dir/out}" 2>"$dir/err" &
	trace_pid=$!
	started="$started $trace_pid"
}

begin_trace()
{
	begin_trace_unsaid "$@"
	wait_for "$trace_pid" "$dir/err" '^memdiag: tracing '
}

# ends_trace STATUS: it ends by itself, with STATUS; instead of 0 with 2 if it has lost records, which a storm of calls
# of another process can do.
ends_trace()
{
	wait "$trace_pid"
	trace_status=$?
	[ "$trace_status" -eq "$1" ] || { [ "$1$trace_status" = 02 ] && grep -q 'records were lost' "$dir/err"; } || {
		echo "exit status $trace_status, not $1"
		cat "$dir/err"
		return 1
	}
}

# end_trace [SIGNAL [STATUS]]
end_trace()
{
	kill "-${1:-TERM}" "$trace_pid"
	ends_trace "${2:-0}"
}

# plays SEED STEPS [LEAST]: the tracee takes-memory does so, and its ledger is in $dir/ledger.
plays()
{
	case $(ask "play $1 $2 $dir/ledger ${3-}") in
	'done '*) ;;
	*) return 1 ;;
	esac
}

# has_nothing_to_say: whether memdiag has said nothing but that it traces.
has_nothing_to_say()
{
	! grep -v '^memdiag: tracing ' "$dir/err"
}

# unless_lost FUNCTION ARGUMENTS...: call it until memdiag lost no records meanwhile: a storm of calls of any other
# process of the machine fills the same buffers.
unless_lost()
{
	local end
	clock
	end=$((now + 300))
	while :; do
		"$@" || return
		clock
		grep -q 'records were lost' "$dir/err" && [ "$now" -lt "$end" ] || return 0
	done
}

# trace_of_play SEED STEPS LEAST OPTIONS...: trace the tracee while it plays so.
trace_of_play()
{
	local seed="$1" steps="$2" least="$3"
	shift 3
	begin_trace "$@" && plays "$seed" "$steps" "$least" || return
	kill -TERM "$trace_pid"
	wait "$trace_pid"
	trace_status=$?
}

# has_status STATUS: whether memdiag trace has exited with it.
has_status()
{
	[ "$trace_status" -eq "$1" ] || {
		echo "exit status $trace_status, not $1"
		cat "$dir/err"
		return 1
	}
}

# compare WHAT: what memdiag has printed is what the ledger of the tracee says, as trace-compare.py does it.
compare()
{
	python3 "$top_srcdir/tests/live/trace-compare.py" "$1" "$dir/ledger" "$dir/out"
}

# agrees WHAT STATUS SEED STEPS LEAST OPTIONS...: a trace of the tracee while it plays so ends with STATUS, says nothing, and
# is what the ledger says.
agrees()
{
	local what="$1" status="$2"
	shift 2
	unless_lost trace_of_play "$@" && has_status "$status" && has_nothing_to_say && compare "$what"
}

# has_line WORDS: whether memdiag has printed a line of a call that matches WORDS; it prints those of the last moment.
has_line()
{
	grep -q -e "$1" "$dir/out"
}

# asks COMMAND WORDS: give the tracee the COMMAND, and wait for the line of a call that matches WORDS.
asks()
{
	ask "$1" >/dev/null && wait_for "$trace_pid" "$dir/out" "$2"
}

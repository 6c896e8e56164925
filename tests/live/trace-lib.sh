# trace-lib: what the tests of memdiag trace share; read after lib.sh.
#
#	begin_trace ARGUMENTS...	memdiag trace of $tracee_pid begins: returns when it traces; sets $trace_pid
#	end_trace [SIGNAL]		it is asked to end; what it has printed is in $dir/out and $dir/err
#	begin_trace_in COMMAND... --	the same with memdiag started by COMMAND
#	traced FUNCTION ARGUMENTS...	trace with ARGUMENTS while FUNCTION (of the test) runs
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

begin_trace()
{
	shorten trace "$@"
	about_command=$short
	: >"$dir/err"
	# shellcheck disable=SC2086 # words
	$with_int "$MEMDIAG" trace $trace_options -b --pid "$tracee_pid" "$@" >"$dir/out" 2>"$dir/err" &
	trace_pid=$!
	started="$started $trace_pid"
	wait_for "$trace_pid" "$dir/err" '^memdiag: tracing '
}

# ends_trace STATUS: it ends by itself, with STATUS.
ends_trace()
{
	wait "$trace_pid"
	trace_status=$?
	[ "$trace_status" -eq "$1" ] || {
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

# compare ARGUMENTS...: of trace-compare.py, with the ledger of the tracee.
compare()
{
	python3 "$top_srcdir/tests/live/trace-compare.py" "$1" "$dir/ledger" "$dir/out"
}

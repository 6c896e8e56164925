#!/bin/sh
# memdiag trace --calls: each call is a line of JSON with all that its arguments say, as the program that makes them at random
# has noted them itself.
# shellcheck disable=SC3043,SC2034 # every sh we know has local; trace-lib.sh reads the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/trace-lib.sh"
can_trace || skip_all "tracing is not permitted here: $(cat "$dir/err")"

# calls_of SEED OPTIONS...: trace the tracee while it plays so; the calls are in $dir/calls.
calls_of()
{
	local seed="$1"
	shift
	begin_trace --calls "$dir/calls" -f "$@" && case $(ask "play $seed 400 $dir/ledger $dir/data") in
	'done '*) ;;
	*) return 1 ;;
	esac
	kill -TERM "$trace_pid"
	wait "$trace_pid"
	trace_status=$?
}
compared()
{
	python3 "$top_srcdir/tests/live/trace-calls.py" "$dir/ledger" "$dir/calls" "$dir/data" "$top_srcdir/doc/json.md"
}
agrees_with_ledger()
{
	unless_lost calls_of "$@" && has_status 0 && has_nothing_to_say && compared
}

set -- ${MEMDIAG_TEST_SEEDS:-1 3}
seed=$1
last=$2
while [ "$seed" -le "$last" ]; do
	threads=$((1 + seed % 3))
	start_tracee calls-truth "$threads"
	check "seed $seed, $threads threads: each call is a line, with all of its arguments" agrees_with_ledger "$seed"
	echo "# $(tail -n 1 "$dir/check.said" | cut -c -150)"
	check "seed $seed: the program lives on" end_tracee
	seed=$((seed + 1))
done

# ---- where lines go ------------------------------------------------------------------------------

start_tracee calls-truth 1
check 'text has sums and no lines of calls' sh -c "! grep -q TIME '$dir/out' && grep -q 'mapped in .* left' '$dir/out'"
# to_stdout OPTIONS...: the calls are what stdout has.
to_stdout()
{
	begin_trace --calls - "$@" && ask 'mark 3145728' >/dev/null && ask 'mark 3145728' >/dev/null && end_trace &&
		jq -es '.[0].type == "begin" and .[-1].type == "end" and
			([.[] | select(.call == "munmap" and .bytes == 3145728)] | length) == 2' "$dir/out" >/dev/null
}
check '--calls - writes them to stdout, and no sums' to_stdout
check '--calls - with -o: sums in the file' to_stdout -o "$dir/sums" -f
check 'the file has them' grep -q 'unmapped in 2 calls\|3145728 mapped in' "$dir/sums"
check '--calls - with -o and --json' to_stdout -o "$dir/sums" -f --json
check 'the file has the document' jq -e '.schema == "memdiag.trace/1" and .data.totals.map_calls == 2' "$dir/sums"

# Lines come while it goes on.
come_soon()
{
	begin_trace --calls - && ask 'mark 3145728' >/dev/null && wait_for "$trace_pid" "$dir/out" '"munmap".*3145728' && end_trace
}
check '--calls - prints each within a moment' come_soon
echo mine >"$dir/there"
check 'a file that is there stays' exits 1 memdiag trace --mount-tracefs -d 0.1 "$tracee_pid" --calls "$dir/there"
check 'its contents stay' grep -qx mine "$dir/there"
check 'a full disk' exits 1 memdiag trace --mount-tracefs -d 0.1 "$tracee_pid" --calls /dev/full
for words in '--calls - --json' '--calls - --format=tree' '--calls - -o -' "--calls $dir/x -o $dir/x" '--calls x --rss' '--calls'; do
	# shellcheck disable=SC2086 # words
	check "a command line that cannot be: $words" exits 64 memdiag trace -d 0.1 "$tracee_pid" $words
done
check '--calls - of a program, whose stdout it is' exits 125 memdiag trace --mount-tracefs --calls - -- true

program_calls()
{
	exits 3 memdiag trace --mount-tracefs --calls "$dir/calls" -f -- sh -c 'exit 3' &&
		jq -es '.[0].target.comm == "sh" and ([.[] | select(.call == "mmap" and .file != null and (.file | test("libc")))] | length) > 0' \
			"$dir/calls"
}
check '--calls of a program: libc is mapped from its file' program_calls
min_size()
{
	begin_trace --calls "$dir/calls" -f --min-size 1M --syscalls=munmap && ask 'mark 3145728' >/dev/null && ask 'mark 4096' >/dev/null &&
		end_trace && jq -es '[.[] | select(.type == "call") | .call, .bytes] == ["munmap", 3145728]' "$dir/calls"
}
check '--min-size and --syscalls choose the lines' min_size

# A buffer that is too small, and calls faster than memdiag takes them: lost records are lines of their own, and in the last.
tells_of_loss()
{
	local end
	clock
	end=$((now + 300))
	while :; do
		: >"$dir/err"
		# shellcheck disable=SC2086 # words
		$with_int "$MEMDIAG" trace --mount-tracefs --buffer=64K --stack-size=64K --pid "$tracee_pid" --calls "$dir/calls" -f \
			>"$dir/out" 2>"$dir/err" &
		trace_pid=$!
		started="$started $trace_pid"
		wait_for "$trace_pid" "$dir/err" '^memdiag: tracing ' || return
		kill -STOP "$trace_pid"
		ask "play 9 2000 $dir/ledger $dir/data" >/dev/null
		kill -CONT "$trace_pid"
		kill -TERM "$trace_pid"
		wait "$trace_pid"
		[ $? -ne 2 ] || break
		clock
		[ "$now" -lt "$end" ] || return
	done
	jq -es '([.[] | select(.type == "lost") | .records] | add) as $told | .[-1] |
		.partial and .events.lost_records >= $told and $told > 0' "$dir/calls"
}
check 'lost records are lines, and in the last one' tells_of_loss
check 'the program lives on after all' end_tracee
finish

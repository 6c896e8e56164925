#!/bin/sh
# SIGKILL at 50 random moments of each command that changes something in the target: it goes on, no thread of it is
# traced, and the next memdiag gets its answer.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/commands-lib.sh"
seed=${MEMDIAG_TEST_SEED:-1}

# millis: sets $now_ms.
millis()
{
	now_ms=$(($(date +%s%N) / 1000000))
}

# random N: sets $random to 0..N-1 (Park and Miller's generator).
random()
{
	seed=$((seed % 2147483647 * 48271 % 2147483647))
	random=$((seed % ($1 + 1)))
}

# prepare COMMAND: what it does is not done yet.
prepare()
{
	case $1 in
	*' start') memdiag_as "${1% start} stop" ;;
	*' stop') memdiag_as "${1% stop} start" ;;
	esac
}

# killed COMMAND LONGEST: run it, and kill it within LONGEST ms.
killed()
{
	local victim
	prepare "$1"
	random "$2"
	# shellcheck disable=SC2086 # words
	"$MEMDIAG" $1 --pid "$tracee_pid" >"$dir/out" 2>"$dir/err" &
	victim=$!
	sleep "$(printf '0.%03d' "$random")"
	! kill -KILL $victim 2>/dev/null || nr_killed=$((nr_killed + 1))
	wait $victim
	eventually is_untraced && goes_on 10
}

# killed_well COMMAND: 50 times; as long as it takes when nothing kills it, and a little more.
killed_well()
{
	local from
	prepare "$1"
	millis
	from=$now_ms
	exits 0 memdiag_as "$1" || return
	millis
	longest=$((now_ms - from + 5))
	[ $longest -le 999 ] || longest=999
	nr_killed=0
	each_of 50 killed "$1" "$longest" || return
	echo "killed $nr_killed times"
	[ $nr_killed -gt 0 ]
}

start_tracee churn 3
for command in info trim heap stacks; do
	check "$command: killed" killed_well "$command"
	check "$command: the next one answers" exits 0 memdiag_as "$command"
done
if has_hooks; then
	for what in count profile; do
		for verb in start stop; do
			check "$what $verb: killed" killed_well "$what $verb"
			check "$what $verb: the next one answers" exits 0 memdiag_as "$what $verb"
		done
	done
fi
check 'the target lives on' end_tracee
finish

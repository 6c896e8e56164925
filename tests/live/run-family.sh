#!/bin/sh
# The processes of one run: each has its line, whatever it ended by, and their numbers are those that the
# programs have noted themselves. A limit for all together is never passed, and what a process had that was
# killed is there for others.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq

[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
family=$TRACEES/family
MIB=1048576

# ---- trees of processes ----

# counts_tree SEED: whether all programs of the tree are in the table, with the bytes and blocks that they noted.
counts_tree()
{
	: >"$dir/ledger"
	memdiag run --follow-children --json -o "$dir/tree.$1" -- "$family" "$dir/ledger" "$1" 5
	sort -n "$dir/ledger" >"$dir/noted"
	jq -r '.data.family.processes[] | "\(.pid) \(.live_bytes) \(.blocks)"' "$dir/tree.$1" |
		sort -n >"$dir/counted"
	echo "$(wc -l <"$dir/noted") programs"
	[ -s "$dir/noted" ] && diff "$dir/noted" "$dir/counted" && jq -e '.data.family |
		.running == 0 and .not_listed == 0 and .refused == 0 and
		.peak_at_most_bytes >= ([.processes[].peak_bytes] | max)' "$dir/tree.$1" >/dev/null
}

seed=0
while [ $seed -lt "$(some 20)" ]; do
	seed=$((seed + 1))
	check "a tree of processes: seed $seed" counts_tree $seed
done

# ---- in words ----

check 'in words: a family' exits 0 memdiag run --follow-children -- sh -c "'$family' '$dir/ledger' 3 0; true"
check 'in words: all together' says '^memdiag: [0-9]* processes, peak of all together at most '
check 'in words: each has its line' says ' ended  *family$'
check 'in words: one alone has none' sh -c "'$MEMDIAG' run --follow-children true 2>'$dir/err' &&
	[ \"\$(wc -l <'$dir/err')\" -eq 1 ]"
new_sum()
{
	head -c 4096 /dev/zero >"$dir/sum"
}
new_sum
check 'in words: the limit of each' exits 255 memdiag run --follow-children --limit 100K -- sh -c "
	'$family' race 9 300 '$dir/sum'; exit \$?" 
check 'in words: without --follow-children no table' sh -c "'$MEMDIAG' run --json -o '$dir/alone' true 2>'$dir/err' &&
	jq -e '.data | has(\"family\") | not' '$dir/alone' >'$dir/said'"

# ---- while it runs ----

mkfifo "$dir/go"
"$MEMDIAG" run --follow-children -q --json -o "$dir/running" -- sh -c \
	"'$TRACEES/idle' <'$dir/go' >'$dir/idle.out' & wait" 2>"$dir/err" &
run=$!
started="$started $run"
exec 7>"$dir/go"
wait_for $run "$dir/idle.out" '^ready'
child_of "$run"
child_of "$child"
idle=$child
check 'status: of a member' exits 0 memdiag status --pid "$idle" --json
check 'status: has all of them' json_is '.data.family |
	.running == 2 and ([.processes[] | select(.is_running) | .program] | sort) == ["idle", "sh"]'
check 'status: in words' sh -c "'$MEMDIAG' status --pid $idle | grep -q ' runs  *idle$'"
exec 7>&-
check 'status: the run ends' wait $run

# ---- a limit for all ----

most()
{
	od -An -t d8 -j 8 -N 8 "$dir/sum" | tr -d ' '
}

# races N MIB LIMIT: whether N processes that want MIB each never have more than LIMIT MiB, but come near it.
races()
{
	local seconds
	# On a busy machine they come near it later.
	for seconds in 2 20 200; do
		new_sum
		exits 0 memdiag run --limit-total "$3M" --on-limit=enomem --json -f -o "$dir/race" -- sh -c "
			for i in $(seq "$1" | tr '\n' ' '); do '$family' race $2 $seconds '$dir/sum' & done; wait" || return
		echo "most: $(most) of $(($3 * MIB))"
		jq -c '.data.family | del(.processes)' "$dir/race"
		[ "$(most)" -le $(($3 * MIB)) ] && jq -e ".data.family |
			.peak_at_most_bytes <= $(($3 * MIB)) and .limit_bytes == $(($3 * MIB))" "$dir/race" >/dev/null || return
		[ "$(most)" -le $(($3 * MIB * 3 / 4)) ] || ! jq -e '.data.family.refused > 0' "$dir/race" >/dev/null || return 0
		rm "$dir/race"
	done
	return 1
}
check 'a limit for all: 2 processes' races 2 40 50
check 'a limit for all: 8 processes' races 8 40 64
check 'a limit for all: 40 processes' races 40 10 100

# The bytes of a killed process are free for others: each of 30 takes most of the limit.
inherits()
{
	new_sum
	exits 0 memdiag run --limit-total 20M --on-limit=enomem --json -o "$dir/heirs" -- sh -c "
		for i in \$(seq 30); do
			'$dir/taker' || exit 3
		done; true"
}
cat >"$dir/taker.c" <<'END'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
int main(void)
{
	int status;
	if (fork() == 0) {
		for (int i = 0; i < 15; i++)
			if (!malloc(1 << 20))
				_exit(1);
		raise(SIGKILL);
	}
	wait(&status);
	return !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END
"${CC:-cc}" -o "$dir/taker" "$dir/taker.c"
check 'a limit for all: what killed processes had is there again' inherits
check 'a limit for all: exit at the limit' exits 255 memdiag run --limit-total 5M -- sh -c \
	"'$family' race 9 300 '$dir/sum'; exit \$?"
check 'a limit for all: --quiet holds it, too' sh -c "'$MEMDIAG' run -q --limit-total 5M -- sh -c \
	\"'$family' race 9 300 '$dir/sum'; exit \\\$?\" 2>'$dir/err'; [ \$? -eq 255 ]"
if command -v python3 >/dev/null; then
	check 'a program without the agent under a limit' exits 0 memdiag run --limit 20M -- \
		env -i "$(command -v python3)" -c 'x = bytearray(60 << 20)'
	check 'a program without the agent under a limit: what was not counted is printed' \
		says '^memdiag: [6-9][0-9]\.[0-9] MiB of the RSS peak were not counted'
	check 'a program within its limit' exits 0 memdiag run --limit 100M -- python3 -c 'x = bytearray(60 << 20)'
	check 'a program within its limit: no such line' eval '! says "were not counted"'
fi

# With a /proc of its own, or none, a program cannot open the file of the others.
if command -v python3 >/dev/null && unshare -pf --mount-proc true 2>/dev/null; then
	for own in 'unshare -pf --mount-proc' 'unshare -m sh -c "umount -l /proc; exec \"\$@\"" x'; do
		check "a limit for all: held by a program without the /proc of the others, ${own%% sh *}" eval "exits 7 memdiag run --limit-total 40M \
			--on-limit=enomem -- $own python3 -c '
import sys
try:
    x = bytearray(100 << 20)
except MemoryError:
    sys.exit(7)'"
	done
else
	skip 'a limit for all: held without the /proc of the others' 'may not make a PID namespace, or no python3'
fi
check 'a limit that is not a size' exits 125 memdiag run --limit-total=x true
check 'a file that may not be so large' sh -c "ulimit -f 100; '$MEMDIAG' run --follow-children true 2>'$dir/err'
	[ \$? -eq 125 ] && grep -q 'ulimit -f is too low' '$dir/err'"
finish

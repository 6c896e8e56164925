#!/bin/sh
# memdiag record beside a program that does random things and keeps an account of each of its functions: what they
# allocated, what is in use, what was temporary, and what was in use when most was, to the byte and the block.
# MEMDIAG_TEST_SEEDS="FIRST LAST" tries other seeds, MEMDIAG_TEST_STEPS=N makes each thread do N things.
# shellcheck disable=SC3043,SC3045,SC2034,SC2154 # every sh we know has local and ulimit; eval uses what seems unused
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/record-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
build_truth
: "${MEMDIAG_TEST_SEEDS:=1 2}" "${MEMDIAG_TEST_STEPS:=20000}"

# stopped NAME: the record of a tracee that ran already ends, and is in the file of that name.
stopped()
{
	record stop -o "$dir/$1" && cp "$dir/out" "$dir/$1.json"
}

# begun [COMMAND]: a tracee that does COMMAND, and whose record begins when it has.
begun()
{
	start_command "$truth" && { [ -z "${1-}" ] || obeys "$1"; } && obeys reset && record start $how
}

# live_matches SEED THREADS: a record of a tracee that ran already.
live_matches()
{
	begun "play $1 3000 3" && obeys "play $1 $MEMDIAG_TEST_STEPS $2" && obeys top && obeys "save $dir/account" &&
		stopped live && is_exact "$(written)" "$dir/account" && adds_up &&
		json_is '.data.noted | .calls_lost == 0 and .frees_lost == 0' &&
		[ "$(json .data.noted.earlier_freed.blocks)" = "$(sed -n 's/^before .* //p' "$dir/account")" ] &&
		rm -f "$(written)" && end_tracee
}

# peak_matches SEED: of one thread the peak is exact, without a block that makes it clear.
peak_matches()
{
	begun && obeys "play $1 $MEMDIAG_TEST_STEPS 0" && obeys "save $dir/account" && stopped peak &&
		is_exact "$(written)" "$dir/account" && rm -f "$(written)" && end_tracee
}

# of_run: the file of the last 'memdiag run'.
of_run()
{
	ls "$dir"/run/p.*.heap
}

# starts ARGUMENTS...: memdiag runs the tracee with them.
starts()
{
	rm -rf "$dir/run"
	mkdir "$dir/run"
	start_command "$MEMDIAG" run -q --record $how -o "$dir/run/p" "$@" -- "$truth"
}

# run_matches SEED THREADS: a record from the first call on.
run_matches()
{
	starts && obeys "play $1 $MEMDIAG_TEST_STEPS $2" && obeys top && obeys "play $(($1 + 7)) 5000 $2" && obeys "save $dir/account" &&
		end_tracee && is_exact "$(of_run)" "$dir/account"
}

run_peak_matches()
{
	starts && obeys "play $1 $MEMDIAG_TEST_STEPS 0" && obeys "save $dir/account" && end_tracee && is_exact "$(of_run)" "$dir/account"
}

# env_matches SEED: the program gets its settings from the environment.
env_matches()
{
	rm -f "$dir"/env.*.heap
	start_command env MEMDIAG_AGENT="profile;record;live-set=$set;profile-prefix=$dir/env" \
		LD_PRELOAD="$top_builddir/libmemdiag-agent.so" "$truth" &&
		obeys "play $1 10000 2" && obeys top && obeys "save $dir/account" && end_tracee &&
		is_exact "$(ls "$dir"/env.*.heap)" "$dir/account"
}

# seeds COMMAND...: COMMAND with each seed in place of SEED.
seeds()
{
	local seed=${MEMDIAG_TEST_SEEDS% *} word
	while [ "$seed" -le "${MEMDIAG_TEST_SEEDS#* }" ]; do
		eval "$*" || {
			echo "seed $seed"
			return 1
		}
		seed=$((seed + 1))
	done
}

# $how and $set: each way to know live blocks.
for set in array table; do
	how="--live-set $set"
	as=", $set"
	if has_hooks; then
		for threads in 0 1 4; do
			check "live$as: exact, $threads threads" seeds 'live_matches $seed' $threads
		done
		check "live$as: the peak of one thread" seeds 'peak_matches $seed'
	else
		skip "live$as" 'malloc cannot be hooked on this processor'
	fi
	for threads in 0 1 4; do
		check "run$as: exact, $threads threads" seeds 'run_matches $seed' $threads
	done
	check "run$as: the peak of one thread" seeds 'run_peak_matches $seed'
	check "environment$as: exact" seeds 'env_matches $seed'
done
how=

# ---- children ----

# child_matches SEED: a child that forks has a file of its own, from zero.
child_matches()
{
	local child
	starts --follow-children && obeys "play $1 5000 2" && child=$(ask "fork $1 8000 $dir/account.child") &&
		[ "$child" -gt 0 ] && obeys "play $1 5000 2" && obeys top && obeys "save $dir/account" && end_tracee || return
	is_exact "$(ls "$dir/run/p.$child".*.heap)" "$dir/account.child" && rm "$dir/run/p.$child".*.heap &&
		is_exact "$(of_run)" "$dir/account"
}

# silent_child SEED: one that is not followed has none, and leaves its parent's alone.
silent_child()
{
	local child
	starts && obeys "play $1 5000 2" && child=$(ask "fork $1 8000 $dir/account.child") && [ "$child" -gt 0 ] &&
		obeys "play $1 5000 2" && obeys top && obeys "save $dir/account" && end_tracee &&
		is_exact "$(of_run)" "$dir/account"
}

check 'a child that is followed: both are exact' seeds 'child_matches $seed'
check 'a child that is not followed: exact' seeds 'silent_child $seed'
how='--live-set table'
check 'with a table, a child that is followed: both are exact' seeds 'child_matches $seed'
check 'with a table, a child that is not followed: exact' seeds 'silent_child $seed'
how=

# ---- many of all ----

many_threads()
{
	starts && obeys "play 3 300 200" && obeys "crowd 4 100 300" && obeys "play 5 300 120" && obeys top &&
		obeys "save $dir/account" && end_tracee && is_exact "$(of_run)" "$dir/account"
}

many_stacks()
{
	starts && obeys "deep 5000" && obeys "play 6 3000 0" && obeys "save $dir/account" && end_tracee &&
		is_exact "$(of_run)" "$dir/account"
}

many_stacks_of_threads()
{
	begun && obeys "deep 3000" && obeys "play 6 3000 4" && obeys "deep 700" && obeys top && obeys "save $dir/account" &&
		stopped many && is_exact "$(written)" "$dir/account" && end_tracee
}

# totals FILE: bytes and blocks allocated and in use, of all that the file has.
totals()
{
	"$MEMDIAG" report --format=json "$1" | jq -r '.data.types |
		map({ (.name): .total }) | add | "\(.alloc_space) \(.alloc_objects) \(.inuse_space) \(.inuse_objects)"'
}

# besides_sites LIMIT_KIB STACKS: what libc and main have allocated besides the functions of the account, as the file
# has it of a program with so many addresses and stacks; says also how many of its bytes found no room.
besides_sites()
{
	local file
	rm -f "$dir"/limited.*.heap
	start_command sh -c 'ulimit -v "$0"; exec "$@"' "$1" env \
		MEMDIAG_AGENT="profile;record;profile-prefix=$dir/limited" \
		LD_PRELOAD="$top_builddir/libmemdiag-agent.so" "$truth" &&
		obeys "deep $2" && obeys "play 8 5000 3" && obeys "play 9 5000 0" && obeys "save $dir/account" &&
		end_tracee || return
	file=$(ls "$dir"/limited.*.heap)
	awk 'NR == FNR { for (i = 2; i <= 5; i++) sum[i] += $i; next }
		{ print $1 - sum[2], $2 - sum[3], $3 - sum[4], $4 - sum[5] }' \
		"$dir/account" - <<-END
		$(totals "$file")
	END
	"$MEMDIAG" report --format=json --value=allocated --lines=0 "$file" |
		jq '[.data.rows[] | select(.name == "[no room for more stacks]") | .flat] | add // 0' >"$dir/no-room"
}

# Where there is no room for a stack its blocks are of one site, and the sums are right.
full_table()
{
	local wanted found
	wanted=$(besides_sites unlimited 100) && [ "$(cat "$dir/no-room")" -eq 0 ] && found=$(besides_sites 700000 120000) &&
		echo "$wanted; $found; without room: $(cat "$dir/no-room")" &&
		[ "$wanted" = "$found" ] && [ "$(cat "$dir/no-room")" -gt 5000000 ]
}

# A block of more than 4 GiB, of which no page is touched.
huge_block()
{
	begun && obeys "play 5 1000 0" && obeys "huge 5368709120" && obeys "play 6 1000 2" && obeys "save $dir/account" &&
		record dump -o "$dir/huge" && is_exact "$(written)" "$dir/account" without-peak &&
		obeys drop && obeys "save $dir/account" && stopped huge &&
		is_exact "$(written)" "$dir/account" without-peak && json_is '.data.noted.in_use.bytes < 4096' && end_tracee
}

# can_be_huge: whether there may be such a block here.
can_be_huge()
{
	local can=1
	start_command "$truth"
	[ "$(ask 'huge 5368709120')" != "done" ] || can=0
	end_tracee
	return $can
}

# A block that is freed by another thread, which takes the same address again, is not temporary when its first
# thread frees that.
same_address()
{
	starts && obeys 'swap 1000' && obeys "save $dir/account" && grep -q '^site_13 [1-9][0-9]* 2000 0 0 0 0 ' "$dir/account" &&
		end_tracee && is_exact "$(of_run)" "$dir/account" without-peak
}

check '200 threads at once, 300 one after the other: exact' many_threads
how='--live-set table'
check 'with a table, many threads: exact' many_threads
how=
check '5000 stacks: exact' many_stacks
check 'the same address, of two threads: exact' same_address
check 'a table that is full: the sums are right' full_table
if ! has_hooks; then
	skip 'stacks of several threads, live' 'malloc cannot be hooked on this processor'
else
	check 'stacks of several threads, live: exact' many_stacks_of_threads
	if can_be_huge; then
		check 'a block of 5 GiB: exact' huge_block
	else
		skip 'a block of 5 GiB: exact' 'this machine has no room for one'
	fi
fi
finish

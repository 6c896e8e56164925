#!/bin/sh
# Mappings in a profile: of a program that keeps its own account of what it maps where, unmaps in parts, moves, overlays
# and protects, each number is exact, and apart from what malloc gave.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/mapper-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
cannot_hook='this memdiag was built without Zydis: it hooks no functions'
can_hook=$(has_hooks && echo yes)
agent=$top_builddir/libmemdiag-agent.so

# noted: whether status has mappings, and no call was lost.
noted()
{
	profile status && json_is '.data.noted | .mappings_lost == 0 and .mappings > 0 and .mappings_made > .mappings'
}

# profiled NAME START...: a profile of the tracee, which START starts, from its start to its end.
profiled()
{
	local name="$1" most
	shift
	start_command "$@"
	check "$name: what was mapped before" test "$(ask 'play 1 2000')" = "done"
	check "$name: the account begins anew" test "$(ask anew)" = "done"
	check "$name: a profile begins" profile start --rate 64
	check "$name: what was mapped before goes" test "$(ask drop)" = "done"
	check "$name: which is nothing to the profile" profile status
	check "$name: as it says" json_is '.data.noted.mapped_bytes == 0 and .data.noted.mappings_made == 0'
	check "$name: the account begins anew" test "$(ask anew)" = "done"
	check "$name: it maps" plays 2 "$(some 40000)"
	most=$(ask most)
	check "$name: nothing was lost" noted
	[ "$threads" != 1 ] || check "$name: the most that was in use is known" json_is ".data.noted.mapped_peak_bytes == $most"
	check "$name: info" exits 0 memdiag info --pid "$tracee_pid" --json
	check "$name: shows what malloc gave alone" \
		json_is '[.data.profile.stacks[].function] | all(startswith("site_") | not)'
	check "$name: a dump" profile dump -o "$dir/p"
	check "$name: it is exact" is_account "$(written)"
	check "$name: a child plays" test "$(ask "child 3 2000 $dir/child")" = 0
	check "$name: which changes nothing" profile dump -o "$dir/p"
	check "$name: it is exact still" is_account "$(written)"
	check "$name: it maps on" plays 4 2000
	check "$name: it unmaps all" test "$(ask drop)" = "done"
	account
	check "$name: it ends" profile stop -o "$dir/p"
	check "$name: it is exact at the end" is_account "$(written)"
	check "$name: nothing is in use" test -z "$(values "$(written)" mapped | awk '$2 > 0')"
	check "$name: the target lives on" end_tracee
}

for threads in 1 4; do
	name="$threads threads"
	if [ -n "$can_hook" ]; then
		profiled "$name, of a process that runs" "$mapper" "$threads"
	else
		skip "$name, of a process that runs" "$cannot_hook"
	fi
	profiled "$name, under the agent" env LD_PRELOAD="$agent" "$mapper" "$threads"
	profiled "$name, run with a limit" "$MEMDIAG" run -q --limit 1T -- "$mapper" "$threads"
done

# ---- beside the counter: it has the same bytes ----

beside_counter()
{
	local name="$1"
	check "$name: it maps" plays 5 "$(some 20000)"
	check "$name: a dump" profile dump -o "$dir/p"
	check "$name: it is exact" is_account "$(written)"
	check "$name: the counter" exits 0 memdiag status --pid "$tracee_pid" --json
	check "$name: has as many bytes mapped" json_is ".data.mapped_bytes == $(awk '{ n += $4 } END { print n }' "$dir/account")"
	check "$name: the target lives on" end_tracee
}
if [ -n "$can_hook" ]; then
	start_command "$mapper" 3
	check 'beside the counter: which begins' exits 0 patiently memdiag count start --pid "$tracee_pid"
	check 'beside the counter: a profile begins' profile start
	beside_counter 'beside the counter'
fi
prefix="profile-prefix=$dir/e"
start_command env MEMDIAG_AGENT="profile;count;$prefix" LD_PRELOAD="$agent" "$mapper" 3
beside_counter 'by the environment, beside the counter'
rm -f "$dir"/e.*

# ---- files that the agent writes, and those of a run ----

start_command env MEMDIAG_AGENT="profile;follow;$prefix" LD_PRELOAD="$agent" "$mapper" 2
check 'by the environment: it maps' plays 6 "$(some 20000)"
check 'by the environment: a child maps, too' test "$(ask "child 7 5000 $dir/child")" = 0
check 'by the environment: the target lives on' end_tracee
check 'by the environment: its file is exact' is_account "$(ls "$dir"/e."$tracee_pid".*.heap)"
rm "$dir"/e."$tracee_pid".*.heap
cp "$dir/child" "$dir/account"
check "by the environment: the child's is, too" is_account "$(ls "$dir"/e.*.heap)"

# one_is_account FILE...: whether one of them has the numbers of the account.
one_is_account()
{
	local file
	for file; do
		if is_account "$file" >"$dir/differences"; then
			return 0
		fi
	done
	cat "$dir/differences"
	return 1
}
for words in --profile '-q --profile' '--profile --follow-children' '-q --record' '--record --follow-children'; do
	rm -f "$dir"/r.*.heap
	# shellcheck disable=SC2086 # words
	start_command "$MEMDIAG" run -o "$dir/r" $words -- "$mapper" 2
	check "run $words: it maps" plays 8 "$(some 20000)"
	check "run $words: a child maps, too" test "$(ask "child 9 5000 $dir/child")" = 0
	check "run $words: the target lives on" end_tracee
	check "run $words: its file is exact" one_is_account "$dir"/r.*.heap
	case $words in
	*follow*)
		cp "$dir/child" "$dir/account"
		check "run $words: the child's is, too" one_is_account "$dir"/r.*.heap
		;;
	esac
done

# ---- a record ----

if [ -n "$can_hook" ]; then
	start_command "$mapper" 3
	check 'a record: it begins' memdiag record start --pid "$tracee_pid"
	check 'a record: it maps' plays 11 "$(some 20000)"
	check 'a record: it ends' memdiag record stop --pid "$tracee_pid" --json -o "$dir/p"
	check 'a record: it is exact' is_account "$(written)"
	check 'a record: the target lives on' end_tracee
fi

# ---- a static program ----

if [ -z "$can_hook" ]; then
	skip 'a static program' "$cannot_hook"
elif [ "$(uname -m)" = x86_64 ]; then
	# Often: what malloc maps is told from what the program maps by stacks, some of which are kept.
	for seed in $(seq 10 29); do
		start_tracee mapper-static 3
		check "a static program, seed $seed: a profile begins" profile start
		check "a static program, seed $seed: it maps" plays "$seed" "$(some 2000)"
		check "a static program, seed $seed: it ends" profile stop -o "$dir/p"
		check "a static program, seed $seed: it is exact" is_account "$(written)"
		check "a static program, seed $seed: the target lives on" end_tracee
	done
fi

# ---- one stack that has both, and what tools make of it ----

cat >"$dir/both.c" <<'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
typedef void *getter(size_t, size_t, int, int, int, off_t);
/* By one instruction, so both have one stack: malloc() does not look at the other arguments. */
__attribute__((noinline)) void *take(getter *by, size_t bytes)
{
	void *volatile p = by(bytes, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p;
}
static void *keep[10];
static void on_signal(int sig) { (void)sig; keep[8] = take((getter *)mmap, 32768); }
int main(void)
{
	keep[0] = take((getter *)malloc, 12345);
	keep[1] = take((getter *)mmap, 8192);
	keep[2] = take((getter *)malloc, 11111);
	keep[3] = take((getter *)mmap, 1 << 20);
	munmap(keep[3], 1 << 19);
	free(keep[2]);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	return 0;
}
END
${CC:-cc} -O1 -g -o "$dir/both" "$dir/both.c" || skip_all "no compiler"
check 'one stack with both: it runs' env MEMDIAG_AGENT="profile;rate=1;profile-prefix=$dir/b" LD_PRELOAD="$agent" "$dir/both"
both=$(ls "$dir"/b.*.heap)

# has VALUE BYTES [-o]: whether take() has them.
has()
{
	"$MEMDIAG" report --format=json --value="$1" ${3:+--objects} --lines=0 "$both" >"$dir/out" &&
		json_is "([.data.rows[] | select(.name == \"take\") | .flat] | add) == $2"
}
check 'one stack with both: what malloc gave' has allocated 23456
check 'one stack with both: and holds' has in-use 12345
check 'one stack with both: in blocks' has in-use 1 -o
check 'one stack with both: the peak is of blocks' has peak 23456
check 'one stack with both: what was mapped' has mapped-allocated 1089536
check 'one stack with both: and is in use' has mapped 565248
check 'one stack with both: in mappings' has mapped 3 -o
check 'in text the type is named' sh -c "'$MEMDIAG' report --value=mapped '$both' | grep -q mapped_space"
for format in tree json folded flame html dot; do
	check "--format=$format has the function" \
		sh -c "'$MEMDIAG' report --value=mapped --format=$format '$both' | grep -q take"
done
check 'written again as a .heap file' exits 0 memdiag report --format=heap -o "$dir/again.heap" --force "$both"
both=$dir/again.heap
check 'it has what was mapped' has mapped 565248
check 'it has what malloc holds' has in-use 12345
check 'written for pprof' exits 0 memdiag report --format=pprof -o "$dir/both.pb.gz" --force "$both"
both=$dir/both.pb.gz
check 'for pprof: it has what was mapped' has mapped-allocated 1089536

# sums_up: whether the header has the sums of the lines, which have no mappings.
sums_up()
{
	awk '/^heap profile/ { gsub(/[^0-9]/, " "); for (i = 0; i < 4; i++) head[i] = $(1 + i); next }
		/@ 0x/ { sub(/@.*/, ""); gsub(/[^0-9]/, " "); for (i = 0; i < 4; i++) sum[i] += $(1 + i) }
		END { for (i = 0; i < 4; i++) if (head[i] + 0 != sum[i]) exit 1; exit !sum[3] }' "$1"
}
for file in "$dir"/b.*.heap "$dir/again.heap"; do
	check "${file##*/}: for others, the sums are those of malloc" sums_up "$file"
	ours=$("$MEMDIAG" report --format=json -q "$file" | jq .data.total)
	for tool in jeprof google-pprof; do
		if command -v $tool >/dev/null; then
			check "${file##*/}: $tool has the same" \
				sh -c "$tool --text --show_bytes --inuse_space '$MEMDIAG' '$file' 2>/dev/null | grep -qx 'Total: $ours B'"
		else
			skip "${file##*/}: $tool" 'it is not installed'
		fi
	done
done

# go_has TYPE BYTES FILE: whether go tool pprof has that sum.
go_has()
{
	GOCACHE=$dir/go HOME=$dir PPROF_TMPDIR=$dir go tool pprof -top -unit=B -nodefraction=0 -sample_index="$1" "$3" \
		>"$dir/go.out" 2>/dev/null && grep -q "[^0-9]$2B total\|[^0-9]$2B, 100% of" "$dir/go.out"
}
if command -v go >/dev/null; then
	check 'go tool pprof: what is mapped' go_has mapped_space 565248 "$dir/both.pb.gz"
	check 'go tool pprof: what was' go_has mapped_alloc_space 1089536 "$dir/both.pb.gz"
	check 'go tool pprof: mappings' exits 0 env GOCACHE="$dir/go" HOME="$dir" go tool pprof -top \
		-sample_index=mapped_objects "$dir/both.pb.gz"
	check 'go tool pprof: the .heap file' go_has alloc_space \
		"$("$MEMDIAG" report --value=allocated --format=json -q "$dir/again.heap" | jq .data.total)" "$dir/again.heap"
else
	skip 'go tool pprof' 'it is not installed'
fi
finish

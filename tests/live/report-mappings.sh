#!/bin/sh
# memdiag report of one stack that has what malloc gave and what was mapped, and what other tools make of its file.
# shellcheck disable=SC2154 # lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq python3
agent=$top_builddir/libmemdiag-agent.so

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
		sh -c "'$MEMDIAG' report --value=mapped --format=$format '$both' | python3 '$top_srcdir/tests/live/page-data.py' | grep -q take"
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

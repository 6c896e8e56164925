#!/bin/sh
# memdiag record: every block with its stack, live and from the first call on, beside the accounts of the tracee sites.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
. "$top_srcdir/tests/live/record-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
sites=$TRACEES/sites

# sums MEMBER: bytes and blocks in the last output.
sums()
{
	json ".data.noted.$1 | \"\(.bytes) \(.blocks)\""
}

# accounted FIELD FIELD: two columns of the accounts of all sites, added up.
accounted()
{
	awk -v a="$1" -v b="$2" '{ x += $a; y += $b } END { printf "%.0f %.0f", x, y }' "$dir/accounts"
}

for threads in 1 4; do
	if ! has_hooks; then
		skip "live, $threads threads" 'malloc cannot be hooked on this processor'
		continue
	fi
	start_command "$sites" $threads
	check "nothing was recorded, $threads threads" record status
	check 'record status before a record says that nothing is recorded' json_is '.data.noted == null and (.data.is_recording | not)'
	check 'blocks are allocated before the record begins' obeys 'play 1 1000 1'
	accounts >"$dir/before"
	check 'record start begins a record' record start
	check 'record start of a process that is recorded changes nothing' record start
	check 'record start of a process that is recorded says so' json_is .data.was_so_already
	check 'profile status of a process that is recorded, as text' exits 0 memdiag profile status --pid "$tracee_pid"
	check 'profile status of a process that is recorded says so' grep -q 'is being recorded' "$dir/out"
	check 'profile status of a process that is recorded, as JSON' exits 0 memdiag profile status --pid "$tracee_pid" --json
	check 'profile status of a process that is recorded has no profile' json_is '.data.noted == null and (.data.is_profiling | not)'
	check 'profile start of a process that is recorded: refused' exits_saying 1 'is being recorded' memdiag profile start --pid "$tracee_pid"
	check 'profile stop of a process that is recorded: refused' exits_saying 1 'is being recorded' memdiag profile stop --pid "$tracee_pid"
	check 'all blocks from before the record are freed' obeys drop
	check 'record status after blocks from before were freed' record status
	cp "$dir/before" "$dir/accounts"
	# Only the usable bytes of earlier blocks are known.
	check 'record status counts blocks from before that were freed' test "$(sums earlier_freed | cut -d' ' -f2)" = "$(accounted 4 5 | cut -d' ' -f2)"
	check 'record status has the bytes of blocks from before that were freed' test "$(sums earlier_freed | cut -d' ' -f1)" -ge "$(accounted 4 5 | cut -d' ' -f1)"
	check 'record status has no other block' json_is '.data.noted.allocated.blocks == 0 and .data.noted.freed.blocks == 0'
	check 'the tracee allocates while it is recorded' obeys 'play 7 20000 1'
	accounts | awk 'NR == FNR { b[$1] = $2; n[$1] = $3; next }
		{ printf "%s %.0f %.0f %.0f %.0f\n", $1, $2 - b[$1], $3 - n[$1], $4, $5 }' "$dir/before" - >"$dir/accounts"
	check 'record dump writes a file meanwhile' record dump -o "$dir/dump"
	check 'the file of record dump is exact' agrees "$(written)"
	check 'record dump has the sums of the file' test "$(sums allocated), $(sums in_use)" = "$(accounted 2 3), $(accounted 4 5)"
	check 'record dump of several threads: the peak is approximate' json_is .data.noted.peak_approximate
	check 'record dump: nothing was lost' json_is '.data.noted | .calls_lost == 0 and .frees_lost == 0'
	check 'report --value=allocated of the process that is recorded' exits 0 memdiag report --pid "$tracee_pid" --json --value=allocated
	check 'report of the process that is recorded has the bytes' test "$(jq '[.data.rows[] | select(.name | startswith("site_")) | .flat] | add' "$dir/out")" = \
		"$(accounted 2 3 | cut -d' ' -f1)"
	check 'report of the process that is recorded names it' json_is '.data.file | test("^sites [0-9]+$")'
	check 'report --base the file of record dump' exits 0 memdiag report --pid "$tracee_pid" --json --base "$(ls "$dir/dump.$tracee_pid".*.heap)"
	check 'report --base the file of record dump: nothing has grown' json_is '[.data.rows[].cum] | all(. == 0)'
	check 'record status after record dump' record status
	check 'record status after record dump: it is recorded' json_is .data.is_recording
	check 'profile dump of a record: refused' exits_saying 5 'is a record' memdiag profile dump --pid "$tracee_pid"
	check 'all blocks of the record are freed' obeys drop
	accounts | awk 'NR == FNR { b[$1] = $2; n[$1] = $3; next }
		{ printf "%s %.0f %.0f %.0f %.0f\n", $1, $2 - b[$1], $3 - n[$1], $4, $5 }' "$dir/before" - >"$dir/accounts"
	check 'record stop ends the record' record stop -o "$dir/last"
	check 'record stop: nothing is in use' json_is '.data.noted.in_use | .bytes == 0 and .blocks == 0'
	check 'record stop: all was freed' json_is '.data.noted | .freed == .allocated'
	check 'the file of record stop is exact' agrees "$(written)"
	check 'status of a process after record stop' exits 0 memdiag status --pid "$tracee_pid" --json
	# A page that is read later is one of memory where the kernel has no common page of zeros.
	check 'record stop gives back what it took, but the filter of profiles' json_is '.data.sampler | .live_set_bytes <= 65536 + 8192 and .threads_bytes <= 4096'
	check 'record stop of a record that has ended changes nothing' record stop -o "$dir/last"
	check 'record stop of a record that has ended says so' json_is '.data.was_so_already and .data.file == null'
	check 'profile start after a record' profile start --rate 1
	check 'record status of a process that is profiled' exits 0 memdiag record status --pid "$tracee_pid"
	check 'record status of a process that is profiled says so' grep -q 'is being profiled' "$dir/out"
	check 'the tracee allocates while it is profiled' obeys 'play 3 1000 1'
	check 'profile stop after a record' profile stop -o "$dir/profile"
	check 'record start after a profile' record start
	accounts >"$dir/before"
	check 'the tracee allocates in the second record' obeys 'play 9 3000 1'
	accounts | awk 'NR == FNR { b[$1] = $2; n[$1] = $3; next }
		{ printf "%s %.0f %.0f\n", $1, $2 - b[$1], $3 - n[$1] }' "$dir/before" - >"$dir/accounts"
	check 'record stop into a file whose name is no UTF-8' record stop -o "$dir/$(printf 'again\377')"
	check 'record stop names the file whose name is no UTF-8' json_is '.data.file | contains("again")'
	check 'the second record has only what came after its start' test "$(sums allocated)" = "$(accounted 2 3)"
	check 'the target lives on' end_tracee
done

# played COMMAND...: run the tracee as COMMAND says, with some work; what is said on stderr is in $dir/err.
played()
{
	start_command "$@" && obeys 'play 5 5000 1' && accounts >"$dir/accounts" &&
		[ "$(accounted 2 3 | cut -d' ' -f2)" -ge 5000 ] && end_tracee || return
	cp "$dir/$nr_started.err" "$dir/err"
}

check 'a program is recorded from its start on' played "$MEMDIAG" run -q --record -o "$dir/run" -- "$sites" 3
check 'the file of run --record is exact' agrees "$(ls "$dir"/run.*.heap)"
check 'run --record prints what it recorded' played "$MEMDIAG" run --record -o "$dir/told" -- "$sites" 1
cp "$dir/err" "$dir/out"
check 'run --record prints blocks, and how many were freed' grep -q '^recorded .* blocks\{0,1\}, of which [0-9]* were freed$' "$dir/out"
# ---- programs that give up system calls, or lock their memory ----

cat >"$dir/strict.c" <<'END'
#include <linux/seccomp.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	void *volatile large;
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_MMAP_MAX, 0);
	large = malloc(100 << 20);
	free(large);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	for (int i = 0; i < 900; i++)
		if (!malloc(100000))
			return 1;
	syscall(SYS_exit, 0);
}
END
cat >"$dir/locked.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static void *block[1000];
static void allocate(void)
{
	for (int i = 0; i < 1000; i++)
		block[i] = malloc(100);
}
int main(void)
{
	char line[64];
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	/* Not by stdio, in which no thread can be borrowed. */
	while (read(0, line, sizeof line) > 0) {
		for (int i = 0; i < 1000; i++)
			free(block[i]);
		allocate();
		puts("done");
	}
	puts("alive");
}
END
if ${CC:-cc} -O0 -o "$dir/strict" "$dir/strict.c" && ${CC:-cc} -O0 -o "$dir/locked" "$dir/locked.c"; then
	check 'a program that makes no more system calls lives' exits 0 memdiag run -q --record -o "$dir/strict" -- "$dir/strict"
	check 'report of a program that makes no more system calls' exits 0 memdiag report --json "$(ls "$dir"/strict.*.heap)"
	check 'report of a program that makes no more system calls has its bytes' json_is '.data.total == 90000000'
	start_command "$dir/locked"
	rss=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$tracee_pid/status")
	if has_hooks && [ "$rss" ]; then
		for round in 1 2; do
			check "a locked process, $round: a record begins" record start
			check "a locked process, $round: it works" obeys go
			check "a locked process, $round: its blocks are in use" record status
			check "a locked process, $round: as it says" test "$(sums in_use)" = "100000 1000"
			check "a locked process, $round: it ends" record stop -o "$dir/locked"
		done
		check 'a locked process: it has grown by less than 8 MiB' test \
			"$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$tracee_pid/status")" -lt $((rss + 8192))
	fi
	check 'a locked process: it lives on' end_tracee
else
	skip 'programs that lock themselves in' 'no compiler'
fi

if library=$(find /usr/lib /lib -name 'libjemalloc.so.2' 2>/dev/null | head -n 1) && [ "$library" ]; then
	env LD_PRELOAD="$library" "$MEMDIAG" run --record -o "$dir/other" -- true 2>"$dir/err"
	check 'a program with another malloc is not recorded' test $? = 125
	check 'run --record of a program with another malloc says why' says "is not recorded: its malloc is not glibc's"
fi
if [ -x "$TRACEES/idle-musl" ]; then
	start_tracee idle-musl
	check 'a musl program is refused, and why' exits_saying 5 'runs with musl' memdiag record start --pid "$tracee_pid"
	check 'a musl program lives on' end_tracee
	"$MEMDIAG" run --record -o "$dir/musl" -- "$TRACEES/idle-musl" </dev/null >"$dir/out" 2>"$dir/err"
	check 'run --record of a musl program: refused, and why' says "is not recorded: its malloc is not glibc's"
else
	skip 'a musl program' 'there is no musl-gcc'
fi
check 'report of a process without the agent: refused' exits_saying 5 'has no profile' memdiag report --pid $$
check 'report of a file and a process: a usage error' exits_saying 64 'one at a time' memdiag report --pid $$ "$dir/any"
check 'run --record --profile: a usage error' exits_saying 125 'a record is of all blocks' memdiag run --record --profile=1K -- "$sites"
check 'run --record --interval: a usage error' exits_saying 125 'a record is of all blocks' memdiag run --record --interval=1M -- "$sites"
check 'the environment asks for it' played env MEMDIAG_AGENT="profile;record;profile-prefix=$dir/env" \
	LD_PRELOAD="$top_builddir/libmemdiag-agent.so" "$sites" 2
check 'and the file is exact' agrees "$(ls "$dir"/env.*.heap)"
# ---- programs of which the peak is hard to see ----

cat >"$dir/many.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#define NR 200
#define BLOCKS 600
static pthread_barrier_t all;
static void *volatile kept[NR][BLOCKS];
static int stays;
/* 60000 bytes each: all threads have theirs at one time. */
static void *work(void *arg)
{
	void *volatile *own = arg;
	for (int i = 0; i < BLOCKS; i++) own[i] = malloc(100);
	pthread_barrier_wait(&all);
	for (int i = 0; !stays && i < BLOCKS; i++) free(own[i]);
	pthread_barrier_wait(&all);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t[NR];
	(void)argv;
	stays = argc > 1;
	pthread_barrier_init(&all, NULL, NR);
	for (int i = 0; i < NR; i++) if (pthread_create(&t[i], NULL, work, (void *)kept[i])) return 1;
	for (int i = 0; i < NR; i++) pthread_join(t[i], NULL);
	return 0;
}
END
cat >"$dir/turns.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#define BLOCKS 600
static pthread_barrier_t all;
static int nr;
static void *volatile kept[2][BLOCKS];
static void take(int t) { for (int i = 0; i < BLOCKS; i++) kept[t][i] = malloc(100); }
static void give(int t) { for (int i = 0; i < BLOCKS; i++) free(kept[t][i]), kept[t][i] = NULL; }
/* In turns: one thread takes 60000 bytes and frees them; the other takes as much, and then the first one again. */
static void *first(void *arg)
{
	(void)arg;
	take(0), give(0);
	pthread_barrier_wait(&all), pthread_barrier_wait(&all);
	if (nr == 3) take(0);
	pthread_barrier_wait(&all);
	give(0);
	return NULL;
}
static void *second(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&all);
	take(1);
	pthread_barrier_wait(&all), pthread_barrier_wait(&all);
	give(1);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t[2];
	nr = argc > 1 ? atoi(argv[1]) : 0;
	pthread_barrier_init(&all, NULL, 2);
	if (pthread_create(&t[0], NULL, first, NULL) || pthread_create(&t[1], NULL, second, NULL)) return 1;
	return pthread_join(t[0], NULL) || pthread_join(t[1], NULL);
}
END
cat >"$dir/refused.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	char line[10];
	void *volatile early = malloc(1000), *volatile late;
	puts("ready");
	fflush(stdout);
	if (read(0, line, sizeof line) < 0) return 1;
	late = malloc(500);
	for (int i = 0; i < 10; i++)
		if (realloc(early, (size_t)1 << 46) || realloc(late, (size_t)1 << 46)) return 2;
	puts("done");
	fflush(stdout);
	while (read(0, line, sizeof line) > 0) ;
	puts("alive");
	return 0;
}
END
${CC:-cc} -g -O0 -w -pthread -o "$dir/many" "$dir/many.c" && ${CC:-cc} -g -O0 -w -pthread -o "$dir/turns" "$dir/turns.c" &&
	${CC:-cc} -g -O0 -w -o "$dir/refused" "$dir/refused.c" || exit 99

# peak_of FILE: its bytes, of all functions.
peak_of()
{
	"$MEMDIAG" report --format=json --value=peak --lines=0 "$1" | jq '[.data.rows[].flat] | add'
}

# near_threads BYTES THREADS: whether that is what so many threads have at most, within 3 %.
near_threads()
{
	near "$1" $(($2 * 60000)) $(($2 * 60000 * 3 / 100))
}

# near_peak BYTES: the same of 200 threads.
near_peak()
{
	near_threads "$1" 200
}

check 'threads in turns: recorded' exits 0 memdiag run --record -q -o "$dir/two" -- "$dir/turns" 2
check 'what one has freed is not in the peak with what the other has taken' near_threads "$(peak_of "$(ls "$dir"/two.*.heap)")" 1
check 'threads in turns, and the first again: recorded' exits 0 memdiag run --record -q -o "$dir/three" -- "$dir/turns" 3
check 'but it is when that is taken again' near_threads "$(peak_of "$(ls "$dir"/three.*.heap)")" 2

check 'many threads that give back: recorded' exits 0 memdiag run --record --json -o "$dir/gives" -- "$dir/many"
check 'many threads that give back: the peak' near_peak "$(peak_of "$(ls "$dir"/gives.*.heap)")"
check 'many threads that keep all: recorded' exits 0 memdiag run --record --json -o "$dir/keeps" -- "$dir/many" stay
check 'many threads that keep all: the peak is no less than what is in use' \
	test "$(peak_of "$(ls "$dir"/keeps.*.heap)")" -ge "$(jq .data.profile.in_use_bytes "$dir/err")"
check 'many threads that keep all: it is what it is' near_peak "$(peak_of "$(ls "$dir"/keeps.*.heap)")"
if has_hooks; then
	start_command "$dir/refused"
	check 'resizing that fails: a record begins' record start
	check 'resizing that fails: it does' obeys go
	check 'resizing that fails: its sums' record status
	check 'resizing that fails: no earlier block was freed' json_is '.data.noted.earlier_freed | .blocks == 0 and .bytes == 0'
	check 'resizing that fails: the later one is in use' json_is '.data.noted.in_use | .blocks == 1 and .bytes == 500'
	check 'resizing that fails: the program lives on' end_tracee
fi
finish

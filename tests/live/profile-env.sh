#!/bin/sh
# A profile that is asked for by the environment, without memdiag: the agent writes the file itself when the program
# ends, and whatever it cannot do is no trouble of the program's.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
agent=$top_builddir/libmemdiag-agent.so
[ -e "$agent" ] || skip_all "the agent is not made for this processor"
need jq
mkdir "$dir/run" "$dir/elsewhere"

files()
{
	ls "$dir"/run/p.*.heap
}

# under WORDS COMMAND...: COMMAND with the agent, whose settings are WORDS.
under()
{
	local words="$1"
	shift
	env MEMDIAG_AGENT="$words" LD_PRELOAD="$agent" "$@"
}

# runs STATUS WORDS COMMAND...: whether it ends with STATUS; its files are in $dir/run, what it said in $dir/err.
runs()
{
	local status="$1"
	shift
	rm -rf "$dir/run"
	mkdir "$dir/run"
	(cd "$dir/run" && under "$@") >"$dir/out" 2>"$dir/err"
	[ $? = "$status" ]
}
prefix="profile-prefix=$dir/run/p"

start_command env MEMDIAG_AGENT="profile;rate=1;$prefix" LD_PRELOAD="$agent" "$TRACEES/sites" 3
check 'it works' obeys 'play 7 20000 1'
check 'status knows' profile status
check 'that it is profiled' json_is .data.is_profiling
check 'and that nothing counts' exits 0 memdiag status --pid "$tracee_pid" --json
check 'as it says' json_is '.data.is_counting == false'
check 'a dump by hand' profile dump -o "$dir/run/q"
accounts >"$dir/accounts"
check 'is exact' agrees "$(written)"
check 'the target lives on' end_tracee
check 'the file has its name' expr "$(files)" : "$dir/run/p\\.$tracee_pid\\.1\\.f0\\.20[0-9]*T[0-9]*Z\\.heap\$"
check 'and is exact' agrees "$(files)"
check 'and whole' grep -q '^# end$' "$(files)"
check 'the time in it is now, in UTC' sh -c \
	"now=\$(date -u +%s); at=\$(ls '$dir'/run/p.* | sed 's/.*\.\(....\)\(..\)\(..\)T\(..\)\(..\)\(..\)Z\.heap/\1-\2-\3 \4:\5:\6/')
	at=\$(date -u -d \"\$at\" +%s) && [ \$((now - at)) -ge 0 ] && [ \$((now - at)) -lt 600 ]"
check 'peak and temporary are in it' test "$(values "$(files)" peak | wc -l)" -gt 4
check 'threads have their names' grep -q "^# thread $tracee_pid sites\$" "$(files)"
check 'gperftools, jemalloc: the sums are those of the lines' awk '
	/^heap profile/ { gsub(/[^0-9]/, " "); for (i = 0; i < 4; i++) head[i] = $(1 + i); next }
	/@ 0x/ { gsub(/[^0-9]/, " "); for (i = 0; i < 4; i++) sum[i] += $(1 + i) }
	END { for (i = 0; i < 4; i++) if (head[i] + 0 != sum[i]) exit 1; exit !sum[3] }' "$(files)"

start_command env MEMDIAG_AGENT="profile;count;rate=1;$prefix" LD_PRELOAD="$agent" "$TRACEES/sites" 1
check 'beside the counter: it counts' exits 0 memdiag status --pid "$tracee_pid" --json
check 'beside the counter: as it says' json_is .data.is_counting
check 'beside the counter: the target lives on' end_tracee

# ---- whatever it ends by ----

cat >"$dir/ends.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
void *volatile kept;
__attribute__((noinline)) void keeper(size_t n) { kept = malloc(n); *(char *)kept = 1; }
static void *run(void *arg) { keeper(1000); return arg; }
int main(int argc, char **argv)
{
	pthread_t t;
	keeper(12345);
	if (strcmp(argv[1], "threads") == 0) { pthread_create(&t, NULL, run, NULL); pthread_exit(NULL); }
	if (strcmp(argv[1], "_exit") == 0) _exit(5);
	if (strcmp(argv[1], "quick_exit") == 0) quick_exit(6);
	if (strcmp(argv[1], "abort") == 0) abort();
	if (strcmp(argv[1], "vfork") == 0) { if (vfork() == 0) _exit(0); wait(NULL); }
	if (strcmp(argv[1], "fork") == 0) { if (fork() == 0) { keeper(777); exit(0); } wait(NULL); }
	if (strcmp(argv[1], "fork_exit") == 0) { if (fork() == 0) { keeper(778); _exit(0); } wait(NULL); }
	if (strcmp(argv[1], "exec") == 0) execl(argv[0], argv[0], "return", NULL);
	if (strcmp(argv[1], "execs") == 0) {
		/* Not there, no program, no right, too long: then it goes on. */
		execl("/nowhere", "x", NULL); execl("/etc/passwd/x", "x", NULL); execlp("nowhere", "x", NULL);
		execl("/etc/passwd", "x", NULL); execl("/", "x", NULL); execl(argv[2], "x", NULL);
		keeper(67890); return 4;
	}
	if (strncmp(argv[1], "resize", 6) == 0 && realloc(kept, 1UL << 45)) return 98;
	if (strcmp(argv[1], "resize_free") == 0) free(kept);
	if (strcmp(argv[1], "resize_again") == 0) kept = realloc(kept, 23456);
	if (strcmp(argv[1], "search") == 0) {
		execl("/nowhere", "x", NULL); execl("/etc/passwd", "x", NULL); execl(argv[0], argv[0], "return", NULL);
	}
	if (strcmp(argv[1], "chdir") == 0 && chdir(argv[2])) return 99;
	return 3;
}
END
${CC:-cc} -g -pthread -o "$dir/ends" "$dir/ends.c" || skip_all "no compiler"
ends=$dir/ends

# have BYTES...: whether these are the bytes that keeper() allocated, in the files of the last run.
have()
{
	local file
	for file in "$dir"/run/*.heap; do
		[ ! -e "$file" ] || "$MEMDIAG" report --format=json --value=allocated --lines=0 "$file" |
			jq '[.data.rows[] | select(.name == "keeper") | .flat] | add'
	done | sort -n >"$dir/have"
	cat "$dir/have"
	[ -z "$(find "$dir/run" -type f ! -name '*.heap')" ] || return
	[ $# -gt 0 ] || { [ ! -s "$dir/have" ]; return; }
	printf '%s\n' "$@" | sort -n | cmp - "$dir/have"
}
on="profile;rate=1"
ends_by()
{
	local name="$1" status="$2"
	shift 2
	check "$name: its own status" runs "$status" "$words" "$ends" $name
	check "$name: its files" have "$@"
}
words=$on
ends_by return 3 12345
check 'without a prefix it is called memdiag, and where the program is' test -e "$dir"/run/memdiag.[0-9]*.0.f0.*.heap
words="$on;$prefix"
ends_by _exit 5 12345
ends_by quick_exit 6
ends_by vfork 3 12345
ends_by fork 3 12345
ends_by fork_exit 3 12345
ends_by exec 3 12345 12345
: >"$dir/empty"
chmod +x "$dir/empty"
check 'execs that fail: its own status' runs 4 "$words" "$ends" execs "$dir/empty"
check 'execs that fail: one file, at the end' have 80235
check 'execs that fail: its number is the first' test -e "$dir"/run/p.*.0.f0.*.heap
ends_by search 3 12345 12345
ends_by abort 134
ends_by threads 0 13345
# counts LINE...: whether the last file has such counters of stacks, and no others.
counts()
{
	sed -n 's/ @ 0x.*//p' "$dir"/run/p.*.heap | sort >"$dir/counts"
	cat "$dir/counts"
	printf '%s\n' "$@" | sort | cmp - "$dir/counts"
}
for words in "$on;$prefix" "$on;count;$prefix"; do
	check "$words: realloc() that fails: its own status" runs 3 "$words" "$ends" resize
	check "$words: realloc() that fails: the block is where it was, once" counts '1: 12345 [1: 12345]'
	check "$words: realloc() that fails, then free(): its own status" runs 3 "$words" "$ends" resize_free
	check "$words: realloc() that fails, then free(): the block is freed" counts '0: 0 [1: 12345]'
	check "$words: realloc() that fails, then one more: its own status" runs 3 "$words" "$ends" resize_again
	check "$words: realloc() that fails, then one more: the block has moved" \
		counts '0: 0 [1: 12345]' '1: 23456 [1: 23456]'
done
words="$on;high-water;above=1G;$prefix"
check 'with a thread of the agent: one that ends leaves the program to end' runs 0 "$words" "$ends" threads
check 'with a thread of the agent: its file' have 13345
check 'with a thread of the agent: return' runs 3 "$words" "$ends" return
check 'with a thread of the agent: its file, too' have 12345
check 'with a thread of the agent: exec' runs 3 "$words" "$ends" exec
check 'with a thread of the agent: fork' runs 3 "$words;follow" "$ends" fork
# While a file is being written the program ends, again and again: the last one is there.
last_is_there()
{
	runs 3 "$on;profile-interval=500;$prefix" "$ends" return && ls "$dir"/run/p.*.f0.*.heap
}
check 'with a thread of the agent that writes: the last file is always there' each_of 40 last_is_there
# Threads that allocate have files written until the process ends: it does so while one is being written, if it can.
cat >"$dir/late.c" <<'END'
#include <glob.h>
#include <sys/syscall.h>
#include <stdlib.h>
#include <unistd.h>
static __attribute__((destructor)) void end(void)
{
	for (int i = 0; i < 200; i++) {
		glob_t found = { 0 };
		if (glob("*.part", 0, NULL, &found) == 0)
			syscall(SYS_exit_group, 3);
		globfree(&found);
		usleep(1000);
	}
}
void late(void) {}
END
cat >"$dir/busy.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void late(void);
void *volatile kept[2000];
static void *churn(void *arg) { for (;;) { void *volatile p = malloc(1000); free(p); } return arg; }
__attribute__((noinline)) void keeper(void) { for (int i = 0; i < 2000; i++) kept[i] = malloc(1 << i % 12); }
int main(int argc, char **argv)
{
	pthread_t t;
	late();
	keeper();
	for (int i = 0; i < 2; i++) pthread_create(&t, NULL, churn, NULL);
	usleep(30000);
	if (strcmp(argv[1], "_exit") == 0) _exit(3);
	return 3;
}
END
${CC:-cc} -g -O1 -shared -fPIC -o "$dir/liblate.so" "$dir/late.c"
${CC:-cc} -g -O1 -pthread -o "$dir/busy" "$dir/busy.c" "$dir/liblate.so" -Wl,-rpath,"$dir"
# ends_whole HOW: whether it ends with its last file, and no half of one.
ends_whole()
{
	runs 3 "profile;rate=200;profile-interval=256K;$prefix" "$dir/busy" "$1" &&
		[ "$(find "$dir/run" -name 'p.*.f*.heap' | wc -l)" = 1 ] && [ -z "$(find "$dir/run" -name '*.part')" ] &&
		grep -q '^# end$' "$dir"/run/p.*.f0.*.heap || { ls "$dir/run"; return 1; }
}
check 'threads that allocate to the end: the last file is there, and all are whole' each_of 20 ends_whole return
check 'threads that allocate to the end, _exit: the last file is there, and all are whole' each_of 20 ends_whole _exit
words="$on;follow;$prefix"
ends_by fork 3 777 12345
ends_by fork_exit 3 778 12345
check 'a program that changes its directory' runs 3 "$on" "$ends" chdir "$dir/elsewhere"
check 'a program that changes its directory: the file is where it began' have 12345
check 'a prefix with a directory' runs 3 "$on;profile-prefix=./q" "$ends" return
check 'a prefix with a directory: the file is there' test -e "$dir"/run/q.[0-9]*.0.f0.*.heap
check 'unknown words do not matter' runs 3 "colour=blue;$on;rate=bad;$prefix" "$ends" return
check 'unknown words do not matter: it is exact' have 12345
check 'without the word there is no file' runs 3 "rate=1;$prefix" "$ends" return
check 'without the word: none' have

# ---- begun anew by hand, while the agent writes files ----

rm -f "$dir"/run/*
start_command env MEMDIAG_AGENT="profile;rate=1;profile-interval=50000;$prefix" LD_PRELOAD="$agent" "$TRACEES/sites" 2
anew()
{
	obeys 'play 1 300 1' && profile stop -o "$dir/run/q" && [ -s "$(written)" ] && profile start --rate 1
}
check 'begun anew: it works all the time' each_of 20 anew
check 'begun anew: files of the first were written' sh -c "ls '$dir'/run/p.*.i0.*.heap"
accounts >"$dir/before"
check 'begun anew: it works' obeys 'play 2 300 1'
check 'begun anew: it ends' profile stop -o "$dir/run/q"
check 'begun anew: with something in it' test -n "$(values "$(written)" allocated)"
check 'begun anew: the target lives on' end_tracee

# ---- several that write at once ----

# dumps N: so many files by hand, with the agent's prefix.
dumps()
{
	local i=0
	while [ $i -lt "$1" ]; do
		"$MEMDIAG" profile dump --wait=300s --timeout=600s -q -o "$dir/run/p" --pid "$tracee_pid" || return
		i=$((i + 1))
	done
}
# all_at_once: three memdiags and the agent write.
all_at_once()
{
	local one two status=0
	dumps 20 &
	one=$!
	dumps 20 &
	two=$!
	each_of 20 works || status=1
	dumps 20 || status=1
	wait $one || status=1
	wait $two || status=1
	return $status
}
works()
{
	obeys 'play 1 3000 1'
}
# numbers: those of the files, one a line.
numbers()
{
	for file in "$dir"/run/p.*.heap; do
		file=${file#"$dir/run/p.$tracee_pid."}
		echo "${file%%.*}"
	done | sort -n
}
rm -f "$dir"/run/*
start_command env MEMDIAG_AGENT="profile;rate=1;profile-interval=50000;$prefix" LD_PRELOAD="$agent" "$TRACEES/sites" 2
check 'several at once: all of them write' all_at_once
check 'several at once: the target lives on' end_tracee
check 'several at once: no two have the same number' test -z "$(numbers | uniq -d)"
check 'several at once: none is lost' test "$(find "$dir/run" -name 'p.*.m*.heap' | wc -l)" = 60
check 'several at once: the agent wrote some' test "$(find "$dir/run" -name 'p.*.i*.heap' | wc -l)" -gt 1
check 'several at once: and the last' sh -c "ls '$dir'/run/p.*.f0.*.heap"
check 'several at once: nothing else is left' test -z "$(find "$dir/run" -type f ! -name '*.heap')"

# ---- what cannot be written ----

# One line, and the program's own status.
fails()
{
	local name="$1" why="$2"
	shift 2
	check "$name: the program ends as ever" runs "$@"
	check "$name: it says so once" test "$(grep -c "^memdiag: cannot write the profile: $why: " "$dir/err")" = 1
	check "$name: nothing is left" have
}
fails 'a directory that is not there' 'No such file or directory' 3 "$on;profile-prefix=$dir/none/p" "$ends" return
fails 'a directory that is a file' 'Not a directory' 3 "$on;profile-prefix=$ends/p" "$ends" return
runs_small()
{
	(ulimit -f 1 && runs "$@")
}
check 'a file that may not be so large: the program ends as ever' runs_small 3 "$on;$prefix" "$ends" return
check 'a file that may not be so large: it says so' grep -q 'the profile: File too large: ' "$dir/err"
check 'a file that may not be so large: nothing is left' have
fails 'several tries' 'No such file or directory' 4 "$on;profile-prefix=$dir/none/p" "$ends" execs "$dir/empty"
# Debian's shell calls execve() for each directory in PATH.
runs_dash()
{
	runs 0 "$on;$prefix" dash -c 'PATH=/a:/b:/c:/d:$PATH; exec true' && [ "$(find "$dir/run" -type f | wc -l)" = 2 ]
}
if command -v dash >/dev/null; then
	check 'a shell that looks for a program: a file for each of both' runs_dash
fi
mkdir "$dir/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=4096 none "$dir/small" 2>/dev/null; then
	echo full >"$dir/small/there"
	fails 'a full disk' 'No space left on device' 3 "$on;profile-prefix=$dir/small/p" "$ends" return
	check 'a full disk: no half of a file is left' test "$(ls "$dir/small")" = there
	umount "$dir/small"
else
	check 'a full disk # SKIP no right to mount' true
fi
finish

#!/bin/sh
# memdiag run --profile: samples from the first call of malloc on, and a file whatever the program ends by; of the
# programs that it starts, too.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
sites=$TRACEES/sites

# files: those that were written, of the last run.
files()
{
	ls "$dir"/run/p.*.heap
}

# runs STATUS ARGUMENTS...: whether memdiag run with these ends with STATUS; its files are in $dir/run.
runs()
{
	local status="$1"
	shift
	rm -rf "$dir/run"
	mkdir "$dir/run"
	exits "$status" memdiag run -o "$dir/run/p" "$@"
}

# plays PERIOD WORDS...: memdiag runs the tracee with WORDS; its own account is in $dir/accounts, and what memdiag
# says in $dir/err.
plays()
{
	local period="$1"
	shift
	rm -rf "$dir/run"
	mkdir "$dir/run"
	start_command "$MEMDIAG" run -o "$dir/run/p" "$@" -- "$sites" 3 &&
		obeys "play 7 20000 $period" && accounts >"$dir/accounts" && end_tracee || return
	cp "$dir/$nr_started.err" "$dir/err"
}

# is_exact: whether the file has the tracee's numbers, to the byte and the block.
is_exact()
{
	agrees "$(files)"
}

# ---- one program ----

check 'it runs, and every block is noted' plays 1 --profile=1
check 'the file is exact' is_exact
check 'the stacks are whole' whole "$(files)"
check 'its name has the PID, its number, its kind and the time' \
	expr "$(files)" : "$dir/run/p\\.[0-9]*\\.0\\.f0\\.20[0-9]*T[0-9]*\\.heap\$"
check 'it says where it is' grep -q "^memory profile written: $(files)\$" "$dir/err"
check 'and what comes next' grep -q "^NEXT     memdiag report $(files)\$" "$dir/err"
check 'and what was counted' grep -q '^memdiag: .*peak ' "$dir/err"
check 'quietly it samples alone' plays 1 -q --profile=1
check 'quietly: exact, too' is_exact
check 'quietly: and says nothing' test ! -s "$dir/err"
check 'beside a limit' plays 1 -q --profile=1 --limit 1T
check 'beside a limit: exact' is_exact
check 'beside requested bytes' plays 1 --profile=1 --account=requested
check 'beside requested bytes: exact' is_exact
check 'names inside' plays 1 --profile=1 --symbols-inside
check 'names inside: they are' grep -q '^# name .*site_3' "$(files)"
check 'with JSON' plays 1 --profile=1 --json
check 'with JSON: exact' is_exact
check 'with JSON: nothing else is printed' jq -e '.data.exit_status == 0' "$dir/err"
check 'with JSON: the file is named' jq -e --arg file "$(files)" \
	'.data.profile | .file == $file and .period_bytes == 1 and .samples > 60000 and (.leaks | not)' "$dir/err"

# is_estimate: whether the estimates are within 5.5 standard deviations of the tracee's numbers.
is_estimate()
{
	local name bytes sigma estimate
	while read -r name bytes _ _ _ sigma _; do
		estimate=$(value "$(files)" allocated "${name#site_}")
		echo "$name $bytes $sigma: $estimate"
		awk -v a="$bytes" -v b="$estimate" -v s="$sigma" \
			'BEGIN { d = a - b; exit !(d * d <= 30.25 * (s + 1) ^ 2) }' || return
	done <"$dir/accounts"
}
check 'a sample for 64K' plays 65536 --profile=64K
check 'a sample for 64K: as near as chance lets it be' is_estimate
check 'without a rate' plays 524288 --profile
check 'without a rate: it is 512K' grep -q '^# period 524288$' "$(files)"

# ---- whatever it ends by ----

ends_by()
{
	local name="$1" status="$2"
	shift 2
	check "$name: it ends with its own status" runs "$status" --profile=1 -- "$@"
	check "$name: its file is there" files
	check "$name: it can be read" memdiag report --value=allocated "$(files)"
	check "$name: and has what it allocated" grep -q keeper "$dir/out"
}
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
	pthread_t t[8];
	keeper(12345);
	if (strcmp(argv[1], "return") == 0) return 3;
	if (strcmp(argv[1], "exit") == 0) exit(4);
	if (strcmp(argv[1], "_exit") == 0) _exit(5);
	if (strcmp(argv[1], "abort") == 0) abort();
	if (strcmp(argv[1], "crash") == 0) *(volatile int *)0 = 1;
	if (strcmp(argv[1], "kill") == 0) raise(SIGKILL);
	if (strcmp(argv[1], "threads") == 0) {
		for (int k = 0; k < 50; k++) {
			for (int i = 0; i < 8; i++) pthread_create(&t[i], NULL, run, NULL);
			for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
		}
		pthread_create(&t[0], NULL, run, NULL);
		pthread_exit(NULL);
	}
	if (strcmp(argv[1], "fork") == 0) {
		if (fork() == 0) { keeper(777); _exit(0); }
		keeper(888);
		wait(NULL);
	}
	if (strcmp(argv[1], "exec") == 0) {
		execl("/nowhere/at/all", "x", NULL);
		execl(argv[0], argv[0], "return", NULL);
	}
	return 0;
}
END
${CC:-cc} -g -pthread -o "$dir/ends" "$dir/ends.c" || skip_all "no compiler"
ends=$dir/ends
ends_by 'return' 3 "$ends" return
ends_by 'exit' 4 "$ends" exit
ends_by '_exit' 5 "$ends" _exit
ends_by 'abort' 134 "$ends" abort
ends_by 'a crash' 139 "$ends" crash
ends_by 'SIGKILL' 137 "$ends" kill
ends_by 'threads that end' 0 "$ends" threads
check 'threads that end: each block of them is there' test "$("$MEMDIAG" report --format=json --value=allocated --objects \
	--lines=0 "$(files)" | jq '.data.rows[] | select(.name == "keeper") | .flat')" = 402
ends_by 'fork' 0 "$ends" fork
check 'fork: the child is not in it' test "$(files | wc -l)" = 1
check 'fork: followed, it runs' runs 0 --profile=1 --follow-children -- "$ends" fork

# flat FILE: the bytes that keeper() allocated there.
flat()
{
	"$MEMDIAG" report --format=json --value=allocated --lines=0 "$1" |
		jq '[.data.rows[] | select(.name == "keeper") | .flat] | add'
}

# have BYTES...: whether these are the bytes of keeper() in the files of the last run.
have()
{
	local file
	for file in $(files); do
		flat "$file"
	done | sort -n >"$dir/have"
	cat "$dir/have"
	printf '%s\n' "$@" | sort -n | cmp - "$dir/have"
}
check 'fork: each of both has a file of what it allocated itself' have 13233 777

# A program that does not take a slot: what the one before it had is not its own.
echo 'int main(int argc, char **argv) { (void)argv; return argc - 1; }' >"$dir/clean.c"
cat >"$dir/becomes.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
void *volatile kept;
int main(int argc, char **argv)
{
	kept = malloc(12345);
	execv(argv[1], argv + 1);
	if (argc > 2) execv(argv[2], argv + 2);
	return 0;
}
END
unprofiled='the program that it became was not profiled'
${CC:-cc} -static -o "$dir/clean-static" "$dir/clean.c" && ${CC:-cc} -g -o "$dir/clean" "$dir/clean.c" &&
	${CC:-cc} -g -o "$dir/becomes" "$dir/becomes.c" || skip_all "no compiler"
# is_unknown NAME STATUS WORDS...: the program WORDS becomes one without a profile, which ends with STATUS.
is_unknown()
{
	local name="$1" status="$2"
	shift 2
	check "$name: its own status" runs "$status" --leak-check -- "$@"
	check "$name: it is not known" grep -q "^memdiag: it is not known .*(--leak-check): $unprofiled\$" "$dir/err"
	check "$name: the file is of the one before" grep -q "^memdiag: $unprofiled: the file has" "$dir/err"
	check "$name: no leak is said" sh -c "! grep -q 'in use at exit, of which' '$dir/err'"
	check "$name: in JSON" runs "$status" --leak-check --json -- "$@"
	check "$name: in JSON, too, it is not known" jq -e \
		'.data.profile | .became_unprofiled and .leaks == null and .file != null' "$dir/err"
}
is_unknown 'exec of a static program' 0 "$dir/becomes" "$dir/clean-static"
is_unknown 'exec of one that fails' 1 "$dir/becomes" "$dir/clean-static" x
is_unknown 'exec by env' 0 env A=b "$dir/clean-static"
is_unknown 'exec that failed before' 0 "$dir/becomes" /nowhere "$dir/clean-static"
check 'without a leak check: it says so, too' runs 0 --profile=1 -- "$dir/becomes" "$dir/clean-static"
check 'without a leak check: of the file' grep -q "^memdiag: $unprofiled: the file has" "$dir/err"
check 'without a leak check: of leaks nothing' sh -c "! grep -q 'leak-check' '$dir/err'"
check 'exec that fails: the verdict stands' runs 23 --leak-check -- "$dir/becomes" /nowhere
check 'exec that fails: nothing was become' sh -c "! grep -q 'not profiled' '$dir/err'"
check 'exec of a profiled program: its own verdict' runs 0 --leak-check -- "$dir/becomes" "$dir/clean"
check 'exec of a profiled program: as it says' sh -c "! grep -q 'not profiled' '$dir/err'"
if [ "$(id -u)" = 0 ]; then
	need setpriv
	chmod 755 "$dir"
	# The checkout may be in a directory that only root can enter.
	cp "$MEMDIAG" "$top_builddir/libmemdiag-agent.so" "$dir"
	built=$MEMDIAG
	MEMDIAG=$dir/memdiag
	is_unknown 'exec with other rights' 0 setpriv --reuid=65534 --clear-groups "$dir/clean"
	check 'a child with other rights: followed' runs 0 --profile=1 --follow-children -- \
		sh -c "setpriv --reuid=65534 --clear-groups '$dir/clean'; true"
	check 'a child with other rights: it says so' \
		test "$(grep -c 'cannot open the file for samples' "$dir/err")" = 1
	check 'a child with other rights: the program was profiled' sh -c "! grep -q '$unprofiled' '$dir/err'"
	MEMDIAG=$built
else
	check 'exec with other rights # SKIP not root' true
fi

check 'exec: it runs' runs 3 --profile=1 -- "$ends" exec
check 'exec: each program has a file' have 12345 12345
check 'exec: with a number of its own' sh -c "ls '$dir'/run/p.*.0.f0.* && ls '$dir'/run/p.*.1.f0.*"
check 'a shell that runs two: followed' runs 0 --profile=1 --follow-children -- sh -c "'$ends' fork; '$ends' kill; true"
check 'a shell that runs two: also who was killed has a file' test "$(files | wc -l)" -ge 3
check 'a shell that runs two: not followed, they have none' runs 0 --profile=1 -- sh -c "'$ends' fork; true"
check 'a shell that runs two: but the shell' test "$(files | wc -l)" = 1

# ---- a library that is loaded later ----

cat >"$dir/late.c" <<'END'
#include <stdlib.h>
void *late_keeper(size_t n) { void *volatile p = malloc(n); return p; }
END
cat >"$dir/loads.c" <<'END'
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	void *(*keeper)(size_t) = (void *(*)(size_t))dlsym(dlopen(argv[1], RTLD_NOW), "late_keeper");
	void *volatile p = keeper(4242);
	if (argc > 2) raise(SIGKILL);
	return !p;
}
END
${CC:-cc} -g -shared -fPIC -o "$dir/liblate.so" "$dir/late.c" && ${CC:-cc} -g -o "$dir/loads" "$dir/loads.c" -ldl ||
	skip_all "no compiler"
for how in '' kill; do
	check "a library that is loaded later ${how:+(SIGKILL)}" \
		runs "$([ -z "$how" ] && echo 0 || echo 137)" --profile=1 -- "$dir/loads" "$dir/liblate.so" $how
	check "a library that is loaded later: its functions have names ${how:+(SIGKILL)}" sh -c \
		"'$MEMDIAG' report --lines=0 '$(files)' | grep -q '4[.]1 KiB.*late_keeper'"
done

# ---- while it runs ----

rm -rf "$dir/run"
mkdir "$dir/run"
start_command "$MEMDIAG" run --profile=1 -o "$dir/run/p" -- "$sites" 2
child_of "$tracee_pid"
own=$child
check 'while it runs: it works' obeys 'play 1 2000 1'
check 'while it runs: a dump' exits 0 memdiag profile dump --pid "$own" -o "$dir/dump" --json
accounts >"$dir/accounts"
check 'while it runs: it is exact' agrees "$(json .data.file)"
check 'while it runs: status knows' exits 0 memdiag profile status --pid "$own" --json
check 'while it runs: as it says' json_is .data.is_profiling
check 'while it runs: it is counted as well' exits 0 memdiag status --pid "$own" --json
check 'while it runs: as it says, too' json_is .data.is_counting
check 'while it runs: the target lives on' end_tracee
check 'while it runs: and is exact at the end' agrees "$(files)"

start_command "$MEMDIAG" run -q --profile=1 -o "$dir/run/q" -- "$sites" 2
child_of "$tracee_pid"
own=$child
check 'quietly: nothing counts' exits 0 memdiag status --pid "$own" --json
check 'quietly: as it says' json_is '.data.is_counting == false'
check 'quietly: it works' obeys 'play 1 2000 1'
check 'quietly: it is stopped by hand' exits 0 memdiag profile stop --pid "$own" -o "$dir/stopped" --json
accounts >"$dir/accounts"
check 'quietly: it was exact' agrees "$(json .data.file)"
check 'quietly: it works on without samples' obeys 'play 2 2000 1'
check 'quietly: and begins again' exits 0 memdiag profile start --rate 1 --pid "$own"
check 'quietly: it works once more' obeys 'play 3 2000 1'
check 'quietly: and is stopped again' exits 0 memdiag profile stop --pid "$own" -o "$dir/stopped" --json
check 'quietly: with something in it' test -n "$(values "$(json .data.file)" allocated)"
check 'quietly: the target lives on' end_tracee

# ---- bad input ----

bad()
{
	local name="$1" words="$2"
	shift 2
	check "$name" exits_saying 125 "$words" memdiag run "$@" -- "$sites"
}
bad 'a rate of nothing' 'not a rate' --profile=0
bad 'a rate that is no size' 'fast' --profile=fast
bad 'a rate that is too large' 'not a rate' --profile=2T
bad 'a directory that is not there' 'cannot write a profile into' --profile -o "$dir/none/p"
bad 'names inside of nothing' 'is for a profile' --symbols-inside
check 'a directory that is removed meanwhile: said once, and the program ran' \
	runs 125 --profile=1 -- sh -c "rm -r '$dir/run'; echo ran"
check 'a directory that is removed meanwhile: it says so' grep -q 'No such file or directory' "$dir/err"
check 'a directory that is removed meanwhile: the program ran' grep -q '^ran$' "$dir/out"
check 'a static program is not started' exits 125 memdiag run --profile -o "$dir/p" -- "$TRACEES/idle-static"
mkdir "$dir/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=4096 none "$dir/small" 2>/dev/null; then
	# A file system of one page is full with one file.
	echo full >"$dir/small/there"
	check 'a full disk' exits_saying 125 'No space left' memdiag run --profile=1 -o "$dir/small/p" -- "$ends" return
	check 'a full disk: no half of a file is left' test "$(ls "$dir/small")" = there
	umount "$dir/small"
else
	check 'a full disk # SKIP no right to mount' true
fi
# Mappings are no blocks: none of them is a leak.
cat >"$dir/maps.c" <<'END'
#include <sys/mman.h>
int main(void)
{
	return mmap(0, 10 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}
END
${CC:-cc} -g -o "$dir/maps" "$dir/maps.c" || exit 99
check 'what is mapped is no leak' runs 0 --profile=1 --leak-check=1M --json -- "$dir/maps"
check 'nor in use' jq -e '.data.profile | .in_use_bytes == 0 and .allocated_bytes == 0 and .leaks == false' "$dir/err"
check 'nor of a record' runs 0 --profile --leak-check=1M --json -- "$dir/maps"
check 'nor in use there' jq -e '.data.profile | .in_use_bytes == 0 and .leaks == false' "$dir/err"
check 'it is in the file' sh -c "'$MEMDIAG' report --value=mapped --json '$(files)' | jq -e '[.data.rows[].flat] | add == 10485760'"
finish

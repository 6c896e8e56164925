#!/bin/sh
# Processes whose malloc is not libc's one and only: none was called yet, that of MALLOC_CHECK_, valgrind's, a second libc;
# memory of memfd_secret(); a root directory without /proc.  What is wrong, or not counted, is said in words.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq

cat >"$dir/unusual.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void fill(void *(*take)(size_t))
{
	for (int i = 0; i < 1000; i++)
		memset(take(10000), 1, 10000);
}

/* Without stdio, which calls malloc. */
static void ready_and_wait(void)
{
	char c;

	if (write(1, "ready\n", 6) == 6)
		while (read(0, &c, 1) > 0)
			;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "fill") == 0)
		fill(malloc);
	if (strcmp(what, "second") == 0) {
		void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
		void *(*take)(size_t) = libc ? (void *(*)(size_t))dlsym(libc, "malloc") : NULL;

		if (!take)
			return 1;
		fill(take);
	}
	if (strcmp(what, "chroot") == 0) {
		fill(malloc);
		if (chroot(argv[2]) || chdir("/"))
			return 1;
	}
	if (strcmp(what, "secret") == 0) {
		fill(malloc);
		const size_t bytes = 100 << 20;
		const int fd = (int)syscall(447, 0); /* memfd_secret, of all machines */
		char *at = fd >= 0 && ftruncate(fd, bytes) == 0
			? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
			: MAP_FAILED;

		if (at == MAP_FAILED)
			return 1;
		memset(at, 1, bytes);
	}
	ready_and_wait();
	return 0;
}
END
${CC:-cc} -o "$dir/unusual" "$dir/unusual.c" -ldl 2>"$dir/err" || skip_all 'no compiler'

# says EXIT WORDS COMMAND: memdiag COMMAND of the process ends with EXIT, and says WORDS.
says()
{
	# shellcheck disable=SC2086 # a verb, too
	exits "$1" memdiag $3 --pid "$tracee_pid" && grep -q "$2" "$dir/err"
}

start_command "$dir/unusual" nothing
for command in info heap trim; do
	check "$command of a program that has not called malloc says so" \
		says 5 'has no heap: it has not called malloc yet' $command
done
check 'maps of a program that has not called malloc works' exits 0 memdiag maps --pid "$tracee_pid"
end_tracee

library=$(ldconfig -p 2>/dev/null | sed -n 's/.*libc_malloc_debug.so.0 .*x86-64.* => //p' | head -n 1)
if [ -e "$library" ]; then
	start_command env LD_PRELOAD="$library" MALLOC_CHECK_=3 "$dir/unusual" fill
	for command in info trim; do
		check "$command of a program with MALLOC_CHECK_ says whose malloc it has" \
			says 5 'does not use glibc malloc but MALLOC_CHECK_ and mcheck()' $command
	done
	check 'heap of a program with MALLOC_CHECK_ says whose malloc it has' \
		says 5 'Its malloc is that of .*libc_malloc_debug' heap
	end_tracee
else
	skip 'a program with MALLOC_CHECK_' 'there is no libc_malloc_debug.so.0'
fi

if command -v valgrind >/dev/null; then
	start_command valgrind -q "$dir/unusual" fill
	check 'info of a program under valgrind says so' says 5 'It runs under valgrind' info
	check 'heap of a program under valgrind says so' says 5 'runs under valgrind' heap
	end_tracee
else
	skip 'a program under valgrind' 'it is not installed'
fi

if echo | "$dir/unusual" second >/dev/null; then
	start_command "$dir/unusual" second
	check 'info of a program with a second libc works' exits 0 memdiag info --pid "$tracee_pid" --json
	check 'info of a program with a second libc says that its memory is not counted' json_is \
		'any(.warnings[]; test("a second libc is loaded, .*what its malloc has is counted as not from malloc"))'
	end_tracee
else
	skip 'a program with a second libc' 'dlmopen() does not work here'
fi

if echo | "$dir/unusual" secret >/dev/null 2>&1; then
	start_command "$dir/unusual" secret
	check 'memory of memfd_secret() is shared memory' exits 0 memdiag maps --pid "$tracee_pid" --json
	check 'memory of memfd_secret() is a memfd' json_is \
		'[.data.groups[].parts[]? | select(.name == "memfd") | .rss_bytes] == [104857600]'
	check 'memory of memfd_secret() does not prevent info' exits 0 memdiag info --pid "$tracee_pid" --json
	check 'memory of memfd_secret() has the verdict of shared memory' json_is 'any(.verdicts[]; .id == "shared-memory")'
	end_tracee
else
	skip 'memory of memfd_secret()' 'this kernel has none'
fi
mkdir "$dir/empty"
if has_hooks && echo | "$dir/unusual" chroot "$dir/empty" >/dev/null; then
	start_command "$dir/unusual" chroot "$dir/empty"
	check 'record of a program that sees no /proc says so' says 1 'It sees no /proc' 'record start'
	check 'doctor of a program that sees no /proc says so' exits 2 memdiag doctor --pid "$tracee_pid"
	check 'doctor of a program that sees no /proc names the agent' \
		grep -q '^ *no *agent .*its root directory .* has no /proc' "$dir/out"
	end_tracee
else
	skip 'a program that sees no /proc' 'chroot() cannot be called here'
fi
finish

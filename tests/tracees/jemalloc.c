/*
 * jemalloc [THREADS] [PREFIX] [stdio]: a program with jemalloc, preloaded or linked, and as many
 * threads more that have used it.  Its first thread waits inside stdio if asked to.  It has its own
 * account, by mallctl():
 *
 *	fill KIB COUNT		allocate COUNT blocks of KIB and touch them: "filled"
 *	drop N			free every Nth of them, 1: all: "dropped"
 *	spin			from now on the threads allocate and free all the time: "spinning"
 *	rest			and no more: "resting"
 *	refresh			take new statistics: "refreshed"
 *	get NAME BYTES		what mallctl(NAME) answers: "NAME VALUE", or "NAME none"
 *	fresh			start a thread that never uses malloc: "fresh TID"
 */
#include "tracee.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define MAX_BLOCKS 1000000

#ifdef LINKED
/* Linked into the program, by the names mallctl or je_mallctl, malloc or je_malloc. */
int LINKED(const char *, void *, size_t *, void *, size_t);
#ifdef MALLOC
void *MALLOC(size_t);
void FREE(void *);
#define malloc MALLOC
#define free FREE
#endif
#endif

static int (*ctl)(const char *, void *, size_t *, void *, size_t);
static void *block[MAX_BLOCKS];
static size_t nr_blocks;
static atomic_int is_spinning;

static void *
work(void *arg)
{
	size_t size = 16;

	tracee_use_malloc();
	for (;;) {
		if (!atomic_load(&is_spinning)) {
			poll(NULL, 0, 10);
			continue;
		}
		void *volatile p = malloc(size);

		free(p);
		size = size < 300000 ? size + size / 2 : 16;
	}
	return arg;
}

static void *
idle(void *arg)
{
	tracee_use_malloc();
	*(atomic_int *)arg = 1;
	return tracee_wait_for_ever(NULL);
}

static void *
fresh(void *arg)
{
	*(atomic_int *)arg = (int)syscall(SYS_gettid);
	return tracee_wait_for_ever(NULL);
}

static void
fill(const char *line)
{
	unsigned long kib, count;

	if (sscanf(line, "%lu %lu", &kib, &count) != 2)
		tracee_fail("fill");
	for (; count && nr_blocks < MAX_BLOCKS; count--) {
		block[nr_blocks] = malloc(kib << 10);
		memset(block[nr_blocks++], 1, kib << 10);
	}
	tracee_say("filled");
}

static void
drop(const char *line)
{
	const size_t each = strtoul(line, NULL, 10);

	for (size_t i = 0; i < nr_blocks; i += each) {
		free(block[i]);
		block[i] = NULL;
	}
	if (each == 1)
		nr_blocks = 0;
	tracee_say("dropped");
}

static void
get(const char *line)
{
	char name[128];
	unsigned long bytes;
	uint64_t value = 0;
	size_t size;

	if (sscanf(line, "%127s %lu", name, &bytes) != 2)
		tracee_fail("get");
	size = bytes;
	if (ctl(name, &value, &size, NULL, 0) != 0)
		tracee_say("%s none", name);
	else
		tracee_say("%s %llu", name, (unsigned long long)value);
}

static void
refresh(void)
{
	uint64_t epoch = 1;
	size_t size = sizeof epoch;

	if (ctl("epoch", &epoch, &size, &epoch, size) != 0)
		tracee_fail("epoch");
	tracee_say("refreshed");
}

static void
obey(const char *line)
{
	static atomic_int started;

	if (strncmp(line, "fill ", 5) == 0) {
		fill(line + 5);
	} else if (strncmp(line, "drop ", 5) == 0) {
		drop(line + 5);
	} else if (strncmp(line, "get ", 4) == 0) {
		get(line + 4);
	} else if (strcmp(line, "refresh") == 0) {
		refresh();
	} else if (strcmp(line, "spin") == 0) {
		atomic_store(&is_spinning, 1);
		tracee_say("spinning");
	} else if (strcmp(line, "rest") == 0) {
		atomic_store(&is_spinning, 0);
		tracee_say("resting");
	} else if (strcmp(line, "fresh") == 0) {
		atomic_store(&started, 0);
		tracee_thread(fresh, &started);
		while (!atomic_load(&started))
			sched_yield();
		tracee_say("fresh %d", atomic_load(&started));
	} else {
		tracee_say("what is '%s'?", line);
	}
}

int
main(int argc, char **argv)
{
	const long nr_threads = tracee_number(argc, argv, 1, 0);
	static atomic_int started;
	char name[64], line[256];

	snprintf(name, sizeof name, "%smallctl", argc > 2 ? argv[2] : "");
#ifdef LINKED
	ctl = LINKED;
#else
	*(void **)&ctl = dlsym(RTLD_DEFAULT, name);
#endif
	if (!ctl)
		tracee_fail("no mallctl");
	for (long i = 0; i < nr_threads; i++) {
		atomic_store(&started, 0);
		tracee_thread(i % 2 ? work : idle, &started);
		while (i % 2 == 0 && !atomic_load(&started))
			sched_yield();
	}
	tracee_ready();
	while (argc > 3 ? tracee_command_in_stdio(line, sizeof line)
			: tracee_command(line, sizeof line))
		obey(line);
	return tracee_end();
}

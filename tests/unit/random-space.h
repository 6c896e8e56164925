/*
 * random-space: processes whose address spaces are put together at random
 * (tests/tracees/random-space.c), and what smaps says of them, read in another way than ours.
 */
#ifndef MEMDIAG_TESTS_RANDOM_SPACE_H
#define MEMDIAG_TESTS_RANDOM_SPACE_H

#include <stddef.h>

#include "child.h"
#include "glibc/threads.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/target.h"

struct line {
	uint64_t start, end, offset, rss, anonymous, swap, hugetlb, huge, locked;
	char prot[5], path[256], flags[160];
	bool has_file;
	uint64_t dirty; /* the kernel may write it to its file at any moment */
};

struct lines {
	struct line v[4096];
	size_t nr;
};

/* ---- smaps ---- */

/* The first line of a mapping into RET; false if TEXT is not one. */
static inline bool
line_parse(struct line *ret, const char *text)
{
	unsigned long start, end, offset, inode;
	unsigned int major, minor;
	struct line l = { 0 };
	int at = 0;

	if (sscanf(text, "%lx-%lx %4s %lx %x:%x %lu %n", &start, &end, l.prot, &offset, &major,
		    &minor, &inode, &at) != 7 ||
		!at)
		return false;
	l.start = start;
	l.end = end;
	l.offset = offset;
	l.has_file = major || minor || inode;
	snprintf(l.path, sizeof l.path, "%.250s", text + at);
	l.path[strcspn(l.path, "\n")] = '\0';
	*ret = l;
	return true;
}

static inline void
line_add_field(struct line *l, const char *text)
{
	char key[64];
	unsigned long kb;
	uint64_t *to;

	if (strncmp(text, "VmFlags:", 8) == 0)
		snprintf(l->flags, sizeof l->flags, "%.150s", text + 8);
	if (sscanf(text, "%63[^:]: %lu kB", key, &kb) != 2)
		return;
	to = strcmp(key, "Rss") == 0		    ? &l->rss
		: strcmp(key, "Anonymous") == 0	    ? &l->anonymous
		: strcmp(key, "Swap") == 0	    ? &l->swap
		: strcmp(key, "AnonHugePages") == 0 ? &l->huge
		: strcmp(key, "Locked") == 0	    ? &l->locked
		: strcmp(key, "Shared_Dirty") == 0  ? &l->dirty
		: strcmp(key, "Private_Dirty") == 0 ? &l->dirty
		: strstr(key, "_Hugetlb")	    ? &l->hugetlb
						    : NULL;
	if (to)
		*to += kb * 1024;
}

static inline bool
lines_read(pid_t pid, struct lines *ret)
{
	char name[64], text[8192];
	struct line *l = NULL, first;
	FILE *f;

	snprintf(name, sizeof name, "/proc/%d/smaps", pid);
	f = fopen(name, "r");
	ret->nr = 0;
	while (f && fgets(text, sizeof text, f)) {
		if (line_parse(&first, text)) {
			if (ret->nr == sizeof ret->v / sizeof *ret->v)
				break;
			l = &ret->v[ret->nr++];
			*l = first;
		} else if (l) {
			line_add_field(l, text);
		}
	}
	if (f)
		fclose(f);
	return f && ret->nr > 0;
}

/* Whether the mapping has what it had, but for what the kernel has cleaned. */
static inline bool
line_is_same(const struct line *a, const struct line *b)
{
	return memcmp(a, b, offsetof(struct line, dirty)) == 0;
}

/* The kernel's own page at a fixed address, which is in no sum. */
static inline bool
line_is_gate(const struct line *l)
{
	return strcmp(l->path, "[vsyscall]") == 0;
}

/* ---- the processes ---- */

struct random_space {
	unsigned long seed;
	const char *builddir, *dir; /* files go to DIR */
	char **kinds;		    /* of mappings, up to NULL; none: all kinds */
};

/* For child_start(): ARG is a struct random_space. */
static inline void
random_space_run(void *arg)
{
	const struct random_space *x = arg;
	char program[4096], seed[32];
	char *argv[64] = { program, seed, (char *)(uintptr_t)x->dir };

	snprintf(program, sizeof program, "%s/tests/tracees/random-space", x->builddir);
	snprintf(seed, sizeof seed, "%lu", x->seed);
	for (size_t i = 3; i < 63 && x->kinds[i - 3]; i++)
		argv[i] = x->kinds[i - 3];
	execv(program, argv);
}

/*
 * Until all threads of process PID wait for something: one that runs may come to pages that it had
 * not touched.
 */
static inline bool
random_space_settle(pid_t pid)
{
	auto_target struct target t = TARGET_NONE;
	auto_threads struct threads threads = { 0 };
	struct os_syscall syscall;
	struct err e;

	if (target_open(&t, pid, &e) < 0 || threads_list(&threads, &t, SIZE_MAX, &e) < 0)
		return false;
	for (size_t i = 0; i < threads.nr; i++)
		while (os_thread_syscall(&t, threads.v[i].tid, &syscall, &e) == 0 &&
			(syscall.is_running ||
				syscall.nr !=
					(threads.v[i].tid == t.pid ? SYS_read : CHILD_PAUSE_NR)))
			os_sleep_ns(100000);
	return true;
}

static inline void
random_space_remove(const char *dir)
{
	char line[4200];

	snprintf(line, sizeof line, "rm -rf '%s'", dir);
	if (system(line) != 0)
		printf("# %s stays\n", dir);
}

#endif

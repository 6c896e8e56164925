/*
 * count: what the tests of the agent share.  They run with the agent preloaded, and ask it what it
 * has counted.
 */
#ifndef MEMDIAG_TESTS_COUNT_H
#define MEMDIAG_TESTS_COUNT_H

#define _GNU_SOURCE 1 /* so include this first */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMDIAG_WEAK __attribute__((weak))
#include "memdiag.h"
#include "tap.h"
#include "wire/sites.h"
#include "wire/wire.h"

extern struct wire_segment *memdiag_agent_segment __attribute__((weak));
/* The sites of a profile; NULL if none is taken. */
extern struct wire_sites *memdiag_agent_sites __attribute__((weak));

/* So that no call is left out because nobody uses the block. */
static void *volatile block;

/* Allocate and free: a compiler leaves out free(malloc(n)). */
static inline void
take_and_free(size_t size)
{
	void *volatile p = malloc(size);

	free(p);
}

/* Whether malloc says so properly; clang takes it that malloc leaves errno alone. */
static inline bool
is_enomem(size_t size)
{
	errno = 0;
	block = malloc(size);
	__asm__ volatile("" : : : "memory");
	return !block && errno == ENOMEM;
}

static inline void
need_agent(void)
{
	static char buffer[1 << 16];

	if (!memdiag_live_bytes) {
		puts("Bail out! the agent is not here");
		exit(99);
	}
	/* Or the first line would allocate. */
	setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
}

/* Whether WORD is among the arguments. */
static inline bool
is_told(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], word) == 0)
			return true;
	return false;
}

static size_t count_before;

static inline void
begin_count(void)
{
	count_before = memdiag_live_bytes();
}

/* Whether WANT bytes are counted more than at begin_count(). */
static inline bool
counted(long want, const char *what)
{
	long got = (long)(memdiag_live_bytes() - count_before);

	if (!ok(got == want, "%s", what))
		printf("#   counted %ld, want %ld\n", got, want);
	return got == want;
}

/* As many small blocks as there are, each linked to the last. */
static inline size_t
take_all(size_t size, void **ret_chain)
{
	size_t nr = 0;
	void **p;

	*ret_chain = NULL;
	while ((p = (void **)malloc(size))) {
		*p = *ret_chain;
		*ret_chain = p;
		nr++;
	}
	return nr;
}

static inline void
give_all(void *chain)
{
	while (chain) {
		void *next = *(void **)chain;

		free(chain);
		chain = next;
	}
}

static inline long
resident_pages(void)
{
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY);
	long pages = 0;

	if (read(fd, text, sizeof text - 1) > 0)
		sscanf(text, "%*d %ld", &pages);
	close(fd);
	return pages;
}

#endif

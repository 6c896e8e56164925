/*
 * count: what the tests of the agent share.  They run with the agent preloaded, and ask it what it has
 * counted.
 */
#ifndef MEMDIAG_TESTS_COUNT_H
#define MEMDIAG_TESTS_COUNT_H

#define _GNU_SOURCE 1	/* so include this first */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memdiag.h"
#include "tap.h"

/* So that no call is left out because nobody uses the block. */
static void *volatile block;

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

#endif

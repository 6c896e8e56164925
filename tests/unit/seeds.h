/*
 * seeds: a unit test that tries random things, a sequence of its own for each seed.  The command
 * line, FIRST-SEED [NUMBER], or MEMDIAG_TEST_SEEDS="FIRST LAST" names other seeds than the fixed
 * ones.
 */
#ifndef MEMDIAG_TESTS_SEEDS_H
#define MEMDIAG_TESTS_SEEDS_H

#include <unistd.h>

#include "tap.h"

static uint64_t state;
static char why[1024];

/* End a function that returns false, and say why in a sentence. */
#define FAIL(...) (snprintf(why, sizeof why, __VA_ARGS__), false)

static inline uint64_t
some(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % below;
}

struct seeds {
	unsigned long first, nr;
};

/* The seeds to try, FEW fixed ones unless others are asked for. */
static inline struct seeds
seeds_of(int argc, char **argv, int few)
{
	struct seeds s = { 1, (unsigned long)tap_share(few) };
	const char *range = getenv("MEMDIAG_TEST_SEEDS");
	unsigned long last;

	if (argc < 3)
		alarm(300); /* for a loop that does not end */
	if (argc > 1)
		s.first = strtoul(argv[1], NULL, 0);
	else if (range && sscanf(range, "%lu %lu", &s.first, &last) == 2)
		s.nr = last - s.first + 1;
	if (argc > 2)
		s.nr = strtoul(argv[2], NULL, 0);
	return s;
}

/* TRY each seed; WHAT is so if all pass. */
static inline void
seeds_try(struct seeds s, bool (*try)(void), const char *what)
{
	size_t nr_failed = 0;

	for (unsigned long seed = s.first; seed < s.first + s.nr; seed++) {
		state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
		if (try())
			continue;
		if (nr_failed++ < 10)
			printf("# seed %lu: %s\n", seed, why);
		fflush(stdout);
	}
	is_u64(nr_failed, 0, what);
}

#endif

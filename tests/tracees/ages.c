/*
 * ages: blocks that are kept, and freed when it is asked to.
 *
 *	make SITE N BYTES	-> "done": N more blocks by site_SITE, 0 to 3, which stay
 *	drop SITE N		-> "done": the N oldest of site_SITE are freed
 *	turn SITE N		-> "done": N times the oldest is freed, and one of its size is made
 *	now			-> CLOCK_MONOTONIC in milliseconds
 */
#include "tracee.h"

#define NR_SITES 4
#define MAX_BLOCKS 4096

struct kept {
	void *at;
	size_t bytes;
};

static struct kept kept[NR_SITES][MAX_BLOCKS]; /* a ring for each site */
static size_t first[NR_SITES], nr[NR_SITES];

#if __has_attribute(noclone)
#define NOINLINE __attribute__((noinline, noclone, no_icf))
#else
#define NOINLINE __attribute__((noinline))
#endif
#define SITE(n)                                                                                    \
	static NOINLINE void *site_##n(size_t bytes)                                               \
	{                                                                                          \
		void *volatile block = malloc(bytes);                                              \
		return block;                                                                      \
	}
SITE(0)
SITE(1)
SITE(2)
SITE(3)

static void *(*const sites[NR_SITES])(size_t bytes) = { site_0, site_1, site_2, site_3 };

static void
make(size_t site, size_t bytes)
{
	struct kept *k = &kept[site][(first[site] + nr[site]++) % MAX_BLOCKS];

	if (nr[site] > MAX_BLOCKS)
		tracee_fail("too many blocks");
	*k = (struct kept){ sites[site](bytes), bytes };
}

static size_t
drop(size_t site)
{
	struct kept *k = &kept[site][first[site]];

	if (!nr[site])
		return 0;
	free(k->at);
	first[site] = (first[site] + 1) % MAX_BLOCKS;
	nr[site]--;
	return k->bytes;
}

static void
obey(const char *line)
{
	char word[16] = "";
	size_t site = 0, n = 0, bytes = 0;

	if (strcmp(line, "now") == 0) {
		tracee_say("%llu", (unsigned long long)(tracee_now_ns() / 1000000));
		return;
	}
	if (sscanf(line, "%15s %zu %zu %zu", word, &site, &n, &bytes) < 3 || site >= NR_SITES) {
		tracee_say("what is '%s'?", line);
		return;
	}
	/* All are made by one call, as another one would be another place. */
	while (n--) {
		if (strcmp(word, "make") != 0)
			bytes = drop(site);
		if (strcmp(word, "drop") != 0)
			make(site, bytes);
	}
	tracee_say("done");
}

int
main(void)
{
	char line[256];

	tracee_ready();
	while (tracee_command(line, sizeof line))
		obey(line);
	return tracee_end();
}

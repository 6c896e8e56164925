/*
 * ages: blocks that are kept, and freed when it is asked to.
 *
 *	make SITE N BYTES	-> "done": N more blocks by site_SITE, 0 to 3, which stay
 *	drop SITE N		-> "done": the N oldest of site_SITE are freed
 *	turn SITE N		-> "done": N times the oldest is freed, and one of its size is made
 *	play SEED STEPS		-> "done": another thread makes and frees blocks at random, and ends
 *	blocks FILE		-> "done": FILE has "ADDRESS BYTES SITE TID" of each block that is
 *				kept
 *	now			-> CLOCK_MONOTONIC in milliseconds
 */
#include "tracee.h"

#include <sys/syscall.h>

#define NR_SITES 4
#define MAX_BLOCKS 4096

struct kept {
	void *at;
	size_t bytes;
	long tid;
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
	*k = (struct kept){ sites[site](bytes), bytes, syscall(SYS_gettid) };
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

static unsigned int seed;
static size_t nr_steps;

static void *
play(void *arg)
{
	static const size_t sizes[] = { 1, 24, 25, 100, 1000, 5000, 70000, 200000, 3000000 };

	for (size_t i = 0; i < nr_steps; i++) {
		const size_t site = (size_t)rand_r(&seed) % NR_SITES;

		if (nr[site] == MAX_BLOCKS || (nr[site] && rand_r(&seed) % 5 < 2))
			drop(site);
		else
			make(site,
				sizes[(size_t)rand_r(&seed) % (sizeof sizes / sizeof *sizes)] +
					(size_t)rand_r(&seed) % 3);
	}
	return arg;
}

static void
play_in_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, play, NULL) != 0 || pthread_join(thread, NULL) != 0)
		tracee_fail("pthread_create");
	tracee_say("done");
}

static void
write_blocks(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		tracee_fail(path);
	for (size_t site = 0; site < NR_SITES; site++)
		for (size_t i = 0; i < nr[site]; i++) {
			const struct kept *k = &kept[site][(first[site] + i) % MAX_BLOCKS];

			fprintf(f, "%#lx %zu %zu %ld\n", (unsigned long)k->at, k->bytes, site,
				k->tid);
		}
	if (fclose(f) != 0)
		tracee_fail(path);
	tracee_say("done");
}

static void
obey(const char *line)
{
	char word[16] = "", path[240];
	size_t site = 0, n = 0, bytes = 0;

	if (sscanf(line, "blocks %239s", path) == 1) {
		write_blocks(path);
		return;
	}
	if (sscanf(line, "play %u %zu", &seed, &nr_steps) == 2) {
		play_in_thread();
		return;
	}
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

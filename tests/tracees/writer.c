/*
 * writer BLOCKS: two threads that write to each of BLOCKS blocks of their own in turn, all the
 * time.
 *
 *	count	-> rounds so far, of both
 *	check	-> "fine", or what is wrong: each block has the number of the round that wrote it
 */
#include "tracee.h"

#include <stdatomic.h>

#define NR_THREADS 2

struct block {
	struct block *next;
	unsigned long nr_rounds;
	char rest[32];
};

static struct block *volatile first[NR_THREADS];
static atomic_ulong nr_rounds[NR_THREADS];
static atomic_int is_wrong;

static void *
write_all(void *arg)
{
	const long thread = (long)(uintptr_t)arg;

	for (;;) {
		for (struct block *b = first[thread]; b; b = b->next) {
			if (b->nr_rounds != nr_rounds[thread])
				is_wrong = 1;
			b->nr_rounds++;
		}
		nr_rounds[thread]++;
	}
	return NULL;
}

static struct block *
make_blocks(long nr)
{
	struct block *last = NULL;

	for (long i = 0; i < nr; i++) {
		struct block *b = calloc(1, sizeof *b);

		if (!b)
			tracee_fail("calloc");
		b->next = last;
		last = b;
	}
	return last;
}

int
main(int argc, char **argv)
{
	const long nr = tracee_number(argc, argv, 1, 1000);
	char line[64];

	for (long i = 0; i < NR_THREADS; i++)
		first[i] = make_blocks(nr);
	for (long i = 0; i < NR_THREADS; i++)
		tracee_thread(write_all, (void *)(uintptr_t)i);
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (strcmp(line, "check") == 0)
			tracee_say("%s", is_wrong ? "a block was not written" : "fine");
		else
			tracee_say("%lu", nr_rounds[0] + nr_rounds[1]);
	}
	return tracee_end();
}

/*
 * grow: realloc() at a limit (on-limit=enomem), of whatever malloc: a block grows as long as there
 * is room, keeps what is in it, and is left as it was where there is none.
 */
#include "count.h"

static size_t limit;

/* Whether BLOCK becomes one of SIZE that counts for what it is. */
static void
resize(size_t size, const char *what)
{
	long was = (long)malloc_usable_size(block);

	begin_count();
	block = realloc(block, size);
	counted((long)malloc_usable_size(block) - was, what);
}

static void
try_room(void)
{
	block = malloc(100);
	memset(block, 7, 100);
	resize(100000, "a block that grows");
	resize(300000, "and again");
	resize(2000, "that shrinks");
	ok(((char *)block)[99] == 7, "what is in it is there");
	free(block);
}

/* The first NR of CHAIN. */
static void *
give_some(void *chain, size_t nr)
{
	while (nr-- && chain) {
		void *next = *(void **)chain;

		free(chain);
		chain = next;
	}
	return chain;
}

/* There is room for a larger block, but not for the most that one of that size may count for. */
static void
try_little_room(void)
{
	char *volatile p = malloc(1000);
	void *chain;
	long was;

	memset(p, 5, 1000);
	take_all(1000, &chain);
	chain = give_some(chain, 4);
	was = (long)malloc_usable_size(p);
	begin_count();
	p = realloc(p, 3000);
	ok(p && p[999] == 5, "a block grows into the little that is left");
	counted((long)malloc_usable_size(p) - was, "and counts for what it is");
	free(p);
	give_all(chain);
}

/* OLD becomes one of SIZE, or not; it counts for what it is then. */
static void *
try_resize(void *old, size_t size, const char *what)
{
	void *volatile kept = old; /* it may stay: the compiler thinks it is gone */
	long was = (long)malloc_usable_size(old);

	begin_count();
	block = realloc(old, size);
	counted(block ? (long)malloc_usable_size(block) - was : 0, what);
	return block ? block : kept;
}

static void
try_no_room(void)
{
	/* The former has a mapping of its own, whose pages are all that it can grow by. */
	char *volatile p = malloc(1000000), *volatile q = malloc(100);
	long before = 0, after;
	void *chain;

	memset(q, 5, 100);
	take_all(1000, &chain);
	chain = give_some(chain, 15);
	begin_count();
	for (int i = 0; i < 4000; i++) {
		if (i == 1000)
			before = resident_pages();
		block = realloc(q, 40000);
	}
	after = resident_pages();
	ok(!block && q[99] == 5, "a block is as it was when there is no room");
	counted(0, "and so is what is counted");
	ok(before && after - before < 1000,
		"what could not be used is not there: %ld pages, then %ld", before, after);
	q = try_resize(q, 20000, "one for which there may be room");
	give_all(chain);
	take_all(24, &chain);
	p = try_resize(p, malloc_usable_size(p) + 1, "a page more");
	free(p);
	free(q);
	give_all(chain);
}

int
main(void)
{
	size_t live;

	need_agent();
	limit = memdiag_limit_bytes();
	take_and_free(1000);
	live = memdiag_live_bytes();
	try_room();
	try_little_room();
	try_no_room();
	is_u64(memdiag_live_bytes(), live, "all is given back");
	ok(memdiag_peak_bytes() <= limit, "the limit was never passed");
	return tap_end();
}

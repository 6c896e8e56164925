/*
 * Mapped ranges, and their sites, against an array that has each page: ranges of all kinds at
 * random, by one thread and by several, and when it is full; and what the log gets of them.
 *
 *	agent-mapset [FIRST-SEED [SEEDS]]
 */
#include <config.h>

#include <pthread.h>
#include <sys/mman.h>

#include "tap.h"

static bool is_watched, is_stuck;

/* As if, once this thread has got the lock, another one found that it had waited for too long. */
static uint32_t
exchange(uint32_t *word, uint32_t to, int order)
{
	const uint32_t was = __atomic_exchange_n(word, to, order);

	if (!was && is_watched)
		is_stuck = true;
	return was;
}

#define __atomic_exchange_n exchange
#include "agent/note/mapset.c"
#undef __atomic_exchange_n

/* It calls functions of these files of the agent. */
#include "agent/base/mapping.c"
#include "agent/base/memory.c"
#include "agent/note/sites.c"

size_t agent_page_bytes = 4096;
__thread struct agent_self agent_self;
struct wire_segment *segment;
uint64_t segment_device;

#define PAGE ((uintptr_t)4096)
#define BASE ((uintptr_t)1 << 40)
#define NR_PAGES 300
#define NR_SITES 6
#define NR_THREADS 4

struct page {
	uint32_t site;	 /* from 1 on; 0: not known */
	uint32_t number; /* of the mapping */
	unsigned int state;
	uint64_t bytes;
};

/* Each thread has pages of its own, as the kernel hands addresses out. */
static struct play {
	struct page page[NR_PAGES];
	uint32_t number;
	unsigned int seed;
	uintptr_t base;
	uint64_t bytes[NR_SITES], mappings[NR_SITES];
} player[NR_THREADS];

static uint32_t site_of[NR_SITES];

/* ---- the log ---- */

/* What it says that is mapped, and of what it could say nothing. */
static struct {
	struct wire_amount live;
	bool is_wrong; /* a mapping was not as its event has it */
} logged[NR_SITES + WIRE_SITE_OF_NO_MAPPING + 1];
static uint32_t nr_dropped;

void
log_append_mapping(struct log_queue *q, enum wire_log_kind kind, uint32_t site, uint64_t bytes)
{
	struct wire_amount *live = &logged[site].live;
	const bool is_more = kind == WIRE_LOG_MAPPED || kind == WIRE_LOG_GROWN;

	if (q->place != LOG_PLACE_OF_MAPPINGS || !bytes ||
		(!is_more && (bytes > live->bytes || !live->units)) ||
		(kind == WIRE_LOG_GROWN && !live->units))
		logged[site].is_wrong = true;
	if (kind == WIRE_LOG_MAPPED || kind == WIRE_LOG_UNMAPPED)
		live->units += is_more ? WIRE_BLOCK_UNITS : 0 - (uint64_t)WIRE_BLOCK_UNITS;
	live->bytes += is_more ? bytes : 0 - bytes;
	if (!live->units != !live->bytes)
		logged[site].is_wrong = true;
}

void
log_drop(uint64_t bytes)
{
	(void)bytes;
	nr_dropped++;
}

/* Whether the log has, of all sites, what the sites have. */
static bool
log_is_right(void)
{
	for (uint32_t k = 0; k < NR_SITES; k++) {
		const struct wire_amount live = wire_site_live(wire_site(sites, site_of[k]));
		const struct wire_amount *l = &logged[site_of[k]].live;

		if (logged[site_of[k]].is_wrong || l->units != live.units || l->bytes != live.bytes)
			return false;
	}
	return nr_dropped == sites->nr_mappings_lost;
}

/* ---- sites ---- */

/* In a process that may have LIMIT_BYTES of addresses. */
static void
make_sites_limited(uint64_t limit_bytes)
{
	const struct wire_sites_size size = { 1000, 100 };
	const uint64_t bytes = wire_sites_make(NULL, &size);

	sites = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sites == MAP_FAILED)
		exit(99);
	wire_sites_make(sites, &size);
	for (uint32_t i = 0; i < NR_SITES; i++)
		site_of[i] = sites_of_mapping(sites_child(0, 1000 + i));
	memset(logged, 0, sizeof logged);
	nr_dropped = 0;
	if (!mapset_begin(limit_bytes))
		exit(99);
}

static void
make_sites(void)
{
	make_sites_limited(UINT64_MAX);
}

static uint32_t
some(struct play *p, uint32_t below)
{
	return (uint32_t)rand_r(&p->seed) % below;
}

static bool
counts(const struct page *p)
{
	return p->site && p->state & PAGE_COUNTS;
}

/* ---- the array ---- */

static void
put(struct play *p, uint32_t from, uint32_t nr)
{
	static const unsigned int states[] = { PAGE_MEMORY, PAGE_MEMORY | PAGE_COUNTS, PAGE_COPY,
		PAGE_COPY | PAGE_COUNTS, PAGE_NOTHING };
	const uint32_t half = some(p, nr + 1), site = some(p, NR_SITES),
		       less = some(p, 3) ? 0 : some(p, PAGE);
	const uintptr_t at = p->base + from * PAGE, end = at + nr * PAGE - less;
	struct mapset_part part[2] = { { at, at + half * PAGE, states[some(p, 5)] },
		{ at + half * PAGE, end, states[some(p, 5)] } };
	const size_t skip = half == 0;

	if (half == nr)
		part[0].end = end;
	mapset_put(at, at + nr * PAGE, part + skip, half == nr ? 1 : 2 - skip, site_of[site]);
	p->number++;
	for (uint32_t i = 0; i < nr; i++)
		p->page[from + i] = (struct page){ site + 1, p->number,
			part[half == nr ? 0 : i >= half].state, i == nr - 1 ? PAGE - less : PAGE };
	for (uint32_t i = 0; i < nr; i++)
		if (p->page[from + i].state == PAGE_NOTHING)
			p->page[from + i].site = 0;
}

/*
 * A call that unmaps, or fails to.  What another thread maps there meanwhile stays: in the array it
 * has another number.
 */
static void
leave(struct play *p, uint32_t from, uint32_t nr)
{
	const uint32_t last = p->number;
	const uintptr_t at = p->base + from * PAGE;
	const uint32_t call = 1 + some(p, UINT32_MAX / 2);
	const bool has_left = some(p, 2);

	mapset_leave(at, at + nr * PAGE, call);
	if (!some(p, 3))
		put(p, from, 1 + some(p, nr));
	mapset_end(at, at + nr * PAGE, call, has_left ? MAPSET_LEFT : MAPSET_STAYED);
	for (uint32_t i = from; has_left && i < from + nr; i++)
		if (p->page[i].number <= last)
			p->page[i].site = 0;
}

static void
protect(struct play *p, uint32_t from, uint32_t nr)
{
	static const int prots[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE };
	const int prot = prots[some(p, 3)];
	const uintptr_t at = p->base + from * PAGE;

	mapset_protect(at, at + nr * PAGE, prot);
	for (uint32_t i = from; i < from + nr; i++) {
		unsigned int *state = &p->page[i].state;

		if (*state & PAGE_MEMORY && prot == PROT_NONE)
			*state &= ~(unsigned int)PAGE_COUNTS;
		else if (*state & PAGE_MEMORY || prot & PROT_WRITE)
			*state |= PAGE_COUNTS;
	}
}

/* Whether what is known of the pages is what the array has. */
static bool
reads(struct play *p)
{
	struct mapset_part part[NR_PAGES];
	const size_t nr = mapset_read(p->base, p->base + NR_PAGES * PAGE, part, NR_PAGES);
	uint32_t i = 0;

	for (size_t k = 0; k < nr; k++) {
		for (; p->base + i * PAGE < part[k].start; i++)
			if (p->page[i].site)
				return false;
		for (; p->base + i * PAGE < part[k].end; i++)
			if (!p->page[i].site || p->page[i].state != part[k].state)
				return false;
	}
	for (; i < NR_PAGES; i++)
		if (p->page[i].site)
			return false;
	return true;
}

static bool
step(struct play *p)
{
	const uint32_t from = some(p, NR_PAGES), nr = 1 + some(p, NR_PAGES - from);

	switch (some(p, 8)) {
	case 0:
	case 1:
		put(p, from, nr);
		return true;
	case 2:
	case 3:
		put(p, from, nr < 10 ? nr : 10);
		return true;
	case 4:
		leave(p, from, nr);
		return true;
	case 5:
		leave(p, from, nr < 10 ? nr : 10);
		return true;
	case 6:
		protect(p, from, nr);
		return true;
	}
	return reads(p);
}

static void
sum_up(struct play *p)
{
	uint32_t seen = 0;

	memset(p->bytes, 0, sizeof p->bytes);
	memset(p->mappings, 0, sizeof p->mappings);
	for (uint32_t number = 1; number <= p->number; number++) {
		const uint32_t before = seen;
		uint32_t site = 0;

		for (uint32_t i = 0; i < NR_PAGES; i++)
			if (p->page[i].number == number && counts(&p->page[i])) {
				site = p->page[i].site - 1;
				p->bytes[site] += p->page[i].bytes;
				seen++;
			}
		p->mappings[site] += seen != before;
	}
}

/* Whether each site has what all players have. */
static bool
sums_are_right(int nr)
{
	uint64_t all = 0, all_mappings = 0;

	for (int i = 0; i < nr; i++)
		sum_up(&player[i]);
	for (uint32_t k = 0; k < NR_SITES; k++) {
		const struct wire_amount live = wire_site_live(wire_site(sites, site_of[k]));
		uint64_t bytes = 0, mappings = 0;

		for (int i = 0; i < nr; i++) {
			bytes += player[i].bytes[k];
			mappings += player[i].mappings[k];
		}
		if (live.bytes != bytes || live.units != mappings * WIRE_BLOCK_UNITS) {
			printf("# site %u: %" PRIu64 " of %" PRIu64 ", %" PRIu64 " of %" PRIu64
			       "\n",
				k, live.bytes, bytes, live.units / WIRE_BLOCK_UNITS, mappings);
			return false;
		}
		all += bytes;
		all_mappings += mappings;
	}
	return sites->mapped_bytes == (int64_t)all && sites->nr_mappings == (int64_t)all_mappings &&
		sites->mapped_peak_bytes >= sites->mapped_bytes && !sites->nr_mappings_lost;
}

/* ---- the tests ---- */

static void
begin_player(int i, unsigned int seed)
{
	player[i] = (struct play){ .seed = seed, .base = BASE + (uintptr_t)i * NR_PAGES * PAGE };
}

static void *
work(void *arg)
{
	struct play *p = arg;
	bool is_right = true;

	for (int i = 0; is_right && i < tap_share(4000); i++)
		is_right = step(p);
	return (void *)(uintptr_t)is_right;
}

static void
end_sites(void)
{
	mapset_forget();
	munmap(sites, sites->size_bytes);
}

static void
test_one(unsigned int seed)
{
	bool is_right = true;

	make_sites();
	begin_player(0, seed);
	for (int i = 0; is_right && i < tap_share(4000); i++)
		is_right = step(&player[0]) && (i % 50 || (sums_are_right(1) && log_is_right()));
	ok(is_right && sums_are_right(1), "seed %u: the sites have what each page says", seed);
	ok(log_is_right(), "seed %u: the log has the same", seed);
	mapset_put(BASE, BASE + NR_PAGES * PAGE, NULL, 0, 0);
	ok(!mapset_may_have() && !sites->mapped_bytes && !sites->nr_mappings,
		"seed %u: and nothing when nothing is mapped", seed);
	is_u64(pool.nr_free, pool.nr_used, "and all memory is free");
	end_sites();
}

static void
test_several(void)
{
	pthread_t thread[NR_THREADS];
	bool is_right = true;
	void *ret;

	make_sites();
	for (int i = 0; i < NR_THREADS; i++) {
		begin_player(i, 100 + (unsigned int)i);
		pthread_create(&thread[i], NULL, work, &player[i]);
	}
	for (int i = 0; i < NR_THREADS; i++) {
		pthread_join(thread[i], &ret);
		is_right &= ret != NULL;
	}
	ok(is_right, "each of several threads finds its own pages");
	ok(sums_are_right(NR_THREADS), "and the sites have the sum");
	ok(log_is_right(), "as the log has");
	end_sites();
}

static void
map_at(uintptr_t i)
{
	const uintptr_t at = BASE + 2 * i * PAGE;
	const struct mapset_part part = { at, at + PAGE, PAGE_MEMORY | PAGE_COUNTS };

	mapset_put(at, at + PAGE, &part, 1, site_of[0]);
}

/* None is near another. */
static void
test_many(void)
{
	make_sites();
	for (uintptr_t i = 0; i < 100000; i++)
		map_at(i * 7919 % 100000);
	is_u64((uint64_t)sites->nr_mappings, 100000, "a hundred thousand mappings");
	for (uintptr_t i = 0; i < 100000; i += 2)
		mapset_put(BASE + 2 * i * PAGE, BASE + (2 * i + 1) * PAGE, NULL, 0, 0);
	is_u64((uint64_t)sites->mapped_bytes, 50000 * PAGE, "of which half goes");
	end_sites();
}

static void
test_full(void)
{
	const uint64_t nr = LEAST_SLOTS / 2; /* each takes two */

	munmap(pool.slot, pool.nr * sizeof *pool.slot);
	pool.slot = NULL;
	make_sites_limited(1000);
	for (uintptr_t i = 0; i < LEAST_SLOTS; i++)
		map_at(i);
	is_u64((uint64_t)sites->nr_mappings, nr, "where it is full no more are known");
	is_u64(sites->nr_mappings_lost, LEAST_SLOTS - nr, "and the others count as lost");
	ok(log_is_right(), "also for the log");
	mapset_put(BASE, BASE + 4 * PAGE, NULL, 0, 0);
	map_at(LEAST_SLOTS);
	is_u64((uint64_t)sites->nr_mappings, nr - 1, "when some go there is room again");
	end_sites();
}

/* As if its holder had been ended in between. */
static void
test_lock(void)
{
	make_sites();
	map_at(0);
	lock_word = 1;
	map_at(1);
	map_at(2);
	is_u64(sites->nr_mappings_lost, 2, "with the lock held for good, calls are lost");
	lock_word = 0;
	map_at(3);
	is_u64((uint64_t)sites->nr_mappings, 2, "and are known again when it is given back");
	end_sites();
}

static void *
map_one(void *arg)
{
	(void)arg;
	map_at(1);
	return NULL;
}

static void
test_late_lock(void)
{
	pthread_t waiter;

	make_sites();
	map_at(0);
	is_watched = true;
	lock_word = 1;
	if (pthread_create(&waiter, NULL, map_one, NULL))
		exit(99);
	while (__atomic_load_n(&lock_word, __ATOMIC_RELAXED) != 2)
		;
	drop_lock();
	pthread_join(waiter, NULL);
	is_watched = false;
	is_u64(lock_word, 0, "who gets the lock late gives it back");
	is_u64((uint64_t)sites->nr_mappings, 2, "and has used it");
	end_sites();
}

int
main(int argc, char **argv)
{
	const unsigned int first = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	const unsigned int nr = argc > 2 ? (unsigned int)atoi(argv[2]) : 8;

	for (unsigned int i = 0; i < nr; i++)
		test_one(first + i);
	test_several();
	test_many();
	test_lock();
	test_late_lock();
	test_full();
	return tap_end();
}

/*
 * The tree of stacks and its counters, filled by many threads at once, against what each of them
 * has noted.
 */
#include <config.h>

#include <pthread.h>
#include <sys/mman.h>

#include "tap.h"

#include "agent/note/sites.c"

#define NR_THREADS 4
#define NR_STACKS 500
#define DEPTH 12

static void
make(uint32_t max_nodes, uint32_t max_sites)
{
	const struct wire_sites_size size = { max_nodes, max_sites };
	const uint64_t bytes = wire_sites_make(NULL, &size);

	sites = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sites == MAP_FAILED)
		exit(99);
	wire_sites_make(sites, &size);
	ok(wire_sites_is_valid(sites, bytes), "%u nodes, %u sites: valid", max_nodes, max_sites);
	ok(!wire_sites_is_valid(sites, bytes - 1), "and not if it is cut off");
}

/* ---- many threads ---- */

static struct wire_amount noted[NR_THREADS][NR_STACKS], gone[NR_THREADS][NR_STACKS];
static uint32_t site_of[NR_THREADS][NR_STACKS];

/* Frame I of stack number K; outer ones are shared. */
static uint64_t
frame(unsigned int k, unsigned int i)
{
	return 0x400000 + i * 0x1000 + (k >> (DEPTH - 1 - i));
}

static uint32_t
node_of(unsigned int k)
{
	uint32_t node = 0;

	for (unsigned int i = 0; i < DEPTH; i++)
		node = sites_child(node, frame(k, i));
	return node;
}

static void *
work(void *arg)
{
	const long id = (long)arg;
	unsigned int seed = (unsigned int)id + 1;

	for (int i = 0; i < tap_share(200000); i++) {
		const unsigned int k = (unsigned int)rand_r(&seed) % NR_STACKS;
		const struct wire_amount a = { WIRE_BLOCK_UNITS, (uint64_t)rand_r(&seed) % 100 };

		site_of[id][k] = sites_of(node_of(k));
		sites_add(site_of[id][k], a);
		noted[id][k].units += a.units;
		noted[id][k].bytes += a.bytes;
		if (rand_r(&seed) % 2)
			continue;
		sites_subtract(site_of[id][k], a, false);
		gone[id][k].units += a.units;
		gone[id][k].bytes += a.bytes;
	}
	return NULL;
}

static bool
is_path(uint32_t node, unsigned int k)
{
	for (unsigned int i = DEPTH; i--; node = wire_nodes(sites)[node].parent)
		if (!node || wire_nodes(sites)[node].address != frame(k, i))
			return false;
	return node == 0;
}

/*
 * What the sites of stack K have together: two threads that add it at the same moment may give it
 * two nodes, see sites_child().
 */
static void
sum_of(unsigned int k, struct wire_amount *allocated, struct wire_amount *freed)
{
	for (uint32_t i = 0; i < sites->nr_sites; i++) {
		const struct wire_site *s = wire_site(sites, i);

		if (!s->node || !is_path(s->node, k))
			continue;
		agent_sites_add(allocated, s->allocated);
		agent_sites_add(freed, s->freed);
	}
}

static void
test_threads(void)
{
	pthread_t thread[NR_THREADS];
	bool is_one = true, is_right = true, has_paths = true;
	uint64_t live = 0;

	make(100000, 10000);
	for (long i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	for (unsigned int k = 0; k < NR_STACKS; k++) {
		struct wire_amount in = { 0 }, out = { 0 }, allocated = { 0 }, freed = { 0 };

		for (int i = 0; i < NR_THREADS; i++) {
			agent_sites_add(&in, noted[i][k]);
			agent_sites_add(&out, gone[i][k]);
			is_one &= !noted[i][k].units || site_of[i][k] == sites_of(node_of(k));
		}
		live += in.bytes - out.bytes;
		sum_of(k, &allocated, &freed);
		is_right &= allocated.units == in.units && allocated.bytes == in.bytes &&
			freed.units == out.units && freed.bytes == out.bytes;
		has_paths &= is_path(node_of(k), k);
	}
	ok(is_one, "all threads find the same site for a stack");
	ok(is_right, "the counters of a stack are the sum of theirs");
	ok(has_paths, "and its nodes are the stack");
	is_u64((uint64_t)sites->live_bytes, live, "all that is live");
	munmap(sites, sites->size_bytes);
}

/* ---- the peak ---- */

/* One thread, so the snapshot is exact: compare with one that is copied at each new peak. */
static void
test_peak(void)
{
	uint64_t live[20] = { 0 }, at_peak[20] = { 0 }, sum = 0, peak = 0;
	unsigned int seed = 5;
	bool is_right = true;

	make(1000, 100);
	for (int i = 0; i < 20000; i++) {
		const unsigned int k = (unsigned int)rand_r(&seed) % 20;
		const struct wire_amount a = { WIRE_BLOCK_UNITS, (uint64_t)rand_r(&seed) % 1000 };
		const uint32_t site = sites_of(sites_child(0, 100 + k));

		if (live[k] >= a.bytes && rand_r(&seed) % 100 < 49) {
			sites_subtract(site, a, false);
			live[k] -= a.bytes;
			sum -= a.bytes;
		} else {
			sites_add(site, a);
			live[k] += a.bytes;
			sum += a.bytes;
		}
		if (sum > peak) {
			peak = sum;
			memcpy(at_peak, live, sizeof live);
		}
	}
	for (unsigned int k = 0; k < 20; k++) {
		const struct wire_site *s = wire_site(sites, sites_of(sites_child(0, 100 + k)));

		is_right &= wire_site_peak(sites, s).bytes == at_peak[k];
	}
	is_u64((uint64_t)sites->peak_bytes, peak, "the most that was live");
	ok(is_right, "and what each site had then");
	munmap(sites, sites->size_bytes);
}

/* ---- no room ---- */

static void
test_full(void)
{
	uint32_t last = 0;
	uint64_t sum = 0;

	make(100, 50);
	for (uint64_t i = 0; i < 1000; i++) {
		const uint32_t node = sites_child(0, 1000 + i);

		last = sites_of(node);
		sites_add(last, (struct wire_amount){ WIRE_BLOCK_UNITS, 10 });
	}
	is_u64(last, WIRE_SITE_OF_NONE, "where there is no room, the site of none");
	is_u64(sites_of_mapping(sites_child(0, 5000)), WIRE_SITE_OF_NO_MAPPING,
		"and that of no mapping");
	is_u64(sites_child(0, 1000), 1, "what was there is found");
	is_u64(sites_child(UINT32_MAX, 1), UINT32_MAX, "of no node there is no child");
	for (uint32_t i = 0; i < 50; i++)
		sum += wire_site(sites, i)->allocated.bytes;
	is_u64(sum, 10000, "and nothing is missing from the sum");
	munmap(sites, sites->size_bytes);
}

static void
test_classes(void)
{
	uint64_t last = 0;
	bool is_right = true;

	for (uint64_t size = 0; size < 100000; size++) {
		const uint64_t class = wire_size_class(size);

		is_right &= class >= size && class >= last && wire_size_class(class) == class &&
			(size < 16 || class <= size + size / 4 + 1);
		last = class;
	}
	ok(is_right, "a class has the sizes up to it, no more than a quarter below");
	is_u64(wire_size_class((UINT64_C(1) << 46) - 1), UINT64_C(1) << 46, "of large blocks");
}

static void
test_fit(void)
{
	const struct wire_sites_size most = { UINT32_C(1) << 22, UINT32_C(1) << 20, 4096 };
	struct wire_sites_size size = sites_fit(most, UINT64_MAX);

	ok(size.max_nodes == most.max_nodes && size.max_sites == most.max_sites,
		"without a limit there is as much as is asked for");
	size = sites_fit(most, UINT64_C(64) << 20);
	ok(wire_sites_make(NULL, &size) <= UINT64_C(64) << 20, "no more than the limit");
	size.max_nodes *= 2;
	size.max_sites *= 2;
	size.nr_log_blocks *= 2;
	ok(wire_sites_make(NULL, &size) > UINT64_C(64) << 20, "and no less than that");
	size = sites_fit(most, 0);
	ok(wire_sites_make(NULL, &size) <= UINT64_C(4) << 20, "4 MiB at most in any case");
	ok(!size.nr_log_blocks, "without a log");
	ok(size.max_nodes >= 65536 && size.max_sites >= 8192, "and some");
	size = sites_fit((struct wire_sites_size){ 100, 10 }, 0);
	ok(size.max_nodes == 100 && size.max_sites == 10, "never more than is asked for");
}

int
main(void)
{
	test_fit();
	test_threads();
	test_peak();
	test_full();
	test_classes();
	return tap_end();
}

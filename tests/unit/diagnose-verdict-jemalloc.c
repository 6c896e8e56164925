/* Each verdict about jemalloc by facts that cause it alone, none by a healthy program. */
#include <config.h>

#include <string.h>

#include "tap.h"
#include "diagnose/verdict-jemalloc.h"
#include "diagnose/verdict.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static const struct verdict_facts process = {
	.pid = 4711, .nr_cpus = 4, .virt_bytes = 1500 * MIB, .rss_bytes = 400 * MIB
};
static const struct verdict_jemalloc healthy = { .allocated_bytes = 250 * MIB,
	.cached_bytes = 10 * MIB,
	.between_bytes = 30 * MIB,
	.free_bytes = 30 * MIB,
	.other_bytes = 50 * MIB,
	.retained_bytes = 500 * MIB };

static struct verdict v[VERDICT_MAX];

static size_t
judge(const struct verdict_jemalloc *j)
{
	struct verdict_facts f = process;

	return verdict_judge_jemalloc(&f, j, v);
}

/* J gives the one verdict ID, about BYTES, with WORDS in its text and ACTION in its actions. */
static void
only(const struct verdict_jemalloc *j, const char *id, uint64_t bytes, const char *words,
	const char *action)
{
	const size_t nr = judge(j);

	if (!ok(nr == 1 && strcmp(v[0].id, id) == 0 && v[0].bytes == bytes, "%s: it alone", id))
		printf("# %zu: %s %llu\n", nr, nr ? v[0].id : "-", (unsigned long long)v[0].bytes);
	ok(nr && strstr(v[0].text, words), "%s: says %s", id, words);
	ok(nr && (strstr(v[0].action[0], action) || strstr(v[0].action[1], action)),
		"%s: advises %s", id, action);
}

int
main(void)
{
	struct verdict_jemalloc j = healthy;

	ok(judge(&healthy) == 0, "healthy: no verdict");
	j.allocated_bytes = 300 * MIB;
	only(&j, "live-large", 300 * MIB, "75 %", "memdiag diff");
	j.has_prof = true;
	only(&j, "live-large", 300 * MIB, "75 %", "MALLOC_CONF=prof:true,prof_active:false");
	j.is_prof_on = true;
	only(&j, "live-large", 300 * MIB, "75 %", "memdiag profile --seconds 60 -p 4711");
	j.allocated_bytes = 256 * MIB - 1;
	ok(judge(&j) == 0, "live-large: not below 256 MiB");
	j = healthy;
	j.free_bytes = 40 * MIB;
	only(&j, "retained", 40 * MIB, "yet", "memdiag trim -p 4711");
	j.never_decays = true;
	only(&j, "retained", 40 * MIB, "dirty_decay_ms:-1", "dirty_decay_ms:10000");
	j = healthy;
	j.between_bytes = 60 * MIB;
	only(&j, "fragmented", 60 * MIB, "active minus allocated", "activedefrag");
	j.free_bytes = 70 * MIB;
	only(&j, "retained", 70 * MIB, "whole pages", "memdiag trim");
	j = healthy;
	j.cached_bytes = 20 * MIB;
	only(&j, "cache-retained", 20 * MIB, "caches of threads", "tcache_max");
	j = healthy;
	j.retained_bytes = GIB;
	only(&j, "virt-only", GIB, "not resident", "RSS");
	ok(v[0].rank == VERDICT_OF_ADDRESSES, "virt-only: of addresses");
	j = healthy;
	j.other_bytes = 250 * MIB;
	only(&j, "other-allocator", 250 * MIB, "250.0 MiB", "memdiag maps");
	return tap_end();
}

/*
 * Our sums beside the kernel's counters.  They are equal on a process that stands still; where they
 * are not, the difference has a name.
 */
#include <config.h>

#include "maps/maps.h"

#include <stdlib.h>

/*
 * Before 6.16 VmRSS is read without the part that each CPU (6.2+) or thread (before) still holds
 * back: at most a batch of max(32, 2 * CPUs) pages a CPU for each of three counters
 * (lib/percpu_counter.c), or 64 pages a thread (mm/memory.c, SPLIT_RSS).
 */
static uint64_t
skew_bytes(const struct space *s)
{
	uint64_t cpus = (uint64_t)os_nr_cpus();
	uint64_t batch = 2 * cpus > 32 ? 2 * cpus : 32;
	uint64_t per_thread = 64 * (uint64_t)s->after.nr_threads;
	uint64_t pages = batch * cpus > per_thread ? batch * cpus : per_thread;

	return 3 * pages * 4096;
}

static uint64_t
apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

struct list {
	const struct space *s;
	struct identity *v;
	size_t nr;
};

/*
 * Add one: ours, and the kernel's counter before and after we counted.  OTHERWISE is the reason
 * that is to be given when the counter stood still, NULL if there is none.
 */
static void
add(struct list *list, const char *name, uint64_t ours, uint64_t before, uint64_t after,
	const char *otherwise)
{
	struct identity *i = &list->v[list->nr++];

	*i = (struct identity){ .name = name, .ours_bytes = ours, .kernel_bytes = after };
	if (ours == before)
		i->kernel_bytes = before;
	if (ours == i->kernel_bytes)
		return;
	/* A counter may have gone up and come back. */
	if (before != after || list->s->has_faulted || list->s->maps.torn_bytes)
		i->explained_by = "changed while it was read";
	else
		i->explained_by = otherwise ? otherwise : "not explained";
}

/* Why RSS may differ on a process that stands still. */
static const char *
rss_reason(const struct space *s)
{
	if (s->rss_from == SPACE_RSS_PAGEMAP)
		return "pagemap cannot tell zero pages, and PROT_NONE was left out";
	if (s->totals.rss_bytes != s->after.vm_rss_bytes &&
		apart(s->totals.rss_bytes, s->after.vm_rss_bytes) <= skew_bytes(s))
		return "the kernel's counters lag behind (before Linux 6.16)";
	return NULL;
}

static const char *
swap_reason(const struct space *s)
{
	if (s->rss_from == SPACE_RSS_SMAPS)
		return "smaps counts swapped shared memory, VmSwap does not";
	if (s->totals.swap_bytes > s->after.vm_swap_bytes)
		return "guard pages look like swapped ones (before Linux 6.15)";
	return NULL;
}

size_t
space_identities(const struct space *s, struct identity ret[NR_IDENTITIES])
{
	const struct space_totals *t = &s->totals;
	const struct os_status *b = &s->before, *a = &s->after;
	const struct maps *m = &s->maps;
	struct list list = { s, ret, 0 };

	add(&list, "VmSize", t->virt_bytes, m->size_before_bytes, m->size_after_bytes, NULL);
	if (s->rss_from == SPACE_RSS_NONE)
		return list.nr;
	add(&list, "VmRSS", t->rss_bytes, b->vm_rss_bytes, a->vm_rss_bytes, rss_reason(s));
	add(&list, "VmSwap", t->swap_bytes, b->vm_swap_bytes, a->vm_swap_bytes, swap_reason(s));
	add(&list, "HugetlbPages", t->hugetlb_bytes, b->hugetlb_bytes, a->hugetlb_bytes, NULL);
	if (!s->has_kinds)
		return list.nr;
	add(&list, "RssAnon", t->rss_anon_bytes, b->rss_anon_bytes, a->rss_anon_bytes,
		rss_reason(s));
	add(&list, "RssFile", t->rss_file_bytes, b->rss_file_bytes, a->rss_file_bytes,
		rss_reason(s));
	add(&list, "RssShmem", t->rss_shmem_bytes, b->rss_shmem_bytes, a->rss_shmem_bytes,
		rss_reason(s));
	return list.nr;
}

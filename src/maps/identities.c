/*
 * Comparison of our sums with the kernel's counters.  They are equal if the process is stopped;
 * each difference has a name.
 */
#include <config.h>

#include "maps/identities.h"

#include "maps/leaf-pages.h"
#include "os/machine.h"
#include "os/status.h"

static uint64_t
identities_apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

struct identities_list {
	const struct space *s;
	struct identity *v;
	size_t nr;
};

/*
 * Add an identity: our sum, and the kernel's counter before and after the count.  OTHERWISE is the
 * reason for a difference if the counter did not change, NULL if unknown.
 */
static void
identities_add(struct identities_list *list, const char *name, uint64_t ours, uint64_t before,
	uint64_t after, const char *otherwise)
{
	struct identity *i = &list->v[list->nr++];

	*i = (struct identity){ .name = name, .ours_bytes = ours, .kernel_bytes = after };
	if (ours == before)
		i->kernel_bytes = before;
	if (ours == i->kernel_bytes)
		return;
	/* A counter may have changed and returned. */
	if (before != after || list->s->has_faulted || list->s->process->maps.torn_bytes)
		i->explained_by = "changed while it was read";
	else
		i->explained_by = otherwise ? otherwise : "not explained";
}

static bool
has_passed_over(const struct space *s)
{
	const struct regions *m = &s->process->maps;

	for (size_t i = 0; i < m->nr; i++)
		if (leaf_pages_pass_over(&m->region[i]))
			return true;
	return false;
}

/*
 * Return whether OURS equals the kernel's value from NR_COUNTERS counters, except for amounts that
 * threads and CPUs have not added yet.
 */
static bool
is_lag(const struct space *s, unsigned int nr_counters, uint64_t ours, uint64_t kernel)
{
	return ours != kernel &&
		identities_apart(ours, kernel) <=
		nr_counters * (os_rss_lag(s->linux_version, (uint64_t)s->after.nr_threads) / 3);
}

#define LAG "the kernel's counters lag behind (before Linux 6.16)"

/*
 * Return why RSS may differ for a process that is stopped.  RSS is the sum of three counters
 * (anonymous memory, files, shared memory).
 */
static const char *
rss_reason(const struct space *s)
{
	const uint64_t ours = s->totals.rss_bytes, kernel = s->after.vm_rss_bytes;

	if (is_lag(s, 3, ours, kernel))
		return LAG;
	if (s->counts_zero && ours > kernel)
		return "zero pages count as resident: CAP_SYS_ADMIN and /proc/kpageflags show them";
	if (s->rss_from == SPACE_RSS_PAGEMAP && ours < kernel && has_passed_over(s))
		return "PROT_NONE mappings of more than 1 GiB were not counted";
	return NULL;
}

/*
 * Return why swap may differ.  Guard pages (MADV_GUARD_INSTALL) exist since 6.13, and are visible
 * since 6.15.
 */
static const char *
swap_reason(const struct space *s)
{
	const uint64_t ours = s->totals.swap_bytes, kernel = s->after.vm_swap_bytes;
	const bool may_be_guards = ours > kernel && s->linux_version >= OS_LINUX(6, 13) &&
		s->linux_version < OS_LINUX(6, 15);

	if (s->rss_from == SPACE_RSS_SMAPS)
		return "smaps counts swapped shared memory, VmSwap does not";
	if (may_be_guards && is_lag(s, 1, ours, kernel))
		return "guard pages look like swapped ones, or the kernel's counter lags behind "
		       "(before Linux 6.15)";
	if (may_be_guards)
		return "guard pages look like swapped ones (before Linux 6.15)";
	if (is_lag(s, 1, ours, kernel))
		return LAG;
	if (s->rss_from == SPACE_RSS_PAGEMAP && ours < kernel && has_passed_over(s))
		return "PROT_NONE mappings of more than 1 GiB were not counted";
	return NULL;
}

size_t
space_identities(const struct space *s, struct identity ret[NR_IDENTITIES])
{
	const struct space_totals *t = &s->totals;
	const struct os_status *b = &s->before, *a = &s->after;
	const struct regions *m = &s->process->maps;
	struct identities_list list = { s, ret, 0 };

	if (s->file)
		return 0;
	identities_add(
		&list, "VmSize", t->virt_bytes, m->size_before_bytes, m->size_after_bytes, NULL);
	if (s->rss_from == SPACE_RSS_NONE)
		return list.nr;
	identities_add(
		&list, "VmRSS", t->rss_bytes, b->vm_rss_bytes, a->vm_rss_bytes, rss_reason(s));
	identities_add(
		&list, "VmSwap", t->swap_bytes, b->vm_swap_bytes, a->vm_swap_bytes, swap_reason(s));
	identities_add(
		&list, "HugetlbPages", t->hugetlb_bytes, b->hugetlb_bytes, a->hugetlb_bytes, NULL);
	if (!s->has_kinds)
		return list.nr;
	identities_add(&list, "RssAnon", t->rss_anon_bytes, b->rss_anon_bytes, a->rss_anon_bytes,
		rss_reason(s));
	identities_add(&list, "RssFile", t->rss_file_bytes, b->rss_file_bytes, a->rss_file_bytes,
		rss_reason(s));
	identities_add(&list, "RssShmem", t->rss_shmem_bytes, b->rss_shmem_bytes,
		a->rss_shmem_bytes, rss_reason(s));
	return list.nr;
}

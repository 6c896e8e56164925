#include <config.h>

#include "account/processes.h"

#include <stdlib.h>
#include <string.h>

#include "account/sums.h"
#include "maps/leaves.h"

/* Return the column of a group.  Every group has one, so that the columns add up to RSS. */
static enum process_part
part_of(enum group g)
{
	switch (g) {
	case GROUP_STACK:
		return PART_STACK;
	case GROUP_HEAP:
		return PART_HEAP;
	case GROUP_SHM:
		return PART_SHM;
	case GROUP_EXE:
	case GROUP_SO:
	case GROUP_FILE:
	case GROUP_KERNEL:
		return PART_FILES;
	default:
		return PART_ANON;
	}
}

static void
processes_add_space(struct process_sum *sum, const struct space *s, const struct selection *sel)
{
	const struct row all = row_of_all(s, sel);
	struct space_sums sums;

	space_sums(&sums, s, sel);
	for (int g = 0; g < NR_GROUPS; g++)
		sum->part_bytes[part_of((enum group)g)] += sums.group[g].rss_bytes;
	sum->nr_mappings = sums.nr_mappings;
	sum->virt_bytes = all.sum.size_bytes;
	for (int x = 0; x < NR_EXTRAS; x++) {
		sum->has_extra[x] = extra_is_known(s, (enum extra)x);
		sum->extra_bytes[x] = all.sum.extra_bytes[x];
	}
	sum->has_parts = s->rss_from != SPACE_RSS_NONE;
	if (sum->has_parts) {
		sum->rss_bytes = all.sum.rss_bytes;
		sum->swap_bytes = all.sum.swap_bytes;
		sum->hugetlb_bytes = all.sum.hugetlb_bytes;
	}
}

struct process_sum
process_sum_of(const struct target *t, const struct space *s, const struct selection *sel,
	const struct os_status *status)
{
	struct process_sum sum = {
		.pid = t->pid,
		.virt_bytes = status->vm_size_bytes,
		.rss_bytes = status->vm_rss_bytes,
		.swap_bytes = status->vm_swap_bytes,
		.hugetlb_bytes = status->hugetlb_bytes,
	};

	snprintf(sum.name, sizeof sum.name, "%s", t->comm);
	if (s)
		processes_add_space(&sum, s, sel);
	return sum;
}

struct process_sum
process_sums_total(const struct process_sums *sums)
{
	struct process_sum total = { .name = "total", .has_parts = true };

	for (int x = 0; x < NR_EXTRAS; x++)
		total.has_extra[x] = true;
	for (size_t i = 0; i < sums->nr; i++) {
		const struct process_sum *sum = &sums->v[i];

		total.virt_bytes += sum->virt_bytes;
		total.rss_bytes += sum->rss_bytes;
		total.swap_bytes += sum->swap_bytes;
		total.hugetlb_bytes += sum->hugetlb_bytes;
		total.nr_mappings += sum->nr_mappings;
		total.has_parts &= sum->has_parts;
		for (int part = 0; part < NR_PROCESS_PARTS; part++)
			total.part_bytes[part] += sum->part_bytes[part];
		for (int x = 0; x < NR_EXTRAS; x++) {
			total.has_extra[x] &= sum->has_extra[x];
			total.extra_bytes[x] += sum->extra_bytes[x];
		}
	}
	return total;
}

/* ---- order ---- */

static uint64_t
processes_key_of(const struct process_sum *sum, enum rows_sort sort)
{
	switch (sort) {
	case SORT_VIRT:
		return sum->virt_bytes;
	case SORT_SWAP:
		return sum->swap_bytes;
	case SORT_HUGETLB:
		return sum->hugetlb_bytes;
	case SORT_COUNT:
		return sum->nr_mappings;
	case SORT_PSS:
	case SORT_USS:
	case SORT_DIRTY:
	case SORT_LOCKED:
	case SORT_THP:
		return sum->extra_bytes[sort - SORT_PSS];
	default:
		return sum->rss_bytes;
	}
}

static int
compare_sums(const void *x, const void *y, void *arg)
{
	const struct process_sum *a = x, *b = y;
	enum rows_sort sort = *(const enum rows_sort *)arg;
	uint64_t ka = processes_key_of(a, sort), kb = processes_key_of(b, sort);
	int by_name = sort == SORT_NAME ? strcmp(a->name, b->name) : 0;

	if (by_name)
		return by_name;
	return ka != kb ? (ka < kb) - (ka > kb) : (a->pid > b->pid) - (a->pid < b->pid);
}

void
process_sums_sort(struct process_sums *sums, enum rows_sort sort)
{
	if (sums->nr)
		qsort_r(sums->v, sums->nr, sizeof *sums->v, compare_sums, &sort);
}

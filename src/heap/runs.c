/*
 * A long unsorted bin.  Following it would copy most of the heap a second time, or many times if
 * its order is random.  But chunks that were freed in the order of their addresses are in the same
 * order in the list and in memory: the walk stores one run for all of them, and at its end the list
 * is followed from run to run.  In random order each chunk is a run.
 *
 *	in memory:	a  b  c  .  d  e  .  f
 *	runs:		[a  b  c]   [d  e]   [f]
 *	the list:	head -> d -> e -> a -> b -> c -> head;  f is in another bin
 */
#include <config.h>

#include "heap/runs.h"

#include "base/array.h"

#include <stdlib.h>

/* Some 10 MiB.  With more runs the list is followed anyway. */
#define RUNS_MAX (UINT64_C(1) << 17)

struct free_run *
runs_begin(struct free_runs *r, uint64_t chunk, uint64_t fd, unsigned int bin)
{
	struct free_run *run = r->nr < RUNS_MAX ? array_add(r) : NULL;

	r->has_too_many = !run;
	if (!run)
		return NULL;
	*run = (struct free_run){ .low = chunk, .entry = chunk, .exit = fd, .bin = bin };
	r->is_open = true;
	return run;
}

void
runs_close(struct free_runs *r)
{
	r->is_open = false;
}

static int
by_low(const void *a, const void *b)
{
	const struct free_run *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

/* Return the run that contains CHUNK; NULL if not found. */
static struct free_run *
runs_run_at(const struct free_runs *r, uint64_t chunk)
{
	size_t from = 0, to = r->nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (r->v[mid].high < chunk)
			from = mid + 1;
		else
			to = mid;
	}
	return from < r->nr && r->v[from].low <= chunk ? &r->v[from] : NULL;
}

bool
runs_follow(struct free_runs *r, uint64_t head, uint64_t first)
{
	if (r->nr)
		qsort(r->v, r->nr, sizeof *r->v, by_low);
	for (uint64_t chunk = first; chunk != head;) {
		struct free_run *run = runs_run_at(r, chunk);

		if (!run || run->entry != chunk || run->is_unsorted)
			return false;
		run->is_unsorted = true;
		chunk = run->exit;
	}
	return true;
}

bool
runs_sum_up(const struct free_runs *r, struct heap_bin bin[HEAP_NR_BINS])
{
	bool is_sound = true;

	for (size_t i = 0; i < r->nr; i++) {
		const struct free_run *run = &r->v[i];
		struct heap_bin *sums = &bin[run->is_unsorted || !run->bin ? 0 : run->bin - 1];

		/* A run with sizes of several bins can only be in the unsorted bin. */
		is_sound &= run->is_unsorted || run->bin;
		if (!sums->count || run->sums.from_bytes < sums->from_bytes)
			sums->from_bytes = run->sums.from_bytes;
		if (run->sums.to_bytes > sums->to_bytes)
			sums->to_bytes = run->sums.to_bytes;
		sums->total_bytes += run->sums.total_bytes;
		sums->count += run->sums.count;
	}
	return is_sound;
}

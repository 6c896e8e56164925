/* Marks: free chunks that were found in lists, sorted by address. */
#include <config.h>

#include "heap/marks.h"

#include "base/array.h"
#include "heap/memory.h"
#include "heap/pages-priv.h"

#include <errno.h>
#include <stdlib.h>

#define SORTED_AT_ONCE 4096

int
marks_add(struct marks *m, uint64_t chunk, uint64_t raw, enum mark_kind kind, struct err *e)
{
	struct mark *mark = array_add(m);

	if (!mark)
		return err_set(e, ENOMEM, "cannot list the free chunks");
	*mark = (struct mark){ .chunk_and_kind = chunk | (uint64_t)kind, .raw = raw };
	return 0;
}

static int
by_chunk(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return x->chunk_and_kind < y->chunk_and_kind ? -1 : x->chunk_and_kind > y->chunk_and_kind;
}

/* Merge the two sorted halves of FROM, the first of NR_FIRST, into TO, if there is time. */
static void
marks_merge(struct mark *to, const struct mark *from, size_t nr_first, size_t nr, struct reader *r)
{
	size_t a = 0, b = nr_first;

	for (size_t i = 0; i < nr; i++) {
		if (!(i & 0xffff) && reader_is_late(r))
			return;
		to[i] = b == nr || (a < nr_first && by_chunk(&from[a], &from[b]) <= 0) ? from[a++]
										       : from[b++];
	}
}

/*
 * Sort in steps: qsort() cannot be interrupted at the deadline, but a few marks take little time.
 */
int
marks_sort(struct marks *m, struct reader *r, struct err *e)
{
	struct mark *spare = m->nr > SORTED_AT_ONCE ? calloc(m->nr, sizeof *spare) : NULL;

	if (m->nr > SORTED_AT_ONCE && !spare)
		return err_set(e, ENOMEM, "cannot sort the free chunks");
	for (size_t i = 0; i < m->nr && !reader_is_late(r); i += SORTED_AT_ONCE)
		qsort(m->v + i, m->nr - i < SORTED_AT_ONCE ? m->nr - i : SORTED_AT_ONCE,
			sizeof *m->v, by_chunk);
	for (size_t width = SORTED_AT_ONCE; width < m->nr && !r->is_late; width *= 2) {
		struct mark *from = m->v;

		for (size_t i = 0; i < m->nr && !r->is_late; i += 2 * width) {
			size_t left = m->nr - i;

			marks_merge(spare + i, from + i, left < width ? left : width,
				left < 2 * width ? left : 2 * width, r);
		}
		m->v = spare;
		m->room = m->nr;
		spare = from;
	}
	free(spare);
	if (r->is_late)
		m->nr = 0;
	return 0;
}

size_t
marks_from(const struct marks *m, uint64_t addr)
{
	size_t from = 0, to = m->nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (mark_chunk(&m->v[mid]) < addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

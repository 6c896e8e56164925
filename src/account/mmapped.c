/* The blocks that malloc mapped individually, for 'memdiag heap'. */
#include <config.h>

#include "account/mmapped.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "glibc/params.h"
#include "maps/leaves.h"
#include "os/os.h"

/*
 * True if LEAF may be such a block.  A name from the kernel overrides the region's original purpose
 * (maps/classify.c).
 */
static bool
mmapped_is_chunk(const struct leaf *leaf)
{
	return leaf->kind == LEAF_CHUNK && leaf->confidence != CONFIDENCE_EXACT;
}

static int
by_size(const void *x, const void *y)
{
	const struct leaf *a = x, *b = y;
	uint64_t a_bytes = a->end.v - a->start.v, b_bytes = b->end.v - b->start.v;

	if (a_bytes != b_bytes)
		return a_bytes > b_bytes ? -1 : 1;
	return a->start.v < b->start.v ? -1 : 1;
}

static int
add_chunk(struct heap_mmapped *m, const struct leaf *leaf)
{
	bool is_more = leaf->is_continued && m->chunk.nr;
	struct leaf *copy = is_more ? &m->chunk.v[m->chunk.nr - 1] : array_add(&m->chunk);

	if (!copy)
		return -1;
	if (is_more) {
		copy->end = leaf->end;
		copy->rss_bytes += leaf->rss_bytes;
		copy->swap_bytes += leaf->swap_bytes;
	} else {
		*copy = *leaf;
	}
	m->bytes += leaf->end.v - leaf->start.v;
	m->resident_bytes += leaf->rss_bytes;
	m->swapped_bytes += leaf->swap_bytes;
	return 0;
}

static int
list_chunks(struct heap_mmapped *m, const struct space *s, struct err *e)
{
	for (size_t i = 0; i < s->leaves.nr; i++)
		if (mmapped_is_chunk(&s->leaves.v[i]) && add_chunk(m, &s->leaves.v[i]) < 0)
			return err_set(e, ENOMEM, "cannot list the large blocks");
	if (m->chunk.nr)
		qsort(m->chunk.v, m->chunk.nr, sizeof *m->chunk.v, by_size);
	m->is_listed = true;
	m->has_pages = s->rss_from != SPACE_RSS_NONE;
	return 0;
}

int
heap_mmapped_find(struct heap_mmapped *m, const struct target *t, const struct malloc_layout *l,
	const struct space *s, struct err *e)
{
	struct malloc_params now = l->params;

	if (l->mp.v && malloc_params_read(&now, t, l, e) < 0)
		return -1;
	m->has_account = l->mp.v;
	m->account = (struct heap_sum){ now.nr_mmaps, now.mmapped };
	if (s && list_chunks(m, s, e) < 0)
		return -1;
	if (malloc_is_all_mmapped(l, &now, m->chunk.nr, m->bytes))
		m->account.bytes = m->bytes;
	return 0;
}

bool
heap_mmapped_agrees(const struct heap_mmapped *m)
{
	return m->has_account && m->is_listed && m->account.count == m->chunk.nr &&
		m->account.bytes == m->bytes;
}

void
heap_mmapped_release(struct heap_mmapped *m)
{
	free(m->chunk.v);
	*m = (struct heap_mmapped){ 0 };
}

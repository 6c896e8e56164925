/*
 * An index of an object's frames, sorted by address, for an object whose linker has made no
 * .eh_frame_hdr: gcc does not request one for programs that are linked with -static.
 */
#include <config.h>

#include "unwind/index.h"

#include "unwind/tables.h"

static bool
index_is_in(const struct unwind_object *o, uint64_t at)
{
	return at - o->start < o->end - o->start && at - o->start <= INT32_MAX;
}

/* Fill TABLE, which has room for MAX entries.  Returns the number of entries. */
static uint32_t
unwind_index_go_over_frames(const struct unwind_object *o, uint64_t at, uint64_t end,
	struct unwind_index_entry *table, uint32_t max)
{
	uint32_t nr = 0;
	uint64_t pc, here = at;

	while (here < end && nr < INT32_MAX && unwind_next_frame(o, &at, &pc)) {
		if (pc && index_is_in(o, pc) && index_is_in(o, here)) {
			if (nr < max)
				table[nr] = (struct unwind_index_entry){ (int32_t)(pc - o->start),
					(int32_t)(here - o->start) };
			nr++;
		}
		here = at;
	}
	return nr;
}

static void
index_swap(struct unwind_index_entry *a, struct unwind_index_entry *b)
{
	const struct unwind_index_entry other = *a;

	*a = *b;
	*b = other;
}

/* Sift down the entry at I among the NR entries of a heap, whose greatest one is at 0. */
static void
sink(struct unwind_index_entry *v, uint32_t nr, uint32_t i)
{
	uint32_t child;

	while ((child = 2 * i + 1) < nr) {
		child += child + 1 < nr && v[child + 1].pc > v[child].pc;
		if (v[i].pc >= v[child].pc)
			return;
		index_swap(&v[i], &v[child]);
		i = child;
	}
}

/* Heapsort: libc's qsort() may allocate. */
static void
sort(struct unwind_index_entry *v, uint32_t nr)
{
	for (uint32_t i = nr / 2; i-- > 0;)
		sink(v, nr, i);
	for (uint32_t left = nr; left-- > 1;) {
		index_swap(&v[0], &v[left]);
		sink(v, left, 0);
	}
}

void
unwind_index_make(
	struct unwind_object *o, const void *frames, size_t bytes, void *(*map)(size_t bytes))
{
	const uint64_t at = (uint64_t)(uintptr_t)frames;
	const uint32_t nr = unwind_index_go_over_frames(o, at, at + bytes, NULL, 0);
	struct unwind_index_entry *table = nr ? map(nr * sizeof *table) : NULL;

	if (!table)
		return;
	/* Read a second time: a program that writes there meanwhile may have fewer entries now. */
	o->nr_index = unwind_index_go_over_frames(o, at, at + bytes, table, nr);
	if (o->nr_index > nr)
		o->nr_index = nr;
	sort(table, o->nr_index);
	o->index = table;
}

#include <config.h>

#include "diagnose/heap-context.h"

#include "glibc/layout.h"
#include "maps/space.h"

int
heap_context_read(struct heap_context *s, struct process *p, struct err *e)
{
	struct space_options opt = { .process = p, .count_mmapped = malloc_count_mmapped };
	struct malloc_layout layout;

	s->error.kind = 0;
	if (process_find_arenas(p, NULL, &s->error) < 0 ||
		malloc_layout_find_basic(&layout, p, &s->error) < 0)
		return 0;
	opt.nr_mmapped = layout.params.nr_mmaps;
	space_read(&s->space, p->target, &opt, &s->error);
	return heap_mmapped_find(
		&s->mmapped, p->target, &layout, s->error.kind ? NULL : &s->space, e);
}

void
heap_context_release(struct heap_context *s)
{
	heap_mmapped_release(&s->mmapped);
	space_release(&s->space);
}

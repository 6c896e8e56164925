#include <config.h>

#include "glibc/process.h"

int
process_read_with(struct process *p, const struct target *t, const struct process_sources *from,
	struct err *e)
{
	*p = (struct process){ .target = t };
	if (regions_read_with(&p->maps, t, from->listener, e) == 0 &&
		objects_find(&p->objects, &p->maps, t, from->known ? &from->known->objects : NULL,
			from->files, e) == 0)
		return 0;
	process_release(p);
	return -1;
}

int
process_read(struct process *p, const struct target *t, struct err *e)
{
	return process_read_with(p, t, &(struct process_sources){ 0 }, e);
}

int
process_find_arenas(struct process *p, const struct process *known, struct err *e)
{
	const bool has_known = known && known->arenas.nr;
	struct arenas found = { 0 };

	p->arenas_error.kind = 0;
	if (arenas_find(&found, p->target, &p->maps, &p->objects, has_known ? &known->arenas : NULL,
		    &p->arenas_error) < 0)
		*e = p->arenas_error;
	arenas_release(&p->arenas);
	p->arenas = found;
	return p->arenas_error.kind ? -1 : 0;
}

void
process_release(struct process *p)
{
	arenas_release(&p->arenas);
	objects_release(&p->objects);
	regions_release(&p->maps);
	*p = (struct process){ .target = p->target };
}

const struct object *
process_second_libc(const struct process *p)
{
	for (size_t i = 0; p->arenas.nr && i < p->objects.nr; i++) {
		const struct object *o = &p->objects.v[i];

		if (o->is_libc && !raddr_in(p->arenas.v[0].addr, o->start, o->end))
			return o;
	}
	return NULL;
}

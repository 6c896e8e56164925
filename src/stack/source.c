#include <config.h>

#include "stack/source.h"

#include "elf/regions.h"

bool
stack_source_changes(const struct stack_source *s, raddr addr)
{
	const struct region *r = regions_find(s->maps, addr);

	return r && r->prot[0] == 'r' && r->prot[1] == 'w' &&
		(r->prot[2] != 'x' || raddr_in(s->sp, r->start, r->end));
}

#include <config.h>

#include "account/place.h"

#include "base/text.h"

/* Write "START-END NAME" to BUF and return it. */
static const char *
region_text(const struct region *r, char *buf, size_t size)
{
	char path[96];

	snprintf(buf, size, "%" PRIx64 "-%" PRIx64 " %s", r->start.v, r->end.v,
		r->path ? text_printable(r->path, path, sizeof path) : "(anonymous)");
	return buf;
}

static int
refuse_hole(const struct space *s, raddr addr, struct err *e)
{
	char name[160], distance[32];
	size_t next = 0;

	while (next < s->process->maps.nr && s->process->maps.region[next].start.v <= addr.v)
		next++;
	err_set(e, 0, "nothing is mapped at " PRIraddr, addr.v);
	if (next) {
		const struct region *below = &s->process->maps.region[next - 1];

		err_hint(e, "The mapping below it ends %s lower: %s",
			text_bytes(addr.v - below->end.v, distance, sizeof distance),
			region_text(below, name, sizeof name));
	}
	if (next < s->process->maps.nr) {
		const struct region *above = &s->process->maps.region[next];

		err_hint(e, "The mapping above it begins %s higher: %s",
			text_bytes(above->start.v - addr.v, distance, sizeof distance),
			region_text(above, name, sizeof name));
	}
	return -1;
}

int
place_find(struct place *ret, const struct space *s, raddr addr, struct err *e)
{
	struct place p = { .addr = addr, .mapping = regions_find(&s->process->maps, addr) };
	char name[160];

	if (!p.mapping)
		return refuse_hole(s, addr, e);
	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *l = &s->leaves.v[i];

		if (&s->process->maps.region[l->region] != p.mapping)
			continue;
		p.rss_bytes += l->rss_bytes;
		p.swap_bytes += l->swap_bytes;
		if (raddr_in(addr, l->start, l->end))
			p.part = l;
	}
	if (!p.part)
		return err_set(e, 0, PRIraddr " is in a mapping of the kernel's own: %s", addr.v,
			region_text(p.mapping, name, sizeof name));
	if (p.part->object >= 0)
		p.object = &s->process->objects.v[p.part->object];
	if (p.part->arena >= 0 && (size_t)p.part->arena < s->process->arenas.nr)
		p.arena = &s->process->arenas.v[p.part->arena];
	*ret = p;
	return 0;
}

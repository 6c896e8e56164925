/*
 * Pointers in global offset tables: how a function is hooked whose beginning cannot be changed.
 */
#include <config.h>

#include "inject/hooks.h"

#include <string.h>

#include "base/text.h"
#include "elf/image.h"

struct search {
	struct hook_area *area;
	const struct inject_target *it;
	const struct object *object;
	const struct inject_hook *hook;
	struct err *e;
};

/* Remember a slot, once.  Records of hooks that were lifted are of no more use. */
static int
add_slot(struct search *s, raddr at, uint64_t original)
{
	struct hook_area_image *next = &s->area->next;

	for (uint64_t i = 0; i < next->nr_slots; i++)
		if (next->slot[i].at.v == at.v)
			return 0;
	if (next->nr_slots == AREA_SLOTS)
		return err_set_kind(s->e, ERR_UNSUPPORTED, 0,
			"%d (%s) has more than %d pointers to what is to be hooked", s->it->target->pid,
			s->it->target->comm, AREA_SLOTS);
	next->slot[next->nr_slots++] = (struct hook_word){ at, original, s->hook->hook.v };
	return 0;
}

/*
 * One that was not used yet leads to the object's own table, from which the first call goes to ld.so.
 * Anything else but the function is another's function of that name, or another's hook.
 */
static int
consider(const char *name, uint32_t type, raddr at, void *arg)
{
	struct search *s = arg;
	uint64_t value;
	struct err ignored;

	if (!prologue_is_slot(type) || strcmp(name, s->hook->name) != 0 ||
		os_read(s->it->target, at, &value, sizeof value, &ignored) < 0)
		return 0;
	if (value == s->hook->function.v ||
		(prologue_is_lazy_slot(type) &&
			raddr_in((raddr){ value }, s->object->start, s->object->end)))
		return add_slot(s, at, value);
	return 0;
}

int
hook_slots_find(struct hook_area *area, const struct inject_target *it, const struct objects *o,
	const struct inject_hook *hook, struct err *e)
{
	const struct object *own = objects_at(o, hook->hook);

	for (size_t i = 0; i < o->nr; i++) {
		struct search s = { area, it, &o->v[i], hook, e };

		if (s.object != own && image_each_reference(s.object->image, consider, &s))
			return -1;
	}
	return 0;
}

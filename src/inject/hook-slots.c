/*
 * Pointers in global offset tables, by which a function is hooked whose beginning cannot be
 * changed.
 */
#include <config.h>

#include "inject/hook-slots.h"

#include "elf/symbols.h"
#include "os/memory.h"
#include "os/os.h"

#include <string.h>

struct hook_slots_search {
	struct patch_area *area;
	const struct inject_target *callee;
	const struct object *own; /* the object that has the hook */
	const struct object *object;
	const struct hook *hook;
	struct err *e;
};

/* Record a slot, once.  Records of hooks that were lifted are overwritten. */
static int
add_slot(struct hook_slots_search *s, raddr at, uint64_t original)
{
	struct patch_area_image *next = &s->area->next;

	for (uint64_t i = 0; i < next->nr_slots; i++)
		if (next->slot[i].at.v == at.v && next->slot[i].hooked == s->hook->hook.v)
			return 0;
	if (next->nr_slots == PATCH_SLOTS)
		return err_set_kind(s->e, ERR_UNSUPPORTED, 0,
			"%d (%s) has more than %d pointers to what is to be hooked",
			s->callee->target->pid, s->callee->target->comm, PATCH_SLOTS);
	next->slot[next->nr_slots++] = (struct patch_word){ at, original, s->hook->hook.v };
	return 0;
}

/*
 * Return the record of slot AT, which has VALUE, if that is a hook of the same library; else NULL.
 */
static const struct patch_word *
hook_slots_record_of(const struct hook_slots_search *s, raddr at, uint64_t value)
{
	const struct patch_area_image *now = &s->area->now;

	for (uint64_t i = 0; i < now->nr_slots; i++)
		if (now->slot[i].at.v == at.v && now->slot[i].hooked == value &&
			raddr_in((raddr){ value }, s->own->start, s->own->end))
			return &now->slot[i];
	return NULL;
}

/*
 * Add the slot AT if it leads to the function.  A slot that was not used yet leads to the object's
 * own table, from which the first call goes to ld.so.  Any other value is another function of that
 * name, or another tool's hook.
 */
static int
hook_slots_consider(const char *name, uint32_t type, raddr at, void *arg)
{
	struct hook_slots_search *s = arg;
	const struct patch_word *record;
	uint64_t value;
	struct err ignored;

	if (!prologue_is_slot(type) || strcmp(name, s->hook->name) != 0 ||
		os_read(s->callee->target, at, &value, sizeof value, &ignored) < 0)
		return 0;
	if (value == s->hook->function.v ||
		(prologue_is_lazy_slot(type) &&
			raddr_in((raddr){ value }, s->object->start, s->object->end)))
		return add_slot(s, at, value);
	record = hook_slots_record_of(s, at, value);
	return record ? add_slot(s, at, record->original) : 0;
}

int
hook_slots_find(struct patch_area *area, const struct inject_target *callee,
	const struct objects *o, const struct hook *hook, struct err *e)
{
	const struct object *own = objects_at(o, hook->hook);

	for (size_t i = 0; i < o->nr; i++) {
		struct hook_slots_search s = { area, callee, own, &o->v[i], hook, e };

		if (s.object != own &&
			image_each_reference(s.object->image, hook_slots_consider, &s))
			return -1;
	}
	return 0;
}

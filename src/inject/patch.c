#include <config.h>

#include "inject/patch.h"

#include <string.h>

#include "base/debug.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/part.h"

static const char magic[16] = "memdiag-hooks/1";

/* The heap below a place and the stack above it may grow: leave them this much room. */
#define GROWTH_BYTES (UINT64_C(1) << 30)

/*
 * The kernel gives the highest free place to the next caller of mmap(), and we map a stack before
 * the area: leave this much free for it.
 */
#define MARGIN_BYTES (UINT64_C(64) << 20)

/* ---- finding ---- */

static int
read_area(struct patch_area *area, const struct target *t, raddr start, struct err *e)
{
	if (os_read(t, start, &area->now, sizeof area->now, e) < 0)
		return -1;
	if (area->now.nr_entries > PATCH_ENTRIES || area->now.nr_slots > PATCH_SLOTS)
		return err_set(e, 0, "the hooks' own memory in %d is damaged", t->pid);
	area->start = start;
	return 0;
}

/* Examine every aligned place: the area may be merged with other anonymous code. */
int
patch_area_find(
	struct patch_area *area, const struct target *t, const struct regions *m, struct err *e)
{
	memset(area, 0, sizeof *area);
	for (size_t i = 0; i < m->nr && !area->start.v; i++) {
		const struct region *r = &m->region[i];
		raddr at = { (r->start.v + PATCH_BYTES - 1) & ~(PATCH_BYTES - 1) };

		if (strncmp(r->prot, "r-xp", 4) != 0 || r->inode)
			continue;
		for (; at.v + PATCH_BYTES <= r->end.v && !area->start.v; at.v += PATCH_BYTES) {
			char found[sizeof magic];
			struct err ignored;

			if (os_read(t, at, found, sizeof found, &ignored) == 0 &&
				memcmp(found, magic, sizeof magic) == 0 &&
				read_area(area, t, at, e) < 0)
				return -1;
		}
	}
	area->next = area->now;
	memcpy(area->next.magic, magic, sizeof magic);
	return 0;
}

raddr
patch_area_past(const struct patch_area *area, const struct target *t, raddr function)
{
	for (uint64_t i = 0; i < area->now.nr_entries; i++) {
		const struct patch_entry *en = &area->now.entry[i];
		uint64_t now;
		struct err e;

		if (en->function.v == function.v &&
			os_read(t, en->word.at, &now, sizeof now, &e) == 0 &&
			now == en->word.hooked)
			return raddr_add(area->start,
				(uint64_t)((const char *)en->moved - (const char *)&area->now));
	}
	return function;
}

/* ---- a place ---- */

static bool
patch_is_named(const struct region *r, const char *name)
{
	return r->path && strcmp(r->path, name) == 0;
}

static bool
is_near(raddr at, raddr low, raddr high)
{
	return high.v < at.v + prologue_reach_bytes &&
		at.v + PATCH_BYTES < low.v + prologue_reach_bytes;
}

/* The free range between two regions, without the room left for growth. */
struct gap {
	uint64_t from, to;
};

static struct gap
gap_between(const struct region *before, const struct region *after)
{
	struct gap g = { before ? before->end.v : PATCH_BYTES, after->start.v };

	if (before && patch_is_named(before, "[heap]"))
		g.from += GROWTH_BYTES;
	if (patch_is_named(after, "[stack]"))
		g.to -= g.to < GROWTH_BYTES ? g.to : GROWTH_BYTES;
	return g;
}

static uint64_t
margin_of(const struct gap *g)
{
	return (g->to - g->from) / 2 < MARGIN_BYTES ? (g->to - g->from) / 2 : MARGIN_BYTES;
}

/*
 * Return a place near the gap's end; low_place() returns one near its beginning. {0} if too small.
 */
static raddr
high_place(const struct gap *g)
{
	uint64_t at = (g->to - margin_of(g) - PATCH_BYTES) & ~(PATCH_BYTES - 1);

	return (raddr){ at >= g->from && at < g->to ? at : 0 };
}

static raddr
low_place(const struct gap *g)
{
	uint64_t at = (g->from + margin_of(g) + PATCH_BYTES - 1) & ~(PATCH_BYTES - 1);

	return (raddr){ at >= g->from && at + PATCH_BYTES <= g->to ? at : 0 };
}

/* Prefer a place below: the next library is likely to be near it as well. */
static raddr
place_with_room(const struct regions *m, raddr low, raddr high, uint64_t room_bytes)
{
	raddr above = { 0 };

	for (size_t i = m->nr; i-- > 0;) {
		const struct region *r = &m->region[i];
		struct gap g = gap_between(i ? &m->region[i - 1] : NULL, r);
		raddr at;

		if (region_is_vsyscall(r) || g.to < g.from + room_bytes)
			continue;
		at = high_place(&g);
		if (!at.v || !is_near(at, low, high))
			at = low_place(&g);
		if (!at.v || !is_near(at, low, high))
			continue;
		if (at.v < low.v)
			return at;
		above = at;
	}
	return above;
}

raddr
patch_area_place(const struct regions *m, raddr low, raddr high)
{
	raddr at = place_with_room(m, low, high, 2 * MARGIN_BYTES);

	return at.v ? at : place_with_room(m, low, high, 2 * PATCH_BYTES);
}

/* ---- writing ---- */

bool
patch_area_has_changed(const struct patch_area *area)
{
	return memcmp(&area->now, &area->next, sizeof area->now) != 0;
}

int
patch_area_write(struct patch_area *area, const struct target *t, pid_t tid, struct err *e)
{
	const struct os_part part = { "the memory of hooks", area->start, sizeof area->now };
	const char *now = (const char *)&area->now, *next = (const char *)&area->next;
	const size_t word = sizeof(uint64_t);
	size_t nr = 0;

	/* The head, which has the counts, comes last. */
	for (size_t at = sizeof area->now; at; at -= word) {
		if (memcmp(now + at - word, next + at - word, word) == 0)
			continue;
		if (os_part_poke(t, &part, tid, raddr_add(area->start, at - word), next + at - word,
			    word, e) < 0)
			return -1;
		nr++;
	}
	debug("%zu words of the hooks' memory at " PRIraddr " were written", nr, area->start.v);
	area->now = area->next;
	return 0;
}

#include <config.h>

#include "capture/block-stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agentdata/collect.h"
#include "agentdata/live-files.h"
#include "base/cleanup.h"
#include "os/memory.h"
#include "os/os.h"

/* Larger than any part of the agent's memory: the live set of 134 million blocks takes 7 GiB. */
#define MAX_PART_BYTES (UINT64_C(1) << 34)

static int
block_stacks_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep the stacks of blocks");
}

/* ---- reading ---- */

static int
block_stacks_list_memory(struct block_stacks *b, const struct process *p, struct err *e)
{
	struct wire_memory list;

	if (!b->agent.memory_at.v)
		return 0;
	if (os_read(p->target, b->agent.memory_at, &list, sizeof list, e) < 0)
		return -1;
	if (list.magic != WIRE_MEMORY_MAGIC)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the agent in the process is of another memdiag, or damaged");
	for (unsigned int i = 0; i < WIRE_MEMORY_PARTS; i++) {
		const struct wire_memory_part *part = &list.part[i];

		if (part->bytes && part->bytes <= MAX_PART_BYTES &&
			part->start <= UINT64_MAX - MAX_PART_BYTES)
			b->memory[b->nr_memory++] = (struct block_stacks_memory){ { part->start },
				{ part->start + part->bytes } };
	}
	return 0;
}

int
block_stacks_find(struct block_stacks *b, const struct process *p, struct err *e)
{
	if (agent_segment_read(&b->agent, p, e) < 0 || block_stacks_list_memory(b, p, e) < 0)
		return -1;
	if (b->agent.segment && b->agent.sites_at.v && !b->agent.is_parents)
		b->noting = (enum wire_noting)b->agent.segment->noting;
	return 0;
}

/* Find the sites with the same frames: their threads or sizes differ. */
static int
block_stacks_join_sites(struct block_stacks *b, struct err *e)
{
	const struct sites_copy *c = &b->sites;
	auto_free uint32_t *of_node = calloc(c->nr_nodes + 1, sizeof *of_node);

	b->first = calloc(c->nr_sites + 1, sizeof *b->first);
	if (!of_node || !b->first)
		return block_stacks_no_memory(e);
	for (uint32_t i = 1; i < c->nr_sites; i++) {
		struct sites_stack stack;

		if (!sites_stack(c, i, &stack) || stack.is_mapped || !stack.leaf)
			continue;
		if (!of_node[stack.leaf])
			of_node[stack.leaf] = i;
		b->first[i] = of_node[stack.leaf];
	}
	return 0;
}

int
block_stacks_read(struct block_stacks *b, const struct process *p, struct err *e)
{
	if (b->noting == WIRE_NOTE_NOTHING)
		return 0;
	if (sites_read_target(&b->sites, p->target, b->agent.sites_at, e) < 0 ||
		live_set_read(&b->set, p, &b->agent, b->sites.nr_sites, e) < 0)
		return -1;
	return block_stacks_join_sites(b, e);
}

void
block_stacks_release(struct block_stacks *b)
{
	agent_segment_release(&b->agent);
	sites_release(&b->sites);
	live_set_release(&b->set);
	free(b->first);
	free(b->stack_of);
	free(b->marks.v);
	profile_free(b->p);
	*b = (struct block_stacks){ .nr_memory = 0 };
}

uint32_t
block_stacks_site(const struct block_stacks *b, raddr at, uint64_t usable_bytes)
{
	size_t from = 0, to = b->set.nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (b->set.v[mid].at.v < at.v)
			from = mid + 1;
		else
			to = mid;
	}
	/* A larger block has taken the place of this one since. */
	if (from == b->set.nr || b->set.v[from].at.v != at.v || b->set.v[from].bytes > usable_bytes)
		return 0;
	return b->first[b->set.v[from].site];
}

/* ---- names ---- */

/* Leave only the sites in SITE, so that no other stacks are named. */
static int
block_stacks_keep(struct block_stacks *b, const uint32_t *site, size_t nr, struct err *e)
{
	auto_free bool *is_kept = calloc(b->sites.nr_sites + 1, sizeof *is_kept);

	if (!is_kept)
		return block_stacks_no_memory(e);
	for (size_t i = 0; i < nr; i++)
		is_kept[site[i]] = site[i] != 0;
	for (uint32_t i = 0; i < b->sites.nr_sites; i++)
		if (!is_kept[i])
			b->sites.site[i].allocated = (struct wire_amount){ 0 };
	return 0;
}

int
block_stacks_name(struct block_stacks *b, const struct process *p, const uint32_t *site, size_t nr,
	struct err *e)
{
	const size_t room = (b->sites.nr_sites + 1) * sizeof *b->stack_of;
	const struct symbols_options symbols = { .program = NULL };

	b->stack_of = malloc(room);
	if (!b->stack_of)
		return block_stacks_no_memory(e);
	memset(b->stack_of, 0xff, room);
	if (block_stacks_keep(b, site, nr, e) < 0 ||
		profile_collect_stacks(&b->p, &b->sites, p, b->stack_of, e) < 0 ||
		live_files_name(b->p, p, &symbols, e) < 0)
		return -1;
	b->marks.v = calloc(b->p->stack_frames.nr + 1, sizeof *b->marks.v);
	if (!b->marks.v)
		return block_stacks_no_memory(e);
	b->marks.nr = b->marks.room = b->p->stack_frames.nr;
	return 0;
}

bool
block_stacks_stack(const struct block_stacks *b, uint32_t site, uint32_t *ret)
{
	if (!b->p || !site || b->stack_of[site] >= b->p->stacks.nr)
		return false;
	*ret = b->stack_of[site];
	return true;
}

static bool
block_stacks_any_of_frame(const struct profile *p, const struct profile_frame *f,
	bool (*is_wanted)(const char *name, void *arg), void *arg)
{
	if (f->mapping_1 && is_wanted(p->mappings.v[f->mapping_1 - 1].path, arg))
		return true;
	for (uint32_t i = 0; i < f->nr_lines; i++) {
		const struct profile_function *g =
			&p->functions.v[p->lines.v[f->first_line + i].function];

		if (is_wanted(g->name, arg) || (*g->file && is_wanted(g->file, arg)))
			return true;
	}
	return false;
}

bool
block_stacks_any(const struct block_stacks *b, uint32_t site,
	bool (*is_wanted)(const char *name, void *arg), void *arg)
{
	const struct profile_stack *s;
	uint32_t stack;

	if (!block_stacks_stack(b, site, &stack))
		return false;
	s = &b->p->stacks.v[stack];
	for (uint32_t i = 0; i < s->nr; i++)
		if (block_stacks_any_of_frame(b->p,
			    &b->p->frames.v[b->p->stack_frames.v[s->first + i]], is_wanted, arg))
			return true;
	return false;
}

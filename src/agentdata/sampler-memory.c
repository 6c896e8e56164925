#include <config.h>

#include "agentdata/sampler-memory.h"

#include "glibc/process.h"
#include "os/memory.h"
#include "os/pages.h"
#include "wire/sites.h"

/* Larger than any part: the sites take 224 MiB, the live set of 134 million blocks 7 GiB. */
#define MAX_PART_BYTES (UINT64_C(1) << 34)

static int
sampler_memory_add_run(const struct os_page_run *run, void *arg)
{
	uint64_t *sum = arg;

	if (run->is_present)
		*sum += run->end.v - run->start.v;
	return 0;
}

/* Round PART to whole pages; false if it cannot come from the agent. */
static bool
pages_of(const struct wire_memory_part *part, raddr *start, raddr *end)
{
	const uint64_t page = 4096;

	if (part->kind >= WIRE_NR_MEMORY_KINDS || part->bytes > MAX_PART_BYTES ||
		part->start > UINT64_MAX - MAX_PART_BYTES - page)
		return false;
	start->v = part->start / page * page;
	end->v = (part->start + part->bytes + page - 1) / page * page;
	return true;
}

static int
sampler_memory_add_part(struct sampler_memory *m, struct os_pages *pages,
	const struct wire_memory_part *part, struct err *e)
{
	uint64_t bytes = 0;
	raddr start, end;

	if (!part->bytes)
		return 0;
	if (!pages_of(part, &start, &end))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the agent's list of its memory is of another memdiag, or damaged");
	if (os_pages_walk(pages, start, end, false, sampler_memory_add_run, &bytes, e) != 0)
		return -1;
	m->resident_bytes[part->kind] += bytes;
	m->total_bytes += bytes;
	return 0;
}

int
sampler_memory_read(struct sampler_memory *m, const struct process *p,
	const struct agent_segment *c, struct err *e)
{
	auto_pages struct os_pages *pages = NULL;
	struct wire_memory list;

	*m = (struct sampler_memory){ .is_there = false };
	if (!c->sites_at.v || !c->memory_at.v || !c->segment || c->is_parents)
		return 0;
	if (os_read(p->target, c->memory_at, &list, sizeof list, e) < 0)
		return -1;
	if (list.magic != WIRE_MEMORY_MAGIC)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the agent's list of its memory is of another memdiag, or damaged");
	if (os_pages_open(&pages, p->target, OS_PAGES_AUTO, e) < 0)
		return -1;
	m->is_sampling = c->segment->noting;
	m->is_partial = list.nr_missing;
	for (unsigned int i = 0; i < WIRE_MEMORY_PARTS; i++)
		if (sampler_memory_add_part(m, pages, &list.part[i], e) < 0)
			return -1;
	m->is_there = true;
	return 0;
}

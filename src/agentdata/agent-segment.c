/*
 * The counters of the agent in a process.  They are memory of that process, which may have written
 * anything to them.
 */
#include <config.h>

#include "agentdata/agent-segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "glibc/process.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/status.h"
#include "wire/live-set.h"
#include "wire/memory.h"
#include "wire/totals.h"

/* ---- the addresses ---- */

static int
agent_segment_find(
	struct agent_segment *c, const struct target *t, const struct objects *o, struct err *e)
{
	for (size_t i = 0; i < o->nr; i++) {
		struct image_symbol segment, live, sites, memory, live_set;

		if (image_find(o->v[i].image, WIRE_SYMBOL, &segment) < 0)
			continue;
		c->object_at = o->v[i].start;
		if (image_find(o->v[i].image, WIRE_LIVE_SYMBOL, &live) == 0)
			c->live_at = live.addr;
		if (image_find(o->v[i].image, WIRE_MEMORY_SYMBOL, &memory) == 0)
			c->memory_at = memory.addr;
		if (image_find(o->v[i].image, WIRE_LIVE_BLOCKS_SYMBOL, &live_set) == 0)
			c->live_set_at = live_set.addr;
		if (image_find(o->v[i].image, WIRE_SITES_SYMBOL, &sites) == 0 &&
			os_read(t, sites.addr, &c->sites_at, sizeof c->sites_at, e) < 0)
			return -1;
		/* It points to the segment. */
		return os_read(t, segment.addr, &c->segment_at, sizeof c->segment_at, e);
	}
	return 0;
}

/* ---- the contents ---- */

static int
refuse_counters(const struct target *t, struct err *e)
{
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"the agent in %d (%s) is of another memdiag, or its counters are damaged", t->pid,
		t->comm);
}

/* Return the number of the process in its own namespace. */
static pid_t
inner_pid(const struct target *t)
{
	struct os_status s;
	struct err e;

	return os_status(t, t->pid, &s, &e) == 0 && s.inner_tid ? s.inner_tid : t->pid;
}

int
agent_segment_read_again(struct agent_segment *c, const struct target *t, struct err *e)
{
	auto_free struct wire_segment *copy = malloc(WIRE_WHOLE_BYTES);

	if (!copy)
		return err_set(e, ENOMEM, "cannot copy the counters of %d (%s)", t->pid, t->comm);
	if (os_read(t, c->segment_at, copy, WIRE_HEADER_BYTES, e) < 0)
		return err_context(e, "cannot read the counters of %d (%s)", t->pid, t->comm);
	if (!wire_is_valid(copy, WIRE_WHOLE_BYTES))
		return refuse_counters(t, e);
	if (os_read(t, raddr_add(c->segment_at, WIRE_HEADER_BYTES), wire_threads(copy),
		    copy->nr_threads * sizeof(struct wire_thread), e) < 0)
		return err_context(e, "cannot read the counters of %d (%s)", t->pid, t->comm);
	free(c->segment);
	c->nr_threads = copy->nr_threads;
	c->segment = take_ptr(&copy);
	c->is_parents = (pid_t)c->segment->pid != inner_pid(t);
	return 0;
}

int
agent_segment_read(struct agent_segment *c, const struct process *p, struct err *e)
{
	const struct target *t = p->target;
	const struct region *r;

	if (agent_segment_find(c, t, &p->objects, e) < 0)
		return -1;
	if (!c->segment_at.v)
		return 0;
	r = regions_find(&p->maps, c->segment_at);
	if (!r || strncmp(r->prot, "rw", 2) != 0)
		return refuse_counters(t, e);
	return agent_segment_read_again(c, t, e);
}

bool
agent_segment_is_counting(const struct agent_segment *c)
{
	return c->segment && !c->is_parents && c->segment->is_counting;
}

bool
agent_segment_is_noting(const struct agent_segment *c)
{
	return c->segment && !c->is_parents && c->segment->noting != WIRE_NOTE_NOTHING;
}

void
agent_segment_release(struct agent_segment *c)
{
	free(c->segment);
	*c = (struct agent_segment){ 0 };
}

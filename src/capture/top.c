#include <config.h>

#include "capture/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agentdata/agent-segment.h"
#include "agentdata/collect.h"
#include "agentdata/live-files.h"
#include "agentdata/sites.h"
#include "base/cleanup.h"
#include "report/calls.h"

/* More than the functions of malloc and of its wrappers on a stack. */
#define NAMED_FRAMES 48

/* The sum of the sites of one stack, indexed by the node of its innermost frame. */
struct top_sum {
	struct wire_amount live;
	uint64_t nr_samples;
	uint32_t site; /* one of these sites */
};

/* ---- sums ---- */

static uint64_t
nr_live(const struct wire_site *s)
{
	return s->nr_allocated > s->nr_freed ? s->nr_allocated - s->nr_freed : 0;
}

static void
top_sum_add(struct top_sum *to, struct wire_amount live, uint64_t nr_samples)
{
	if (__builtin_add_overflow(to->live.bytes, live.bytes, &to->live.bytes))
		to->live.bytes = UINT64_MAX;
	if (__builtin_add_overflow(to->live.units, live.units, &to->live.units))
		to->live.units = UINT64_MAX;
	to->nr_samples += nr_samples;
}

/* Add up the sites of C by stack in SUMS; return the sum of all. */
static struct top_sum
top_add_up(const struct sites_copy *c, struct top_sum *sums)
{
	struct top_sum all = { .nr_samples = 0 };
	struct sites_stack stack;

	for (uint32_t i = 1; i < c->nr_sites; i++) {
		const struct wire_site *s = &c->site[i];
		const struct wire_amount live = wire_site_live(s);

		if (!live.bytes || !sites_stack(c, i, &stack) || stack.is_mapped)
			continue;
		sums[stack.leaf].site = i;
		top_sum_add(&sums[stack.leaf], live, nr_live(s));
		top_sum_add(&all, live, nr_live(s));
	}
	return all;
}

/* Store the nodes of the MAX greatest SUMS in RET, the greatest first; return their number. */
static uint32_t
find_greatest(const struct top_sum *sums, uint32_t nr, uint32_t max, uint32_t *ret)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t at = found;

		if (!sums[i].live.bytes)
			continue;
		while (at && sums[ret[at - 1]].live.bytes < sums[i].live.bytes)
			at--;
		if (at == max)
			continue;
		found += found < max;
		memmove(&ret[at + 1], &ret[at], (found - at - 1) * sizeof *ret);
		ret[at] = i;
	}
	return found;
}

/* ---- names ---- */

/* Add a sample with the innermost frames of SITE to P. */
static int
top_add_stack(struct profile *p, const struct sites_copy *c, uint32_t site, struct err *e)
{
	uint32_t frame[NAMED_FRAMES], nr, stack;
	struct sites_stack frames;

	sites_stack(c, site, &frames);
	for (nr = 0; nr < frames.nr && nr < NAMED_FRAMES; nr++)
		if (profile_add_site_frame(p, c, frames.frame[nr], &frame[nr], e) < 0)
			return -1;
	if (!nr && profile_add_no_room(p, frames.is_cut, &frame[nr++], e) < 0)
		return -1;
	return profile_stack(p, frame, nr, &stack, e) < 0
		? -1
		: profile_add_sample(
			  p, (struct profile_sample){ .stack = stack }, &(int64_t){ 1 }, e);
}

/* Return the node at step I of PATH, from its leaf. */
static uint32_t
top_step(const struct calls *c, const struct calls_path *path, uint32_t i)
{
	return c->steps.v[path->first + path->nr - 1 - i];
}

/* Set the names of the leaf of PATH and of its caller, which is another function. */
static int
name_stack(struct profile_top_stack *s, const struct calls *c, const struct calls_path *path,
	struct err *e)
{
	uint32_t caller = 1;

	if (!path->nr)
		return err_set(e, EINVAL, "cannot name a stack without frames");
	s->function = strdup(c->nodes.v[top_step(c, path, 0)].name);
	while (caller < path->nr && top_step(c, path, caller) == top_step(c, path, 0))
		caller++;
	if (caller < path->nr)
		s->caller = strdup(c->nodes.v[top_step(c, path, caller)].name);
	return s->function && (s->caller || caller == path->nr)
		? 0
		: err_set(e, ENOMEM, "cannot name functions");
}

/* Name the stacks of T, which are those of SITE; with NAMES, which may be NULL. */
static int
name_stacks(struct profile_top *t, const struct sites_copy *c, const uint32_t *site,
	const struct process *process, struct live_names *names, struct err *e)
{
	const struct symbols_options symbols = { .program = NULL };
	const struct calls_options options = { .type = 0 };
	auto_profile struct profile *p = profile_new();
	auto_calls struct calls calls = { .p = NULL };

	if (!p)
		return err_set(e, ENOMEM, "cannot make a profile");
	if (profile_add_type(p, "inuse_space", "bytes", e) < 0)
		return -1;
	for (uint32_t i = 0; i < t->nr_stacks; i++)
		if (top_add_stack(p, c, site[i], e) < 0)
			return -1;
	if (profile_add_mappings(p, process, e) < 0)
		return -1;
	p->pid = process->target->pid;
	profile_find_mappings(p);
	if ((names ? live_names_find(names, p, process, e)
		   : live_files_name(p, process, &symbols, e)) < 0 ||
		calls_make(&calls, p, &options, e) < 0)
		return -1;
	for (uint32_t i = 0; i < t->nr_stacks; i++)
		if (name_stack(&t->stack[i], &calls, &calls.paths.v[i], e) < 0)
			return -1;
	return 0;
}

/* ---- the whole ---- */

static int
top_fill(struct profile_top *t, const struct sites_copy *c, const struct process *p, uint32_t max,
	struct live_names *names, struct err *e)
{
	auto_free struct top_sum *sums = calloc(c->nr_nodes + 1, sizeof *sums);
	auto_free uint32_t *leaf = calloc(max, sizeof *leaf), *site = calloc(max, sizeof *site);
	struct top_sum all;

	t->stack = calloc(max, sizeof *t->stack);
	if (!sums || !leaf || !site || !t->stack)
		return err_set(e, ENOMEM, "cannot add up the sites of a profile");
	all = top_add_up(c, sums);
	t->started_ns = c->head.started_ns;
	t->period_bytes = c->head.period_bytes;
	t->nr_samples = c->head.nr_samples;
	t->bytes = sites_bytes(all.live);
	t->nr_live = all.nr_samples;
	t->nr_stacks = find_greatest(sums, c->nr_nodes, max, leaf);
	for (uint32_t i = 0; i < t->nr_stacks; i++) {
		const struct top_sum *sum = &sums[leaf[i]];

		t->stack[i].bytes = sites_bytes(sum->live);
		t->stack[i].blocks = sites_blocks(sum->live);
		t->stack[i].nr_samples = sum->nr_samples;
		site[i] = sum->site;
	}
	return t->nr_stacks ? name_stacks(t, c, site, p, names, e) : 0;
}

int
profile_top_read(struct profile_top *t, const struct process *p, uint32_t max,
	struct live_names *names, struct err *e)
{
	auto_agent_segment struct agent_segment agent = { 0 };
	auto_sites struct sites_copy c = { .nr_nodes = 0 };

	*t = (struct profile_top){ .is_sampling = false };
	if (agent_segment_read(&agent, p, e) < 0)
		return -1;
	if (!agent.sites_at.v || !agent_segment_is_noting(&agent))
		return 0;
	t->is_sampling = true;
	if (sites_read_target(&c, p->target, agent.sites_at, e) == 0 &&
		top_fill(t, &c, p, max, names, e) == 0)
		return 0;
	profile_top_release(t);
	return -1;
}

void
profile_top_release(struct profile_top *t)
{
	for (uint32_t i = 0; i < t->nr_stacks; i++) {
		free(t->stack[i].function);
		free(t->stack[i].caller);
	}
	free(t->stack);
	*t = (struct profile_top){ .is_sampling = false };
}

double
profile_top_share(const struct profile_top *t, const struct profile_top_stack *stack)
{
	return t->bytes > 0 ? (double)stack->bytes / (double)t->bytes : 0;
}

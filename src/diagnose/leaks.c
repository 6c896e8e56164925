/* The order in which 'memdiag leaks' reads a process or a core file, and its warnings. */
#include <config.h>

#include "diagnose/leaks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/debug.h"
#include "census/read.h"
#include "os/clock.h"
#include "ui/deadline.h"
#include "wire/wire.h"

/* A look that misses blocks is repeated at most as often. */
#define BROKEN_MAX 3

/* ---- the agent ---- */

/* A stack is welcome, but nothing depends on it. */
static void
leaks_warn_of_agent(struct leaks_answer *s, const struct err *why)
{
	warnings_add(&s->of.warnings, false, "no stacks of allocations: %s", why->msg);
	s->stacks.noting = WIRE_NOTE_NOTHING;
}

/* Read which stack has allocated each block, as soon as the process runs again. */
static void
leaks_read_stacks(void *arg)
{
	struct leaks_answer *s = arg;
	struct err e;

	if (block_stacks_read(&s->stacks, &s->of.process, &e) < 0)
		leaks_warn_of_agent(s, &e);
}

static uint32_t
leaks_label(raddr addr, uint64_t usable_bytes, void *arg)
{
	return block_stacks_site(arg, addr, usable_bytes);
}

/* Name the stacks of the heads. */
static int
leaks_name_stacks(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	const size_t nr = s->leaks.group.nr;
	auto_free uint32_t *site = calloc(nr + 1, sizeof *site);

	if (!site)
		return err_set(e, ENOMEM, "cannot list the unreachable blocks");
	for (size_t i = 0; i < nr; i++)
		site[i] = s->leaks.group.v[i].label;
	deadline_set(q->of.ui.files_timeout_ns);
	return block_stacks_name(&s->stacks, &s->of.process, site, nr, e);
}

/* ---- the census ---- */

/* List the memory of the agent, which has the addresses of blocks.  The caller frees the list. */
static struct census_skip *
leaks_list_skips(const struct leaks_answer *s)
{
	struct census_skip *skip = calloc(s->stacks.nr_memory + 1, sizeof *skip);

	for (size_t i = 0; skip && i < s->stacks.nr_memory; i++)
		skip[i] =
			(struct census_skip){ s->stacks.memory[i].start, s->stacks.memory[i].end };
	return skip;
}

/* Read all blocks once. */
static int
leaks_look(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	struct census_question of = q->of;
	auto_free struct census_skip *skip = NULL;
	struct census_options how = {
		.is_unaligned = q->is_unaligned,
		.masks_tags = q->masks_tags,
		.wants_hashes = q->no_stop,
		.after = q->no_stop ? NULL : leaks_read_stacks,
		.arg = s,
	};
	struct err why;

	of.wants_types = true;
	if (q->no_stop)
		of.max_stop_ns = 0;
	if (process_read(&s->of.process, &s->of.target, e) < 0)
		return -1;
	if (!of.core && block_stacks_find(&s->stacks, &s->of.process, &why) < 0)
		leaks_warn_of_agent(s, &why);
	skip = leaks_list_skips(s);
	if (!skip)
		return err_set(e, ENOMEM, "cannot list the memory of the agent");
	how.skip = skip;
	how.nr_skips = s->stacks.nr_memory;
	return census_look(&s->of, &of, &how, e);
}

/* Forget a look, so that the next one finds what has changed. */
static void
leaks_forget_look(struct leaks_answer *s)
{
	census_forget(&s->of);
	block_stacks_release(&s->stacks);
}

/*
 * Look at a running process.  A look in which a chain of chunks broke, since a chunk was split or
 * joined meanwhile, would remove the blocks that it has missed: it is repeated, unless most are
 * like that.
 */
static int
leaks_look_whole(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	for (unsigned int i = 0; i <= BROKEN_MAX; i++) {
		leaks_forget_look(s);
		deadline_set(q->of.ui.timeout_ns);
		if (leaks_look(s, q, e) < 0)
			return -1;
		if (!s->of.census.unread_bytes)
			return 0;
		debug("a look has missed %" PRIu64 " bytes", s->of.census.unread_bytes);
	}
	return 0;
}

/* Look at a running process until a look removes no block, or often enough. */
static int
leaks_look_again(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	for (;;) {
		if (leaks_look_whole(s, q, e) < 0 ||
			census_looks_add(&s->looks, &s->of.census, e) < 0)
			return -1;
		debug("look %u: %zu blocks are left, %" PRIu64 " were removed", s->looks.nr,
			s->looks.lost.nr, s->looks.removed);
		if (s->looks.nr >= q->nr_looks || (s->looks.nr > 1 && !s->looks.removed))
			break;
		os_sleep_ns(q->every_ns);
	}
	leaks_read_stacks(s);
	snprintf(s->of.census.why, sizeof s->of.census.why,
		"the process ran while it was read, %u times", s->looks.nr);
	return 0;
}

/* ---- all of it ---- */

/* Group the unreachable blocks that are not suppressed. */
static int
leaks_group(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	const bool has_stacks = s->stacks.noting != WIRE_NOTE_NOTHING;
	const struct census_labels labels = { leaks_label, &s->stacks };
	const struct suppression_names names = { &s->stacks, &s->of.types, q->type_name };

	if (census_leaks_find(
		    &s->leaks, &s->of.census, &s->of.types, has_stacks ? &labels : NULL, e) < 0)
		return -1;
	if (has_stacks && s->leaks.group.nr && leaks_name_stacks(s, q, e) < 0)
		return -1;
	if (suppressions_apply(&s->suppressions, &s->leaks, &names, e) < 0)
		return -1;
	for (size_t i = 0; has_stacks && i < s->leaks.group.nr; i++)
		if (!s->leaks.group.v[i].label)
			s->unknown_heads += s->leaks.group.v[i].heads;
	return leaks_groups_make(&s->groups, &s->leaks, e);
}

int
leaks_ask(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	if ((q->suppressions && suppressions_read(&s->suppressions, q->suppressions, e) < 0) ||
		census_open(&s->of, &q->of, e) < 0 ||
		(q->no_stop ? leaks_look_again : leaks_look)(s, q, e) < 0 ||
		leaks_group(s, q, e) < 0)
		return -1;
	census_warn(&s->of, "; a block that is said to be unreachable may be reached");
	return 0;
}

void
leaks_answer_release(struct leaks_answer *s)
{
	leaks_forget_look(s);
	leaks_groups_release(&s->groups);
	census_leaks_release(&s->leaks);
	suppressions_release(&s->suppressions);
	census_looks_release(&s->looks);
	census_answer_release(&s->of);
}

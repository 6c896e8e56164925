/* The order in which 'memdiag leaks' reads a process or a core file, and its warnings. */
#include <config.h>

#include "diagnose/leaks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "base/text.h"
#include "census/read.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "glibc/layout.h"
#include "heap/read.h"
#include "maps/leaves.h"
#include "maps/space.h"
#include "os/ceiling.h"
#include "os/claim.h"
#include "os/core.h"
#include "os/memory.h"
#include "os/ptrace.h"
#include "os/target.h"
#include "ui/claim.h"
#include "ui/deadline.h"
#include "wire/wire.h"

/*
 * A census takes at most this part of the heaps, unless their blocks are small and full of
 * pointers.
 */
#define OWN_SHARE 4
/* Below this no need is announced. */
#define OWN_SMALL_BYTES (UINT64_C(256) << 20)
/* A look that misses blocks is repeated at most as often. */
#define BROKEN_MAX 3

/* ---- memory ---- */

/* Return the resident bytes of malloc's memory in S. */
static uint64_t
leaks_heap_bytes(const struct space *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->leaves.nr; i++)
		if (leaf_kind_group((enum leaf_kind)s->leaves.v[i].kind) == GROUP_HEAP)
			bytes += s->leaves.v[i].rss_bytes;
	return bytes;
}

/*
 * Refuse a census for which memdiag has not enough memory, before the process is stopped; announce
 * a large one.
 */
static int
check_own_memory(struct leaks_answer *s, struct err *e)
{
	const uint64_t heap = leaks_heap_bytes(&s->space), need = heap / OWN_SHARE;
	const uint64_t left = os_memory_left();
	char all[32], own[32], room[32];

	if (need <= OWN_SMALL_BYTES || need <= left) {
		if (need > OWN_SMALL_BYTES)
			warnings_add(&s->warnings, false,
				"a census of %s takes up to %s of memory in memdiag",
				text_bytes(heap, all, sizeof all),
				text_bytes(need, own, sizeof own));
		return 0;
	}
	err_set_kind(e, ERR_FAILED, 0,
		"a census of %s takes up to %s of memory in memdiag, which may take %s",
		text_bytes(heap, all, sizeof all), text_bytes(need, own, sizeof own),
		text_bytes(left, room, sizeof room));
	return err_hint(e, "--max-memory allows more");
}

/* ---- warnings ---- */

static void
leaks_warn(struct leaks_answer *s)
{
	const struct object *o = objects_malloc(&s->process.objects, &s->target);
	const struct object *libc = process_second_libc(&s->process);
	char path[256];

	s->is_certain = !*s->census.why;
	if (o && !o->is_libc)
		warnings_add(&s->warnings, true,
			"the program's malloc is not glibc's but that of %s: only blocks of glibc's are seen",
			text_printable(o->path, path, sizeof path));
	if (libc)
		warnings_add(&s->warnings, false,
			"a second libc is loaded, %s: blocks of its malloc are not seen",
			text_printable(libc->path, path, sizeof path));
	if (!s->is_certain)
		warnings_add(&s->warnings, true,
			"approximate: %s; a block that is said to be unreachable may be reached",
			s->census.why);
}

/* ---- reading ---- */

static int
leaks_open(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	if (q->core)
		return target_open_core(&s->target, q->core, q->sysroot, e);
	return target_open(&s->target, q->ui.pid, e);
}

/* Read the address space around the arenas, with the blocks that have their own mappings. */
static int
leaks_read_space(struct leaks_answer *s, struct err *e)
{
	struct space_options opt = {
		.process = &s->process,
		.want_unused = true,
		.count_mmapped = malloc_count_mmapped,
	};

	if (process_find_arenas(&s->process, NULL, e) < 0)
		return -1;
	return space_read(&s->space, &s->target, &opt, e);
}

/* ---- the agent ---- */

/* A stack is welcome, but nothing depends on it. */
static void
leaks_warn_of_agent(struct leaks_answer *s, const struct err *why)
{
	warnings_add(&s->warnings, false, "no stacks of allocations: %s", why->msg);
	s->stacks.noting = WIRE_NOTE_NOTHING;
}

/* Read which stack has allocated each block, as soon as the process runs again. */
static void
leaks_read_stacks(void *arg)
{
	struct leaks_answer *s = arg;
	struct err e;

	if (block_stacks_read(&s->stacks, &s->process, &e) < 0)
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
	deadline_set(q->ui.files_timeout_ns);
	return block_stacks_name(&s->stacks, &s->process, site, nr, e);
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

static int
leaks_read_census(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	const bool stops = !q->core && !q->no_stop && q->max_stop_ns;
	auto_free struct census_skip *skip = leaks_list_skips(s);
	const struct census_options how = {
		.max_stop_ns = stops ? q->max_stop_ns : 0,
		.is_unaligned = q->is_unaligned,
		.masks_tags = q->masks_tags,
		.wants_hashes = q->no_stop,
		.skip = skip,
		.nr_skips = s->stacks.nr_memory,
		.after = q->no_stop ? NULL : leaks_read_stacks,
		.arg = s,
	};
	int failed;

	if (!skip)
		return err_set(e, ENOMEM, "cannot list the memory of the agent");
	if (stops && ui_claim(&s->target, &q->ui, e) < 0)
		return -1;
	failed = census_read(&s->census, &s->heap, &s->process, &s->space, &how, e);
	if (stops)
		target_unclaim(&s->target);
	if (failed && e->kind == ERR_NO_SAFE_POINT)
		err_hint(e, "--max-stop allows a longer one");
	return failed;
}

/* Read all blocks once. */
static int
leaks_look(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	struct err why;

	if (process_read(&s->process, &s->target, e) < 0)
		return -1;
	if (!q->core && block_stacks_find(&s->stacks, &s->process, &why) < 0)
		leaks_warn_of_agent(s, &why);
	return leaks_read_space(s, e) < 0 || check_own_memory(s, e) < 0 ||
			leaks_read_census(s, q, e) < 0
		? -1
		: 0;
}

/* Forget a look, so that the next one finds what has changed. */
static void
leaks_forget_look(struct leaks_answer *s)
{
	census_release(&s->census);
	heap_release(&s->heap);
	space_release(&s->space);
	process_release(&s->process);
	block_stacks_release(&s->stacks);
	warnings_release(&s->warnings);
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
		deadline_set(q->ui.timeout_ns);
		if (leaks_look(s, q, e) < 0)
			return -1;
		if (!s->census.unread_bytes)
			return 0;
		debug("a look has missed %" PRIu64 " bytes", s->census.unread_bytes);
	}
	return 0;
}

/* Look at a running process until a look removes no block, or often enough. */
static int
leaks_look_again(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	for (;;) {
		if (leaks_look_whole(s, q, e) < 0 || census_looks_add(&s->looks, &s->census, e) < 0)
			return -1;
		debug("look %u: %zu blocks are left, %" PRIu64 " were removed", s->looks.nr,
			s->looks.lost.nr, s->looks.removed);
		if (s->looks.nr >= q->nr_looks || (s->looks.nr > 1 && !s->looks.removed))
			break;
		os_sleep_ns(q->every_ns);
	}
	leaks_read_stacks(s);
	snprintf(s->census.why, sizeof s->census.why, "the process ran while it was read, %u times",
		s->looks.nr);
	return 0;
}

/* ---- all of it ---- */

/* Group the unreachable blocks that are not suppressed. */
static int
leaks_group(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	const bool has_stacks = s->stacks.noting != WIRE_NOTE_NOTHING;
	const struct census_labels labels = { leaks_label, &s->stacks };

	if (census_leaks_find(&s->leaks, &s->census, has_stacks ? &labels : NULL, e) < 0)
		return -1;
	if (has_stacks && s->leaks.group.nr && leaks_name_stacks(s, q, e) < 0)
		return -1;
	suppressions_apply(&s->suppressions, &s->leaks, &s->stacks);
	for (size_t i = 0; has_stacks && i < s->leaks.group.nr; i++)
		if (!s->leaks.group.v[i].label)
			s->unknown_heads += s->leaks.group.v[i].heads;
	return leaks_groups_make(&s->groups, &s->leaks, e);
}

int
leaks_ask(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	struct err ignored;

	s->core = q->core;
	if ((q->suppressions && suppressions_read(&s->suppressions, q->suppressions, e) < 0) ||
		leaks_open(s, q, e) < 0 || os_check_memory(&s->target, e) < 0)
		return -1;
	s->has_status = !q->core && os_status(&s->target, 0, &s->status, &ignored) == 0;
	if ((q->no_stop ? leaks_look_again : leaks_look)(s, q, e) < 0 || leaks_group(s, q, e) < 0)
		return -1;
	leaks_warn(s);
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
	target_release(&s->target);
}

/* The order in which a census of a process or a core file is taken, and its warnings. */
#include <config.h>

#include "diagnose/census.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/debug.h"
#include "base/text.h"
#include "census/chunks.h"
#include "census/read.h"
#include "census/slots.h"
#include "census/type-find.h"
#include "census/type-pools.h"
#include "census/type-python.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "elf/regions.h"
#include "glibc/layout.h"
#include "glibc/threads.h"
#include "heap/read.h"
#include "inject/copy.h"
#include "inject/target.h"
#include "maps/leaves.h"
#include "maps/space.h"
#include "os/ceiling.h"
#include "os/claim.h"
#include "os/core.h"
#include "os/memory.h"
#include "os/target.h"
#include "ui/claim.h"
#include "ui/output.h"

/*
 * A census takes at most this part of the heaps, unless their blocks are small and full of
 * pointers.
 */
#define OWN_SHARE 4
/* For each block, besides four bytes for each pointer to one (census/dominators.c). */
#define DOMINATORS_BYTES 48
/* The longest search for a thread that can make a copy. */
#define FORK_WAIT_NS UINT64_C(5000000000)
/* Below this no need is announced. */
#define OWN_SMALL_BYTES (UINT64_C(256) << 20)

/* ---- memory ---- */

/* Return the resident bytes of malloc's memory in S. */
static uint64_t
census_heap_bytes(const struct space *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->leaves.nr; i++)
		if (leaf_kind_group((enum leaf_kind)s->leaves.v[i].kind) == GROUP_HEAP)
			bytes += s->leaves.v[i].rss_bytes;
	return bytes;
}

/* Fail with E if memdiag may not take NEED bytes for WHAT. */
static int
census_need(uint64_t need, const char *what, struct err *e)
{
	const uint64_t left = os_memory_left();
	char own[32], room[32];

	if (need <= OWN_SMALL_BYTES || need <= left)
		return 0;
	err_set_kind(e, ERR_FAILED, 0, "%s takes up to %s of memory in memdiag, which may take %s",
		what, text_bytes(need, own, sizeof own), text_bytes(left, room, sizeof room));
	return err_hint(e, "--max-memory allows more");
}

/*
 * Refuse a census for which memdiag has not enough memory, before the process is stopped; announce
 * a large one.
 */
static int
census_check_memory(const struct census_answer *s, const struct census_question *q, struct err *e)
{
	const uint64_t heap = census_heap_bytes(&s->space), need = heap / OWN_SHARE;
	char what[64], bytes[32];

	snprintf(what, sizeof what, "a census of %s", text_bytes(heap, bytes, sizeof bytes));
	if (census_need(need, what, e) < 0)
		return -1;
	if (need > OWN_SMALL_BYTES)
		ui_note(&q->ui, "%s takes up to %s of memory in memdiag", what,
			text_bytes(need, bytes, sizeof bytes));
	return 0;
}

int
census_check_dominators(const struct census_answer *s, struct err *e)
{
	const struct census *c = &s->census;

	return census_need(
		c->chunks.state.nr * DOMINATORS_BYTES + c->edges.to.nr * sizeof *c->edges.to.v,
		"finding what holds what", e);
}

/* ---- warnings ---- */

void
census_warn(struct census_answer *s, const char *therefore)
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
		warnings_add(&s->warnings, true, "approximate: %s%s", s->census.why, therefore);
}

/* ---- reading ---- */

int
census_open(struct census_answer *s, const struct census_question *q, struct err *e)
{
	struct err ignored;

	s->core = q->core;
	if ((q->core ? target_open_core(&s->target, q->core, q->sysroot, e)
		     : target_open(&s->target, q->ui.pid, e)) < 0 ||
		os_check_memory(&s->target, e) < 0)
		return -1;
	s->has_status = !q->core && os_status(&s->target, 0, &s->status, &ignored) == 0;
	return 0;
}

/* Find the types whose addresses blocks may have. */
static int
census_find_types(struct census_answer *s, struct err *e)
{
	const struct process *p = &s->process;

	if (census_type_table_init(&s->types, e) < 0)
		return -1;
	if (census_types_find_python(&s->types, &s->target, &p->maps, &p->objects, e) < 0)
		return -1;
	if (census_types_find_objects(&s->types, &s->target, &p->maps, &p->objects, e) < 0)
		return -1;
	return census_gclasses_find(&s->gclasses, &s->types, &s->target, &p->maps, &p->objects, e);
}

/* Explain that no thread uses libc's malloc, if the program has another one.  Returns -1. */
static int
census_hint_at_malloc(const struct census_answer *s, struct err *e)
{
	const struct object *o = objects_malloc(&s->process.objects, &s->target);
	char path[256];

	if (e->kind == ERR_UNSUPPORTED && o && !o->is_libc)
		err_hint(e, "Its malloc is that of %s; 'memdiag maps' works here",
			text_printable(o->path, path, sizeof path));
	return -1;
}

/* Read the address space around the arenas, with the blocks that have their own mappings. */
static int
census_read_space(struct census_answer *s, struct err *e)
{
	struct space_options opt = {
		.process = &s->process,
		.want_unused = true,
		.count_mmapped = malloc_count_mmapped,
	};

	if (process_find_arenas(&s->process, NULL, e) < 0)
		return census_hint_at_malloc(s, e);
	return space_read(&s->space, &s->target, &opt, e);
}

/* The census for which the copy of a process is read. */
struct census_of_copy {
	struct census_answer *s;
	struct census_options *how;
	struct inject_copying *copying;
};

static void
census_end_copy(void *arg)
{
	const struct census_of_copy *of = arg;

	inject_copy_end(of->copying);
	if (of->how->after)
		of->how->after(of->how->arg);
}

static int
census_read_copy(
	const struct target *copy, struct inject_copying *copying, void *arg, struct err *e)
{
	struct census_of_copy *of = arg;
	struct census_answer *s = of->s;
	struct process process = s->process;
	struct census_options how = *of->how;
	int failed;

	process.target = copy;
	process.maps = (struct regions){ 0 };
	of->copying = copying;
	how.max_stop_ns = 0;
	how.after = census_end_copy;
	how.arg = of;
	threads_release(&s->space.threads);
	if (regions_read(&process.maps, copy, e) < 0)
		return -1;
	failed = threads_list(&s->space.threads, copy, SIZE_MAX, e) < 0
		? -1
		: census_read(&s->census, &s->heap, &process, &s->space, &how, e);
	regions_release(&process.maps);
	return failed;
}

/* Take the census of a copy that a fork makes. */
static int
census_look_at_copy(struct census_answer *s, const struct census_question *q,
	struct census_options *how, struct err *e)
{
	auto_inject_target struct inject_target *callee = NULL;
	struct census_of_copy of = { s, how, NULL };
	const struct inject_copy what = { q->max_stop_ns, census_read_copy, &of };
	const struct inject_options inject = {
		.wait_ns =
			q->ui.timeout_ns / 2 < FORK_WAIT_NS ? q->ui.timeout_ns / 2 : FORK_WAIT_NS,
		.timeout_ns = q->ui.timeout_ns,
	};
	struct inject_report report;
	struct inject_copied copied;

	if (inject_target_new(&callee, &s->process, e) < 0 ||
		inject_copy(callee, &s->process.arenas, &inject, &what, &copied, &report, e) < 0)
		return -1;
	s->copy_ns = copied.existed_ns;
	s->heap.nr_stops = copied.nr_stops;
	s->heap.stopped_ns = copied.stopped_ns;
	s->heap.longest_stop_ns = copied.longest_ns;
	return 0;
}

int
census_look(struct census_answer *s, const struct census_question *q, struct census_options *how,
	struct err *e)
{
	const bool stops = !q->core && q->max_stop_ns;
	int failed;

	how->max_stop_ns = q->max_stop_ns;
	how->wants_contents = q->wants_contents;
	how->types = q->wants_types ? &s->types : NULL;
	how->rules = q->wants_types ? census_pool_rules(&s->process.objects) : 0;
	if (census_read_space(s, e) < 0 || census_check_memory(s, q, e) < 0 ||
		(q->wants_types && census_find_types(s, e) < 0) ||
		(stops && ui_claim(&s->target, &q->ui, e) < 0))
		return -1;
	failed = q->by_fork ? census_look_at_copy(s, q, how, e)
			    : census_read(&s->census, &s->heap, &s->process, &s->space, how, e);
	if (stops)
		target_unclaim(&s->target);
	if (failed && e->kind == ERR_NO_SAFE_POINT && !q->by_fork)
		err_hint(e, "--max-stop allows a longer one; --fork reads a copy of the process");
	if (failed || !q->wants_types)
		return failed;
	return census_types_judge(&s->census, &s->types, &s->process.objects, e) < 0
		? -1
		: census_gclasses_judge(&s->census, &s->gclasses, e);
}

int
census_ask(struct census_answer *s, const struct census_question *q, struct err *e)
{
	struct census_options how = { 0 };

	if (census_open(s, q, e) < 0 || process_read(&s->process, &s->target, e) < 0 ||
		census_look(s, q, &how, e) < 0)
		return -1;
	census_warn(s, "");
	return 0;
}

int
census_find_block(const struct census_answer *s, raddr addr, uint32_t *ret_chunk, struct err *e)
{
	const struct census *c = &s->census;
	const uint32_t granule = census_granule(&c->slots, addr.v);

	*ret_chunk = granule ? census_chunk_at(&c->chunks, &c->slots, granule) : CENSUS_NO_CHUNK;
	if (*ret_chunk == CENSUS_NO_CHUNK)
		return err_set_kind(e, ERR_USAGE, 0, PRIraddr " is in no heap of malloc", addr.v);
	if (!(c->chunks.state.v[*ret_chunk] & CENSUS_BLOCK))
		return err_set_kind(e, ERR_USAGE, 0,
			PRIraddr " is in memory of malloc that is free, or cached by a thread",
			addr.v);
	return 0;
}

void
census_forget(struct census_answer *s)
{
	census_type_table_release(&s->types);
	census_gclasses_release(&s->gclasses);
	census_release(&s->census);
	heap_release(&s->heap);
	space_release(&s->space);
	process_release(&s->process);
	warnings_release(&s->warnings);
}

void
census_answer_release(struct census_answer *s)
{
	census_forget(s);
	target_release(&s->target);
}

/* The order in which 'memdiag leaks' reads a process or a core file, and its warnings. */
#include <config.h>

#include "diagnose/leaks.h"

#include <inttypes.h>

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
#include "os/target.h"
#include "ui/claim.h"

/*
 * A census takes at most this part of the heaps, unless their blocks are small and full of
 * pointers.
 */
#define OWN_SHARE 4
/* Below this no need is announced. */
#define OWN_SMALL_BYTES (UINT64_C(256) << 20)

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

/* Explain that no thread uses libc's malloc, if the program has another one.  Returns -1. */
static int
leaks_hint_at_malloc(const struct leaks_answer *s, struct err *e)
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
leaks_read_space(struct leaks_answer *s, struct err *e)
{
	struct space_options opt = {
		.process = &s->process,
		.want_unused = true,
		.count_mmapped = malloc_count_mmapped,
	};

	if (process_find_arenas(&s->process, NULL, e) < 0)
		return leaks_hint_at_malloc(s, e);
	return space_read(&s->space, &s->target, &opt, e);
}

static int
leaks_read_census(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	const bool stops = !q->core && q->max_stop_ns;
	int failed;

	if (stops && ui_claim(&s->target, &q->ui, e) < 0)
		return -1;
	failed = census_read(&s->census, &s->heap, &s->process, &s->space, q->max_stop_ns, e);
	if (stops)
		target_unclaim(&s->target);
	if (failed && e->kind == ERR_NO_SAFE_POINT)
		err_hint(e, "--max-stop allows a longer one");
	return failed;
}

int
leaks_ask(struct leaks_answer *s, const struct leaks_question *q, struct err *e)
{
	struct err ignored;

	s->core = q->core;
	if (leaks_open(s, q, e) < 0 || os_check_memory(&s->target, e) < 0 ||
		process_read(&s->process, &s->target, e) < 0)
		return -1;
	s->has_status = !q->core && os_status(&s->target, 0, &s->status, &ignored) == 0;
	if (leaks_read_space(s, e) < 0 || check_own_memory(s, e) < 0 ||
		leaks_read_census(s, q, e) < 0 || census_leaks_find(&s->leaks, &s->census, e) < 0)
		return -1;
	leaks_warn(s);
	return 0;
}

void
leaks_answer_release(struct leaks_answer *s)
{
	warnings_release(&s->warnings);
	census_leaks_release(&s->leaks);
	census_release(&s->census);
	heap_release(&s->heap);
	space_release(&s->space);
	process_release(&s->process);
	target_release(&s->target);
}

#include <config.h>

#include "diagnose/malloc-target.h"

#include <errno.h>
#include <stdlib.h>

#include "elf/link-map.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "inject/target.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/status.h"
#include "os/target.h"
#include "ui/claim.h"
#include "ui/deadline.h"

/* Retry to distinguish damaged arenas, which stay damaged, from arenas that were just changing. */
#define ARENA_TRIES 100
#define ARENA_PAUSE_NS 1000000

/*
 * Explain an unknown malloc: a process that is exiting has no memory left, and one that has
 * executed another program no longer matches the data read; both look like an unknown malloc.
 */
static int
refuse_unknown_malloc(const struct malloc_target *mt, struct err *e)
{
	const struct target *t = &mt->target;
	struct os_status s;
	struct err why;
	char byte;

	if (os_read(t, (raddr){ 0 }, &byte, sizeof byte, &why) < 0 && why.kind == ERR_GONE &&
		why.code != ESRCH) {
		*e = why;
		return -1;
	}
	if (os_status(t, 0, &s, &why) == 0 && s.has_memory)
		return -1;
	return err_set_kind(
		e, ERR_GONE, 0, "%d (%s) ended while memdiag read it", (int)t->pid, t->comm);
}

static int
check_state(struct malloc_target *mt, bool may_be_traced, struct err *e)
{
	struct err why;

	if (inject_check_state(&mt->target, &why) == 0)
		return 0;
	if (may_be_traced && why.kind == ERR_PERMISSION) {
		mt->traced = why;
		return 0;
	}
	*e = why;
	return -1;
}

static int
malloc_target_learn(struct malloc_target *mt, enum malloc_choice choice, struct err *e)
{
	const int found = jemalloc_find(&mt->jemalloc, &mt->process, choice, e);

	if (found < 0)
		return -1;
	mt->is_jemalloc = found;
	return mt->is_jemalloc
		? inject_target_learn_other(&mt->inject, &mt->process, &mt->jemalloc.inject, e)
		: inject_target_learn(&mt->inject, &mt->process, e);
}

int
malloc_target_open(struct malloc_target *mt, const struct ui_options *opt,
	enum malloc_choice choice, bool may_be_traced, struct err *e)
{
	/*
	 * A last resort only: the wait and the call have separate deadlines with better messages.
	 */
	deadline_set(2 * opt->timeout_ns + 1000000000);
	if (target_open(&mt->target, opt->pid, e) < 0 || ui_claim(&mt->target, opt, e) < 0)
		return -1;
	if (os_check_memory(&mt->target, e) < 0)
		return -1;
	if (process_read(&mt->process, &mt->target, e) < 0 ||
		check_state(mt, may_be_traced, e) < 0 || malloc_target_learn(mt, choice, e) < 0 ||
		inject_check_calls(mt->inject, e) < 0)
		return refuse_unknown_malloc(mt, e);
	return 0;
}

/*
 * Find and check the arenas. malloc_info() follows the ring of arenas and the chain of heaps in
 * each without checks, holding the arena's lock (malloc/malloc.c, __malloc_info): damaged ones
 * would crash the target or keep it in a loop.
 */
int
malloc_target_find_arenas(struct malloc_target *mt, struct err *e)
{
	for (int i = 0; i < ARENA_TRIES; i++) {
		/* A main arena without a ring may be a wrong guess. */
		const struct process *known =
			mt->process.arenas.is_ring_closed ? &mt->process : NULL;

		if (i)
			os_sleep_ns(ARENA_PAUSE_NS);
		if (process_find_arenas(&mt->process, known, e) < 0)
			return refuse_unknown_malloc(mt, e);
		if (mt->process.arenas.is_ring_closed)
			return 0;
	}
	return err_set_kind(e, ERR_FAILED, 0,
		"the arenas in the memory of %d (%s) are damaged. "
		"malloc would follow them into nothing, so it was not called; "
		"'memdiag maps' works here",
		(int)mt->target.pid, mt->target.comm);
}

bool
has_trim_of_tops(const struct process *p)
{
	static const char *const needed[] = { "__lll_lock_wait_private", "syscall", "madvise" };
	const struct object *libc = objects_malloc(&p->objects, p->target);
	struct image_symbol ignored;

	if (!libc || !libc->is_libc || !libc->image)
		return false;
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (image_find(libc->image, needed[i], &ignored) < 0)
			return false;
	return true;
}

void
malloc_target_release(struct malloc_target *mt)
{
	inject_target_free(mt->inject);
	process_release(&mt->process);
	target_release(&mt->target);
	*mt = (struct malloc_target)MALLOC_TARGET_NONE;
}

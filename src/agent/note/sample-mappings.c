#include <config.h>

#include "agent/note/sample-mappings.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include "agent/base/state.h"
#include "agent/base/sys.h"
#include "agent/base/thread.h"
#include "agent/note/mapped.h"
#include "agent/note/notes.h"
#include "agent/note/record.h"
#include "agent/note/sample.h"
#include "agent/note/sites.h"
#include "unwind/unwind.h"

/* ---- a call in progress ---- */

static uint32_t
new_call(void)
{
	static uint32_t last;
	const uint32_t call = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);

	return call ? call : __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

void
sample_lose_mapping(void)
{
	if (!sites_hold())
		return;
	__atomic_add_fetch(&sites->nr_mappings_lost, 1, __ATOMIC_RELAXED);
	log_drop(0);
	sites_let_go();
}

/*
 * A thread may leave mmap(), like any system call, by siglongjmp() out of a handler or by
 * asynchronous cancellation.  It cannot do so while it records an event: all signals are blocked,
 * except those that an instruction raises.
 */
#define BIT(signal) (UINT64_C(1) << ((signal)-1))
#define WAITING (~(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP)))

/* The state of a thread while it records an event. */
struct note {
	struct wire_thread *self;
	bool was_inside;
	uint64_t signals; /* mask of blocked signals before */
};

/* Begin to record.  False if that is impossible: the call counts as lost. */
static bool
note_begin(struct note *n, struct wire_thread *self)
{
	const uint64_t waiting = WAITING;

	if (notes_are_off())
		return false;
	n->self = self;
	sys_call(SYS_rt_sigprocmask, SIG_BLOCK, &waiting, &n->signals, sizeof n->signals);
	if (notes_enter(self, notes_of(self))) {
		n->was_inside = self->is_inside;
		agent_set_inside(self, true);
		return true;
	}
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &n->signals, NULL, sizeof n->signals);
	sample_lose_mapping();
	return false;
}

static void
note_end(const struct note *n)
{
	agent_set_inside(n->self, n->was_inside);
	notes_leave(notes_of(n->self));
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &n->signals, NULL, sizeof n->signals);
}

/* The site of the calling thread's stack. */
static uint32_t
sample_mappings_find_site(struct wire_thread *self)
{
	uint32_t node;

	if (wire_capture_of(sites->period_bytes) == WIRE_PROFILE)
		sample_prepare(self);
	else
		record_prepare(self);
	node = stack_find(&notes_of(self)->stack)->node;
	node = sites_child(node, wire_label(WIRE_LABEL_MAPPED, 0));
	node = sites_child(node, wire_label(WIRE_LABEL_THREAD, thread_id()));
	return sites_of_mapping(node);
}

/* True if the range is valid; otherwise the call must fail. */
static bool
is_range(const void *at, size_t bytes)
{
	return bytes && !((uintptr_t)at % agent_page_bytes);
}

/* [AT, AT + BYTES) is about to be unmapped by the call C. */
static void
sample_mappings_leave(struct sample_mapping *c, const void *at, size_t bytes)
{
	struct note n;

	if (!is_range(at, bytes) || !mapset_may_have() || !note_begin(&n, c->self))
		return;
	c->call = c->call ? c->call : new_call();
	mapset_leave((uintptr_t)at, mapping_page_end(at, bytes), c->call);
	note_end(&n);
}

/* The call C has ended with the result HOW. */
static void
leave_end(const struct sample_mapping *c, const void *at, size_t bytes, enum mapset_end how)
{
	struct note n;

	if (!is_range(at, bytes) || !c->call || !note_begin(&n, c->self))
		return;
	mapset_end((uintptr_t)at, mapping_page_end(at, bytes), c->call, how);
	note_end(&n);
}

/* True if the stack that sample_mappings_find_site() has found contains a function of libc. */
static bool
is_in_libc(const struct wire_thread *self)
{
	const struct unwind_stack *s = stack_frames(&notes_of(self)->stack);
	uint32_t i = 0;

	while (i < s->nr && !agent_is_libc(s->frame[i].pc))
		i++;
	return i < s->nr;
}

/* Record that [AT, AT + BYTES) was mapped, in the NR PARTS. */
static void
sample_mappings_put(struct wire_thread *self, const void *at, size_t bytes,
	const struct mapset_part *parts, size_t nr)
{
	struct note n;
	uint32_t site;

	if ((!nr && !mapset_may_have()) || !note_begin(&n, self))
		return;
	site = nr ? sample_mappings_find_site(self) : 0;
	/* In a static program, malloc calls mmap() from functions whose addresses are unknown. */
	if (nr && agent_is_static && is_in_libc(self))
		nr = 0;
	mapset_put((uintptr_t)at, mapping_page_end(at, bytes), parts, nr, site);
	mapped_note();
	note_end(&n);
}

/* ---- mmap ---- */

static size_t
sample_mappings_mapped_over(const struct map_call *m)
{
	return m->flags & MAP_FIXED ? m->bytes : 0;
}

void
sample_mapping(struct wire_thread *self, const struct map_call *m, bool is_noted,
	struct sample_mapping *ret)
{
	*ret = (struct sample_mapping){ .self = is_noted ? self : NULL };
	if (is_noted)
		sample_mappings_leave(ret, m->at, sample_mappings_mapped_over(m));
}

void
sample_mapped(const struct map_call *m, void *mapped, const struct sample_mapping *c)
{
	struct mapset_part part;

	if (!c->self || notes_are_off())
		return;
	if (mapped == MAP_FAILED) {
		leave_end(c, m->at, sample_mappings_mapped_over(m), MAPSET_UNKNOWN);
		return;
	}
	part = (struct mapset_part){ (uintptr_t)mapped, mapping_end(mapped, m->bytes),
		mapping_state(m) };
	sample_mappings_put(c->self, mapped, m->bytes, &part, part.state != PAGE_NOTHING);
}

/* ---- munmap ---- */

void
sample_unmapping(
	struct wire_thread *self, void *at, size_t bytes, bool is_noted, struct sample_mapping *ret)
{
	*ret = (struct sample_mapping){ .self = is_noted ? self : NULL };
	if (is_noted)
		sample_mappings_leave(ret, at, bytes);
}

void
sample_unmapped(void *at, size_t bytes, bool has_failed, const struct sample_mapping *c)
{
	if (c->self)
		leave_end(c, at, bytes, has_failed ? MAPSET_STAYED : MAPSET_LEFT);
}

/* ---- mremap ---- */

static size_t
sample_mappings_remapped_over(const struct remap_call *r)
{
	return r->flags & MREMAP_FIXED ? r->want : 0;
}

static size_t
sample_mappings_leaving(const struct remap_call *r)
{
	return mapping_keeps_old(r) ? 0 : r->had;
}

/*
 * Find the parts of the new mapping.  Pages beyond the old size, and all pages of a second mapping
 * of shared memory, get the state of the old mapping's first page.
 */
static void
find_parts(struct sample_remap *c, const struct remap_call *r)
{
	const uintptr_t start = (uintptr_t)r->old;
	const size_t had = r->had ? mapping_page_end(r->old, r->had) - start : 0;
	const size_t kept = had < r->want ? had : r->want;
	struct mapset_part first;

	if (!mapset_read(start, start + 1, &first, 1))
		first.state = 0;
	c->nr = kept ? mapset_read(start, start + kept, c->part, SAMPLE_MOST_PARTS) : 0;
	for (size_t i = 0; i < c->nr; i++) {
		c->part[i].start -= start;
		c->part[i].end -= start;
	}
	if (r->want <= kept || !first.state)
		return;
	if (c->nr && c->part[c->nr - 1].end == kept && c->part[c->nr - 1].state == first.state)
		c->part[c->nr - 1].end = r->want;
	else
		c->part[c->nr++] = (struct mapset_part){ kept, r->want, first.state };
}

void
sample_remapping(struct wire_thread *self, const struct remap_call *r, bool is_noted,
	struct sample_remap *ret)
{
	struct note n;

	ret->call = (struct sample_mapping){ .self = is_noted ? self : NULL };
	ret->nr = 0;
	if (!is_noted || !mapset_may_have() || !note_begin(&n, self))
		return;
	find_parts(ret, r);
	note_end(&n);
	sample_mappings_leave(&ret->call, r->old, sample_mappings_leaving(r));
	sample_mappings_leave(&ret->call, r->to, sample_mappings_remapped_over(r));
}

void
sample_remapped(const struct remap_call *r, void *mapped, struct sample_remap *c)
{
	const bool has_failed = mapped == MAP_FAILED;

	if (!c->call.self)
		return;
	leave_end(&c->call, r->old, sample_mappings_leaving(r),
		has_failed ? MAPSET_STAYED : MAPSET_LEFT);
	if (has_failed) {
		leave_end(&c->call, r->to, sample_mappings_remapped_over(r), MAPSET_UNKNOWN);
		return;
	}
	for (size_t i = 0; i < c->nr; i++) {
		c->part[i].start += (uintptr_t)mapped;
		c->part[i].end += (uintptr_t)mapped;
	}
	sample_mappings_put(c->call.self, mapped, r->want, c->part, c->nr);
}

/* ---- mprotect ---- */

/*
 * At a hole the kernel returns an error, but the pages before the hole have changed (mm/mprotect.c,
 * do_mprotect_pkey).
 */
void
sample_protected(
	struct wire_thread *self, void *at, size_t bytes, int prot, int error, bool is_noted)
{
	uintptr_t end = mapping_page_end(at, bytes);
	struct note n;

	if (!is_noted || (error && error != ENOMEM) || !is_range(at, bytes) || !mapset_may_have() ||
		!note_begin(&n, self))
		return;
	if (error)
		end = mapping_end_of_mapped(at, bytes);
	mapset_protect((uintptr_t)at, end, mapping_access(prot));
	note_end(&n);
}

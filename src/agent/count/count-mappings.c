/*
 * The thread that owns an address range changes its entries in the table of pages.h: before the
 * kernel gets the range back and after the kernel has given it.  This needs no lock.  The only
 * system call asks for the kind of a file that is mapped shared.
 */
#include <config.h>

#include "agent/count/count-mappings.h"

#include <errno.h>
#include <sys/mman.h>

#include "agent/base/compiler.h"
#include "agent/base/places.h"
#include "agent/base/segment.h"
#include "agent/base/settings.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"
#include "agent/count/count.h"
#include "agent/count/limit.h"
#include "agent/count/pages.h"

/* ---- a call under way ---- */

/*
 * Begin a call.  If this thread left an earlier call by longjmp() or cancellation, that call ends
 * here.
 */
static void
call_begin(struct count_mapping *c, struct wire_thread *self)
{
	if (UNLIKELY(self->pending_bytes) && self != place_shared())
		count_change_mapping(self, -own_take(&self->pending_bytes));
	*c = (struct count_mapping){ .self = self };
}

/*
 * WAS bytes are counted for the addresses that the call takes.  Count up to WANT bytes for them if
 * WANT is larger.  False if that does not fit.
 */
static bool
call_take(struct count_mapping *c, int64_t was, int64_t want)
{
	const int64_t more = want > was ? want - was : 0;
	enum count_answer answer;

	c->nr_starts = segment->nr_starts;
	answer = count_take_mapping(c->self, more);
	if (answer == COUNT_REFUSED)
		return false;
	c->was_bytes = was;
	c->counted_bytes = was + more;
	if (c->self != place_shared())
		__atomic_store_n(&c->self->pending_bytes, c->counted_bytes, __ATOMIC_RELAXED);
	if (UNLIKELY(answer == COUNT_PASSED))
		limit_passed(more);
	return true;
}

static void
raise_mapped_peak(void)
{
	const int64_t mapped = __atomic_load_n(&segment->mapped_bytes, __ATOMIC_RELAXED);
	int64_t was = __atomic_load_n(&segment->mapped_peak_bytes, __ATOMIC_RELAXED);

	while (mapped > was &&
		!__atomic_compare_exchange_n(&segment->mapped_peak_bytes, &was, mapped, true,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* True if counting was restarted in the meantime, which discarded the bytes of the call. */
static bool
count_mappings_is_outdated(const struct count_mapping *c)
{
	if (LIKELY(c->nr_starts == segment->nr_starts))
		return false;
	c->self->pending_bytes = 0;
	return true;
}

/* Replace the bytes that were counted for the call by BYTES. */
static void
call_end(struct count_mapping *c, int64_t bytes)
{
	/* A signal handler that also maps may have taken the pending bytes of this call. */
	if (c->self != place_shared())
		c->counted_bytes = own_take(&c->self->pending_bytes);
	if (UNLIKELY(count_change_mapping(c->self, bytes - c->counted_bytes) == COUNT_PASSED))
		limit_passed(bytes - c->counted_bytes);
	if (bytes < c->was_bytes)
		count_freed(c->self, c->was_bytes - bytes);
	raise_mapped_peak();
}

/* ---- ranges ---- */

/* Return the counted bytes in [AT, AT + BYTES), and remove them from the count in the table. */
static int64_t
count_mappings_leave(const void *at, size_t bytes)
{
	return -pages_leave((uintptr_t)at, mapping_page_end(at, bytes));
}

static int64_t
stay(const void *at, size_t bytes)
{
	return pages_stay((uintptr_t)at, mapping_page_end(at, bytes));
}

static void
count_mappings_forget(const void *at, size_t bytes)
{
	pages_forget((uintptr_t)at, mapping_page_end(at, bytes));
}

/* Mark [AT, AT + BYTES) as not counted. */
static void
count_mappings_forget_all(const void *at, size_t bytes)
{
	pages_put((uintptr_t)at, mapping_page_end(at, bytes), PAGE_NOTHING);
}

/*
 * Handle the failure of a call that was to map over [AT, AT + BYTES): the kernel may have unmapped
 * the old mapping first (mremap_to() in mm/mremap.c; a driver's mmap()).
 */
static int64_t
stay_if_mapped(const void *at, size_t bytes)
{
	const uintptr_t end = mapping_page_end(at, bytes);
	int64_t counted = 0;

	for (uintptr_t run = (uintptr_t)at, next; run < end; run = next) {
		if (!(pages_state(run, end, &next) & PAGE_LEAVES))
			continue;
		if (mapping_is_there(run, next))
			counted += pages_stay(run, next);
		else
			pages_forget(run, next);
	}
	return counted;
}

/* ---- what counts ---- */

static enum page_state
count_mappings_state_of(const struct map_call *m)
{
	return settings_is_memtracer ? PAGE_MEMORY | PAGE_COUNTS : mapping_state(m);
}

/* ---- mmap ---- */

static size_t
count_mappings_mapped_over(const struct map_call *m)
{
	return m->flags & MAP_FIXED ? m->bytes : 0;
}

bool
count_may_map(struct wire_thread *self, const struct map_call *m, struct count_mapping *ret)
{
	call_begin(ret, self);
	ret->state = count_mappings_state_of(m);
	if (call_take(ret, count_mappings_leave(m->at, count_mappings_mapped_over(m)),
		    ret->state & PAGE_COUNTS ? (int64_t)m->bytes : 0))
		return true;
	stay(m->at, count_mappings_mapped_over(m));
	limit_reached(self, m->bytes);
	return false;
}

void
count_mapped(const struct map_call *m, void *mapped, struct count_mapping *c)
{
	const bool counts = c->state & PAGE_COUNTS && m->bytes;

	if (mapped != MAP_FAILED) {
		__atomic_add_fetch(&segment->nr_mappings, counts, __ATOMIC_RELAXED);
		if (count_mappings_is_outdated(c))
			count_mappings_forget_all(mapped, m->bytes);
		else
			call_end(c,
				pages_put((uintptr_t)mapped, mapping_end(mapped, m->bytes),
					c->state));
	} else if (!count_mappings_is_outdated(c)) {
		call_end(c, stay_if_mapped(m->at, count_mappings_mapped_over(m)));
	}
}

/* ---- munmap ---- */

void
count_unmapping(struct wire_thread *self, void *at, size_t bytes, struct count_mapping *ret)
{
	call_begin(ret, self);
	call_take(ret, count_mappings_leave(at, bytes), 0);
}

/* munmap() fails only for an invalid range or one that would have to be split. */
void
count_unmapped(void *at, size_t bytes, bool has_failed, struct count_mapping *c)
{
	if (!has_failed)
		count_mappings_forget(at, bytes);
	if (!count_mappings_is_outdated(c))
		call_end(c, has_failed ? stay(at, bytes) : 0);
}

/* ---- mremap ---- */

static void
count_mappings_add_run(struct runs *runs, size_t bytes, unsigned int state)
{
	if (runs->nr < MOST_RUNS)
		runs->v[runs->nr++] = (struct run){ bytes, state ? state : PAGE_NOTHING };
	else
		runs->v[MOST_RUNS - 1].bytes += bytes;
	if (runs->v[runs->nr - 1].state & PAGE_COUNTS)
		runs->counted_bytes += (int64_t)bytes;
}

/* Called before the real call, since another thread may own the old addresses after it. */
static void
count_mappings_find_runs(struct runs *runs, const struct remap_call *r)
{
	const uintptr_t start = (uintptr_t)r->old;
	uintptr_t end = r->had ? mapping_page_end(r->old, r->had) : start, next;
	unsigned int state;

	*runs = (struct runs){ .nr = 0 };
	if (end - start > r->want)
		end = mapping_end(r->old, r->want);
	for (uintptr_t at = start; at < end; at = next) {
		state = pages_state(at, end, &next);
		count_mappings_add_run(runs, next - at, state);
	}
	state = runs->nr ? runs->v[0].state : pages_state(start, start + 1, &next);
	if (r->want > end - start)
		count_mappings_add_run(runs, r->want - (end - start), state);
}

static int64_t
put_runs(const struct runs *runs, const void *mapped)
{
	uintptr_t at = (uintptr_t)mapped;
	int64_t bytes = 0;

	for (size_t i = 0; i < runs->nr; at += runs->v[i++].bytes)
		bytes += pages_put(at, at + runs->v[i].bytes, runs->v[i].state);
	return bytes;
}

static size_t
count_mappings_remapped_over(const struct remap_call *r)
{
	return r->flags & MREMAP_FIXED ? r->want : 0;
}

static size_t
count_mappings_leaving(const struct remap_call *r)
{
	return mapping_keeps_old(r) ? 0 : r->had;
}

bool
count_may_remap(struct wire_thread *self, const struct remap_call *r, struct count_remap *ret)
{
	call_begin(&ret->call, self);
	count_mappings_find_runs(&ret->runs, r);
	if (call_take(&ret->call,
		    count_mappings_leave(r->old, count_mappings_leaving(r)) +
			    count_mappings_leave(r->to, count_mappings_remapped_over(r)),
		    ret->runs.counted_bytes))
		return true;
	stay(r->old, count_mappings_leaving(r));
	stay(r->to, count_mappings_remapped_over(r));
	limit_reached(self, r->want);
	return false;
}

void
count_remapped(const struct remap_call *r, void *mapped, struct count_remap *c)
{
	int64_t counted;

	if (mapped != MAP_FAILED) {
		__atomic_add_fetch(
			&segment->nr_mappings, c->runs.counted_bytes != 0, __ATOMIC_RELAXED);
		counted = put_runs(&c->runs, mapped);
		count_mappings_forget(r->old, count_mappings_leaving(r));
		if (count_mappings_is_outdated(&c->call))
			count_mappings_forget_all(mapped, r->want);
		else
			call_end(&c->call, counted);
	} else if (!count_mappings_is_outdated(&c->call)) {
		call_end(&c->call,
			stay(r->old, count_mappings_leaving(r)) +
				stay_if_mapped(r->to, count_mappings_remapped_over(r)));
	}
}

/* ---- mprotect ---- */

/*
 * Inaccessible pages take memory from now on, or the reverse.  MemTracer counts all mapped pages.
 */
bool
count_may_protect(
	struct wire_thread *self, void *at, size_t bytes, int prot, struct count_mapping *ret)
{
	call_begin(ret, self);
	if (settings_is_memtracer || (uintptr_t)at % agent_page_bytes) {
		ret->self = NULL;
		return true;
	}
	ret->more_bytes = pages_protect(
		(uintptr_t)at, mapping_page_end(at, bytes), mapping_access(prot), true);
	if (call_take(ret, 0, ret->more_bytes))
		return true;
	limit_reached(self, bytes);
	return false;
}

/*
 * At a hole the kernel returns an error, but the pages before the hole have changed (mm/mprotect.c,
 * do_mprotect_pkey).
 */
void
count_protected(void *at, size_t bytes, int prot, int error, struct count_mapping *c)
{
	const uintptr_t start = (uintptr_t)at;
	uintptr_t to = mapping_page_end(at, bytes);

	if (!c->self)
		return;
	if (error)
		to = error == ENOMEM && c->more_bytes ? mapping_end_of_mapped(at, bytes) : start;
	if (!count_mappings_is_outdated(c))
		call_end(c, pages_protect(start, to, mapping_access(prot), false));
}

#include <config.h>

#include "trace/calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* since Linux 5.7 */
#endif

const char *const trace_call_names[] = { "mmap", "munmap", "mremap", "brk", "madvise", "shmat",
	"shmdt", NULL };

static const struct {
	const char *first;
	size_t nr_args;
} shapes[TRACE_NR_CALLS] = {
	[TRACE_MMAP] = { "addr", 6 },
	[TRACE_MUNMAP] = { "addr", 2 },
	[TRACE_MREMAP] = { "addr", 4 },
	[TRACE_BRK] = { "brk", 1 },
	[TRACE_MADVISE] = { "start", 3 },
	[TRACE_SHMAT] = { "shmid", 3 },
	[TRACE_SHMDT] = { "shmaddr", 1 },
};

const char *
trace_first_field(enum trace_call call)
{
	return shapes[call].first;
}

size_t
trace_nr_args(enum trace_call call)
{
	return shapes[call].nr_args;
}

/* ---- filters ---- */

bool
trace_has_small(enum trace_call call, uint64_t min_bytes)
{
	return min_bytes && (call == TRACE_MMAP || call == TRACE_MUNMAP || call == TRACE_MREMAP);
}

/*
 * Return the filter.  A kernel may name madvise()'s length "len_in"; size and advice are compared
 * here.
 */
const char *
trace_filter(enum trace_call call, uint64_t min_bytes, bool is_small, char *buf, size_t size)
{
	if (is_small) {
		if (call == TRACE_MMAP)
			snprintf(
				buf, size, "len < %" PRIu64 " && flags & %d", min_bytes, MAP_FIXED);
		else if (call == TRACE_MUNMAP)
			snprintf(buf, size, "len < %" PRIu64, min_bytes);
		else
			snprintf(buf, size, "old_len < %" PRIu64 " && new_len < %" PRIu64,
				min_bytes, min_bytes);
		return buf;
	}
	if (call == TRACE_MADVISE)
		snprintf(buf, size, "(behavior == %d || behavior == %d) && len_in >= %" PRIu64,
			MADV_DONTNEED, MADV_FREE, min_bytes);
	else if (!min_bytes || call == TRACE_BRK || call == TRACE_SHMAT || call == TRACE_SHMDT)
		return NULL;
	else if (call == TRACE_MREMAP)
		snprintf(buf, size, "old_len >= %" PRIu64 " || new_len >= %" PRIu64, min_bytes,
			min_bytes);
	else
		snprintf(buf, size, "len >= %" PRIu64, min_bytes);
	return buf;
}

/* ---- effects ---- */

int
trace_error(enum trace_call call, uint64_t result)
{
	return call != TRACE_BRK && result > (uint64_t)-4096 ? (int)-result : 0;
}

/* Return the NR_BYTES at START, extended to whole pages; an empty range if they are invalid. */
static struct trace_range
calls_pages(uint64_t start, uint64_t nr_bytes, uint64_t page_bytes)
{
	const uint64_t end = start + ((nr_bytes + page_bytes - 1) & ~(page_bytes - 1));

	return end < start || end - start < nr_bytes ? (struct trace_range){ start, start }
						     : (struct trace_range){ start, end };
}

static uint64_t
calls_bytes_of(struct trace_range r)
{
	return r.end - r.start;
}

static void
calls_map(struct trace_effect *e, const uint64_t *arg, uint64_t result, uint64_t page_bytes)
{
	e->mapped = calls_pages(result, arg[1], page_bytes);
	/* The call replaces an older mapping at this address, which only MAP_FIXED allows. */
	e->unmapped = e->mapped;
}

/*
 * Compute the effect of mremap().  Moved pages keep their owner; growth is new.  A length of 0 maps
 * shared memory once more (mm/mremap.c).
 */
static void
remap(struct trace_effect *e, const uint64_t *arg, uint64_t result, uint64_t page_bytes)
{
	const struct trace_range old = calls_pages(arg[0], arg[1], page_bytes);
	const struct trace_range new = calls_pages(result, arg[2], page_bytes);
	const uint64_t kept = calls_bytes_of(old) < calls_bytes_of(new) ? calls_bytes_of(old)
									: calls_bytes_of(new);

	e->mapped = (struct trace_range){ new.start + kept, new.end };
	e->unmapped = (struct trace_range){ old.start + kept, old.end };
	if (arg[3] & MREMAP_DONTUNMAP)
		e->mapped = new;
	else if (new.start != old.start) {
		e->from = (struct trace_range){ old.start, old.start + kept };
		e->to = new.start;
	}
}

static void
move_break(struct trace_effect *e, uint64_t result, uint64_t brk, uint64_t page_bytes)
{
	/* The kernel maps whole pages up to the break (mm/mmap.c, brk()). */
	const uint64_t old = (brk + page_bytes - 1) & ~(page_bytes - 1);
	const uint64_t new = (result + page_bytes - 1) & ~(page_bytes - 1);

	e->address = result;
	if (!brk)
		return;
	if (new > old)
		e->mapped = (struct trace_range){ old, new };
	else
		e->unmapped = (struct trace_range){ new, old };
	e->bytes = calls_bytes_of(e->mapped) + calls_bytes_of(e->unmapped);
}

/* Set the address and size to display, also for a failed call. */
static void
calls_describe(struct trace_effect *e, const struct trace_entry *c, uint64_t result)
{
	const bool is_new =
		c->call == TRACE_MMAP || c->call == TRACE_MREMAP || c->call == TRACE_SHMAT;

	if (c->call == TRACE_SHMAT)
		e->address = c->arg[1];
	else
		e->address = c->arg[0];
	if (is_new && !trace_error(c->call, result))
		e->address = result;
	if (c->call == TRACE_MREMAP)
		e->bytes = c->arg[2];
	else if (trace_nr_args(c->call) > 1 && c->call != TRACE_SHMAT)
		e->bytes = c->arg[1];
}

struct trace_effect
trace_effect_of(const struct trace_entry *call, uint64_t result, uint64_t brk, uint64_t page_bytes)
{
	struct trace_effect e = { .address = 0 };

	if (call->call == TRACE_BRK) {
		move_break(&e, result, brk, page_bytes);
		return e;
	}
	calls_describe(&e, call, result);
	if (trace_error(call->call, result))
		return e;
	if (call->call == TRACE_MMAP)
		calls_map(&e, call->arg, result, page_bytes);
	else if (call->call == TRACE_MUNMAP)
		e.unmapped = calls_pages(call->arg[0], call->arg[1], page_bytes);
	else if (call->call == TRACE_MREMAP)
		remap(&e, call->arg, result, page_bytes);
	return e;
}

#include <config.h>

#include "wire/totals.h"

#include <stddef.h>

/* Not in the header, which C++ also includes. */
_Static_assert(sizeof(struct wire_process) == 64 && WIRE_FAMILY_BYTES % 65536 == 4096,
	"the segments begin at a page");

/* Only the functions here may read while the writer runs. */
#define READ(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)

static const struct wire_thread *
threads_of(const struct wire_segment *s)
{
	return (const struct wire_thread *)((const char *)s + WIRE_HEADER_BYTES);
}

const char *const wire_account_names[] = { "usable", "requested", NULL };
const char *const wire_live_set_names[] = { "array", "table", NULL };
const char *const wire_on_limit_names[] = { "exit", "enomem", "abort", "signal", "report", NULL };

/* Sums wrap: a damaged segment may contain any numbers. */
static int64_t
difference(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t
totals_at_least_0(int64_t n)
{
	return n > 0 ? n : 0;
}

/* BEFORE plus the smaller of SUM and MOST. */
static uint64_t
sum_with(uint64_t before, uint64_t sum, int64_t most)
{
	return (uint64_t)totals_at_least_0(
		(int64_t)(before + ((int64_t)sum < most ? sum : (uint64_t)most)));
}

void
wire_add_up(const struct wire_segment *s, uint32_t nr, struct wire_totals *ret)
{
	const struct wire_thread *t = threads_of(s);
	const uint64_t before = (uint64_t)READ(s->before_bytes);
	uint64_t live = 0, peak = 0;

	*ret = (struct wire_totals){ 0 };
	for (uint32_t i = 0; i < nr; i++) {
		live += (uint64_t)READ(t[i].live_bytes);
		peak += (uint64_t)READ(t[i].peak_bytes);
		ret->nr_freed += READ(t[i].nr_freed);
		ret->allocated_bytes += READ(t[i].freed_bytes);
		ret->nr_allocated += READ(t[i].nr_allocated);
	}
	/*
	 * Each counter was read at another moment, so the sum may exceed all real ones; but live
	 * bytes never exceed the granted ones.
	 */
	ret->live_bytes = sum_with(before, live, difference(READ(s->taken_bytes), s->base_bytes));
	/*
	 * The sum of the threads' peaks and the granted bytes are upper bounds, which are far above
	 * the peak if several threads ran.  In that case the sum was recorded whenever it might
	 * have been a new peak.
	 */
	if (nr > 2 && READ(s->seen_peak_bytes) < (int64_t)peak)
		peak = (uint64_t)READ(s->seen_peak_bytes);
	ret->peak_bytes =
		sum_with(before, peak, difference(READ(s->taken_peak_bytes), s->base_bytes));
	if (ret->peak_bytes < ret->live_bytes)
		ret->peak_bytes = ret->live_bytes;
	ret->allocated_bytes += live;
	ret->mapped_bytes = (uint64_t)totals_at_least_0(READ(s->mapped_bytes));
	ret->grown_bytes = difference((int64_t)live, (int64_t)ret->mapped_bytes);
	ret->nr_grown = difference((int64_t)ret->nr_allocated, (int64_t)ret->nr_freed);
	ret->nr_live = READ(s->nr_before) + ret->nr_allocated;
	ret->nr_live = ret->nr_live > ret->nr_freed ? ret->nr_live - ret->nr_freed : 0;
}

bool
wire_is_valid(const struct wire_segment *s, uint64_t size)
{
	return size >= WIRE_HEADER_BYTES && s->magic == WIRE_MAGIC && s->version == WIRE_VERSION &&
		s->header_bytes == WIRE_HEADER_BYTES &&
		s->thread_bytes == sizeof(struct wire_thread) &&
		s->max_threads <= WIRE_MAX_THREADS && s->nr_threads <= s->max_threads &&
		size >= WIRE_SEGMENT_BYTES(s->nr_threads);
}

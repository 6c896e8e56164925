/* api: the functions of include/memdiag.h and of MemTracer's header, which a program can call. */
#include <config.h>

#include <errno.h>

#include "agent/base/compiler.h"
#include "agent/base/mode.h"
#include "agent/base/segment.h"
#include "agent/base/settings.h"
#include "agent/base/state.h"
#include "agent/count/count.h"
#include "agent/hook/recording.h"
#include "agent/note/heap-file.h"
#include "wire/totals.h"
#include "wire/wire.h"
#include "memdiag.h"

/* False in a child that is not followed, where the counters are its parent's. */
static bool
counts(void)
{
	return mode_counts();
}

static struct wire_totals
totals(void)
{
	struct wire_totals sum = { 0 };

	if (counts())
		count_add_up(&sum);
	return sum;
}

EXPORT int
memdiag_is_counting(void)
{
	return counts();
}

EXPORT size_t
memdiag_live_bytes(void)
{
	return totals().live_bytes;
}

EXPORT size_t
memdiag_live_blocks(void)
{
	return totals().nr_live;
}

EXPORT size_t
memdiag_mapped_bytes(void)
{
	return totals().mapped_bytes;
}

EXPORT size_t
memdiag_peak_bytes(void)
{
	return totals().peak_bytes;
}

EXPORT size_t
memdiag_allocated_bytes(void)
{
	return totals().allocated_bytes;
}

EXPORT size_t
memdiag_allocated_blocks(void)
{
	return totals().nr_allocated;
}

/* ---- counters of this thread ---- */

/* The place of this thread; NULL if it shares a place with other threads. */
static const struct wire_thread *
own_place(void)
{
	static const struct wire_thread none;

	return counts() && agent_self.place ? agent_self.place : &none;
}

EXPORT size_t
memdiag_thread_allocated_bytes(void)
{
	const struct wire_thread *t = own_place();

	return (size_t)t->live_bytes + t->freed_bytes;
}

EXPORT size_t
memdiag_thread_freed_bytes(void)
{
	return own_place()->freed_bytes;
}

EXPORT size_t
memdiag_thread_allocated_blocks(void)
{
	return own_place()->nr_allocated;
}

/* ---- changes ---- */

EXPORT void
memdiag_reset_peak(void)
{
	if (counts())
		count_reset_peak();
}

EXPORT size_t
memdiag_limit_bytes(void)
{
	return counts() && segment->limit_bytes && segment->limit_bytes != INT64_MAX
		? (size_t)segment->limit_bytes
		: SIZE_MAX;
}

EXPORT int
memdiag_set_limit(size_t bytes)
{
	if (!counts()) {
		errno = ENOSYS;
		return -1;
	}
	if (!bytes) {
		errno = EINVAL;
		return -1;
	}
	/* If no limit was set before, the action at the limit is not set either. */
	if (segment->limit_bytes == INT64_MAX)
		segment->on_limit = settings.on_limit = WIRE_ENOMEM;
	if (!count_set_limit(bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX)) {
		errno = EAGAIN;
		return -1;
	}
	return 0;
}

/* ---- a record of every allocation ---- */

/* Return 0, or set errno to ERROR and return -1. */
static int
answer(int error)
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

EXPORT int
memdiag_record_start(enum memdiag_record_mode mode)
{
	return answer(mode == MEMDIAG_RECORD_MEM_FAST ? recording_start() : EINVAL);
}

EXPORT int
memdiag_record_stop(void)
{
	return answer(recording_stop());
}

EXPORT int
memdiag_record_is_on(void)
{
	return recording_is_on();
}

EXPORT int
memdiag_record_report(int fd)
{
	return answer(agent_mode == AGENT_OFF ? ENOSYS : heap_file_write_to(fd));
}

/* namespace memtracer, as the C++ ABI of both processors names it. */
EXPORT size_t memtracer_allocated_memory(void) __asm__("_ZN9memtracer16allocated_memoryEv");
size_t
memtracer_allocated_memory(void)
{
	return counts() ? count_live_bytes() : 0;
}

EXPORT size_t memtracer_meta_memory(void) __asm__("_ZN9memtracer11meta_memoryEv");
size_t
memtracer_meta_memory(void)
{
	return totals().nr_live * sizeof(uint64_t);
}

EXPORT size_t memtracer_memory_limit(void) __asm__("_ZN9memtracer12memory_limitEv");
size_t
memtracer_memory_limit(void)
{
	return memdiag_limit_bytes();
}

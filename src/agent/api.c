/*
 * api: what a program can ask, by include/memdiag.h and by MemTracer's header.
 */
#include <config.h>

#include "memdiag.h"

#include "agent/agent.h"

static struct wire_totals
totals(void)
{
	struct wire_totals sum;

	wire_add_up(segment, segment->nr_threads, &sum);
	return sum;
}

EXPORT int
memdiag_is_counting(void)
{
	return agent_mode != AGENT_OFF;
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
memdiag_limit_bytes(void)
{
	return segment->limit_bytes && segment->limit_bytes != INT64_MAX
		? (size_t)segment->limit_bytes : SIZE_MAX;
}

/* namespace memtracer, as the C++ ABI of both processors names it. */
EXPORT size_t memtracer_allocated_memory(void) __asm__("_ZN9memtracer16allocated_memoryEv");
size_t
memtracer_allocated_memory(void)
{
	return agent_counted_bytes();
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

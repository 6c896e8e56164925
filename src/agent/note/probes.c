#include <config.h>

#include "agent/note/probes.h"

/* This header has only macros.  The compiler of another processor may lack it. */
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#else
#define DTRACE_PROBE1(provider, name, a) ((void)(a))
#define DTRACE_PROBE3(provider, name, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif

/* The name in the proposal, which is not agreed yet. */
#define PROVIDER otel_memory

/*
 * These are functions so that the operands are in the registers of their arguments, where readers
 * expect them.
 */
__attribute__((noinline)) void
probe_alloc(const void *block, size_t size, uint64_t weighted_bytes)
{
	DTRACE_PROBE3(PROVIDER, alloc, block, size, weighted_bytes);
}

__attribute__((noinline)) void
probe_free(const void *block)
{
	DTRACE_PROBE1(PROVIDER, free, block);
}

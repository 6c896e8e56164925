/*
 * memdiag.h: what a program that runs under memdiag's agent can ask it: how much memory it has.
 *
 * The functions are weak: a program links without the agent, and they are null pointers then.
 *
 *	if (memdiag_live_bytes && memdiag_live_bytes() > 100000000)
 *		drop_caches();
 *
 * They take no lock, allocate nothing and may be called by any thread at any time.
 */
#ifndef MEMDIAG_H
#define MEMDIAG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MEMDIAG_WEAK
#define MEMDIAG_WEAK __attribute__((weak))
#endif

/* Bytes that were allocated or mapped and not yet given back. */
size_t memdiag_live_bytes(void) MEMDIAG_WEAK;
/* Those of them that mmap() mapped. */
size_t memdiag_mapped_bytes(void) MEMDIAG_WEAK;
/* Blocks that were allocated and not yet freed. */
size_t memdiag_live_blocks(void) MEMDIAG_WEAK;
/* The most that memdiag_live_bytes() has been; with several threads that or a little more. */
size_t memdiag_peak_bytes(void) MEMDIAG_WEAK;
/* The limit, (size_t)-1 if there is none. */
size_t memdiag_limit_bytes(void) MEMDIAG_WEAK;

#ifdef __cplusplus
}
#endif
#endif

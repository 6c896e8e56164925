/*
 * memdiag.h: what a program can ask memdiag's agent, if it runs under it: how much memory it has.
 *
 *	cc program.c $(pkg-config --cflags --libs memdiag)
 *	memdiag run ./a.out
 *
 *	if (memdiag_live_bytes() > 100000000)
 *		drop_caches();
 *
 * Without the agent all is 0, and there is no limit.  They take no lock, allocate nothing and may be
 * called by any thread at any time.
 *
 * Who does not want to link with -lmemdiag can define MEMDIAG_WEAK as __attribute__((weak)) before; in
 * position-independent code the functions are null pointers then where there is no agent.
 */
#ifndef MEMDIAG_H
#define MEMDIAG_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MEMDIAG_WEAK
#define MEMDIAG_WEAK
#endif

/* 1 when the agent is there and counts, else 0. */
int memdiag_is_counting(void) MEMDIAG_WEAK;
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

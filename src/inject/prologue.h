/*
 * prologue: the first instructions of a function that is to begin with a jump elsewhere, made to work
 * at another address.  Pure: tested with bytes.  One file prologue-NAME.c for each processor.
 */
#ifndef MEMDIAG_INJECT_PROLOGUE_H
#define MEMDIAG_INJECT_PROLOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/raddr.h"

/* Bytes that a near jump takes; how far away, at most, it may lead. */
extern const size_t prologue_jump_bytes;
extern const uint64_t prologue_reach_bytes;

#define PROLOGUE_WORD_BYTES 8
#define PROLOGUE_FAR_BYTES 16
#define PROLOGUE_MOVED_BYTES 64

struct prologue {
	raddr at;		/* where the jump goes: the function's beginning, or just behind its
				 * mark for indirect branches */
	unsigned char moved[PROLOGUE_MOVED_BYTES];	/* what stood there, and a jump to what
							 * follows it; padded */
};

/*
 * Move the first instructions of the function of SIZE bytes CODE that lies at FN to the address TO.
 * Returns 0, or -1 with *WHY (static text) when that cannot be done without harm, as when something
 * in the function jumps to what would be overwritten.
 */
int prologue_move(const unsigned char *code, size_t size, raddr fn, raddr to, struct prologue *ret,
	const char **why);

/* What the PROLOGUE_WORD_BYTES of WAS at AT become with a jump to TO. */
uint64_t prologue_patch(uint64_t was, raddr at, raddr to);

/* Where a near jump at AT that begins with the bytes of WORD leads; {0} if it is none. */
raddr prologue_jump_target(uint64_t word, raddr at);

/*
 * Whether a direct call of the function TO returns to CODE + AT, CODE being what lies at START.  By its
 * bytes alone, which may be part of something else.
 */
bool prologue_is_return(const unsigned char *code, size_t at, raddr start, raddr to);

/* A jump to anywhere, padded. */
void prologue_far_jump(unsigned char code[PROLOGUE_FAR_BYTES], raddr to);

/* Whether a relocation of TYPE makes a word hold the address of a function. */
bool prologue_is_slot(uint32_t type);
/* And whether ld.so may leave that to the first call. */
bool prologue_is_lazy_slot(uint32_t type);

#endif

/*
 * word: a machine word of the target, from a copy of its memory.
 */
#ifndef MEMDIAG_BASE_WORD_H
#define MEMDIAG_BASE_WORD_H

#include <stdint.h>
#include <string.h>

/* Return the word of WORD_BYTES (4 or 8) at AT, which need not be aligned. */
static inline uint64_t
word_from(const char *at, unsigned int word_bytes)
{
	uint64_t word;
	uint32_t half;

	if (word_bytes == sizeof word) {
		memcpy(&word, at, sizeof word);
		return word;
	}
	memcpy(&half, at, sizeof half);
	return half;
}

#endif

/* say: messages on descriptor 2. */
#ifndef MEMDIAG_AGENT_BASE_SAY_H
#define MEMDIAG_AGENT_BASE_SAY_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/*
 * Write a line to descriptor 2: FMT, in which each %u is replaced by the next element of NUMBERS.
 */
void say(const char *fmt, const uint64_t *numbers);
#define SAY(fmt, ...) say(fmt, (const uint64_t[]){ __VA_ARGS__ })
/* Write a line to descriptor 2: BEFORE, then STRING, which is untrusted. */
void say_string(const char *before, const char *string);

#pragma GCC visibility pop

#endif

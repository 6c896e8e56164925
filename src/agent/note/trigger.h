/*
 * trigger: what a file is to be written for.  The thread that notices it sets a bit, and goes on:
 * another thread or memdiag writes the file.
 */
#ifndef MEMDIAG_AGENT_NOTE_TRIGGER_H
#define MEMDIAG_AGENT_NOTE_TRIGGER_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* A sample was noted. */
void trigger_check(void);
/* One of those that are large was, of SIZE. */
void trigger_large(size_t size, uint32_t node, uint32_t tid);

#pragma GCC visibility pop

#endif

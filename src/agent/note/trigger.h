/*
 * trigger: events for which a file is written.  The thread that notices one sets a bit and
 * continues; another thread or memdiag writes the file.
 */
#ifndef MEMDIAG_AGENT_NOTE_TRIGGER_H
#define MEMDIAG_AGENT_NOTE_TRIGGER_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Check the triggers after a sample was recorded. */
void trigger_check(void);
/* Record a large call of SIZE. */
void trigger_large(size_t size, uint32_t node, uint32_t tid);

#pragma GCC visibility pop

#endif

/*
 * seen-priv: what other files of unwind/ use of seen.c.
 */
#ifndef MEMDIAG_UNWIND_SEEN_PRIV_H
#define MEMDIAG_UNWIND_SEEN_PRIV_H

#include <stdint.h>

#include "unwind/cache.h"
#include "unwind/unwind-priv.h"

#pragma GCC visibility push(hidden)

/* Keep the function of HOST that is called for each object. */
void unwind_seen_start(const struct unwind_host *host);
/* Implements unwind_forget(). */
void unwind_seen_forget(void);

/*
 * Note the object O, which contains a frame and is loaded in GENERATION, unless it is noted
 * already.  Reads the mapped bytes of O.
 */
void unwind_note_seen(const struct unwind_object *o, uint64_t generation);

/* Note that PC of a frame is in no object, and not in one that was loaded there before. */
void unwind_note_unseen(uintptr_t pc);

#pragma GCC visibility pop

#endif

/*
 * seen: the objects that frames of stacks are in, as text beside the sites (wire/maps.h): so the
 * functions of one that was unloaded have names, and are not those of what took its place.
 */
#ifndef MEMDIAG_AGENT_NOTE_SEEN_H
#define MEMDIAG_AGENT_NOTE_SEEN_H

#include "unwind/unwind.h"
#include "wire/maps.h"
#include "wire/sites.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/* Not in a hook: makes a system call. */
void seen_begin(void);

/* Write the lines of O, which a walk has met for the first time, beside the sites. */
void seen_add(const struct unwind_seen *o);

/* The objects that were met, and the code that is mapped, as the sites have them. */
struct wire_maps_texts seen_texts(void);

#pragma GCC visibility pop

#endif

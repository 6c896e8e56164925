/*
 * seen: the objects that contain the frames of stacks, as text in the file of the sites
 * (wire/maps.h).  With it, the functions of an unloaded object have names, and are not confused
 * with those of an object that was loaded at its address.
 */
#ifndef MEMDIAG_AGENT_NOTE_SEEN_H
#define MEMDIAG_AGENT_NOTE_SEEN_H

#include "unwind/cache.h"
#include "wire/maps.h"
#include "wire/sites.h"

#pragma GCC visibility push(hidden)

/* Get ready.  Do not call this in a hook: it makes a system call. */
void seen_begin(void);

/* Add the lines of O, which a walk has met for the first time, to the text. */
void seen_add(const struct unwind_seen *o);

/* The texts of the objects that were met and of the mapped code, in the sites. */
struct wire_maps_texts seen_texts(void);

#pragma GCC visibility pop

#endif

/*
 * objects: the objects that are loaded, and the frames that each has.
 */
#ifndef MEMDIAG_UNWIND_OBJECTS_H
#define MEMDIAG_UNWIND_OBJECTS_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/*
 * Note the objects that are loaded now.  Needed only in a process without _dl_find_object(), after
 * dlopen(): until then, a stack with a frame in a new object ends there.  Do not call this in a
 * hook.
 */
void unwind_note_objects(void);

/*
 * In a forked child, discard notes that are incomplete because the thread that was writing them
 * does not exist there.
 */
void unwind_begin_child(void);

/*
 * A number for the set of loaded objects, which changes when an object is loaded or unloaded. 0:
 * unknown.
 */
uint64_t unwind_generation(void);

#pragma GCC visibility pop

#endif

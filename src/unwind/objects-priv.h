/*
 * objects-priv: what other files of unwind/ use of objects.c.
 */
#ifndef MEMDIAG_UNWIND_OBJECTS_PRIV_H
#define MEMDIAG_UNWIND_OBJECTS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cache.h"
#include "unwind/unwind-priv.h"

#pragma GCC visibility push(hidden)

enum unwind_found {
	FOUND_NONE, /* PC is in no object */
	FOUND,
	FOUND_UNKNOWN, /* PC may be in an object that was not noted */
};
enum unwind_found unwind_find_object(uintptr_t pc, struct unwind_object *ret);

/* Note the loaded objects.  HOST, which is copied, has the functions that report them. */
void unwind_objects_start(const struct unwind_host *host);

/* Set up *RET for an object whose program headers are known. */
bool unwind_object_init(struct unwind_object *ret, uintptr_t bias, const void *phdrs, size_t nr);

#pragma GCC visibility pop

#endif

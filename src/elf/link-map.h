/*
 * link-map: the objects that ld.so has loaded, and the malloc that is among them.
 */
#ifndef MEMDIAG_ELF_LINK_MAP_H
#define MEMDIAG_ELF_LINK_MAP_H

#include <stdbool.h>

#include "base/err.h"
#include "elf/objects.h"

struct target;

/*
 * Return whether valgrind runs the program, with its own malloc and its own dynamic linker's list.
 */
bool objects_are_of_valgrind(const struct objects *o);

/*
 * Return the object whose malloc() the program gets its memory from: the first that defines it in
 * the list of the dynamic linker, which is in search order, without memdiag's agent; or a static
 * program itself.  NULL if not found or the list cannot be read.
 */
const struct object *objects_malloc(const struct objects *o, const struct target *t);

/*
 * Fail (ERR_NO_SAFE_POINT) if the dynamic linker is still loading libraries into T: objects missing
 * in O may still come.  0 if it has finished, if T has no dynamic linker, or if its state cannot be
 * read.
 */
int objects_check_loaded(const struct objects *o, const struct target *t, struct err *e);

/* Return whether O is memdiag's agent. */
bool object_is_agent(const struct object *o);

/* Return the owner of the malloc that O defines: "glibc", "jemalloc" ...; NULL if unknown. */
const char *object_allocator(const struct object *o);

#endif

/*
 * link-map: the objects that ld.so has loaded, and the malloc that is among them.
 */
#ifndef MEMDIAG_ELF_LINK_MAP_H
#define MEMDIAG_ELF_LINK_MAP_H

#include <stdbool.h>

#include "base/err.h"
#include "elf/objects.h"

struct target;

/* Whether valgrind runs the program, with a malloc and a dynamic linker's list of its own. */
bool objects_are_of_valgrind(const struct objects *o);

/*
 * The object whose malloc() the program gets its memory from: the first that defines it in the list
 * of the dynamic linker, which is the order of search, without memdiag's agent; or a static program
 * itself.  NULL if none or the list cannot be read.
 */
const struct object *objects_malloc(const struct objects *o, const struct target *t);

/*
 * Fail (ERR_NO_SAFE_POINT) if the dynamic linker still loads libraries into T: what is not found in
 * O may come.  0 if it has done so, if there is none, or if its state cannot be read.
 */
int objects_check_loaded(const struct objects *o, const struct target *t, struct err *e);

/* Whether O is memdiag's agent. */
bool object_is_agent(const struct object *o);

/* The owner of the malloc that O defines: "glibc", "jemalloc" ...; NULL if it is unknown. */
const char *object_allocator(const struct object *o);

#endif

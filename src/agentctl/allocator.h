/* allocator: a malloc other than glibc's, whose calls the agent can intercept. */
#ifndef MEMDIAG_AGENTCTL_ALLOCATOR_H
#define MEMDIAG_AGENTCTL_ALLOCATOR_H

#include "glibc/process.h"
#include "inject/hook.h"
#include "inject/target.h"
#include "inject/tls.h"

/* A library whose malloc() a process uses instead of glibc's. */
struct allocator {
	struct inject_allocator inject; /* first member; its address is kept */
	struct inject_code code;
	struct inject_tls tls;
};

/*
 * Find the allocator of P, if it is one that the agent can intercept while the process runs:
 * jemalloc, tcmalloc or mimalloc.  1; 0 if malloc is glibc's or another one that is not examined
 * here; or -1 with E (ERR_UNSUPPORTED) if it is one of the three, but not a plain library.
 */
int allocator_find(struct allocator *ret, const struct process *p, struct err *e);

/*
 * Return the name of one of these that is linked into PROGRAM, from the symbols of its file; NULL
 * if none of them is.
 */
const char *allocator_in_program(const struct image *program);

#endif

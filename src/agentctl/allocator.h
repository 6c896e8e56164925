/*
 * allocator: a malloc that is not glibc's, in front of which the agent can stand.
 */
#ifndef MEMDIAG_AGENTCTL_ALLOCATOR_H
#define MEMDIAG_AGENTCTL_ALLOCATOR_H

#include "glibc/process.h"
#include "inject/hook.h"
#include "inject/target.h"
#include "inject/tls.h"

/* A library whose malloc() a process uses instead of glibc's. */
struct allocator {
	struct inject_allocator inject; /* the first; its address is kept */
	struct inject_code code;
	struct inject_tls tls;
};

/*
 * Find that of P, if it is one that the agent can stand in front of while the process runs:
 * jemalloc, tcmalloc or mimalloc.  1; 0 if malloc is glibc's or another that is not examined here;
 * or -1 with E (ERR_UNSUPPORTED) if it is one of these, but not a plain library.
 */
int allocator_find(struct allocator *ret, const struct process *p, struct err *e);

/* The name of one of these that is linked into PROGRAM, by the symbols of its file; NULL. */
const char *allocator_in_program(const struct image *program);

#endif

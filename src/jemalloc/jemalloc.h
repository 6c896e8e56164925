/*
 * jemalloc: a process that uses jemalloc: where its functions are, and jemalloc's own account of
 * its memory, from mallctl() in a borrowed thread.
 *
 * The names and types of mallctl()'s answers are jemalloc's documented interface (doc/jemalloc.xml;
 * 4.x to 5.3).  Values missing in a release are JEMALLOC_UNKNOWN.
 */
#ifndef MEMDIAG_JEMALLOC_JEMALLOC_H
#define MEMDIAG_JEMALLOC_JEMALLOC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/raddr.h"
#include "inject/target.h"
#include "inject/tls.h"

#define JEMALLOC_UNKNOWN UINT64_MAX

#define JEMALLOC_MAX_CODE 64

/* The places of jemalloc in a process. */
struct jemalloc {
	struct inject_allocator inject; /* must be first: may_be_called() gets its address */
	/* INJECT points to it: the whole library, or its functions in the program */
	struct inject_code code[JEMALLOC_MAX_CODE];
	/* the program's malloc() is jemalloc's; otherwise only its prefixed functions are */
	bool serves_malloc;
	char prefix[12]; /* of its public functions: "" or "je_" ... */
	char path[256];	 /* printable: the object that contains it */
	raddr mallctl;
	struct inject_tls tls;
};

#endif

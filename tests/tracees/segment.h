/*
 * segment: the counters of the agent that was loaded into this process.
 */
#ifndef MEMDIAG_TESTS_SEGMENT_H
#define MEMDIAG_TESTS_SEGMENT_H

#include <dlfcn.h>

#include "tracee.h"
#include "wire/wire.h"

/* AGENT is its file. */
static inline struct wire_segment *
segment_of(const char *agent)
{
	void *library = dlopen(agent, RTLD_NOW | RTLD_NOLOAD);
	struct wire_segment **at = library ? dlsym(library, WIRE_SYMBOL) : NULL;

	if (!at || !*at)
		tracee_fail(agent);
	return *at;
}

#endif

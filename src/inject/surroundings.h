/*
 * surroundings: checks that the target can be stopped and called at all.
 */
#ifndef MEMDIAG_INJECT_SURROUNDINGS_H
#define MEMDIAG_INJECT_SURROUNDINGS_H

#include <stdint.h>

#include "base/err.h"
#include "inject/malloc.h"

struct target;

/*
 * Check before anything is changed that T is not frozen and that its cgroups leave it NEEDED_BYTES
 * of memory (0: what a call takes), and processor time unless OPT demands a mode.  0, or -1 with E
 * (ERR_NO_SAFE_POINT).
 */
int surroundings_check(const struct target *t, const struct inject_options *opt,
	uint64_t needed_bytes, struct err *e);

#endif

/*
 * others: the hooks of a malloc that is not glibc's, in a process that ran already.
 */
#ifndef MEMDIAG_AGENT_HOOK_OTHERS_H
#define MEMDIAG_AGENT_HOOK_OTHERS_H

#include "wire/wire.h"

/* The hooks that memdiag sets.  A name that the malloc does not define is skipped. */
extern const struct wire_other_hook others_hooks[WIRE_MAX_OTHERS]
	__attribute__((visibility("hidden")));

#endif

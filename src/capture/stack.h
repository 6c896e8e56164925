/* stack: one stack of a profile that is being taken, as text. */
#ifndef MEMDIAG_CAPTURE_STACK_H
#define MEMDIAG_CAPTURE_STACK_H

#include "agentdata/sites.h"
#include "glibc/process.h"

/*
 * Store in *RET the functions of the stack that ends at NODE of C, the innermost first, each on a
 * line after INDENT; P as for profile_collect().  The caller frees *RET.  0, or -1 with E.
 */
int profile_stack_text(char **ret, const struct sites_copy *c, uint32_t node,
	const struct process *p, const char *indent, struct err *e);

#endif

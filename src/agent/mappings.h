/*
 * mappings: what the program has mapped itself, so that unmapping a part of it, or mapping something
 * over it, counts for what it is.
 */
#ifndef MEMDIAG_AGENT_MAPPINGS_H
#define MEMDIAG_AGENT_MAPPINGS_H

#include <stdbool.h>

/* Before fork(); in the child nobody holds it, whoever did.  False: see lock_take(). */
bool mappings_lock(void);
void mappings_unlock(void);
void mappings_forget_lock(void);

#endif

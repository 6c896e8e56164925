/* family: what the processes of one run share. */
#ifndef MEMDIAG_AGENT_BASE_FAMILY_H
#define MEMDIAG_AGENT_BASE_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/*
 * Get an entry in the table of settings.family, also in a forked child.  Returns a descriptor of
 * the file that holds this process' segment at *RET_OFFSET, or a negative number on failure.
 */
long family_join(uint64_t *ret_offset);
/*
 * Take BYTES, which may be negative, for this process.  False if the common limit would be
 * exceeded.
 */
bool family_take(int64_t bytes, bool has_limit);
/* The bytes that each of the processes can still take; INT64_MAX without a common limit. */
int64_t family_share(void);

#pragma GCC visibility pop

#endif

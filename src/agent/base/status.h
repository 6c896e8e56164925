/* status: values that the kernel reports in /proc/self/status. */
#ifndef MEMDIAG_AGENT_BASE_STATUS_H
#define MEMDIAG_AGENT_BASE_STATUS_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/*
 * Copy the text that follows NAME and a colon in /proc/self/status, at most SIZE bytes; "" if the
 * line is missing.
 */
void status_value(const char *name, char *ret, size_t size);

#pragma GCC visibility pop

#endif

/*
 * status: what the kernel reports of the process in /proc/self/status.
 */
#ifndef MEMDIAG_AGENT_BASE_STATUS_H
#define MEMDIAG_AGENT_BASE_STATUS_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* The text behind NAME and a colon in /proc/self/status, cut off at SIZE; "" if none. */
void status_value(const char *name, char *ret, size_t size);

#pragma GCC visibility pop

#endif

/*
 * read-heap: .heap files of gperftools, jemalloc and the agent.
 */
#ifndef MEMDIAG_PROFILE_READ_HEAP_H
#define MEMDIAG_PROFILE_READ_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "profile/profile.h"

bool heap_is_text(const char *data, size_t len);
int heap_parse(struct profile *p, const char *name, const char *data, size_t len, struct err *e);

#endif

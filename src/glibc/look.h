/*
 * look: a search in the target's data for a structure of malloc.
 */
#ifndef MEMDIAG_GLIBC_LOOK_H
#define MEMDIAG_GLIBC_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/raddr.h"
#include "glibc/layout-priv.h"

/* Whether A lies in memory that is written to and is no file's. */
bool look_is_anonymous(const struct look *k, raddr a);

/* Whether one of the arenas is at ADDR. */
bool look_is_arena(const struct look *k, uint64_t addr);

/*
 * Keep to the releases FIRST to LAST, unless that leaves none: a distribution's branch may differ.
 */
void look_narrow(struct look *k, unsigned int first, unsigned int last);

/* Add to found_by. */
void look_note(struct look *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

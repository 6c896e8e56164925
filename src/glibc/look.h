/*
 * look: a search in the target's data for a structure of malloc.
 */
#ifndef MEMDIAG_GLIBC_LOOK_H
#define MEMDIAG_GLIBC_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/raddr.h"
#include "glibc/layout-priv.h"

/* Return whether A is in writable anonymous memory. */
bool look_is_anonymous(const struct look *k, raddr a);

/* Return whether one of the arenas is at ADDR. */
bool look_is_arena(const struct look *k, uint64_t addr);

/*
 * Restrict the releases to FIRST to LAST, unless none remain: a distribution's branch may differ.
 */
void look_narrow(struct look *k, unsigned int first, unsigned int last);

/* Add a sign to found_by. */
void look_note(struct look *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

/*
 * environment: settings of glibc malloc in the environment a program was started with.
 */
#ifndef MEMDIAG_DIAGNOSE_ENVIRONMENT_H
#define MEMDIAG_DIAGNOSE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Find a setting in the LEN bytes at ENV that glibc does not know or cannot read, and copy it into
 * BUF, made printable.  False if none.
 */
bool environment_find_bad(const char *env, size_t len, char *buf, size_t size);

/*
 * The limit of arenas that is set, by the tunable or the variable, into *RET; its name into BUF.
 * False if none is set.
 */
bool environment_arena_max(const char *env, size_t len, uint64_t *ret, char *buf, size_t size);

#endif

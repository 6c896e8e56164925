/* environment: settings of glibc malloc in a program's initial environment. */
#ifndef MEMDIAG_DIAGNOSE_ENVIRONMENT_H
#define MEMDIAG_DIAGNOSE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Find a setting in the LEN bytes at ENV that glibc does not know or cannot parse, and copy it into
 * BUF, made printable.  Return false if all are valid.
 */
bool environment_find_bad(const char *env, size_t len, char *buf, size_t size);

/*
 * Store the limit of arenas set by the tunable or the variable in *RET, and the setting's name in
 * BUF.  Return false if no limit is set.
 */
bool environment_arena_max(const char *env, size_t len, uint64_t *ret, char *buf, size_t size);

#endif

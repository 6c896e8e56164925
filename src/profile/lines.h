/*
 * lines: lines of a text that is read in pieces, and the numbers in them.
 */
#ifndef MEMDIAG_PROFILE_LINES_H
#define MEMDIAG_PROFILE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/profile-priv.h"

/* Go to the next line; false at the end. */
bool lines_next(struct lines *l);
/* Set E to "NAME, line N: WHY". */
int lines_fail(const struct lines *l, struct err *e, const char *why);
bool lines_begins(const struct lines *l, const char *prefix);

/*
 * Read a number at *AT, before END, after white space; set *AT after it.  False without a number,
 * or if it is too large.
 */
bool parse_number(const char **at, const char *end, int64_t *ret);
bool parse_hex(const char **at, const char *end, uint64_t *ret);
/* Return whether C comes next, after white space; if so, set *AT after it. */
bool parse_char(const char **at, const char *end, char c);

/*
 * Return the name that heap_write() wrote as S: a NUL-terminated string, which the caller frees;
 * NULL if memory runs out.
 */
char *heap_unescape(const char *s, size_t len);

#endif

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
/* "NAME, line N: WHY". */
int lines_fail(const struct lines *l, struct err *e, const char *why);
bool lines_begins(const struct lines *l, const char *prefix);

/*
 * Numbers at *AT, before END, after white space; *AT is behind them then.  False: none, too large.
 */
bool parse_number(const char **at, const char *end, int64_t *ret);
bool parse_hex(const char **at, const char *end, uint64_t *ret);
/* Whether C comes next, after white space; *AT is behind it then. */
bool parse_char(const char **at, const char *end, char c);

/*
 * The name that heap_write() wrote as S: a NUL-terminated string, to be freed; NULL: no memory.
 */
char *heap_unescape(const char *s, size_t len);

#endif

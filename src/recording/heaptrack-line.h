/*
 * heaptrack-line: what is in a line of a recording of heaptrack.
 */
#ifndef MEMDIAG_RECORDING_HEAPTRACK_LINE_H
#define MEMDIAG_RECORDING_HEAPTRACK_LINE_H

#include "recording/heaptrack-priv.h"

/* A line without its letter and its end. */
struct ht_line {
	const char *at, *end;
};

/* "cannot read 'NAME': line N: WHY". */
int ht_fail(const struct heaptrack *h, struct err *e, const char *why);
int ht_no_memory(const struct heaptrack *h, struct err *e);
/*
 * The next hex number of a line, and the space behind it; false: none, or more than 16 digits.
 */
bool ht_number(struct ht_line *l, uint64_t *ret);
/* Keep LEN bytes at S as a new string; its number + 1 into *RET. */
int ht_add_string(struct heaptrack *h, const char *s, size_t len, uint32_t *ret_1, struct err *e);

#endif

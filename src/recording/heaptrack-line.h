/* heaptrack-line: the parts of a line of a heaptrack recording. */
#ifndef MEMDIAG_RECORDING_HEAPTRACK_LINE_H
#define MEMDIAG_RECORDING_HEAPTRACK_LINE_H

#include "recording/heaptrack-priv.h"

/* A line without its letter and its end. */
struct ht_line {
	const char *at, *end;
};

/* Set E to "cannot read 'NAME': line N: WHY". */
int ht_fail(const struct heaptrack *h, struct err *e, const char *why);
int ht_no_memory(const struct heaptrack *h, struct err *e);
/*
 * Read the next hex number of a line, and the space after it; false if no number of at most 16
 * digits follows.
 */
bool ht_number(struct ht_line *l, uint64_t *ret);
/* Keep LEN bytes at S as a new string; store its number + 1 in *RET_1. */
int ht_add_string(struct heaptrack *h, const char *s, size_t len, uint32_t *ret_1, struct err *e);

#endif

/*
 * contents: the bytes of an object, from its file or from memory.
 */
#ifndef MEMDIAG_ELF_CONTENTS_H
#define MEMDIAG_ELF_CONTENTS_H

#include <stdint.h>

#include "base/err.h"

/* A sparse copy of SIZE_BYTES, nothing of which is there yet.  NULL with E. */
struct contents *contents_new(uint64_t size_bytes, struct err *e);
void contents_free(struct contents *c);
/* The place of the byte at OFFSET, for a caller that has filled it, or does. */
char *contents_at(const struct contents *c, uint64_t offset);
/* Have the SIZE bytes at OFFSET, from the file FD.  0, or -1: it has them no more. */
int contents_read(struct contents *c, int fd, uint64_t offset, uint64_t size);

#endif

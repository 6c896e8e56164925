/*
 * contents: the bytes of an object, from its file or from memory.
 */
#ifndef MEMDIAG_ELF_CONTENTS_H
#define MEMDIAG_ELF_CONTENTS_H

#include <stdint.h>

#include "base/err.h"

/* Make a sparse copy of SIZE_BYTES, which is still empty.  NULL with E. */
struct contents *contents_new(uint64_t size_bytes, struct err *e);
void contents_free(struct contents *c);
/* Return the address of the byte at OFFSET; the caller reads or has read the bytes into it. */
char *contents_at(const struct contents *c, uint64_t offset);
/*
 * Make sure that the SIZE bytes at OFFSET are read from the file FD.  0, or -1: the file is too
 * short by now.
 */
int contents_read(struct contents *c, int fd, uint64_t offset, uint64_t size);

#endif

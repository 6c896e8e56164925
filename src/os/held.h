/*
 * held: the files that the target's descriptors and mappings hold.
 */
#ifndef MEMDIAG_OS_HELD_H
#define MEMDIAG_OS_HELD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct target;

/* A regular file in memory (memfd or tmpfs) that a descriptor holds. */
struct os_held_file {
	char name[256]; /* as in struct os_descriptor */
	int fd;
	uint64_t dev, inode; /* as in struct region */
	uint64_t bytes;	     /* bytes of memory that the file takes */
};

/*
 * List the files in memory that descriptors of T hold, each once, the largest first; *RET is the
 * caller's to free.  Does not wait for servers of file systems.  0 or -1 with E.
 */
int os_held_files(const struct target *t, struct os_held_file **ret, size_t *ret_nr, struct err *e);

#endif

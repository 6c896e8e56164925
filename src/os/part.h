/*
 * part: the only way to write to a target.  Each write names the part of the target's memory that
 * it belongs to, and cannot leave that part.
 */
#ifndef MEMDIAG_OS_PART_H
#define MEMDIAG_OS_PART_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"

struct target;

/* SIZE_BYTES from START on, to which memdiag may write. */
struct os_part {
	const char *what; /* for messages: "the workspace" */
	raddr start;
	uint64_t size_bytes;
};

/*
 * Write SIZE bytes from our memory to the address TO of T; all of them must lie in P: else -1 with
 * E, and nothing is written.
 */
int os_part_write(const struct target *t, const struct os_part *p, raddr to, const void *from,
	size_t size, struct err *e);

/*
 * As os_part_write(), in stopped thread TID of T, to memory that need not be writable, such as
 * code.  Each eight bytes are written at once, even if memdiag dies.
 */
int os_part_poke(const struct target *t, const struct os_part *p, pid_t tid, raddr to,
	const void *from, size_t size, struct err *e);

#endif

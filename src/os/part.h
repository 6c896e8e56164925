/*
 * part: the only way to write to a target.  Each write names the part of its memory that it belongs
 * to, and cannot leave that.
 */
#ifndef MEMDIAG_OS_PART_H
#define MEMDIAG_OS_PART_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"

struct target;

/* SIZE_BYTES from START on that memdiag may write to. */
struct os_part {
	const char *what; /* for messages: "the workspace" */
	raddr start;
	uint64_t size_bytes;
};

/*
 * Write SIZE bytes of ours to the address TO of T, which must lie in P with all of them: else -1
 * with E, and nothing is written.
 */
int os_part_write(const struct target *t, const struct os_part *p, raddr to, const void *from,
	size_t size, struct err *e);

/*
 * The same to memory that need not be writable, as code, in stopped thread TID of T.  Eight bytes
 * are written in one go, whatever happens to us.
 */
int os_part_poke(const struct target *t, const struct os_part *p, pid_t tid, raddr to,
	const void *from, size_t size, struct err *e);

#endif

/*
 * log-source: the place of a process's sites and log (wire/sites.h, wire/log.h): a file that both
 * sides have mapped, which stays when the process has ended; or the process itself.
 */
#ifndef MEMDIAG_RECORDING_LOG_SOURCE_H
#define MEMDIAG_RECORDING_LOG_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"

struct target;

/* Offsets are relative to the head of the sites. */
struct log_source {
	/* either TARGET or FD is used */
	const struct target *target;
	raddr at;
	uint64_t size_bytes; /* that may be written to; with a target */
	int fd;		     /* without a target */
	uint64_t offset;
};

/*
 * Copy SIZE bytes from OFFSET on.  Reading pages of a file that were never written yields zeroes
 * and takes no memory; in a process it does.  0, or -1 with E.
 */
int log_source_read(
	const struct log_source *s, uint64_t offset, void *to, size_t size, struct err *e);
int log_source_write(
	const struct log_source *s, uint64_t offset, const void *from, size_t size, struct err *e);

#endif

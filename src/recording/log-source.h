/*
 * log-source: where the sites of a process and its log are (wire/sites.h, wire/log.h): in a file
 * that both sides have mapped, which stays when the process has ended; or in a process.
 */
#ifndef MEMDIAG_RECORDING_LOG_SOURCE_H
#define MEMDIAG_RECORDING_LOG_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"

struct target;

/* Offsets are from the head of the sites on. */
struct log_source {
	/* one of both */
	const struct target *target;
	raddr at;
	uint64_t size_bytes; /* that may be written to; with a target */
	int fd;		     /* without a target */
	uint64_t offset;
};

/*
 * Copy SIZE bytes from OFFSET on.  Pages of a file that were never written are zeroes, and take no
 * memory afterwards either; those of a process do.  0, or -1 with E.
 */
int log_source_read(
	const struct log_source *s, uint64_t offset, void *to, size_t size, struct err *e);
int log_source_write(
	const struct log_source *s, uint64_t offset, const void *from, size_t size, struct err *e);

#endif

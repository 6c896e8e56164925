/*
 * record-log: the log of a record (wire/log.h), which lies behind its sites: its state, and how it
 * is opened and closed while the record goes on.
 */
#ifndef MEMDIAG_AGENTCTL_RECORD_LOG_H
#define MEMDIAG_AGENTCTL_RECORD_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"

struct target;

/* Where the head of the sites is. */
struct record_log_place {
	const struct target *target; /* NULL: it is in a file */
	raddr at;		     /* in the process */
	int fd;
	uint64_t offset_bytes; /* in the file */
};

struct record_log {
	struct record_log_place place;
	uint64_t log_at;    /* from the head of the sites on; 0: there is no room for a log */
	uint32_t nr_blocks; /* WIRE_LOG_BLOCK_BYTES each */
	uint32_t nr_used;   /* that threads append to, or that are not read yet */
	bool is_open;	    /* events are appended */
	uint32_t nr_openings;
	uint64_t opened_ns;		    /* CLOCK_MONOTONIC, the last time; 0: never */
	uint64_t nr_dropped, dropped_bytes; /* events without room, since the record began */
};

/*
 * Read the log of the sites at PLACE, which takes no memory there.  0, or -1 with E:
 * ERR_UNSUPPORTED if it is damaged.
 */
int record_log_read(struct record_log *ret, const struct record_log_place *place, struct err *e);

/*
 * Have all events appended to L from now on, or none any more; a thread that is just appending may
 * do so once more.  What is in blocks of an earlier opening (struct wire_log_block) is given up.
 * 0, also if it is so already, and L is as it is then; or -1 with E: ERR_UNSUPPORTED if there is no
 * room for a log.
 */
int record_log_set_open(struct record_log *l, bool is_open, struct err *e);

#endif

/*
 * overhead: the options of the memory that a record takes, for all commands that begin one.
 */
#ifndef MEMDIAG_CAPTURE_OVERHEAD_H
#define MEMDIAG_CAPTURE_OVERHEAD_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

/* The input of overhead_argp; all is zero at first. */
struct overhead_options {
	bool is_any;
	uint64_t max_bytes; /* --max-overhead; 0: any */
	enum wire_live_set live_set;
};
extern const struct argp overhead_argp;

enum record_mode {
	RECORD_MEM_FAST, /* sums by site, in memory */
	RECORD_LOG_FAST, /* and each event in files */
	RECORD_CLOSED,	 /* nothing */
};

/*
 * The mode that WORD names, mem-fast, mem-record, log-fast or log-record, into *RET; where it names
 * the live set as well, that is into O.  False: there is no such mode.
 */
bool record_mode_parse(const char *word, struct overhead_options *o, enum record_mode *ret);

#endif

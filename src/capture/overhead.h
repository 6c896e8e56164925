/*
 * overhead: the options of the memory that a record takes, for all commands that begin one.
 */
#ifndef MEMDIAG_CAPTURE_OVERHEAD_H
#define MEMDIAG_CAPTURE_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/option.h"
#include "wire/wire.h"

/* The input of overhead_syntax; all is zero at first. */
struct overhead_options {
	bool is_any;
	uint64_t max_bytes; /* --max-overhead; 0: any */
	enum wire_live_set live_set;
};
extern const struct ui_syntax overhead_syntax;

enum record_mode {
	RECORD_MEM_FAST, /* sums by site, in memory */
	RECORD_LOG_FAST, /* and each event in files */
	RECORD_CLOSED,	 /* nothing */
};

/* Their words for record --mode and run --record, NULL at the end. */
extern const char *const record_mode_names[];

/*
 * The mode that WORD, one of these, names into *RET; where it names the live set as well, that is
 * into O.  False: there is no such mode.
 */
bool record_mode_parse(const char *word, struct overhead_options *o, enum record_mode *ret);

#endif

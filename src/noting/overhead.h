/*
 * overhead: the options of the memory that a record takes, for all commands that begin one.
 */
#ifndef MEMDIAG_NOTING_OVERHEAD_H
#define MEMDIAG_NOTING_OVERHEAD_H

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

#endif

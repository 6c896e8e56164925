/* census: a census of a process or a core file, as the commands that show one need it. */
#ifndef MEMDIAG_DIAGNOSE_CENSUS_H
#define MEMDIAG_DIAGNOSE_CENSUS_H

#include "base/err.h"
#include "census/census.h"
#include "census/type-gobject.h"
#include "census/type-table.h"
#include "glibc/process.h"
#include "heap/heap.h"
#include "maps/maps.h"
#include "os/os.h"
#include "os/status.h"
#include "ui/ui.h"
#include "ui/warnings.h"

struct census_question {
	struct ui_options ui;
	uint64_t max_stop_ns; /* at a time */
	bool by_fork;	      /* a copy of the process is read */
	bool wants_types;
	bool wants_contents; /* for census_contents_find() */
	const char *core;    /* the file to read, or NULL: process ui.pid */
	const char *sysroot; /* root of the core's program and libraries, or NULL */
};

struct census_answer {
	const char *core; /* from the question */
	struct target target;
	struct process process;
	struct space space;
	struct heap heap;
	struct census_type_table types;	 /* empty if they were not wanted */
	struct census_gclasses gclasses; /* so are these */
	struct census census;
	struct os_status status;
	bool has_status;  /* false for a core file */
	uint64_t copy_ns; /* how long a copy of the process existed; 0: there was none */
	bool is_certain;  /* all was read, in one stop */
	struct warnings warnings;
};

/*
 * Take a census as Q requests, and add warnings about gaps.  The process is claimed (ui_claim())
 * while it may be stopped.  S must be zeroed except for .target = TARGET_NONE; release it in any
 * case.  It refers to Q->core.  Returns 0, or -1 with E: ERR_UNSUPPORTED if the malloc is not
 * glibc's, ERR_NO_SAFE_POINT if the memory cannot be read in one stop.
 */
int census_ask(struct census_answer *s, const struct census_question *q, struct err *e);

/* ---- in steps ---- */

/* Open the process or the core file of Q in S.  0, or -1 with E. */
int census_open(struct census_answer *s, const struct census_question *q, struct err *e);

/*
 * Take a census of S, which is open, and whose process was read just now, as Q and HOW say; of HOW
 * max_stop_ns and types are set here.  0, or -1 with E.
 */
int census_look(struct census_answer *s, const struct census_question *q,
	struct census_options *how, struct err *e);

/* Forget all but the target, for another look. */
void census_forget(struct census_answer *s);

/*
 * Set is_certain, and add warnings about gaps; THEREFORE follows the reason why it is
 * approximate.
 */
void census_warn(struct census_answer *s, const char *therefore);

/*
 * Check that memdiag may take the memory that census_dominators_find() needs for S.  0, or -1 with
 * E.
 */
int census_check_dominators(const struct census_answer *s, struct err *e);

/*
 * Find the block of S that has ADDR, not only at its beginning.  0 with its number, or -1 with E
 * (ERR_USAGE): ADDR is in no block.
 */
int census_find_block(
	const struct census_answer *s, raddr addr, uint32_t *ret_chunk, struct err *e);

void census_answer_release(struct census_answer *s);
#define auto_census_answer __attribute__((cleanup(census_answer_release)))

#endif

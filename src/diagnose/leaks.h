/* leaks: collect the data of memdiag leaks before it is printed. */
#ifndef MEMDIAG_DIAGNOSE_LEAKS_H
#define MEMDIAG_DIAGNOSE_LEAKS_H

#include "base/err.h"
#include "capture/block-stacks.h"
#include "census/census.h"
#include "census/leaks.h"
#include "census/looks.h"
#include "diagnose/leaks-groups.h"
#include "diagnose/suppressions.h"
#include "glibc/process.h"
#include "heap/heap.h"
#include "maps/maps.h"
#include "os/os.h"
#include "os/status.h"
#include "ui/ui.h"
#include "ui/warnings.h"

struct leaks_question {
	struct ui_options ui;
	uint64_t max_stop_ns;	       /* at a time */
	bool no_stop;		       /* instead of a stop look several times */
	unsigned int nr_looks;	       /* at most */
	uint64_t every_ns;	       /* from the end of a look to the next one */
	bool is_unaligned, masks_tags; /* as in struct census_options */
	const char *suppressions;      /* a file, or NULL */
	const char *core;	       /* the file to read, or NULL: process ui.pid */
	const char *sysroot;	       /* root of the core's program and libraries, or NULL */
};

struct leaks_answer {
	const char *core; /* from the question */
	struct target target;
	struct process process;
	struct space space;
	struct heap heap;
	struct census census;
	struct census_looks looks; /* without a stop */
	struct block_stacks stacks;
	struct suppressions suppressions;
	struct census_leaks leaks; /* what is not suppressed; labels are sites of STACKS */
	struct leaks_groups groups;
	uint64_t unknown_heads; /* if STACKS has any: those without a stack */
	struct os_status status;
	bool has_status; /* false for a core file */
	/* false: not all could be read, and a block that looks unreachable may be reached */
	bool is_certain;
	struct warnings warnings;
};

/*
 * Find the blocks that nothing reaches as Q requests, and add warnings about gaps.  The process is
 * claimed (ui_claim()) while it may be stopped.  S must be zeroed except for .target = TARGET_NONE;
 * release it in any case.  It refers to Q->core.  Returns 0, or -1 with E: ERR_UNSUPPORTED if the
 * malloc is not glibc's, ERR_NO_SAFE_POINT if the memory cannot be read in one stop, ERR_USAGE if
 * the suppressions are not valid.
 */
int leaks_ask(struct leaks_answer *s, const struct leaks_question *q, struct err *e);

void leaks_answer_release(struct leaks_answer *s);
#define auto_leaks_answer __attribute__((cleanup(leaks_answer_release)))

#endif

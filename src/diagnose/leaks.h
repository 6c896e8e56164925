/* leaks: collect the data of memdiag leaks before it is printed. */
#ifndef MEMDIAG_DIAGNOSE_LEAKS_H
#define MEMDIAG_DIAGNOSE_LEAKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/block-stacks.h"
#include "census/leaks.h"
#include "census/looks.h"
#include "census/type-table.h"
#include "diagnose/census.h"
#include "diagnose/leaks-groups.h"
#include "diagnose/suppressions.h"

struct leaks_question {
	struct census_question of;
	bool no_stop;		       /* instead of a stop look several times */
	unsigned int nr_looks;	       /* at most */
	uint64_t every_ns;	       /* from the end of a look to the next one */
	bool is_unaligned, masks_tags; /* as in struct census_options */
	const char *suppressions;      /* a file, or NULL */
	/* As in struct suppression_names. */
	char *(*type_name)(const struct census_type *type);
};

struct leaks_answer {
	struct census_answer of;
	struct census_looks looks; /* without a stop */
	struct block_stacks stacks;
	struct suppressions suppressions;
	struct census_leaks leaks; /* what is not suppressed; labels are sites of STACKS */
	struct leaks_groups groups;
	uint64_t unknown_heads; /* if STACKS has any: those without a stack */
};

/*
 * Find the blocks that nothing reaches as Q requests, and add warnings about gaps.  The process
 * is claimed (ui_claim()) while it may be stopped.  S must be zeroed except for .of.target =
 * TARGET_NONE; release it in any case.  It refers to Q->of.core.  Returns 0, or -1 with E:
 * ERR_UNSUPPORTED if the malloc is not glibc's, ERR_NO_SAFE_POINT if the memory cannot be read
 * in one stop, ERR_USAGE if the suppressions are not valid.
 */
int leaks_ask(struct leaks_answer *s, const struct leaks_question *q, struct err *e);

void leaks_answer_release(struct leaks_answer *s);
#define auto_leaks_answer __attribute__((cleanup(leaks_answer_release)))

#endif

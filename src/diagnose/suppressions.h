/* suppressions: unreachable blocks that the user does not want to see, named in a file. */
#ifndef MEMDIAG_DIAGNOSE_SUPPRESSIONS_H
#define MEMDIAG_DIAGNOSE_SUPPRESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "census/census.h"
#include "census/leaks.h"

struct block_stacks;

enum suppression_kind {
	SUPPRESSION_SIZE,  /* "size:56": heads of this many usable bytes */
	SUPPRESSION_SHAPE, /* "shape:ring" */
	/* "leak:NAME", "type:NAME": a name in the stack that allocated the head */
	SUPPRESSION_NAME,
};

/* A line of the file. */
struct suppression {
	enum suppression_kind kind;
	unsigned int line;
	const char *text; /* the line; untrusted */
	const char *name; /* of NAME: what LSan calls a template; part of TEXT */
	uint64_t bytes;
	enum census_shape shape;
	struct census_sum all; /* the blocks that it has suppressed */
};

struct suppressions {
	struct text text; /* owned */
	struct {
		struct suppression *v; /* owned */
		size_t nr, room;
	} rule;
	struct census_sum all; /* of all rules */
};

/*
 * Read the file PATH into S, which must be zeroed; release it in any case.  Returns 0, or -1 with
 * E: ERR_USAGE if a line is not valid.
 */
int suppressions_read(struct suppressions *s, const char *path, struct err *e);
/* Likewise TEXT, which is taken over, the contents of the file NAME. */
int suppressions_parse(struct suppressions *s, struct text *text, const char *name, struct err *e);

/*
 * Take the suppressed groups out of L, whose labels are sites of STACKS; each counts for the first
 * rule that has it.
 */
void suppressions_apply(
	struct suppressions *s, struct census_leaks *l, const struct block_stacks *stacks);

/*
 * Return whether NAME matches TEMPLATE, as in LeakSanitizer: a part of NAME does, "*" stands for
 * any text, "^" at the beginning and "$" at the end for those of NAME.
 */
bool suppression_matches(const char *template, const char *name);

void suppressions_release(struct suppressions *s);

#endif

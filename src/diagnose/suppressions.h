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
#include "census/type-table.h"

struct block_stacks;

enum suppression_kind {
	SUPPRESSION_SIZE,   /* "size:56": heads of this many usable bytes */
	SUPPRESSION_SHAPE,  /* "shape:ring" */
	SUPPRESSION_TYPE,   /* "type:NAME": the type of the head */
	SUPPRESSION_MODULE, /* "module:NAME": the file that has the type of the head */
	/* "leak:NAME": both, or a name in the stack that allocated the head */
	SUPPRESSION_LEAK,
};

/* A line of the file. */
struct suppression {
	enum suppression_kind kind;
	unsigned int line;
	const char *text; /* the line; untrusted */
	const char *name; /* of TYPE, MODULE and LEAK: what LSan calls a template; part of TEXT */
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

/* The names of the heads of groups. */
struct suppression_names {
	const struct block_stacks *stacks; /* labels of groups are sites of it */
	const struct census_type_table *types;
	/* Return the name of a type as in the source, which the caller frees; NULL on failure. */
	char *(*type_name)(const struct census_type *type);
};

/*
 * Take the suppressed groups out of L, which have NAMES; each counts for the first rule that has
 * it.  A name matches as it is in the source, and mangled.  Returns 0, or -1 with E.
 */
int suppressions_apply(struct suppressions *s, struct census_leaks *l,
	const struct suppression_names *names, struct err *e);

/*
 * Return whether NAME matches TEMPLATE, as in LeakSanitizer: a part of NAME does, "*" stands for
 * any text, "^" at the beginning and "$" at the end for those of NAME.
 */
bool suppression_matches(const char *template, const char *name);

void suppressions_release(struct suppressions *s);

#endif

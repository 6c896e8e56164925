/*
 * calls: what a profile says of each function, line or object: what it allocated itself (flat), and
 * with what it calls (cum).
 */
#ifndef MEMDIAG_REPORT_CALLS_H
#define MEMDIAG_REPORT_CALLS_H

#include "profile/profile.h"

enum calls_by { CALLS_BY_FUNCTION, CALLS_BY_LINE, CALLS_BY_OBJECT };
/* Their names for people and scripts, in that order, NULL at the end. */
extern const char *const calls_by_names[];

enum calls_view { CALLS_VIEW_ALL, CALLS_VIEW_PYTHON };
/* The same of these. */
extern const char *const calls_view_names[];

struct calls_options {
	size_t type; /* the values to add up: a type of the profile */
	enum calls_by by;
	enum calls_view view; /* of Python: only its functions, not by object */
	/* Extended regular expressions that match names, files and objects; NULL: none. */
	const char *focus, *ignore; /* only stacks with, without a matching place */
	const char *hide;	    /* without matching places */
	bool has_allocators;	    /* show malloc and related functions, too */
};

/* The name of the node that samples without a stack have. */
#define CALLS_NO_STACK "[no stack]"

/* A function, line or object. */
struct calls_node {
	const char *name; /* owned by the calls */
	/* of the first place that was met, the profile's; "" if unknown */
	const char *function, *file, *object;
	uint32_t line;
	int64_t flat, cum;
};

/* A stack, the root first. */
struct calls_path {
	size_t first; /* in steps */
	uint32_t nr;
	int64_t value;
};

/* The sum of the samples of a thread, or of a size. */
struct calls_group {
	uint32_t thread_1;   /* as in a sample */
	uint64_t size_bytes; /* as in a sample */
	int64_t value;
};

struct calls_groups {
	struct calls_group *v;
	size_t nr, room;
};

struct calls {
	const struct profile *p;
	struct calls_options options;
	struct {
		struct calls_node *v;
		size_t nr, room;
	} nodes;
	struct {
		struct calls_path *v;
		size_t nr, room;
	} paths;
	struct {
		uint32_t *v; /* numbers of nodes */
		size_t nr, room;
	} steps;
	struct calls_groups threads, sizes; /* the largest value first; sizes by size */
	int64_t total;			    /* of all samples without regard to their sign */
	int64_t shown;			    /* the sum of those that are not left out */
	int64_t shown_total;		    /* of these, without regard to their sign */
	size_t nr_stacks;		    /* of these */
};

/*
 * Add up P, which must outlive C.  ERR_USAGE for an invalid regular expression.  The caller
 * releases C, which must be zeroed, whatever is returned.
 */
int calls_make(struct calls *c, const struct profile *p, const struct calls_options *options,
	struct err *e);
void calls_release(struct calls *c);
#define auto_calls __attribute__((cleanup(calls_release)))

/*
 * Nodes in order: the greatest flat first, then cum; with BY_CUM the reverse.  To be freed, or
 * NULL.
 */
uint32_t *calls_order(const struct calls *c, bool by_cum);

/* VALUE as a share of the total, 0 if that is 0. */
double calls_share(const struct calls *c, int64_t value);

/* The size of VALUE as a share of what is not left out, 0 if that is 0. */
double calls_share_of_shown(const struct calls *c, int64_t value);

#endif

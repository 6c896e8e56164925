/*
 * calls: a profile's values by function, line or object: what it allocated itself (flat), and
 * including its callees (cum).
 */
#ifndef MEMDIAG_REPORT_CALLS_H
#define MEMDIAG_REPORT_CALLS_H

#include "profile/profile.h"

enum calls_by { CALLS_BY_FUNCTION, CALLS_BY_LINE, CALLS_BY_OBJECT };
/* Their names on the command line and in output, in this order, NULL-terminated. */
extern const char *const calls_by_names[];

enum calls_view { CALLS_VIEW_ALL, CALLS_VIEW_PYTHON };
/* Their names, likewise. */
extern const char *const calls_view_names[];

struct calls_options {
	size_t type; /* the values to add up: a type of the profile */
	enum calls_by by;
	enum calls_view view; /* for Python: only its functions; not by object */
	/* Extended regular expressions for names, files and objects; NULL: not used. */
	const char *focus, *ignore; /* keep only stacks with, without a matching node */
	const char *hide;	    /* drop matching nodes */
	bool has_allocators;	    /* also show malloc and related functions */
	/* Also paths of samples without a value of TYPE, and the line of each step. */
	bool is_whole;
};

/* Name of the node for samples without a stack. */
#define CALLS_NO_STACK "[no stack]"

/* The owner of a function, as its name and path show. */
enum calls_code {
	CODE_OWN,	/* the program, and libraries outside the system's directories */
	CODE_LIBRARY,	/* a library of the system, or of a language */
	CODE_ALLOCATOR, /* malloc, and functions that hand on what it returns */
};

/* A function, line or object. */
struct calls_node {
	const char *name; /* owned by the calls */
	/* from the first frame found, owned by the profile; "" if unknown */
	const char *function, *file, *object;
	uint32_t line;
	enum calls_code code;
	int64_t flat, cum;
};

/* The stack of a sample, root first. */
struct calls_path {
	size_t first; /* index into steps */
	uint32_t nr;
	uint32_t sample; /* of the profile */
	int64_t value;
};

/* The sum of the samples of one thread, or of one size. */
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
		uint32_t *v; /* node numbers */
		size_t nr, room;
	} steps;
	struct {
		uint32_t *v; /* of each step; 0 if unknown */
		size_t nr, room;
	} step_lines;			    /* empty without is_whole, and by object */
	struct calls_groups threads, sizes; /* the largest value first; sizes are sorted by size */
	int64_t total;			    /* sum of the absolute values of all samples */
	int64_t shown;			    /* the sum of the samples not filtered out */
	int64_t shown_total;		    /* the sum of their absolute values */
	size_t nr_stacks;		    /* their number of stacks */
};

/*
 * Add up P, which must outlive C.  Returns ERR_USAGE for an invalid regular expression.  C must be
 * zeroed; the caller releases it, even on failure.
 */
int calls_make(struct calls *c, const struct profile *p, const struct calls_options *options,
	struct err *e);
/* Add up the profile of LIKE once more, with the options of LIKE and is_whole; as calls_make(). */
int calls_make_whole(struct calls *c, const struct calls *like, struct err *e);
void calls_release(struct calls *c);
#define auto_calls __attribute__((cleanup(calls_release)))

/*
 * Return the nodes sorted by flat, then cum, largest first; with BY_CUM by cum, then flat.  The
 * caller frees the result; NULL if memory is exhausted.
 */
uint32_t *calls_order(const struct calls *c, bool by_cum);

/* Return VALUE as a share of the total, 0 if that is 0. */
double calls_share(const struct calls *c, int64_t value);

/* Return the absolute VALUE as a share of the part not filtered out, 0 if that is 0. */
double calls_share_of_shown(const struct calls *c, int64_t value);

#endif

/*
 * tree: callers and callees, from the root outwards.
 */
#ifndef MEMDIAG_REPORT_TREE_H
#define MEMDIAG_REPORT_TREE_H

#include "report/calls.h"

/* Deeper calls are omitted; their allocations count for the deepest call shown. */
#define TREE_MAX_DEPTH 1000

struct tree_node {
	uint32_t node;			   /* a node of the calls; UINT32_MAX for the root */
	uint32_t parent;		   /* index into the tree; 0 for the root */
	uint32_t depth;			   /* 0 for the root */
	uint32_t first_child, nr_children; /* index into children */
	int64_t value;			   /* including its callees */
	int64_t self;
	/*
	 * The width to draw: the value, or 0 if it is negative, and at least what its children
	 * need.
	 */
	uint64_t width;
};

struct tree {
	/* In preorder: the first is the root, and a node is followed by all nodes below it. */
	struct tree_node *v;
	size_t nr, room;
	uint32_t *children; /* node numbers, grouped by parent, each group largest first */
	uint32_t *of_path;  /* the last node of each path of the calls */
};

/*
 * Make the tree of C.  T must be zeroed; the caller releases it, even on failure.  Returns 0, or -1
 * with E.
 */
int tree_make(struct tree *t, const struct calls *c, struct err *e);
void tree_release(struct tree *t);
#define auto_tree __attribute__((cleanup(tree_release)))

#endif

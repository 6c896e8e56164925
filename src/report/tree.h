/*
 * tree: callers and callees, from the root outwards.
 */
#ifndef MEMDIAG_REPORT_TREE_H
#define MEMDIAG_REPORT_TREE_H

#include "report/calls.h"

/*
 * Calls that are deeper are left out; what they have allocated stays with the deepest that is
 * shown.
 */
#define TREE_MAX_DEPTH 1000

struct tree_node {
	uint32_t node;			   /* of the calls; of the root UINT32_MAX */
	uint32_t parent;		   /* in the tree; of the root 0 */
	uint32_t depth;			   /* of the root 0 */
	uint32_t first_child, nr_children; /* in children */
	int64_t value;			   /* with what it calls */
	int64_t self;
	/*
	 * The width to draw: the value, but 0 where that is negative, and never less than its
	 * children need.
	 */
	uint64_t width;
};

struct tree {
	struct tree_node *v; /* the first is the root; parents come before children */
	size_t nr, room;
	uint32_t *children; /* numbers of nodes, by parent; of each the greatest first */
};

/*
 * The tree of C.  T must be zeroed; the caller releases it, whatever is returned.  0, or -1 with E.
 */
int tree_make(struct tree *t, const struct calls *c, struct err *e);
void tree_release(struct tree *t);
#define auto_tree __attribute__((cleanup(tree_release)))

#endif

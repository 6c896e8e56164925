/* log-names: the stacks of the sites of a log, as in its files. */
#ifndef MEMDIAG_RECORDING_LOG_NAMES_H
#define MEMDIAG_RECORDING_LOG_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/hash.h"

struct log_node {
	uint64_t address;
	uint32_t number, parent;
	uint32_t text; /* number in TEXTS: the first that was read after the node */
};

/* The stacks of sites: of one file, or of all files. */
struct log_names {
	struct {
		struct log_node *v; /* parents come first */
		size_t nr, room;
	} nodes;
	struct hash by_number;
	struct {
		uint32_t *v; /* the node of each site + 1; 0: unknown site */
		size_t nr, room;
	} sites;
	struct {
		char **v; /* owned: the mappings, the last text at the end */
		size_t nr, room;
	} texts;
};

/* Return the node NUMBER; NULL if it does not exist. */
const struct log_node *log_names_node(const struct log_names *n, uint32_t number);
/* Add a node or a site.  0, or -1 if memory runs out. */
int log_names_add_node(struct log_names *n, const struct log_node *node);
int log_names_add_site(struct log_names *n, uint32_t site, uint32_t node);
/*
 * Take over what FROM has and N lacks.  1: done, 0: they contradict each other, -1: memory ran out.
 */
int log_names_merge(struct log_names *n, struct log_names *from);
void log_names_release(struct log_names *n);

#endif

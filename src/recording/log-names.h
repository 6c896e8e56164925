/*
 * log-names: the stacks of the sites of a log, as its files have them.
 */
#ifndef MEMDIAG_RECORDING_LOG_NAMES_H
#define MEMDIAG_RECORDING_LOG_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/hash.h"

struct log_node {
	uint64_t address;
	uint32_t number, parent;
	uint32_t text; /* of maps: the first that was read after the node */
};

/* The stacks of sites: of a file, or of all of them. */
struct log_names {
	struct {
		struct log_node *v; /* parents come first */
		size_t nr, room;
	} nodes;
	struct hash by_number;
	struct {
		uint32_t *v; /* the node of each site + 1; 0: the site is not known */
		size_t nr, room;
	} sites;
	struct {
		char **v; /* owned: what was mapped, the last one at the end */
		size_t nr, room;
	} texts;
};

/* The node NUMBER; NULL if there is none. */
const struct log_node *log_names_node(const struct log_names *n, uint32_t number);
/* 0, or -1 when there is no memory. */
int log_names_add_node(struct log_names *n, const struct log_node *node);
int log_names_add_site(struct log_names *n, uint32_t site, uint32_t node);
/*
 * Take over what FROM has and N has not.  1: done, 0: they contradict each other, -1: no memory.
 */
int log_names_merge(struct log_names *n, struct log_names *from);
void log_names_release(struct log_names *n);

#endif

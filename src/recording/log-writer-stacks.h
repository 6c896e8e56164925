/*
 * log-writer-stacks: the records of a log that give the stacks of its sites, the nodes of each, and
 * the mappings.  A file has each of them once, before its first use.
 */
#ifndef MEMDIAG_RECORDING_LOG_WRITER_STACKS_H
#define MEMDIAG_RECORDING_LOG_WRITER_STACKS_H

#include "recording/log-writer.h"

/* Records to be appended to a file. */
struct log_buffer {
	uint8_t *v;
	size_t nr, room;
};

/* Make room for LEN more bytes.  0, or -1 with E. */
int log_buffer_reserve(struct log_buffer *b, size_t len, struct err *e);

/* The stacks in the present file: empty if zeroed, except for NAMES. */
struct log_stacks {
	struct log_namer names;
	uint64_t *node; /* a bit for each node */
	uint32_t nr_nodes;
	uint64_t last_address;
	bool has_new; /* has nodes since the maps were written last */
	char *maps;   /* the last text */
	size_t maps_bytes;
	uint64_t nr_unknown; /* sites so far whose stack NAMES did not give, or not completely */
};

/* Begin a new file, which has no stacks yet. */
void log_stacks_restart(struct log_stacks *s);
/* Append the stack of SITE, which is not in the file yet. */
int log_stacks_put_site(struct log_stacks *s, struct log_buffer *b, uint32_t site, struct err *e);
/*
 * Append the mappings if they differ from those in the file; only with IS_FIRST, or if stacks are
 * new.  Appends nothing if they cannot be read.
 */
int log_stacks_put_maps(struct log_stacks *s, struct log_buffer *b, bool is_first, struct err *e);
void log_stacks_release(struct log_stacks *s);

#endif

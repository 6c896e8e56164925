/*
 * log-writer-stacks: the records of a log that say what its sites are: the nodes of each, and what
 * is mapped.  A file has them before their first use, and each once.
 */
#ifndef MEMDIAG_RECORDING_LOG_WRITER_STACKS_H
#define MEMDIAG_RECORDING_LOG_WRITER_STACKS_H

#include "recording/log-writer.h"

/* Records that are to be appended to a file. */
struct log_buffer {
	uint8_t *v;
	size_t nr, room;
};

/* Have room for LEN more bytes.  0, or -1 with E. */
int log_buffer_reserve(struct log_buffer *b, size_t len, struct err *e);

/* The stacks in the present file: none if zeroed but for NAMES. */
struct log_stacks {
	struct log_namer names;
	uint64_t *node; /* a bit for each */
	uint32_t nr_nodes;
	uint64_t last_address;
	bool has_new; /* nodes, since the maps were written last */
	char *maps;   /* the last text */
	size_t maps_bytes;
	uint64_t nr_unknown; /* sites so far whose stack NAMES did not give, or not whole */
};

/* A new file begins: nothing is in it. */
void log_stacks_restart(struct log_stacks *s);
/* Append what SITE, which is not in the file yet, is. */
int log_stacks_put_site(struct log_stacks *s, struct log_buffer *b, uint32_t site, struct err *e);
/*
 * Append what is mapped if that is not what the file has; with IS_FIRST, or where stacks are new.
 * Where it cannot be read, nothing is appended.
 */
int log_stacks_put_maps(struct log_stacks *s, struct log_buffer *b, bool is_first, struct err *e);
void log_stacks_release(struct log_stacks *s);

#endif

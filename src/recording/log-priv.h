/*
 * log-priv: a log that is being read.
 */
#ifndef MEMDIAG_RECORDING_LOG_PRIV_H
#define MEMDIAG_RECORDING_LOG_PRIV_H

#include "profile/hash.h"
#include "recording/log-directory.h"
#include "recording/log-names.h"
#include "recording/recording.h"

/* A mapping of code, from a text of maps. */
struct log_mapping {
	uint64_t start, end, offset_bytes;
	const char *path, *build_id; /* in strings of facts; "" if unknown */
	uint32_t text;
	uint32_t made_1; /* number + 1 in the present profile */
};

struct log {
	struct recording r; /* first */
	struct log_files files;
	size_t first; /* of files; those before were dropped */
	bool lacks_stamps;
	uint64_t nr_unordered, unordered_bytes;
	const char *data;
	size_t data_bytes;
	bool is_known; /* all files were read once */
	uint64_t nr_dropped, dropped_bytes, nr_unmatched, unmatched_bytes;
	struct log_names names;
	struct {
		struct log_mapping *v; /* from all texts */
		size_t nr, room;
	} mappings;
	struct {
		struct hash frames;  /* of the present profile */
		uint32_t *of_node_1; /* owned; number + 1 by node */
	} made;
};

#endif

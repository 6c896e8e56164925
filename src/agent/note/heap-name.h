/* heap-name: the names of .heap files, PREFIX.PID.SEQ.KINDn.TIME.heap. */
#ifndef MEMDIAG_AGENT_NOTE_HEAP_NAME_H
#define MEMDIAG_AGENT_NOTE_HEAP_NAME_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define HEAP_NAME_BYTES 4096
#define HEAP_NAME_SUFFIX ".heap"

/* A path; a longer one is truncated. */
struct path_text {
	char text[HEAP_NAME_BYTES];
	size_t len;
};

/*
 * Set the prefix of all names: PREFIX up to a ';', or "memdiag" if PREFIX is NULL.  Unless it
 * begins with a slash, it is relative to the present working directory.
 */
void heap_name_set_prefix(const char *prefix);

/* Append a text or a number to N.  The number is padded with zeroes to WIDTH digits. */
void path_add_text(struct path_text *n, const char *text);
void path_add_number(struct path_text *n, uint64_t number, int width);

/* Get the common prefix of all files with NUMBER: "PREFIX.PID.NUMBER.". */
void heap_name_begin(struct path_text *n, uint32_t number);
/* Get the name of an incomplete file: "PREFIX.PID.NUMBER.part". */
void heap_name_of_part(struct path_text *n, uint32_t number);
/* Get the name of a complete file, with the present time in UTC. */
void heap_name_of_whole(struct path_text *n, uint32_t number, char kind, uint32_t nr_of_kind);

#pragma GCC visibility pop

#endif

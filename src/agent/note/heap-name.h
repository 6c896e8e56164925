/* heap-name: the names of .heap files, PREFIX.PID.SEQ.KINDn.TIME.heap. */
#ifndef MEMDIAG_AGENT_NOTE_HEAP_NAME_H
#define MEMDIAG_AGENT_NOTE_HEAP_NAME_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define HEAP_NAME_BYTES 4096
#define HEAP_NAME_SUFFIX ".heap"

/* A name that is too long is cut off. */
struct path_text {
	char text[HEAP_NAME_BYTES];
	size_t len;
};

/*
 * All names begin with PREFIX, up to a ';', or NULL for "memdiag".  Without a slash in front it is
 * relative to where the program is now.
 */
void heap_name_set_prefix(const char *prefix);

/* Texts and numbers at the end of N; a number has zeroes in front up to WIDTH digits. */
void path_add_text(struct path_text *n, const char *text);
void path_add_number(struct path_text *n, uint64_t number, int width);

/* The beginning of the names of all files with NUMBER: "PREFIX.PID.NUMBER.". */
void heap_name_begin(struct path_text *n, uint32_t number);
/* The name until the file is whole: "PREFIX.PID.NUMBER.part". */
void heap_name_of_part(struct path_text *n, uint32_t number);
/* The whole name; its time is now, in UTC. */
void heap_name_of_whole(struct path_text *n, uint32_t number, char kind, uint32_t nr_of_kind);

#pragma GCC visibility pop

#endif

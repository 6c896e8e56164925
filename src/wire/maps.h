/*
 * maps: which code was where.  There are two texts:
 *
 *	maps	what is mapped at one moment, as lines of /proc/PID/maps
 *	seen	objects that frames of noted stacks are in, as they were met: such a line each, with
 *		00:00 0 in place of device and inode, and if it has a build-id another one,
 *		"# build-id 0xSTART ID".  Its addresses have the number of the object, see
 *		WIRE_OBJECT_SHIFT.  A line with a NUL in it was not written to its end.
 */
#ifndef MEMDIAG_WIRE_MAPS_H
#define MEMDIAG_WIRE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_maps_texts {
	const char *seen, *maps;
	size_t seen_bytes, maps_bytes;
};

/*
 * Go over the lines that together say which code frames of these stacks are in: first those of
 * "seen" of objects that are not mapped any more, or share their addresses with others; then those
 * of "maps", without code where another object was seen first.  PUT gets each line without its
 * '\n'.
 */
void wire_maps_merge(const struct wire_maps_texts *t,
	void (*put)(void *arg, const char *line, size_t len), void *arg);

/* Remove the lines of TEXT, LEN bytes, that are not of code in a file.  Returns what is left. */
size_t wire_maps_keep_code(char *text, size_t len);

/* The hexadecimal number at *AT, which is moved to the first character that is no digit of it. */
uint64_t wire_maps_read_hex(const char **at, const char *end);

/* The merged lines as one text, to be freed; NULL: no memory.  Not in the agent. */
char *wire_maps_text(const struct wire_maps_texts *t);

/*
 * Whether LINE is "# build-id 0xSTART ID" with that START; then ID is its ID.  Not in the agent.
 */
#define WIRE_MAX_ID_BYTES 129
bool wire_maps_id(const char *line, uint64_t start, char id[WIRE_MAX_ID_BYTES]);

#endif

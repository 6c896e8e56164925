/*
 * maps: the addresses of code.  Two texts contain them:
 *
 *	maps	the mappings at one moment, as lines of /proc/PID/maps
 *	seen	the objects of frames in stacks, in the order they were met: one line for each, with
 *		00:00 0 in place of device and inode, and if it has a build-id a second line,
 *		"# build-id 0xSTART ID".  Its addresses have the number of the object, see
 *		WIRE_OBJECT_SHIFT.  A line that contains a NUL is incomplete.
 */
#ifndef MEMDIAG_WIRE_MAPS_H
#define MEMDIAG_WIRE_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct wire_maps_texts {
	const char *seen, *maps;
	size_t seen_bytes, maps_bytes;
};

/*
 * Find the lines that together describe the code of the frames in these stacks: first the lines of
 * "seen" for objects that are no longer mapped or share their addresses with others; then the lines
 * of "maps", without code at addresses where another object was seen first.  PUT gets each line
 * without its '
 *
 * '.
 */
void wire_maps_merge(const struct wire_maps_texts *t,
	void (*put)(void *arg, const char *line, size_t len), void *arg);

/*
 * Remove the lines of TEXT, which has LEN bytes, that do not describe code in a file.  Returns the
 * remaining length.
 */
size_t wire_maps_keep_code(char *text, size_t len);

/* Read the hexadecimal number at *AT, and move *AT to the first character that is not a digit. */
uint64_t wire_maps_read_hex(const char **at, const char *end);

#endif

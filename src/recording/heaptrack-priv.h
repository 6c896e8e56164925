/*
 * heaptrack-priv: a recording of heaptrack that is read.  The format is of KDE/heaptrack 1.0 to
 * 1.5: src/analyze/accumulatedtracedata.cpp reads it, src/interpret/heaptrack_interpret.cpp and
 * src/track/libheaptrack.cpp write it.  It is text; the first letter of a line is its kind, and
 * numbers are hex:
 *
 *	v TOOL FILE	versions; before 1.0 without FILE, and "v 10200" is version 1, others are 0
 *	X COMMAND
 *	I BYTES PAGES	the size of a page, the memory of the machine
 *	c MS		the time
 *	R PAGES		the resident memory then
 *	s BYTES TEXT	the next string, from 1; BYTES since version 3
 *	i ADDRESS MODULE [FUNCTION FILE LINE]...
 *			the next place, from 1; what is inlined comes first
 *	t PLACE PARENT	the next node of the tree of calls, from 1; 0 is the root
 *	a BYTES NODE	the next kind of allocation, from 0; since version 1
 *	+ KIND		allocated; since version 1
 *	- KIND		freed; since version 1
 *	+ BYTES NODE ADDRESS
 *	- ADDRESS	the same in version 0 and in raw files
 *
 * A raw file has no lines s, i and a.  A node has an address for a place, and there are
 *
 *	x BYTES PROGRAM
 *	m BYTES MODULE BASE [OFFSET BYTES]...
 *			a module, "x" for the program
 *	m BYTES -	no modules: all that are there now come again
 */
#ifndef MEMDIAG_RECORDING_HEAPTRACK_PRIV_H
#define MEMDIAG_RECORDING_HEAPTRACK_PRIV_H

#include "profile/hash.h"
#include "recording/blocks.h"
#include "recording/recording.h"
#include "recording/stream.h"

#define HEAPTRACK_MAX_VERSION 3

/* A part of a module that is mapped, in a raw file. */
struct ht_module {
	uint64_t start, end;
	uint64_t offset_bytes; /* of START from the module's base */
	uint32_t string_1;
};

struct ht_frame {
	uint32_t function_1, file_1, line;
};

struct ht_place {
	uint64_t address;
	uint32_t module_1; /* of strings */
	uint32_t first;	   /* in frames, the innermost function first */
	uint32_t nr;
};

struct ht_node {
	uint64_t place;	   /* its number + 1; in a raw file its address */
	uint32_t parent_1; /* smaller than its own number + 1 */
	uint32_t module_1; /* of modules, in a raw file */
};

struct ht_kind {
	uint64_t bytes;
	uint32_t site;
};

struct heaptrack {
	struct recording r; /* first, so that one is the other */
	const char *name;
	struct stream *stream;

	/* Text from AT to END is still to be read; a NUL follows it. */
	char *text;
	size_t room, at, end;
	uint64_t line_nr; /* of the line that ends before AT */
	/*
	 * When it is read again, there are as many lines as the first time: the file may still be
	 * written to, and what tables were read then is known.
	 */
	uint64_t nr_lines;

	unsigned version;
	bool is_raw, is_again, has_ended;
	bool has_late_stamp;
	uint64_t time_ns, page_bytes;
	size_t command_bytes_left; /* the next lines may be the command's */
	uint64_t last; /* what was allocated by the last event, + 1: a kind or an address */

	struct {
		const char **v; /* of r.facts */
		size_t nr, room;
	} strings;
	struct {
		struct ht_frame *v;
		size_t nr, room;
	} frames;
	struct {
		struct ht_place *v;
		size_t nr, room;
	} places;
	struct {
		struct ht_node *v;
		size_t nr, room;
	} nodes;
	struct {
		struct ht_kind *v;
		size_t nr, room;
	} kinds;
	struct {
		uint32_t *v; /* the site + 1 of each node, the root first; 0: none yet */
		size_t nr, room;
	} site_of_node;
	struct {
		uint32_t *v; /* the node, from 1, of each site */
		size_t nr, room;
	} node_of_site;

	/* The blocks of files that name them by address. */
	struct blocks blocks;
	struct {
		struct ht_module *v; /* all that ever were */
		size_t nr, room;
	} modules;
	struct {
		uint32_t *v; /* numbers of those that are there now */
		size_t nr, room;
	} mapped;
	bool is_mapped_sorted;
	struct hash by_place, by_string; /* modules by where they are; their names */
	uint32_t program_1;		 /* of strings */

	/* The numbers + 1 of this in the present profile. */
	struct {
		uint32_t *frames;   /* of places */
		uint32_t *mappings; /* of strings; in a raw file of modules */
		struct hash by_address;
	} made;
};

#endif

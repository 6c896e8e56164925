/*
 * heaptrack-priv: a heaptrack recording that is being read.  The format is that of KDE/heaptrack
 * 1.0 to 1.5: src/analyze/accumulatedtracedata.cpp reads it, src/interpret/heaptrack_interpret.cpp
 * and src/track/libheaptrack.cpp write it.  It is text; the first letter of a line is its kind, and
 * numbers are hex:
 *
 *	v TOOL FILE	versions; before 1.0 without FILE, and "v 10200" is version 1, others are 0
 *	X COMMAND
 *	I BYTES PAGES	the size of a page, the memory of the machine
 *	c MS		the time
 *	R PAGES		the resident memory then
 *	s BYTES TEXT	the next string, from 1; BYTES since version 3
 *	i ADDRESS MODULE [FUNCTION FILE LINE]...
 *			the next place, from 1; inlined functions come first
 *	t PLACE PARENT	the next node of the tree of calls, from 1; 0 is the root
 *	a BYTES NODE	the next kind of allocation, from 0; since version 1
 *	+ KIND		allocated; since version 1
 *	- KIND		freed; since version 1
 *	+ BYTES NODE ADDRESS
 *	- ADDRESS	as above, in version 0 and in raw files
 *
 * A raw file has no lines s, i and a.  A node has an address for a place.  It also has
 *
 *	x BYTES PROGRAM
 *	m BYTES MODULE BASE [OFFSET BYTES]...
 *			a module, "x" for the program
 *	m BYTES -	forget all modules: the present ones are listed again
 */
#ifndef MEMDIAG_RECORDING_HEAPTRACK_PRIV_H
#define MEMDIAG_RECORDING_HEAPTRACK_PRIV_H

#include "profile/hash.h"
#include "recording/blocks.h"
#include "recording/recording.h"
#include "recording/stream.h"

#define HEAPTRACK_MAX_VERSION 3

/* A mapped part of a module, in a raw file. */
struct ht_module {
	uint64_t start, end;
	uint64_t offset_bytes; /* offset of START from the module's base */
	uint32_t string_1;
};

struct ht_frame {
	uint32_t function_1, file_1, line;
};

struct ht_place {
	uint64_t address;
	uint32_t module_1; /* number of its string */
	uint32_t first;	   /* number in frames, the innermost function first */
	uint32_t nr;
};

struct ht_node {
	uint64_t place;	   /* its number + 1; in a raw file its address */
	uint32_t parent_1; /* less than its own number + 1 */
	uint32_t module_1; /* number of its module, in a raw file */
};

struct ht_kind {
	uint64_t bytes;
	uint32_t site;
};

struct heaptrack {
	struct recording r; /* first: a pointer to it is a pointer to this struct */
	const char *name;
	struct stream *stream;

	/* Text from AT to END has not been read yet; a NUL follows it. */
	char *text;
	size_t room, at, end;
	uint64_t line_nr; /* number of the line that ends before AT */
	/*
	 * When the file is read again, as many lines are read as the first time: the file may still
	 * be written to, and only the tables read then are known.
	 */
	uint64_t nr_lines;

	unsigned version;
	bool is_raw, is_again, has_ended;
	bool has_late_stamp;
	uint64_t time_ns, page_bytes;
	size_t command_bytes_left; /* the next lines may belong to the command */
	uint64_t last;		   /* kind or address of the last event's allocation, + 1 */

	struct {
		const char **v; /* in r.facts */
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
		uint32_t *v; /* the site + 1 of each node, the root first; 0: no site yet */
		size_t nr, room;
	} site_of_node;
	struct {
		uint32_t *v; /* the node, from 1, of each site */
		size_t nr, room;
	} node_of_site;

	/* Live blocks of a file that identifies them by address. */
	struct blocks blocks;
	struct {
		struct ht_module *v; /* all modules, past and present */
		size_t nr, room;
	} modules;
	struct {
		uint32_t *v; /* numbers of the present modules */
		size_t nr, room;
	} mapped;
	bool is_mapped_sorted;
	struct hash by_place, by_string; /* modules by their range; their names */
	uint32_t program_1;		 /* number of its string */

	/* Numbers + 1 in the present profile. */
	struct {
		uint32_t *frames;   /* by place */
		uint32_t *mappings; /* by string; in a raw file by module */
		struct hash by_address;
	} made;
};

#endif

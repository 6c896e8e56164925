/*
 * Declarations that the files of profile share: the formats.
 */
#ifndef MEMDIAG_PROFILE_PROFILE_PRIV_H
#define MEMDIAG_PROFILE_PROFILE_PRIV_H

#include <stdbool.h>
#include <stddef.h>

/* The lines that only memdiag reads in its .heap files.  Each is a comment to others. */
#define HEAP_MARK "# memdiag heap 1"
#define HEAP_END "# end"

/* Where a reader is in a text. */
struct lines {
	const char *name; /* of the file */
	const char *at, *end;
	const char *line; /* the present one, without its end and the white space around it */
	size_t len;
	size_t nr;	  /* its number */
	bool is_whole;	  /* it was ended */
	bool is_indented; /* it began with white space */
};

#endif

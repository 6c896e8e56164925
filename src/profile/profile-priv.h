/* profile-priv: shared by the files of profile: the formats. */
#ifndef MEMDIAG_PROFILE_PROFILE_PRIV_H
#define MEMDIAG_PROFILE_PROFILE_PRIV_H

#include <stdbool.h>
#include <stddef.h>

/* Lines that only memdiag reads in its .heap files; to other programs they are comments. */
#define HEAP_MARK "# memdiag heap 1"
#define HEAP_END "# end"

/* Position of a reader in a text. */
struct lines {
	const char *name; /* of the file */
	const char *at, *end;
	const char *line; /* the present one, without its end and surrounding white space */
	size_t len;
	size_t nr;	  /* its number */
	bool is_whole;	  /* it has its line end */
	bool is_indented; /* it begins with white space */
};

#endif

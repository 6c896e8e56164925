/*
 * redact: a copy of a profile without its names, which may be given away.
 *
 * Names become keyed hashes (HMAC-SHA256, cut to 64 bits), so equal names stay equal, and a name
 * that can be guessed cannot be tried without the key.
 */
#ifndef MEMDIAG_PROFILE_REDACT_H
#define MEMDIAG_PROFILE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"
#include "profile/profile.h"

/* Shorter keys are refused. */
#define REDACT_LEAST_KEY_BYTES 16
/* Room for redact_word(), with a WORD of at most 15 bytes. */
#define REDACT_WORD_BYTES 40

struct redact_options {
	/*
	 * Objects whose functions keep their names, as "libc,libstdc++": the base name of a file up
	 * to its first "." or "-DIGIT".  NULL: no object.
	 */
	const char *keep;
	bool keeps_ids;	  /* PIDs and TIDs */
	bool keeps_times; /* the time of the profile */
	struct text key;  /* at least REDACT_LEAST_KEY_BYTES; owned */
};

/* Make a random key.  Returns 0, or -1 with E. */
int redact_random_key(struct text *ret, struct err *e);
/* Read the key in the file PATH.  Returns 0, or -1 with E if it is too short or cannot be read. */
int redact_read_key(struct text *ret, const char *path, struct err *e);

/* Write "WORD-" and 16 hexadecimal digits, the hash of NAME, to BUF, and return it. */
const char *redact_word(const struct redact_options *o, const char *word, const char *name,
	char buf[REDACT_WORD_BYTES]);

/*
 * Return a copy of P in *RET, owned by the caller, with the same samples, values, stacks and
 * functions, in which
 *	- names of functions, source files, objects, threads, build IDs and comments are hashes,
 *	  except those of malloc and related functions, and of objects to keep;
 *	- the roles that these names have in a report stay: allocators, the standard library of a
 *	  language, the interpreter and the functions of Python;
 *	- a frame without a function has a hash of its place as name;
 *	- line numbers are hashes, and addresses, mappings and TIDs are numbered from the start;
 *	- PID and time are 0, and warnings are left out.
 * Names of types and units stay.  Returns 0, or -1 with E if memory runs out.
 */
int redact_profile(struct profile **ret, const struct profile *p, const struct redact_options *o,
	struct err *e);

#endif

/* from-file: a saved file given instead of a process. */
#ifndef MEMDIAG_CMD_FROM_FILE_H
#define MEMDIAG_CMD_FROM_FILE_H

#include "base/err.h"
#include "base/text.h"

struct from_file {
	char name[256]; /* made printable */
	struct text text;
	/* set for a known format that has its own explanation, from foreign_find(), else NULL */
	const char *kind;
};

/*
 * Read all of PATH ("-": standard input) into F, which must be zeroed; the caller releases it.
 * Returns 0, or -1 with E.
 */
int from_file_read(struct from_file *f, const char *path, struct err *e);
/* Add the kind of file that F is, if known, to E, which reports an unexpected format. */
int from_file_explain(const struct from_file *f, struct err *e);
void from_file_release(struct from_file *f);
#define auto_from_file __attribute__((cleanup(from_file_release)))

#endif

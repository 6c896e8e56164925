/*
 * from-file: a saved file that is given in place of a process.
 */
#ifndef MEMDIAG_CMD_FROM_FILE_H
#define MEMDIAG_CMD_FROM_FILE_H

#include "base/err.h"
#include "base/text.h"

struct from_file {
	char name[256]; /* made printable */
	struct text text;
	const char *kind; /* of a format that has a sentence of its own, or NULL: foreign_find() */
};

/*
 * Read PATH whole ("-": standard input) into F, which must be zeroed and is the caller's to
 * release.  0, or -1 with E.
 */
int from_file_read(struct from_file *f, const char *path, struct err *e);
/* Put what F is instead, if that is known, into E, which says that it is not what was wanted. */
int from_file_explain(const struct from_file *f, struct err *e);
void from_file_release(struct from_file *f);
#define auto_from_file __attribute__((cleanup(from_file_release)))

#endif

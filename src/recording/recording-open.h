/*
 * recording-open: which format a file has, by what it begins with, and its reader.
 */
#ifndef MEMDIAG_RECORDING_RECORDING_OPEN_H
#define MEMDIAG_RECORDING_RECORDING_OPEN_H

#include <stddef.h>

#include "base/err.h"
#include "recording/recording.h"

/*
 * Open the file PATH, which can be rewound, or the newest log in the directory PATH, or the LEN
 * bytes at DATA, which stay as long, called NAME.  1: the caller frees *RET.  0: it is no
 * recording, or no file that can be opened; of a pipe nothing is read.  -1 with E: it cannot be
 * read, or unpacked.
 */
int recording_open(struct recording **ret, const char *path, struct err *e);
int recording_parse(
	struct recording **ret, const char *name, const char *data, size_t len, struct err *e);

/*
 * Open the log WHICH in the directory PATH, the newest one if NULL.  0: the caller frees *RET.  -1
 * with E, also if there is no log.
 */
int recording_open_log(
	struct recording **ret, const char *path, const struct recording_log *which, struct err *e);

#endif

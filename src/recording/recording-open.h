/* recording-open: finds the format of a file by its first bytes, and opens a reader. */
#ifndef MEMDIAG_RECORDING_RECORDING_OPEN_H
#define MEMDIAG_RECORDING_RECORDING_OPEN_H

#include <stddef.h>

#include "base/err.h"
#include "recording/recording.h"

/*
 * Open the file PATH, which can be rewound, or the newest log in the directory PATH, or the LEN
 * bytes at DATA, which must stay valid, called NAME.  1: the caller frees *RET.  0: it is not a
 * recording, or not a file that can be opened; nothing is read from a pipe.  -1 with E: it cannot
 * be read, or unpacked.
 */
int recording_open(struct recording **ret, const char *path, struct err *e);
int recording_parse(
	struct recording **ret, const char *name, const char *data, size_t len, struct err *e);

/*
 * Open the log WHICH in the directory PATH; NULL for the newest one.  0: the caller frees *RET.  -1
 * with E, also if the log does not exist.
 */
int recording_open_log(
	struct recording **ret, const char *path, const struct recording_log *which, struct err *e);

#endif

/* log-file: one file of a log as it is written, compressed by zstd if memdiag has libzstd. */
#ifndef MEMDIAG_RECORDING_LOG_FILE_H
#define MEMDIAG_RECORDING_LOG_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The suffix of the files that this memdiag writes. */
extern const char log_file_suffix[];

/* A file of a log.  It is closed if zeroed, with fd -1. */
struct log_file {
	int fd;
	char *path;	/* owned */
	uint64_t bytes; /* whole bytes on the disk; kept until the next file */
	void *packer;	/* owned, kept from one file to the next */
	uint8_t *out;	/* owned */
	size_t room;
};

/*
 * Create the file at the end of PATH in the directory DIR_FD, where it must not exist.  Does not
 * check that PATH leads to that directory.  0, or -1 with E and F unchanged.  F must have no file.
 */
int log_file_create(struct log_file *f, int dir_fd, const char *path, struct err *e);
/* Return the name of the file PATH in its directory. */
const char *log_file_name(const char *path);
/*
 * Append the LEN bytes at DATA: they can be read from the file on return.  On -1 with E, the file
 * must be abandoned.
 */
int log_file_append(struct log_file *f, const void *data, size_t len, struct err *e);
/* Append the bytes, end the file and close it.  0, or -1 as log_file_append(). */
int log_file_end(struct log_file *f, const void *data, size_t len, struct err *e);
/* Return the most bytes that a file grows by when LEN bytes are appended and it ends. */
size_t log_file_bound(size_t len);
/* Check that the file still has a name.  0, or -1 with E. */
int log_file_check(const struct log_file *f, struct err *e);
/* Close the file, if open, at the end of its whole bytes. */
void log_file_abandon(struct log_file *f);
/* Close the file if it is open, and free what F owns. */
void log_file_release(struct log_file *f);

#endif

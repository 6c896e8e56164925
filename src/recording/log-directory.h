/*
 * log-directory: the files of a log in a directory.
 */
#ifndef MEMDIAG_RECORDING_LOG_DIRECTORY_H
#define MEMDIAG_RECORDING_LOG_DIRECTORY_H

#include "recording/log-part.h"

struct log_file_at {
	char *path; /* owned; NULL: it is in memory */
	int fd;	    /* owned; -1: in memory */
	struct log_head head;
	uint64_t nr_bytes; /* of its records, as they were read first; 0: they were not */
	bool is_whole;	   /* it has its end */
	bool is_written;   /* a process had it locked to write it, before it was read */
};

/* Files of a log in a directory that follow each other up to its last one. */
struct log_files {
	struct log_file_at *v;
	size_t nr, room;
	size_t nr_older;   /* files of the log that do not continue up to these */
	size_t nr_others;  /* other logs in the directory */
	size_t nr_refused; /* files whose head could not be read, see E */
	struct err e;
};

/* Those of the log WHICH in the directory PATH, NULL: of the newest one.  0, or -1 with E. */
int log_files_find(
	struct log_files *f, const char *path, const struct recording_log *which, struct err *e);
void log_files_release(struct log_files *f);

#endif

/*
 * log-directory: the files of a log in a directory.
 */
#ifndef MEMDIAG_RECORDING_LOG_DIRECTORY_H
#define MEMDIAG_RECORDING_LOG_DIRECTORY_H

#include "recording/log-part.h"

struct log_file_at {
	char *path; /* owned; NULL if in memory */
	int fd;	    /* owned; -1 if in memory */
	struct log_head head;
	uint64_t nr_bytes; /* of its records, when they were read first; 0: not read */
	bool is_whole;	   /* it has its end */
	bool is_written;   /* a process had locked it for writing before it was read */
};

/* Consecutive files of a log in a directory, up to its last one. */
struct log_files {
	struct log_file_at *v;
	size_t nr, room;
	size_t nr_older;   /* files of the log before a gap */
	size_t nr_others;  /* other logs in the directory */
	size_t nr_refused; /* files whose head could not be read, see E */
	struct err e;
};

/*
 * Find the files of the log WHICH in the directory PATH; NULL for the newest log.  0, or -1 with E.
 */
int log_files_find(
	struct log_files *f, const char *path, const struct recording_log *which, struct err *e);
void log_files_release(struct log_files *f);

#endif

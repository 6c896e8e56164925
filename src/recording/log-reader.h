/* log-reader: a log as a recording whose parts are its files.  log-writer writes it. */
#ifndef MEMDIAG_RECORDING_LOG_READER_H
#define MEMDIAG_RECORDING_LOG_READER_H

#include "recording/log-priv.h"

/*
 * Open the file FD, of which S is a stream, or the LEN bytes at DATA, of which S is one.  S and FD
 * are taken over, also on failure.  Only the first bytes of S may have been read.
 */
int log_open_file(
	struct recording **ret, struct stream *s, int fd, const char *path, struct err *e);
int log_parse(struct recording **ret, struct stream *s, const char *name, const char *data,
	size_t len, struct err *e);
/* Open the log WHICH in a directory; NULL for the newest. */
int log_open_directory(
	struct recording **ret, const char *path, const struct recording_log *which, struct err *e);

/* Return R if it is a log, else NULL. */
struct log *log_of(struct recording *r);
/* Return the bytes of the file F from the first one on; NULL with E. */
struct stream *log_open_stream(const struct log *l, const struct log_file_at *f, struct err *e);
/* Return whether a process has locked FD for writing. */
bool log_is_locked(int fd);
/* Add a comment: the process of the log, and its time 0 in local time. */
int log_say_begin(struct log *l, const struct log_head *h, struct err *e);
/* Add a comment: the amounts live before P, the first file. */
int log_say_before(struct log *l, const struct log_part *p, struct err *e);
/* Record what P knows to be missing in the log so far; log_say_missing() warns of it. */
void log_note_missing(struct log *l, const struct log_part *p);
void log_say_missing(struct log *l);

#endif

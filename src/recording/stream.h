/*
 * stream: the bytes of a file or of memory from the first to the last, unpacked if they are
 * compressed by gzip or, if memdiag is built with libzstd, by zstd.  The compression is determined
 * from the first bytes, not from the name.  Needs memory only for its buffers.
 */
#ifndef MEMDIAG_RECORDING_STREAM_H
#define MEMDIAG_RECORDING_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct stream;

/* Read FD, which is taken over and can be rewound, called NAME in errors.  NULL with E. */
struct stream *stream_of_file(int fd, const char *name, struct err *e);
/* Read the LEN bytes at DATA, which must outlive the stream. */
struct stream *stream_of_memory(const char *data, size_t len, const char *name, struct err *e);

/*
 * Read up to SIZE bytes into BUF.  Returns their number, 0 at the end, -1 with E.  A compressed
 * file that was cut off ends after its last whole bytes, and a damaged one where the damage begins;
 * stream_is_cut() reports that.
 */
long stream_read(struct stream *s, char *buf, size_t size, struct err *e);
/*
 * Copy the first bytes of S, of which none was read yet, into BUF: all of them, up to SIZE.
 * stream_read() returns them as well. *RET_IS_CUT: the data ended, but not at the end of the file.
 * Returns their number, or -1 with E.
 */
long stream_peek(struct stream *s, char *buf, size_t size, bool *ret_is_cut, struct err *e);
/*
 * Return why stream_read() has ended before the end of the file, for the user; NULL if it has not.
 */
const char *stream_is_cut(const struct stream *s);
/* Read on after the end: the file may have become longer, also in the middle of compressed data. */
void stream_resume(struct stream *s);
/* Go back to the first byte.  0, or -1 with E. */
int stream_rewind(struct stream *s, struct err *e);
void stream_free(struct stream *s);
static inline void
stream_cleanup(struct stream **s)
{
	stream_free(*s);
}
#define auto_stream __attribute__((cleanup(stream_cleanup)))

#endif

/*
 * stream: the bytes of a file or of memory from the first to the last, unpacked if they are
 * compressed by gzip or, where memdiag is built with libzstd, by zstd.  The compression is found by
 * what the file begins with, not by its name.  Needs memory for its buffers alone.
 */
#ifndef MEMDIAG_RECORDING_STREAM_H
#define MEMDIAG_RECORDING_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct stream;

/* Read FD, which is taken over and can be rewound, called NAME in errors.  NULL: E is set. */
struct stream *stream_of_file(int fd, const char *name, struct err *e);
/* Read the LEN bytes at DATA, which must outlive the stream. */
struct stream *stream_of_memory(const char *data, size_t len, const char *name, struct err *e);

/*
 * Up to SIZE bytes into BUF: their number, 0 at the end, -1 with E.  A compressed file that was cut
 * off ends where its last whole bytes do, and a damaged one where the damage begins;
 * stream_is_cut() says that then.
 */
long stream_read(struct stream *s, char *buf, size_t size, struct err *e);
/*
 * Copy the first bytes of S, of which none was read yet, into BUF: as many as there are, up to
 * SIZE.  stream_read() gives them as well.  *RET_IS_CUT: whether the end was met, and is not that
 * of the file.  Their number, or -1 with E.
 */
long stream_peek(struct stream *s, char *buf, size_t size, bool *ret_is_cut, struct err *e);
/* Why the end that stream_read() has met is not that of the file, for people; NULL: it is. */
const char *stream_is_cut(const struct stream *s);
/*
 * The file may have become longer since the end was met, also in the middle of compressed data:
 * stream_read() gives what has come.
 */
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

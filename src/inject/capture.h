/* capture: two ways to capture the output of malloc_info. */
#ifndef MEMDIAG_INJECT_CAPTURE_H
#define MEMDIAG_INJECT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"
#include "base/text.h"
#include "glibc/arenas.h"
#include "inject/inject-priv.h"
#include "inject/job.h"
#include "inject/malloc.h"
#include "inject/worker.h"

struct inject_target;

/* ---- a private copy of the stderr stream ----------------------------------------------------- */

/* The address in the target of the copy's FILE and of its buffer. */
struct stream_copy {
	raddr file, buffer;
	uint64_t buffer_bytes;
};

/* Lay a stream into the workspace that keeps all its output in the buffer.  0 or -1 with E. */
int stream_copy_lay(
	struct stream_copy *s, struct worker *c, const struct workspace *ws, struct err *e);

/* Read the output; *RET_IS_CUT if the buffer was too small.  The caller releases OUT. */
int stream_copy_read(const struct stream_copy *s, const struct inject_target *callee,
	struct text *out, bool *ret_is_cut, struct err *e);

/*
 * ---- descriptor 2 redirected to a file --------------------------------------------------------
 */

struct redirect {
	int file_fd;	     /* our descriptor of the file */
	int old_fd;	     /* our copy of the old descriptor 2; -1 if it was closed */
	size_t nr_left_over; /* files that a killed memdiag left open, closed now */
};

#define REDIRECT_NONE                                                                              \
	{                                                                                          \
		.file_fd = -1, .old_fd = -1                                                        \
	}

/*
 * Check that the target's libc and the kernel support the redirection, and that descriptor 2 is of
 * a kind that may be redirected for a moment: not a socket, not a data file.  0, or -1 with E
 * (ERR_UNSUPPORTED).
 */
int redirect_check(const struct inject_target *callee, struct err *e);

/*
 * Redirect the target's descriptor 2 to a file in memory.  C's undo list flushes stderr, restores
 * descriptor 2 and closes the file.
 */
int redirect_begin(struct redirect *r, struct worker *c, const struct workspace *ws,
	uint64_t deadline_ns, struct err *e);

/*
 * Read malloc_info's document from the file into OUT.  All other output written meanwhile goes to
 * the old descriptor 2, line by line in its order.  Does nothing if redirect_begin() did not get
 * that far.  May take long: no thread should be held by then.
 */
int redirect_read(struct redirect *r, const struct inject_target *callee, struct text *out,
	struct inject_report *ret, struct err *e);

void redirect_release(struct redirect *r);

/*
 * Return whether libc's stderr object looks like struct _IO_FILE_plus from 2.17 to 2.44: only then
 * can INJECT_CAPTURE_STREAM copy it.
 */
bool inject_can_copy_stream(const struct inject_target *callee);

#endif

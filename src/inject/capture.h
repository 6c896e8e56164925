/*
 * capture: two ways to catch what malloc_info writes.
 */
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

/* The address of its FILE in the target, and of its buffer. */
struct stream_copy {
	raddr file, buffer;
	uint64_t buffer_bytes;
};

/* Lay a stream into the workspace that keeps all it is given in the buffer.  0 or -1 with E. */
int stream_copy_lay(
	struct stream_copy *s, struct worker *c, const struct workspace *ws, struct err *e);

/* The output to it; *RET_IS_CUT if the buffer was too small.  OUT is the caller's. */
int stream_copy_read(const struct stream_copy *s, const struct inject_target *callee,
	struct text *out, bool *ret_is_cut, struct err *e);

/* ---- descriptor 2 sent to a file meanwhile --------------------------------------------------- */

struct redirect {
	int file_fd;	     /* of ours, for the file */
	int old_fd;	     /* of ours, for what descriptor 2 was; -1 if it was closed */
	size_t nr_left_over; /* files of a memdiag that was killed, which were closed */
};

#define REDIRECT_NONE                                                                              \
	{                                                                                          \
		.file_fd = -1, .old_fd = -1                                                        \
	}

/*
 * Whether the target's libc and the kernel support it, and its descriptor 2 is a kind that may be
 * redirected for a moment: not a socket, not a data file. 0, or -1 with E (ERR_UNSUPPORTED).
 */
int redirect_check(const struct inject_target *callee, struct err *e);

/*
 * Send the target's descriptor 2 to a file in memory.  Flushing stderr, sending descriptor 2 back
 * and closing is put on C's undo list.
 */
int redirect_begin(struct redirect *r, struct worker *c, const struct workspace *ws,
	uint64_t deadline_ns, struct err *e);

/*
 * The document out of what was written; all that others wrote meanwhile is written to where
 * descriptor 2 leads, line by line as it came.  Nothing if redirect_begin() did not come that far.
 * May take its time: no thread should be held by then.
 */
int redirect_read(struct redirect *r, const struct inject_target *callee, struct text *out,
	struct inject_report *ret, struct err *e);

void redirect_release(struct redirect *r);

/*
 * Whether libc's stderr object looks as struct _IO_FILE_plus has looked from 2.17 to 2.44: only
 * then can INJECT_CAPTURE_STREAM make a copy of it.
 */
bool inject_can_copy_stream(const struct inject_target *callee);

#endif

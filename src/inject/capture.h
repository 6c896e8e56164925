/*
 * capture: two ways to catch what malloc_info writes.
 */
#ifndef MEMDIAG_INJECT_CAPTURE_H
#define MEMDIAG_INJECT_CAPTURE_H

#include "inject/inject-priv.h"

/* ---- a private copy of the stderr stream ------------------------------------------------------- */

/* The address of its FILE in the target, and of its buffer. */
struct stream_copy {
	raddr file, buffer;
	uint64_t buffer_bytes;
};

/*
 * Whether libc's stderr object looks as struct _IO_FILE_plus has looked from 2.17 to 2.44: only then
 * can a copy of it be made.
 */
bool stream_copy_is_possible(const struct inject_target *it);

/* Lay a stream into the workspace that keeps all it is given in the buffer.  0 or -1 with E. */
int stream_copy_lay(struct stream_copy *s, const struct inject_target *it,
	const struct workspace *ws, struct err *e);

/* What was written to it; *RET_IS_CUT when the buffer was too small.  OUT is the caller's. */
int stream_copy_read(const struct stream_copy *s, const struct inject_target *it, struct text *out,
	bool *ret_is_cut, struct err *e);

/* ---- descriptor 2 sent to a file meanwhile ------------------------------------------------------ */

struct redirect {
	int file_fd;	/* of ours, for the file */
	int old_fd;	/* of ours, for what descriptor 2 was; -1 if it was closed */
};

#define REDIRECT_NONE { .file_fd = -1, .old_fd = -1 }

/* Whether the target's libc and the kernel have what it takes. */
int redirect_check(const struct inject_target *it, struct err *e);

/*
 * Send the target's descriptor 2 to a file in memory.  Flushing stderr, sending descriptor 2 back
 * and closing is put on C's undo list.
 */
int redirect_begin(struct redirect *r, struct carrier *c, const struct workspace *ws,
	uint64_t deadline_ns, struct err *e);

/*
 * The document out of what was written; all that others wrote meanwhile is written to where
 * descriptor 2 leads, line by line as it came.  Nothing if redirect_begin() did not come that far.
 * May take its time: no thread should be held by then.
 */
int redirect_read(
	struct redirect *r, struct text *out, uint64_t *ret_replayed_bytes, struct err *e);

void redirect_release(struct redirect *r);

#endif

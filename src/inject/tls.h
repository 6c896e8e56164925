/*
 * tls: determines whether a thread has used a library's thread-local variables.
 */
#ifndef MEMDIAG_INJECT_TLS_H
#define MEMDIAG_INJECT_TLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/raddr.h"

struct object;
struct target;

/*
 * The thread-local variables of a library, which lie in one block in each thread.  A thread in
 * which they differ from their initial values has used the library.
 */
struct inject_tls {
	int64_t offset; /* of the block from the thread pointer; 0 if unknown */
	raddr image;	/* its initial contents, IMAGE_BYTES; zeroes follow */
	uint64_t image_bytes, bytes;
};

/* Find the block of the library O of T; RET->offset is 0 if it is not found. */
void inject_tls_find(struct inject_tls *ret, const struct object *o, const struct target *t);
/*
 * Return whether stopped thread TID of T, with its thread pointer at TP, has used the library.  If
 * the place of the variables is unknown, only the first thread has: it runs the library's
 * constructor.
 */
bool inject_tls_is_used(const struct inject_tls *tls, const struct target *t, pid_t tid, raddr tp);

#endif

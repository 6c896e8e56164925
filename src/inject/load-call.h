/*
 * load-call: calls of a function of a loaded library.
 */
#ifndef MEMDIAG_INJECT_LOAD_CALL_H
#define MEMDIAG_INJECT_LOAD_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/err.h"
#include "base/raddr.h"
#include "glibc/arenas.h"
#include "inject/malloc.h"
#include "inject/target.h"

/*
 * A call of a function of such a library, which takes the address of a block; its return value is
 * not kept.
 */
struct library_call {
	const char *name; /* for messages */
	raddr fn;
	void *block;	    /* copied to the target before the call, and back after it */
	size_t block_bytes; /* at most 2 KiB */
	/*
	 * NULL for no file.  Otherwise a file in memory that both sides have: FILE_BYTES zeroes of
	 * a fixed size; or, if FILE_BYTES is 0, empty and to be written to.  Its descriptor in the
	 * target is stored at FD_THERE, in BLOCK, and closed after the call; ours is *RET_FD, which
	 * the caller closes.
	 */
	const char *file_name;
	uint64_t file_bytes;
	int64_t *fd_there;
	int *ret_fd;
	/*
	 * For a function with other arguments: called when *FD_THERE is known, to fill the block,
	 * which will be at AT, and the arguments.  NULL: the block's address is the only argument.
	 */
	void (*prepare)(struct library_call *call, raddr at);
	uint64_t arg[ARCH_MAX_ARGS];
	size_t nr_args;
	/* it waits for no lock of ld.so: a borrowed thread may make it, even with other threads */
	bool may_be_borrowed;
};

/* Have the target, whose arenas are A, make CALL.  0, or -1 with E and without a file. */
int load_call(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, struct library_call *call, struct inject_report *report,
	struct err *e);

#endif

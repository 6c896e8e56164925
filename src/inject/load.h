/*
 * load: bring a library of ours into a target.
 */
#ifndef MEMDIAG_INJECT_LOAD_H
#define MEMDIAG_INJECT_LOAD_H

#include "arch/arch.h"
#include "inject/inject.h"

struct os_part;
struct target;

struct loaded_library {
	raddr start;	/* of its first segment */
	bool was_there; /* it had been loaded before */
};

/*
 * Have the target load the shared library PATH as its own dlopen() does, and keep it for ever;
 * where the target cannot see or read that file, from a copy of it in memory.  A library is known
 * by its build-id: one that is there already is not loaded again.  The number of A, the target's
 * arenas, stays what it is.  On failure E has the target's own dlerror(), and nothing stays behind.
 * ERR_UNSUPPORTED: a library without a build-id; a target of which a thread is under a seccomp
 * filter, which may not know the system calls of dlopen().
 */
int load_library(struct inject_target *it, const struct arenas *a, const struct inject_options *opt,
	const char *path, struct loaded_library *ret, struct inject_report *report, struct err *e);

/*
 * The same in a program that has no dynamic linker (inject_is_static()): memdiag puts the library
 * there itself.  Symbols that the library does not define are NULL, also functions.  Its
 * thread-local words are zeroes at first; a thread finds those of an earlier thread that had the
 * same stack.  When the library is complete FN is called, to pass data to it; then
 * the library's constructors are called.  If FN fails, nothing stays behind.
 */
int load_place(struct inject_target *it, const struct arenas *a, const struct inject_options *opt,
	const char *path, int (*fn)(const struct os_part *library, void *arg, struct err *e),
	void *arg, struct loaded_library *ret, struct inject_report *report, struct err *e);

/*
 * A call of a function of such a library, which takes the address of a block; what it returns is
 * not kept.
 */
struct library_call {
	const char *name; /* for messages */
	raddr fn;
	void *block;	    /* copied there before the call, and back after it */
	size_t block_bytes; /* 2 KiB at most */
	/*
	 * NULL: no file.  Else one in memory that both sides have: FILE_BYTES zeroes, of a size
	 * that nobody changes; or, if that is 0, empty and to be written to.
	 * Its descriptor in the target is put at FD_THERE, in BLOCK, and closed after the call;
	 * ours is *RET_FD, the caller's to close.
	 */
	const char *file_name;
	uint64_t file_bytes;
	int64_t *fd_there;
	int *ret_fd;
	/*
	 * For another function: called when *FD_THERE is known, to fill the block, which will be at
	 * AT, and the arguments.  NULL: the block's address is the only one.
	 */
	void (*prepare)(struct library_call *call, raddr at);
	uint64_t arg[ARCH_MAX_ARGS];
	size_t nr_args;
	/* it waits for no lock of ld.so: a borrowed thread may make it, whoever else there is */
	bool may_be_borrowed;
};

/* Have the target, whose arenas are A, make CALL.  0, or -1 with E: then there is no file. */
int load_call(struct inject_target *it, const struct arenas *a, const struct inject_options *opt,
	struct library_call *call, struct inject_report *report, struct err *e);

/*
 * ERR_UNSUPPORTED when a thread of T is under a seccomp filter that would end the process for the
 * system calls of code of ours. load_library() asks it itself, of a library that is not there yet.
 */
int load_refuse_filters(const struct target *t, struct err *e);

#endif

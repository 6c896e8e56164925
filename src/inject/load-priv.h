/*
 * load-priv: shared by the ways to bring a library into a target and to call it.
 *
 *	load-library.c	by the target's own dlopen()
 *	load-place.c	by memdiag itself, into a program that has no dynamic linker
 *	load-call.c	calls of its functions
 */
#ifndef MEMDIAG_INJECT_LOAD_PRIV_H
#define MEMDIAG_INJECT_LOAD_PRIV_H

#include "inject/job.h"
#include "inject/load.h"

/* Layout of the page at ws->data; long_call_make() uses the first bytes. */
#define LOAD_ZERO_OFFSET 1024
#define LOAD_RESULT_OFFSET 1032
#define LOAD_ERRNO_OFFSET 1040
#define LOAD_FD_OFFSET 1048
#define LOAD_PATH_OFFSET 1056
#define LOAD_PATH_BYTES (4096 - LOAD_PATH_OFFSET)

/*
 * The memory that the agent takes in a process when it is loaded, with its counters and the memory
 * of hooks: 1 MiB.
 */
#define LOAD_ROOM_BYTES (UINT64_C(4) << 20)

struct load {
	char *path;	     /* owned, absolute */
	struct image *image; /* of that file */
	char build_id[128];
	bool is_copied; /* the target is given a copy in memory */
	struct loaded_library *ret;
};

/*
 * Open the library PATH, and determine whether CALLEE has loaded it already and whether it could
 * load it.  Returns 0, 1 with *RET if it is loaded, or -1 with E.  L must be released in any case.
 */
int load_open(struct load *l, const struct inject_target *callee, const char *path,
	struct loaded_library *ret, struct err *e);
void load_release(struct load *l);
#define auto_load __attribute__((cleanup(load_release)))

/*
 * System calls that C makes through our code, which stores the kernel's result in a word of the
 * target.  So the call that undoes another can be promised before that other is made, and nothing
 * is left in the target whenever memdiag ends.
 */
struct load_calls {
	raddr code;  /* arch_make_syscall in the target */
	raddr words; /* the page at ws->data */
};

/* Put the code into the target; the undo list unmaps it. */
int load_calls_begin(struct load_calls *ret, const struct job *job, struct worker *c,
	const struct workspace *ws, struct err *e);

/*
 * Make the system call NR(ARG...); DID names it in E.  Its result is in the word at OFFSET of the
 * page, and in C.
 */
int load_make_syscall(const struct load_calls *calls, const struct job *job, struct worker *c,
	long nr, const uint64_t arg[3], uint64_t offset, const char *did, struct err *e);

/*
 * Have the undo list close the descriptor that will be in the word at LOAD_FD_OFFSET: its number is
 * not known yet.
 */
int load_promise_close(const struct load_calls *calls, struct worker *c, struct err *e);

/*
 * Have C open L's file: *RET_FD is the target's descriptor of the file itself or, if L is copied,
 * of a copy in memory.  The undo list closes it.  The page holds the path meanwhile.
 */
int load_open_there(const struct load *l, const struct load_calls *calls, const struct job *job,
	struct worker *c, uint64_t *ret_fd, struct err *e);

#endif

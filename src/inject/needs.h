/*
 * needs: the system calls that an operation takes in a target, and whether the seccomp filters of a
 * thread let them pass.
 */
#ifndef MEMDIAG_INJECT_NEEDS_H
#define MEMDIAG_INJECT_NEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct inject_target;
struct os_call;
struct os_filters;

/* Operations, a bit each. */
enum needs {
	NEEDS_BORROW = 1, /* each call in a borrowed thread */
	NEEDS_HELPER = 2,
	NEEDS_LOCKS = 4, /* where there are other threads: malloc_info() needs no more than that */
	NEEDS_TRIM = 8,
	NEEDS_TOPS = 16,
	NEEDS_LOAD = 32,  /* a library is loaded */
	NEEDS_AGENT = 64, /* what the agent does then */
	NEEDS_HOOKS = 128,
};

/* The release of glibc "2.36" as 2036; 0 for other text. */
unsigned long needs_release(const char *version);

/*
 * The first call of the operations NEEDS on glibc VERSION ("2.36"; "": any) that F do not let pass;
 * NULL: all pass.
 */
const struct os_call *needs_refused(
	unsigned int needs, const char *version, const struct os_filters *f);

/* The I-th of the calls of NEEDS on glibc VERSION, by name; NULL: there are no more. */
const char *needs_name(unsigned int needs, const char *version, size_t i);

/*
 * Prove that the seccomp filters of stopped thread TID of CALLEE let the calls of NEEDS pass.  0, or -1
 * with E (ERR_UNSUPPORTED), which names the call or the reason why they cannot be read.
 * *RET_NOT_WISHED: the first call of WISHES that they do not let pass, by name; NULL if none.
 */
int needs_prove(const struct inject_target *callee, pid_t tid, unsigned int needs,
	unsigned int wishes, const char **ret_not_wished, struct err *e);

#endif

/*
 * needs: the system calls that an operation makes in a target, and whether the seccomp filters of a
 * thread allow them.
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

/* Operations, one bit each. */
enum needs {
	NEEDS_BORROW = 1, /* each call in a borrowed thread */
	NEEDS_HELPER = 2,
	NEEDS_LOCKS = 4, /* if other threads exist: malloc_info() needs no more than that */
	NEEDS_TRIM = 8,
	NEEDS_TOPS = 16,
	NEEDS_LOAD = 32,  /* a library is loaded */
	NEEDS_AGENT = 64, /* what the loaded agent does */
	NEEDS_HOOKS = 128,
	NEEDS_COPY = 256, /* a copy of the process */
};

/* Return glibc release "2.36" as 2036; 0 for other text. */
unsigned long needs_release(const char *version);

/*
 * Return the first call of the operations NEEDS on glibc VERSION ("2.36"; "": any) that F do not
 * allow; NULL if they allow all.
 */
const struct os_call *needs_refused(
	unsigned int needs, const char *version, const struct os_filters *f);

/* Return the name of the I-th call of NEEDS on glibc VERSION; NULL after the last. */
const char *needs_name(unsigned int needs, const char *version, size_t i);

/*
 * Prove that the seccomp filters of stopped thread TID of CALLEE allow the calls of NEEDS.  0, or
 * -1 with E (ERR_UNSUPPORTED), which names the call or the reason why they cannot be read.
 * *RET_NOT_WISHED is the name of the first call of WISHES that they do not allow; NULL if they
 * allow all.
 */
int needs_prove(const struct inject_target *callee, pid_t tid, unsigned int needs,
	unsigned int wishes, const char **ret_not_wished, struct err *e);

#endif

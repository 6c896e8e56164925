/*
 * seccomp: the filters of a target, and their effect on a call.
 */
#ifndef MEMDIAG_OS_SECCOMP_H
#define MEMDIAG_OS_SECCOMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct target;
struct sock_filter;

struct os_filter {
	pid_t tid; /* a thread that has it */
	struct sock_filter *code;
	size_t nr;
};

/* Filters of several threads of a target, each once. */
struct os_filters {
	struct os_filter *v;
	size_t nr, room;
};

struct os_call {
	const char *name;
	long nr; /* -1: the call is skipped */
	uint64_t arg[6];
};

/*
 * Add the filters of thread TID, which is stopped and traced.  -1 with E, also if they cannot be
 * read: that needs CAP_SYS_ADMIN, and memdiag itself must have no filter (kernel/seccomp.c,
 * seccomp_get_filter()).
 */
int os_filters_add(struct os_filters *f, const struct target *t, pid_t tid, struct err *e);

/*
 * Return the filter in F that may do more than refuse CALL: it may end the thread.  A filter that
 * checks the address of the call counts as such.  NULL: all are harmless.
 */
const struct os_filter *os_filters_harm(const struct os_filters *f, const struct os_call *call);

/* Return whether all of F allow CALL, from any address. */
bool os_filters_allow(const struct os_filters *f, const struct os_call *call);

void os_filters_release(struct os_filters *f);
#define auto_filters __attribute__((cleanup(os_filters_release)))

#endif

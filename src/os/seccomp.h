/*
 * seccomp: the filters of a target, and what they would do to a call.
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

/* Filters of any threads of a target, each once. */
struct os_filters {
	struct os_filter *v;
	size_t nr, room;
};

struct os_call {
	const char *name;
	long nr; /* -1: one that is skipped */
	uint64_t arg[6];
};

/*
 * Add those of thread TID, which is stopped and ours.  -1 with E, also when they cannot be read:
 * that takes CAP_SYS_ADMIN, and that we have no filter ourselves (kernel/seccomp.c,
 * seccomp_get_filter()).
 */
int os_filters_add(struct os_filters *f, const struct target *t, pid_t tid, struct err *e);

/*
 * The filter in F that may do more than refuse CALL: it may end the thread for it.  One that looks
 * at the address that a call is made from may do anything.  NULL: all are harmless.
 */
const struct os_filter *os_filters_harm(const struct os_filters *f, const struct os_call *call);

/* Whether all of F let CALL be made, from wherever. */
bool os_filters_allow(const struct os_filters *f, const struct os_call *call);

void os_filters_release(struct os_filters *f);
#define auto_filters __attribute__((cleanup(os_filters_release)))

#endif

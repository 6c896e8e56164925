/*
 * rights: what memdiag may do with a target, and what prevents the rest.
 */
#ifndef MEMDIAG_OS_RIGHTS_H
#define MEMDIAG_OS_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct target;

/*
 * Why tracing T is refused, after it was: fills E from what /proc says of the target and of us.
 * DID is what was tried, as in "attach to thread 12".  Returns -1.
 */
int os_diagnose_eperm(const struct target *t, const char *did, struct err *e);

/*
 * Whether T's memory may be read at all.  Without it nothing is found in it, which looks like a
 * program of another kind. 0, or -1 with E (ERR_PERMISSION) and the right that is missing.
 */
int os_check_memory(const struct target *t, struct err *e);

/* memdiag's rights over other processes, by /proc. */
struct os_rights {
	uint32_t uid, gid;     /* effective */
	uint64_t capabilities; /* effective, a bit each */
	bool has_ptrace;       /* CAP_SYS_PTRACE is effective */
	bool has_read;	       /* CAP_DAC_READ_SEARCH or CAP_DAC_OVERRIDE is */
	bool has_filter;       /* a seccomp filter is on us */
	bool is_first_user_namespace;
	long yama_scope; /* kernel.yama.ptrace_scope; 0 where there is no Yama */
	char lsm[128];	 /* the security modules, "?" if not known; fit for a terminal */
};

void os_rights(struct os_rights *ret);

#endif

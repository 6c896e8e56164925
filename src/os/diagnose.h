/*
 * diagnose: why the kernel refused, and which rights would help.
 */
#ifndef MEMDIAG_OS_DIAGNOSE_H
#define MEMDIAG_OS_DIAGNOSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct target;

/*
 * Why tracing T is refused, after it was: fills E from what /proc says of the target and of us.
 * DID is what was tried, as in "attach to thread 12".  Returns -1.
 */
int os_diagnose_eperm(const struct target *t, const char *did, struct err *e);

/*
 * Why /proc/PID could not be opened or entered, which failed with CODE (errno): fills E.  ERR_GONE
 * if there is no such process; ERR_PERMISSION if there is one that the option hidepid of /proc
 * hides.  Returns -1.
 */
int os_diagnose_hidden(pid_t pid, int code, struct err *e);

/* memdiag's rights over other processes, by /proc. */
struct os_rights {
	uint32_t uid, gid;     /* effective */
	uint64_t capabilities; /* effective, a bit each */
	bool has_ptrace;       /* CAP_SYS_PTRACE is effective */
	bool has_read;	       /* CAP_DAC_READ_SEARCH or CAP_DAC_OVERRIDE is */
	bool has_filter;       /* a seccomp filter is on us */
	bool is_first_user_namespace;
	bool hides_others; /* /proc hides what we may not trace */
	char hidepid[32];  /* the option of its mount that does so; "" if none */
	long yama_scope;   /* kernel.yama.ptrace_scope; 0 where there is no Yama */
	char lsm[128];	   /* the security modules, "?" if not known; fit for a terminal */
	char label[128];   /* memdiag's, of AppArmor or SELinux, if it is confined, else "" */
};

void os_rights(struct os_rights *ret);

#endif

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
 * Report why tracing T was refused: fills E from /proc's facts about the target and about us.  DID
 * is the refused action, as in "attach to thread 12".  Returns -1.
 */
int os_diagnose_eperm(const struct target *t, const char *did, struct err *e);

/*
 * Report why opening or entering /proc/PID failed with CODE (errno): fills E.  ERR_GONE if no such
 * process exists; ERR_PERMISSION if the option hidepid of /proc hides it.  Returns -1.
 */
int os_diagnose_hidden(pid_t pid, int code, struct err *e);

/* memdiag's rights over other processes, from /proc. */
struct os_rights {
	uint32_t uid, gid;     /* effective */
	uint64_t capabilities; /* effective, a bit each */
	bool has_ptrace;       /* CAP_SYS_PTRACE is effective */
	bool has_read;	       /* CAP_DAC_READ_SEARCH or CAP_DAC_OVERRIDE is effective */
	bool has_filter;       /* memdiag has a seccomp filter */
	bool is_first_user_namespace;
	bool hides_others; /* /proc hides processes that we may not trace */
	char hidepid[32];  /* the mount option that hides them; "" if not set */
	long yama_scope;   /* kernel.yama.ptrace_scope; 0 without Yama */
	char lsm[128];	   /* the security modules, "?" if unknown; printable */
	char label[128];   /* memdiag's label of AppArmor or SELinux, if it is confined, else "" */
};

void os_rights(struct os_rights *ret);

#endif

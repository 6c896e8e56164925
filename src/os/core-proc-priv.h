/*
 * core-proc-priv: what other files of os/ use of core-proc.c.
 */
#ifndef MEMDIAG_OS_CORE_PROC_PRIV_H
#define MEMDIAG_OS_CORE_PROC_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"
#include "os/os-priv.h"
#include "os/os.h"
#include "os/status.h"

struct os_syscall;

/* Return the value of TYPE in auxv, 0 if it is missing. */
uint64_t core_auxv(const struct core *c, uint64_t type);

/* As the functions os_..., for a core file. */
int core_proc_read(
	const struct target *t, pid_t tid, const char *name, struct text *out, struct err *e);
int core_proc_link(const struct target *t, const char *name, char *buf, size_t size, struct err *e);
void core_status(const struct target *t, struct os_status *ret);
void core_stat(const struct core *c, struct os_stat *ret);
int core_threads(const struct core *c, size_t max, pid_t **ret_tids, size_t *ret_nr, struct err *e);
/* As os_is_kernel_worker(). */
bool core_is_kernel_worker(const struct core *c, pid_t tid);
int core_thread_syscall(const struct core *c, pid_t tid, struct os_syscall *ret, struct err *e);

/* Fill E, ERR_UNSUPPORTED: WHAT ("stop its threads") needs a living process.  Returns -1. */
int core_refuse(const struct target *t, const char *what, struct err *e);

#endif

#include <config.h>

#include "os/write-priv.h"

#include "os/core-proc-priv.h"
#include "os/memory-priv.h"
#include "os/memory.h"
#include "os/steps.h"
#include "os/target.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * Check that T still runs its program: process_vm_writev() takes a number, which may belong to
 * another program or process by now.  T's memory is gone if a read of it returns end of file, at
 * any address.
 */
static int
memory_check_program(const struct target *t, struct err *e)
{
	if (t->mem_fd < 0 ? target_is_alive(t) : os_runs_same_program(t))
		return 0;
	return t->mem_fd >= 0 && target_is_alive(t)
		? memory_refuse_other_program(t, e)
		: err_set(e, ESRCH, "cannot write memory of %d", t->pid);
}

int
os_write(const struct target *t, raddr to, const void *from, size_t size, struct err *e)
{
	struct iovec local = { (void *)(uintptr_t)from, size };
	struct iovec remote = { (void *)(uintptr_t)to.v, size };
	ssize_t n;

	if (t->core)
		return core_refuse(t, "write memory", e);
	os_step();
	if (memory_check_program(t, e) < 0)
		return -1;
	n = process_vm_writev(t->mem_tid, &local, 1, &remote, 1, 0);
	if (n < 0)
		return err_set(e, errno, "cannot write memory of %d at " PRIraddr, t->pid, to.v);
	if ((size_t)n < size)
		return err_set(e, EFAULT, "cannot write memory of %d at " PRIraddr, t->pid,
			to.v + (uint64_t)n);
	return 0;
}

#include <config.h>

#include "os/os.h"

#include <errno.h>
#include <sys/uio.h>

ssize_t
os_read_some(const struct target *t, raddr from, void *to, size_t size, struct err *e)
{
	size_t done = 0;

	while (done < size) {
		struct iovec local = { (char *)to + done, size - done };
		struct iovec remote = { (void *)(uintptr_t)(from.v + done), size - done };
		ssize_t n = process_vm_readv(t->mem_tid, &local, 1, &remote, 1, 0);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (done || (n < 0 && errno == EFAULT))
			break;
		if (errno == EPERM)
			return os_diagnose_eperm(t, "read its memory", e);
		return err_set(e, errno, "cannot read memory of %d at " PRIraddr, t->pid, from.v);
	}
	return (ssize_t)done;
}

int
os_read(const struct target *t, raddr from, void *to, size_t size, struct err *e)
{
	ssize_t n = os_read_some(t, from, to, size, e);

	if (n < 0)
		return -1;
	if ((size_t)n < size)
		return err_set(e, EFAULT, "cannot read memory of %d at " PRIraddr, t->pid,
			from.v + (uint64_t)n);
	return 0;
}

int
os_write(const struct target *t, raddr to, const void *from, size_t size, struct err *e)
{
	struct iovec local = { (void *)(uintptr_t)from, size };
	struct iovec remote = { (void *)(uintptr_t)to.v, size };
	ssize_t n = process_vm_writev(t->mem_tid, &local, 1, &remote, 1, 0);

	if (n < 0)
		return err_set(e, errno, "cannot write memory of %d at " PRIraddr, t->pid, to.v);
	if ((size_t)n < size)
		return err_set(e, EFAULT, "cannot write memory of %d at " PRIraddr, t->pid,
			to.v + (uint64_t)n);
	return 0;
}

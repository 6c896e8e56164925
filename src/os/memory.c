#include <config.h>

#include "os/os-priv.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

/* Of one process_vm_readv(); the kernel takes 1024 (UIO_MAXIOV). */
#define PIECES_MAX 512

ssize_t
os_read_some(const struct target *t, raddr from, void *to, size_t size, struct err *e)
{
	size_t done = 0;

	if (t->core)
		return core_read_some(t->core, from, to, size, e);
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

/* As process_vm_readv() with NR pieces of SIZE bytes.  Returns the pieces that came whole, or -1. */
static ssize_t
read_pieces(const struct target *t, const raddr *from, size_t nr, size_t size, void *to)
{
	struct iovec local = { to, nr * size }, remote[PIECES_MAX];
	ssize_t n;

	for (size_t i = 0; i < nr; i++)
		remote[i] = (struct iovec){ (void *)(uintptr_t)from[i].v, size };
	n = process_vm_readv(t->mem_tid, &local, 1, remote, nr, 0);
	return n < 0 ? -1 : n / (ssize_t)size;
}

int
os_read_each(const struct target *t, const raddr *from, size_t nr, size_t size, void *to,
	struct err *e)
{
	if (t->core)
		return core_read_each(t->core, from, nr, size, to, e);
	for (size_t done = 0; done < nr;) {
		size_t want = nr - done < PIECES_MAX ? nr - done : PIECES_MAX;
		char *at = (char *)to + done * size;
		ssize_t got = read_pieces(t, from + done, want, size, at);

		if (got < 0 && errno == EPERM)
			return os_diagnose_eperm(t, "read its memory", e);
		if (got < 0 && errno != EFAULT)
			return err_set(e, errno, "cannot read memory of %d", t->pid);
		if (got < 0)
			got = 0;
		done += (size_t)got;
		/* The kernel stops at the first piece that it cannot read whole. */
		if ((size_t)got < want) {
			memset(at + (size_t)got * size, 0, size);
			done++;
		}
	}
	return 0;
}

int
os_write(const struct target *t, raddr to, const void *from, size_t size, struct err *e)
{
	struct iovec local = { (void *)(uintptr_t)from, size };
	struct iovec remote = { (void *)(uintptr_t)to.v, size };
	ssize_t n;

	if (t->core)
		return core_refuse(t, "write memory", e);
	n = process_vm_writev(t->mem_tid, &local, 1, &remote, 1, 0);
	if (n < 0)
		return err_set(e, errno, "cannot write memory of %d at " PRIraddr, t->pid, to.v);
	if ((size_t)n < size)
		return err_set(e, EFAULT, "cannot write memory of %d at " PRIraddr, t->pid,
			to.v + (uint64_t)n);
	return 0;
}

/*
 * The target's memory.  It is read through /proc/PID/mem and not with process_vm_readv(): that pins
 * the pages, and the kernel gives the target a copy of its own of every page that it shares with a
 * fork before it pins it (mm/gup.c gup_must_unshare(), 5.19).  A look at a server that has forked
 * would double its memory.  Only who may trace the target and yet not open its files (CAP_SYS_PTRACE
 * without CAP_DAC_READ_SEARCH) has no other way.
 */
#include <config.h>

#include "os/os-priv.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static ssize_t
read_pinned(const struct target *t, raddr from, void *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)from.v, size };

	return process_vm_readv(t->mem_tid, &local, 1, &remote, 1, 0);
}

/* As read(2): EFAULT where nothing is mapped. */
static ssize_t
read_piece(const struct target *t, raddr from, void *to, size_t size)
{
	ssize_t n;

	if (t->mem_fd < 0)
		return read_pinned(t, from, to, size);
	n = pread(t->mem_fd, to, size, (off_t)from.v);
	/* EINVAL: an address of the kernel's. */
	if (n < 0 && (errno == EIO || errno == EINVAL))
		errno = EFAULT;
	/* At its end: the process has no memory any more, or runs another program. */
	if (n == 0)
		errno = ESRCH;
	return n ? n : -1;
}

ssize_t
os_read_some(const struct target *t, raddr from, void *to, size_t size, struct err *e)
{
	size_t done = 0;

	if (t->core)
		return core_read_some(t->core, from, to, size, e);
	while (done < size) {
		ssize_t n = read_piece(t, raddr_add(from, done), (char *)to + done, size - done);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (done || errno == EFAULT)
			break;
		if (errno == EPERM)
			return os_diagnose_eperm(t, "read its memory", e);
		return err_set(e, errno, "cannot read memory of %d at " PRIraddr, t->pid, from.v);
	}
	return (ssize_t)done;
}

ssize_t
os_read_unshared(const struct target *t, raddr from, void *to, size_t size, struct err *e)
{
	ssize_t n = t->core ? -1 : read_pinned(t, from, to, size);

	return n == (ssize_t)size ? n : os_read_some(t, from, to, size, e);
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
os_read_each(const struct target *t, const raddr *from, size_t nr, size_t size, void *to,
	struct err *e)
{
	for (size_t i = 0; i < nr; i++) {
		char *at = (char *)to + i * size;
		ssize_t n = os_read_some(t, from[i], at, size, e);

		if (n < 0)
			return -1;
		if ((size_t)n < size)
			memset(at, 0, size);
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

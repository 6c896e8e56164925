/*
 * The target's memory.  It is read through /proc/PID/mem and not with process_vm_readv(): that pins
 * the pages, and before pinning the kernel gives the target a private copy of every page that it
 * shares with a fork (mm/gup.c gup_must_unshare(), 5.19).  Reading a server that has forked would
 * double its memory.  Only a process that may trace the target but not open its files
 * (CAP_SYS_PTRACE without CAP_DAC_READ_SEARCH) has no other way.
 */
#include <config.h>

#include "os/core-memory.h"
#include "os/core-proc-priv.h"
#include "os/diagnose.h"
#include "os/memory-priv.h"
#include "os/os-priv.h"
#include "os/os.h"
#include "os/steps.h"
#include "os/target.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/memory.h"

static ssize_t
read_pinned(const struct target *t, raddr from, void *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)from.v, size };

	return process_vm_readv(t->mem_tid, &local, 1, &remote, 1, 0);
}

/* As read(2), but with EFAULT for unmapped memory. */
static ssize_t
read_piece(const struct target *t, raddr from, void *to, size_t size)
{
	ssize_t n;

	os_step();
	if (t->mem_fd < 0)
		return read_pinned(t, from, to, size);
	n = pread(t->mem_fd, to, size, (off_t)from.v);
	/* EINVAL: a kernel address. */
	if (n < 0 && (errno == EIO || errno == EINVAL))
		errno = EFAULT;
	/* End of file: the process has lost its memory, or runs another program. */
	if (n == 0)
		errno = ESRCH;
	return n ? n : -1;
}

/*
 * Report that another program runs now: mem_fd stays with the program that it was opened for
 * (fs/proc/base.c, mem_open()).
 */
int
memory_refuse_other_program(const struct target *t, struct err *e)
{
	err_set_kind(e, ERR_GONE, 0, "%d (%s) has executed another program", t->pid, t->comm);
	return err_hint(e, "Run memdiag again to look at that one");
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
		if (errno == ESRCH && target_is_alive(t))
			return memory_refuse_other_program(t, e);
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

/* ---- present pages ---- */

#define PAGES_AT_ONCE 512

/* Read the entries of up to PAGES_AT_ONCE pages from PAGE on; return their number, or -1 with E. */
static ssize_t
read_entries(const struct target *t, uint64_t page, size_t nr, uint64_t *entry, struct err *e)
{
	const raddr at = { page * (uint64_t)sysconf(_SC_PAGESIZE) };
	ssize_t n;
	char byte;

	if (nr > PAGES_AT_ONCE)
		nr = PAGES_AT_ONCE;
	n = pread(t->pagemap_fd, entry, nr * sizeof *entry, (off_t)(page * sizeof *entry));
	if (n >= (ssize_t)sizeof *entry)
		return n / (ssize_t)sizeof *entry;
	if (n < 0)
		return err_set(e, errno, "cannot read the page tables of %d", t->pid);
	/*
	 * AT is outside of the address space, or the process has ended: reading it gives the error.
	 */
	return os_read(t, at, &byte, sizeof byte, e) < 0
		? -1
		: err_set(e, EFAULT, "cannot read the page tables of %d", t->pid);
}

/* Read a page that looks like a guard page: for a real guard page the read fails. */
static bool
memory_is_there(uint64_t entry)
{
	return entry & ENTRY_PRESENT || (entry & ENTRY_SWAPPED && !(entry & ENTRY_GUARD));
}

/*
 * Copy SIZE bytes of the pages that are present by their pagemap entries ENTRY; zeroes for the
 * others.
 */
static ssize_t
memory_read_pages(const struct target *t, raddr from, char *to, size_t size, const uint64_t *entry,
	uint64_t page_bytes, struct err *e)
{
	const uint64_t first = from.v / page_bytes;
	ssize_t there = 0;

	memset(to, 0, size);
	for (size_t at = 0, next; at < size; at = next) {
		bool is_present = memory_is_there(entry[(from.v + at) / page_bytes - first]);
		ssize_t n;

		next = at;
		do
			next += page_bytes - (from.v + next) % page_bytes;
		while (next < size &&
			memory_is_there(entry[(from.v + next) / page_bytes - first]) == is_present);
		if (next > size)
			next = size;
		if (!is_present)
			continue;
		n = os_read_some(t, raddr_add(from, at), to + at, next - at, e);
		if (n < 0)
			return -1;
		there += n;
	}
	return there;
}

ssize_t
os_read_present_some(const struct target *t, raddr from, void *to, size_t size, struct err *e)
{
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t entry[PAGES_AT_ONCE];
	ssize_t there = 0;

	if (t->pagemap_fd < 0) {
		memset(to, 0, size);
		return os_read_some(t, from, to, size, e);
	}
	for (size_t done = 0; done < size;) {
		raddr at = raddr_add(from, done);
		uint64_t page = at.v / page_bytes;
		uint64_t nr = (at.v + (size - done) - 1) / page_bytes - page + 1;
		ssize_t got = read_entries(t, page, nr, entry, e), n;
		size_t bytes;

		if (got < 0)
			return -1;
		bytes = (page + (uint64_t)got) * page_bytes - at.v;
		if (bytes > size - done)
			bytes = size - done;
		n = memory_read_pages(t, at, (char *)to + done, bytes, entry, page_bytes, e);
		if (n < 0)
			return -1;
		there += n;
		done += bytes;
	}
	return there;
}

int
os_read_present(const struct target *t, raddr from, void *to, size_t size, struct err *e)
{
	ssize_t n = os_read_present_some(t, from, to, size, e);

	if (n < 0)
		return -1;
	return (size_t)n == size
		? 0
		: err_set(e, EFAULT,
			  "cannot read memory of %d at " PRIraddr ": not all of it is present",
			  t->pid, from.v);
}

int
os_read_each(
	const struct target *t, const raddr *from, size_t nr, size_t size, void *to, struct err *e)
{
	for (size_t i = 0; i < nr; i++) {
		char *at = (char *)to + i * size;

		if (os_read_present_some(t, from[i], at, size, e) >= 0)
			continue;
		if (e->code != EFAULT)
			return -1;
		memset(at, 0, size); /* outside of the address space */
	}
	return 0;
}

int
os_check_memory(const struct target *t, struct err *e)
{
	struct err why;
	char byte;

	/* The kernel checks permission before it looks up the address. */
	if (t->core || os_read(t, (raddr){ 0 }, &byte, sizeof byte, &why) == 0 ||
		why.kind != ERR_PERMISSION)
		return 0;
	return os_diagnose_eperm(t, "read its memory", e);
}

bool
os_runs_same_program(const struct target *t)
{
	char byte;

	/* Memory of a program that is gone is empty, at any address (fs/proc/base.c, mem_rw()). */
	return t->core || t->mem_fd < 0 || pread(t->mem_fd, &byte, sizeof byte, 0) != 0;
}

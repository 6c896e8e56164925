#include <config.h>

#include "agent/base/mapping.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "agent/base/segment.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"
#include "wire/wire.h"

#ifndef HUGETLBFS_MAGIC
#define HUGETLBFS_MAGIC 0x958458f6
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* since Linux 5.7 */
#endif

/* ---- ranges ---- */

uintptr_t
mapping_end(const void *at, size_t bytes)
{
	const uintptr_t start = (uintptr_t)at;

	return bytes < UINTPTR_MAX - start ? start + bytes : UINTPTR_MAX;
}

uintptr_t
mapping_page_end(const void *at, size_t bytes)
{
	const uintptr_t to = mapping_end(at, bytes), mask = agent_page_bytes - 1;

	return to < UINTPTR_MAX - mask ? (to + mask) & ~mask : to & ~mask;
}

bool
mapping_is_there(uintptr_t start, uintptr_t end)
{
	/* MS_ASYNC only checks the range (mm/msync.c). */
	return sys_call(SYS_msync, start, end - start, MS_ASYNC) == 0;
}

uintptr_t
mapping_end_of_mapped(const void *at, size_t bytes)
{
	const uintptr_t start = (uintptr_t)at;
	size_t least = 0, most = (mapping_page_end(at, bytes) - start) / agent_page_bytes;

	while (least < most) {
		const size_t middle = most - (most - least) / 2;

		if (mapping_is_there(start, start + middle * agent_page_bytes))
			least = middle;
		else
			most = middle - 1;
	}
	return start + least * agent_page_bytes;
}

/* ---- what counts ---- */

/*
 * True if FD is a file in memory: a shared mapping of it is the program's memory.  Seccomp filters
 * allow fstat() more often than fstatfs().
 */
static bool
mapping_is_in_memory(int fd)
{
	struct stat file;
	struct statfs system;

	if (sys_failed(sys_call(SYS_fstat, fd, &file)) || !S_ISREG(file.st_mode))
		return false;
	if (segment_device && file.st_dev == segment_device)
		return true;
	return !sys_failed(sys_call(SYS_fstatfs, fd, &system)) &&
		((unsigned long)system.f_type == TMPFS_MAGIC ||
			(unsigned long)system.f_type == HUGETLBFS_MAGIC);
}

enum page_state
mapping_state(const struct map_call *m)
{
	const bool is_file = !(m->flags & MAP_ANONYMOUS);
	const bool is_shared = (m->flags & MAP_TYPE) != MAP_PRIVATE;

	/*
	 * These are stacks of libc.  They reach the agent only if it was loaded into a running
	 * process.
	 */
	if (segment->way == WIRE_LOADED && m->flags & MAP_STACK && m->prot == PROT_NONE)
		return PAGE_NOTHING;
	if (!is_file || (is_shared && mapping_is_in_memory(m->fd)))
		return m->prot == PROT_NONE ? PAGE_MEMORY : PAGE_MEMORY | PAGE_COUNTS;
	if (is_shared)
		return PAGE_NOTHING;
	return m->prot & PROT_WRITE ? PAGE_COPY | PAGE_COUNTS : PAGE_COPY;
}

int
mapping_access(int prot)
{
	return prot & (PROT_READ | PROT_WRITE | PROT_EXEC);
}

bool
mapping_keeps_old(const struct remap_call *r)
{
	return !r->had || r->flags & MREMAP_DONTUNMAP;
}

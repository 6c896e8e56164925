#include <config.h>

#include "os/ceiling.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/debug.h"
#include "os/machine.h"

static struct {
	void (*end)(void);   /* NULL: no ceiling was set */
	uint64_t base_bytes; /* RLIMIT_DATA's usage when the ceiling was set */
	uint64_t bytes;	     /* the usage may grow by these */
	uint64_t taken_bytes;
	rlim_t was; /* the limit before */
} ceiling;

/* Return the bytes that RLIMIT_DATA limits (mm/mmap.c, may_expand_vm()), and the stack. */
static uint64_t
data_bytes(void)
{
	auto_file FILE *f = fopen("/proc/self/statm", "re");
	uint64_t pages;

	if (!f || fscanf(f, "%*s %*s %*s %*s %*s %" SCNu64, &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void
enforce(void)
{
	const uint64_t base_bytes = ceiling.base_bytes;
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit) < 0)
		return;
	if (limit.rlim_cur < base_bytes + ceiling.bytes)
		ceiling.bytes = limit.rlim_cur > base_bytes ? limit.rlim_cur - base_bytes : 0;
	limit.rlim_cur = base_bytes + ceiling.bytes;
	if (setrlimit(RLIMIT_DATA, &limit) < 0)
		debug("the kernel does not limit our memory: %s", strerror(errno));
}

void
os_set_ceiling(uint64_t bytes, void (*end)(void))
{
	struct rlimit limit;

	if (!ceiling.end && getrlimit(RLIMIT_DATA, &limit) == 0)
		ceiling.was = limit.rlim_cur;
	ceiling.end = end;
	ceiling.base_bytes = data_bytes();
	ceiling.bytes = bytes;
	enforce();
}

void
os_lift_ceiling(void)
{
	struct rlimit limit;

	if (!ceiling.end || getrlimit(RLIMIT_DATA, &limit) < 0)
		return;
	limit.rlim_cur = ceiling.was;
	if (setrlimit(RLIMIT_DATA, &limit) < 0)
		debug("the limit of memory stays: %s", strerror(errno));
}

void
os_end_without_memory(void)
{
	if (ceiling.end)
		ceiling.end();
	abort();
}

uint64_t
os_ceiling(void)
{
	return ceiling.bytes + ceiling.taken_bytes;
}

uint64_t
os_memory_left(void)
{
	const uint64_t end_bytes = ceiling.base_bytes + ceiling.bytes, used_bytes = data_bytes();

	if (!ceiling.end)
		return os_memory_available() / 2;
	return end_bytes > used_bytes ? end_bytes - used_bytes : 0;
}

bool
os_take_memory(uint64_t bytes)
{
	if (bytes > os_memory_left()) {
		errno = ENOMEM;
		return false;
	}
	if (ceiling.end) {
		ceiling.bytes -= bytes;
		ceiling.taken_bytes += bytes;
		enforce();
	}
	return true;
}

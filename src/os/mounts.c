/* File systems by the devices of mapped files. */
#include <config.h>

#include "os/mounts.h"

#include "base/cleanup.h"
#include "os/proc.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Return whether DEV is the kernel's own tmpfs: a file of ours in it shows its device. */
bool
os_is_kernels_tmpfs(uint64_t dev)
{
	auto_fd int fd = (int)syscall(SYS_memfd_create, "memdiag", 1 /* MFD_CLOEXEC */);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == dev;
}

/*
 * Search the list of mounts, which any user may read, without waiting for a server that does not
 * answer.  A line is "ID PARENT MAJOR:MINOR ... - TYPE ..." (proc(5)).
 */
int
os_mounted_type(const struct target *t, uint64_t dev, char *buf, size_t size)
{
	auto_free char *line = NULL;
	struct err e;
	auto_file FILE *f = os_proc_stream(t, "mountinfo", &e);
	unsigned int major, minor;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0) {
		const char *dash = strstr(line, " - ");
		char type[64];

		if (dash && sscanf(line, "%*u %*u %u:%u", &major, &minor) == 2 &&
			makedev(major, minor) == dev && sscanf(dash, " - %63s", type) == 1) {
			snprintf(buf, size, "%s", type);
			return 0;
		}
	}
	if (!os_is_kernels_tmpfs(dev))
		return -1;
	snprintf(buf, size, "tmpfs");
	return 0;
}

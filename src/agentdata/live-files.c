#include <config.h>

#include "agentdata/live-files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/mapping.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/status.h"
#include "os/stranger.h"

/* The vdso has a few pages. */
#define MAX_VDSO_BYTES ((size_t)256 << 10)

/* Return a file with the object that the kernel has mapped at M: a whole ELF object. */
static int
copy_vdso(const struct target *t, const struct profile_mapping *m)
{
	const size_t size = m->end - m->start;
	auto_free char *bytes = size <= MAX_VDSO_BYTES ? malloc(size) : NULL;
	auto_fd int fd = memfd_create("memdiag-vdso", MFD_CLOEXEC);
	struct err ignored;
	int ret = fd;

	if (!bytes || fd < 0 || os_read(t, (raddr){ m->start }, bytes, size, &ignored) < 0 ||
		write(fd, bytes, size) != (ssize_t)size)
		return -1;
	fd = -1;
	return ret;
}

int
live_files_mapped(const struct profile_mapping *m, void *arg)
{
	const struct process *p = ((const struct live_files *)arg)->process;
	const struct region *r = regions_find(&p->maps, (raddr){ m->start });

	if (!r)
		return -1;
	if (region_is_special(r))
		return copy_vdso(p->target, m);
	return os_mapping_open(p->target, r->start, r->end, r->path, r->dev, r->inode);
}

/*
 * A compiler writes the file into /tmp as the process sees it, under the process's own number.
 * Only its own file is opened: another user of /tmp could name its functions.
 */
int
live_files_perf_map(void *arg)
{
	const struct target *t = ((const struct live_files *)arg)->process->target;
	auto_fd int held = -1;
	struct os_status s;
	struct stat st;
	struct err ignored;
	char name[64];

	if (os_status(t, 0, &s, &ignored) < 0)
		return -1;
	snprintf(name, sizeof name, "root/tmp/perf-%d.map", s.inner_tid ? s.inner_tid : t->pid);
	held = os_proc_open(t, name, O_PATH | O_NOFOLLOW, &ignored);
	return held >= 0 && fstat(held, &st) == 0 && st.st_uid == s.uid
		? os_open_held(held, OS_REGULAR)
		: -1;
}

int
live_files_name(struct profile *p, const struct process *process,
	const struct symbols_options *options, struct err *e)
{
	struct live_files live = { .process = process };
	const struct symbols_files files = { live_files_mapped, live_files_perf_map, &live };
	struct symbols_options o = *options;

	if (process && !o.program && !o.sysroot)
		o.files = &files;
	return symbols_find(p, &o, e);
}

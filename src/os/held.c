/*
 * Files in memory that descriptors of a target hold: they are not in its mappings, nor in its RSS.
 */
#include <config.h>

#include "os/held.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "os/descriptors.h"
#include "os/mounts.h"
#include "os/os.h"
#include "os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MOST_DESCRIPTORS 65536

struct held {
	struct os_held_file *v;
	size_t nr, room;
};

/* The devices seen so far, and whether they are a tmpfs. */
struct devices {
	struct device {
		uint64_t dev;
		bool is_memory;
	} * v;
	size_t nr, room;
};

static bool
is_memory(struct devices *d, const struct target *t, uint64_t dev)
{
	struct device *new;
	char type[64];

	for (size_t i = 0; i < d->nr; i++)
		if (d->v[i].dev == dev)
			return d->v[i].is_memory;
	new = array_add(d);
	if (!new)
		return false;
	*new = (struct device){ dev,
		os_mounted_type(t, dev, type, sizeof type) == 0 && strcmp(type, "tmpfs") == 0 };
	return new->is_memory;
}

static bool
held_is_known(const struct held *h, uint64_t dev, uint64_t inode)
{
	for (size_t i = 0; i < h->nr; i++)
		if (h->v[i].dev == dev && h->v[i].inode == inode)
			return true;
	return false;
}

/* Add the file of descriptor FD if it is in memory.  -1: no memory. */
static int
held_look(struct held *h, struct devices *d, const struct target *t, int fd)
{
	struct os_held_file *new;
	struct err ignored;
	struct statx st;
	char name[32];
	uint64_t dev;

	snprintf(name, sizeof name, "fd/%d", fd);
	if (statx(t->proc_fd, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		    STATX_TYPE | STATX_INO | STATX_BLOCKS, &st) < 0 ||
		!S_ISREG(st.stx_mode) || !st.stx_blocks)
		return 0;
	dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	if (!is_memory(d, t, dev) || held_is_known(h, dev, st.stx_ino))
		return 0;
	new = array_add(h);
	if (!new)
		return -1;
	*new = (struct os_held_file){
		.fd = fd, .dev = dev, .inode = st.stx_ino, .bytes = st.stx_blocks * 512
	};
	if (os_proc_link(t, name, new->name, sizeof new->name, &ignored) < 0)
		*new->name = '\0';
	return 0;
}

static int
held_compare(const void *va, const void *vb)
{
	const struct os_held_file *a = va, *b = vb;

	return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1)
				    : (a->fd > b->fd) - (a->fd < b->fd);
}

int
os_held_files(const struct target *t, struct os_held_file **ret, size_t *ret_nr, struct err *e)
{
	struct devices devices = { 0 };
	struct held held = { 0 };
	auto_free int *fds = NULL;
	bool failed = false;
	size_t nr;

	if (os_descriptors(t, &fds, &nr, e) < 0)
		return -1;
	for (size_t i = 0; !failed && i < nr && i < MOST_DESCRIPTORS; i++)
		failed = held_look(&held, &devices, t, fds[i]) < 0;
	free(devices.v);
	if (failed) {
		free(held.v);
		return err_set(e, ENOMEM, "cannot list the files that %d holds", (int)t->pid);
	}
	if (held.nr)
		qsort(held.v, held.nr, sizeof *held.v, held_compare);
	*ret = held.v;
	*ret_nr = held.nr;
	return 0;
}

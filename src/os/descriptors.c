/* The open files of a target, and what limits them. */
#include <config.h>

#include "os/os-priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "os/descriptors.h"

/* A descriptor's file, asking no server that keeps it: what is cached of it will do. */
static int
stat_fd(int proc_fd, const char *name, struct statx *ret)
{
	return statx(
		proc_fd, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO, ret);
}

const char *
os_fd_path_inside(int fd, char *buf, size_t size)
{
	snprintf(buf, size, "/proc/self/fd/%d", fd);
	return buf;
}

int
os_descriptor(const struct target *t, int fd, struct os_descriptor *ret, struct err *e)
{
	auto_text struct text info = { 0 };
	char name[32];
	struct statx st;
	const char *flags;

	*ret = (struct os_descriptor){ 0 };
	snprintf(name, sizeof name, "fd/%d", fd);
	if (os_proc_link(t, name, ret->name, sizeof ret->name, e) < 0)
		return -1;
	if (stat_fd(t->proc_fd, name, &st) < 0)
		return err_set(e, errno, "cannot examine /proc/%d/%s", (int)t->pid, name);
	ret->mode = st.stx_mode;
	snprintf(name, sizeof name, "fdinfo/%d", fd);
	if (os_proc_read(t, 0, name, &info, e) < 0)
		return -1;
	flags = strstr(info.v, "flags:");
	ret->flags = flags ? (int)strtol(flags + 6, NULL, 8) : O_RDWR;
	return 0;
}

int
os_descriptors(const struct target *t, int **ret, size_t *ret_nr, struct err *e)
{
	struct {
		int *v;
		size_t nr, room;
	} list = { 0 };
	int fd = os_proc_open(t, "fd", O_RDONLY | O_DIRECTORY, e);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool failed = false;

	if (fd < 0)
		return -1;
	if (!dir) {
		close(fd);
		return err_set(e, errno, "cannot list /proc/%d/fd", (int)t->pid);
	}
	while (!failed && (entry = readdir(dir))) {
		int *new = entry->d_name[0] == '.' ? NULL : array_add(&list);

		failed = !new && entry->d_name[0] != '.';
		if (new)
			*new = (int)strtol(entry->d_name, NULL, 10);
	}
	closedir(dir);
	if (failed) {
		free(list.v);
		return err_set(e, ENOMEM, "cannot list /proc/%d/fd", (int)t->pid);
	}
	*ret = list.v;
	*ret_nr = list.nr;
	return 0;
}

uint64_t
os_file_size_limit(const struct target *t)
{
	static const char key[] = "Max file size";
	auto_text struct text limits = { 0 };
	struct err e;
	const char *at;

	if (os_proc_read(t, 0, "limits", &limits, &e) < 0)
		return UINT64_MAX;
	at = strstr(limits.v, key);
	if (!at)
		return UINT64_MAX;
	at += strlen(key);
	at += strspn(at, " ");
	return *at == 'u' ? UINT64_MAX : strtoull(at, NULL, 10);
}

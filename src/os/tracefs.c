/* The mounted tracefs, or a private mount without a place in the tree of files. */
#include <config.h>

#include "os/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/debug.h"
#include "base/text.h"

#define DID "cannot read the kernel's list of tracepoints"
#define MAGIC 0x74726163 /* linux/magic.h, TRACEFS_MAGIC */

/* sys/mount.h has these since glibc 2.36, sys/syscall.h the numbers since Linux 5.2. */
#ifdef SYS_fsopen
#define NR_FSOPEN SYS_fsopen
#define NR_FSCONFIG SYS_fsconfig
#define NR_FSMOUNT SYS_fsmount
#else
#define NR_FSOPEN 430
#define NR_FSCONFIG 431
#define NR_FSMOUNT 432
#endif
#define CLOEXEC 1
#define CONFIG_CREATE 6
#define READ_ONLY_NO_PROGRAMS 0xf /* MOUNT_ATTR_RDONLY, NOSUID, NODEV, NOEXEC */

#define FILE_MAX ((size_t)1 << 20)

/* ---- finding it ---- */

/* Decode the \ooo of a name in mountinfo (show_mountinfo(), mangle()), in place. */
static void
unescape(char *name)
{
	char *to = name;

	for (const char *from = name; *from; from++) {
		if (from[0] == '\\' && from[1] && from[2] && from[3]) {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
				(from[3] - '0'));
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

/* Open DIR if it is a tracefs: something else may be mounted on top.  -1 with errno. */
static int
open_root(const char *dir)
{
	auto_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_fd int events = -1;
	struct statfs fs;
	int opened;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -1;
	if (fs.f_type != MAGIC) {
		errno = ENOENT;
		return -1;
	}
	/* Its mode may keep us out. */
	events = openat(fd, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (events < 0)
		return -1;
	opened = fd;
	fd = -1;
	return opened;
}

/* Return the mount point in a line of mountinfo about a whole tracefs; else NULL. */
static char *
tracefs_place_of(char *line)
{
	char *dash = strstr(line, " - tracefs ");
	int start = 0, end = 0;

	if (!dash)
		return NULL;
	*dash = '\0';
	/* ID, parent, device, root in the file system, mount point */
	if (sscanf(line, "%*d %*d %*s / %n%*s%n", &start, &end) < 0 || end <= start)
		return NULL;
	line[end] = '\0';
	unescape(line + start);
	return line + start;
}

/* Open a mounted tracefs.  REFUSED gets the first place that may not be read. */
static int
open_mounted(char *refused, size_t size)
{
	auto_file FILE *f = fopen("/proc/self/mountinfo", "re");
	auto_free char *line = NULL;
	size_t room = 0;
	int fd = -1;

	while (fd < 0 && f && getline(&line, &room, f) > 0) {
		const char *place = tracefs_place_of(line);

		if (!place)
			continue;
		fd = open_root(place);
		debug("tracefs at %s: %s", place, fd < 0 ? strerror(errno) : "opened");
		if (fd < 0 && (errno == EACCES || errno == EPERM) && !refused[0])
			text_printable(place, refused, size);
	}
	return fd >= 0 ? fd : open_root("/sys/kernel/tracing");
}

/* ---- a private mount ---- */

/*
 * Mount a tracefs that only memdiag sees.  Opening debugfs's "tracing" would mount one as well, but
 * visible to all.
 */
static int
mount_hidden(struct err *e)
{
	auto_fd int fs = (int)syscall(NR_FSOPEN, "tracefs", CLOEXEC);
	int fd;

	if (fs < 0 || syscall(NR_FSCONFIG, fs, CONFIG_CREATE, NULL, NULL, 0) < 0)
		fd = -1;
	else
		fd = (int)syscall(NR_FSMOUNT, fs, CLOEXEC, READ_ONLY_NO_PROGRAMS);
	if (fd >= 0)
		return fd;
	if (errno == ENODEV)
		return err_set_kind(
			e, ERR_UNSUPPORTED, 0, DID ": it has no tracefs (CONFIG_TRACING)");
	err_set(e, errno, DID ": cannot mount tracefs for memdiag alone");
	if (errno == ENOSYS)
		return err_hint(e,
			"This needs Linux 5.2, and no seccomp filter that refuses it; "
			"or run, as root: mount -t tracefs nodev /sys/kernel/tracing");
	return e->kind != ERR_PERMISSION
		? -1
		: err_hint(e,
			  "Run memdiag as root (CAP_SYS_ADMIN); "
			  "in a container, mount the host's /sys/kernel/tracing into it");
}

int
tracefs_open(struct tracefs *t, bool may_mount, struct err *e)
{
	char refused[256] = "";

	t->fd = open_mounted(refused, sizeof refused);
	if (t->fd >= 0)
		return 0;
	if (refused[0]) {
		err_set_kind(e, ERR_PERMISSION, 0,
			DID ": tracefs is mounted at %s, and uid %u may not read it", refused,
			geteuid());
		e->code = EACCES;
		return err_hint(e,
			"Run memdiag as root, or: mount -o remount,gid=GROUP,mode=750 %s", refused);
	}
	if (!may_mount) {
		err_set_kind(e, ERR_PERMISSION, 0, DID ": tracefs is not mounted");
		e->code = EPERM;
		return err_hint(e,
			"Add --mount-tracefs%s, and memdiag mounts it for itself, out of sight; "
			"or run%s: mount -t tracefs nodev /sys/kernel/tracing",
			geteuid() ? " (as root)" : "", geteuid() ? ", as root" : "");
	}
	t->fd = mount_hidden(e);
	return t->fd < 0 ? -1 : 0;
}

void
tracefs_release(struct tracefs *t)
{
	cleanup_fd(&t->fd);
	t->fd = -1;
}

/* ---- reading ---- */

/* Read all of events/NAME/FILE. */
static int
read_event_file(const struct tracefs *t, const char *name, const char *file, struct text *ret,
	struct err *e)
{
	char path[256];
	auto_fd int fd = -1;

	snprintf(path, sizeof path, "events/%s/%s", name, file);
	fd = openat(t->fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return err_set_kind(
			e, ERR_UNSUPPORTED, 0, "this kernel has no tracepoint %s", name);
	if (fd < 0 || text_read(ret, fd, FILE_MAX) < 0)
		return err_set(e, errno, "cannot read %s of tracepoint %s", file, name);
	return 0;
}

int
tracefs_id(const struct tracefs *t, const char *name, uint64_t *ret, struct err *e)
{
	auto_text struct text text = { 0 };
	unsigned long long id;

	if (read_event_file(t, name, "id", &text, e) < 0)
		return -1;
	if (!text.v || sscanf(text.v, "%llu", &id) != 1)
		return err_set(e, 0, "invalid id of tracepoint %s", name);
	*ret = id;
	return 0;
}

/*
 * Return whether DECLARATION, which ends at END, such as "char name[16]" or "__data_loc char[]
 * name", declares FIELD.
 */
static bool
declares(const char *declaration, const char *end, const char *field)
{
	const size_t bytes = strlen(field);
	const char *bracket = memchr(declaration, '[', (size_t)(end - declaration));

	if (bracket && end[-1] == ']')
		end = bracket;
	return (size_t)(end - declaration) > bytes && end[-1 - (ptrdiff_t)bytes] == ' ' &&
		memcmp(end - bytes, field, bytes) == 0;
}

/* The lines are "\tfield:DECLARATION;\toffset:N;\tsize:N;\tsigned:N;". */
static bool
find_field(const char *format, const char *field, size_t *ret_offset, size_t *ret_bytes)
{
	const char *line = format;

	while ((line = strstr(line, "\tfield:"))) {
		const char *start = line + strlen("\tfield:"), *end = strchr(start, ';');
		size_t offset, bytes;

		if (!end)
			return false;
		if (end > start && declares(start, end, field) &&
			sscanf(end, ";\toffset:%zu;\tsize:%zu;", &offset, &bytes) == 2) {
			*ret_offset = offset;
			*ret_bytes = bytes;
			return true;
		}
		line = end;
	}
	return false;
}

int
tracefs_field(const struct tracefs *t, const char *name, const char *field, size_t *ret_offset,
	size_t *ret_bytes, struct err *e)
{
	auto_text struct text text = { 0 };

	if (read_event_file(t, name, "format", &text, e) < 0)
		return -1;
	if (!text.v || !find_field(text.v, field, ret_offset, ret_bytes))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"this kernel's tracepoint %s has no field %s", name, field);
	return 0;
}

/*
 * tracefs: found where it is mounted, or mounted out of sight, or refused with what helps.
 */
#include <config.h>

#include "os-tracefs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "deny-call.h"

#define NOBODY 65534

struct answer {
	int result;
	struct err e;
};

static struct answer *answer;

static bool
is_mode_open(const struct tracefs *t)
{
	struct stat st;

	return fstat(t->fd, &st) == 0 && st.st_mode & S_IXOTH;
}

/* As root without a mount. */
static void
test_unmounted(void)
{
	struct tracefs t = TRACEFS_NONE;
	struct err e = { 0 };

	ok(tracefs_open(&t, false, &e) < 0 && t.fd < 0, "one that is not mounted is not found");
	is_error(&e, ERR_PERMISSION, "--mount-tracefs", "the option that helps is named");
	ok(strstr(e.msg, "mount -t tracefs"), "and the command");
	tracefs_release(&t);
}

static void
is_field(const struct tracefs *t, const char *name, const char *field, uint64_t offset,
	uint64_t bytes)
{
	size_t got_offset = 0, got_bytes = 0;
	struct err e = { 0 };

	if (!ok(tracefs_field(t, name, field, &got_offset, &got_bytes, &e) == 0, "%s has %s", name,
		    field))
		return;
	if (offset != UINT64_MAX)
		is_u64(got_offset, offset, "which is at");
	is_u64(got_bytes, bytes, "and has bytes");
}

static void
test_fields(const struct tracefs *t)
{
	size_t offset = 0, bytes = 0;
	uint64_t id = 0, other = 0;
	struct err e = { 0 };

	ok(tracefs_id(t, "syscalls/sys_enter_mmap", &id, &e) == 0 && id, "the number of mmap()");
	ok(tracefs_id(t, "syscalls/sys_exit_mmap", &other, &e) == 0 && other && other != id,
		"that of its end is another one");
	/* struct syscall_trace_enter of kernel/trace/trace.h, and the second argument */
	is_field(t, "syscalls/sys_enter_mmap", "len", 24, 8);
	is_field(t, "syscalls/sys_exit_mmap", "ret", 16, 8);
	is_field(t, "syscalls/sys_enter_mmap", "common_pid", 4, 4);
	is_field(t, "task/task_rename", "newcomm", UINT64_MAX, 16); /* char newcomm[16] */
	ok(tracefs_field(t, "syscalls/sys_enter_mmap", "le", &offset, &bytes, &e) < 0,
		"no part of a name");
	is_error(&e, ERR_UNSUPPORTED, "no field le", "a field that is missing is named");
	ok(tracefs_field(t, "syscalls/sys_enter_mmap", "en", &offset, &bytes, &e) < 0,
		"nor the end of one");
	ok(tracefs_id(t, "syscalls/sys_enter_mmmap", &id, &e) < 0, "no such tracepoint");
	is_error(&e, ERR_UNSUPPORTED, "sys_enter_mmmap", "a tracepoint that is missing is named");
}

static void
test_hidden(void)
{
	char *before = mounts_now(), *during, *after;
	struct tracefs t = TRACEFS_NONE;
	struct err e = { 0 };
	int fd;

	if (!ok(tracefs_open(&t, true, &e) == 0, "one is mounted out of sight %s", e.msg))
		return;
	during = mounts_now();
	is_str(during, before, "no mount is seen");
	ok(fcntl(t.fd, F_GETFD) & FD_CLOEXEC, "programs do not inherit it");
	test_fields(&t);
	fd = t.fd;
	tracefs_release(&t);
	after = mounts_now();
	is_str(after, before, "nor afterwards");
	ok(t.fd < 0 && fcntl(fd, F_GETFD) < 0, "it is closed");
	free(before);
	free(during);
	free(after);
}

static bool
become_nobody(void)
{
	return setgid(NOBODY) == 0 && setuid(NOBODY) == 0;
}

static bool
open_as_nobody(void *may_mount)
{
	struct tracefs t = TRACEFS_NONE;

	if (!become_nobody())
		return false;
	answer->result = tracefs_open(&t, *(bool *)may_mount, &answer->e);
	return true;
}

static void
test_nobody(void)
{
	bool may_mount = true;

	*answer = (struct answer){ 0 };
	ok(in_child(open_as_nobody, &may_mount) && answer->result < 0,
		"who is not root may not mount");
	is_error(&answer->e, ERR_PERMISSION, "as root", "the user that may is named");
}

/* A place with a blank, which mountinfo shows as \040. */
static void
test_elsewhere(const char *dir)
{
	char place[256], other[256], events[264], *text;
	struct tracefs t = TRACEFS_NONE;
	bool may_mount = false;
	struct err e = { 0 };

	snprintf(place, sizeof place, "%s/a b", dir);
	snprintf(other, sizeof other, "%s/over", dir);
	snprintf(events, sizeof events, "%s/events", other);
	if (mkdir(place, 0700) < 0 || mkdir(other, 0700) < 0 || chmod(dir, 0755) < 0 ||
		mount("nodev", other, "tracefs", 0, NULL) < 0 ||
		mount("nodev", other, "tmpfs", 0, NULL) < 0 || mkdir(events, 0700) < 0)
		abort();
	ok(tracefs_open(&t, false, &e) < 0, "one that another file system hides is not taken");
	if (mount("nodev", place, "tracefs", 0, NULL) < 0)
		abort();
	ok(tracefs_open(&t, false, &e) == 0, "one is found at %s %s", place, e.msg);
	text = mounts_now();
	ok(t.fd >= 0 && strstr(text, "/a\\040b "), "which is a place with a blank");
	free(text);
	*answer = (struct answer){ 0 };
	if (is_mode_open(&t)) {
		skip("who is not root may not read it", "all users may read tracefs here");
		skip("the place is named", "all users may read tracefs here");
	} else {
		ok(in_child(open_as_nobody, &may_mount) && answer->result < 0,
			"who is not root may not read it");
		is_error(&answer->e, ERR_PERMISSION, "a b", "the place is named");
	}
	tracefs_release(&t);
	umount2(place, MNT_DETACH);
	umount2(other, MNT_DETACH);
	umount2(other, MNT_DETACH);
	rmdir(place);
	rmdir(other);
}

static bool
open_denied(void *error)
{
	struct tracefs t = TRACEFS_NONE;

	if (!deny_call(430 /* SYS_fsopen */, *(unsigned int *)error))
		return false;
	answer->result = tracefs_open(&t, true, &answer->e);
	return true;
}

static void
test_denied(void)
{
	unsigned int error = ENOSYS;

	ok(in_child(open_denied, &error) && answer->result < 0, "without fsopen() it cannot be");
	is_error(&answer->e, ERR_FAILED, "Linux 5.2", "the kernel that is needed is named");
	error = EPERM;
	ok(in_child(open_denied, &error) && answer->result < 0, "nor if it is refused");
	is_error(&answer->e, ERR_PERMISSION, "CAP_SYS_ADMIN", "the right that is needed is named");
}

int
main(void)
{
	char dir[] = "/mnt/tracefs.XXXXXX";

	answer = shared_memory(sizeof *answer);
	if (geteuid() != 0 || !mounts_unshare()) {
		skip("tracefs", "mounting takes root");
		return tap_end();
	}
	/* For this process alone; another user can enter it. */
	if (mount("nodev", "/mnt", "tmpfs", 0, "mode=755") < 0)
		abort();
	if (!ok(mkdtemp(dir), "a directory"))
		return tap_end();
	test_unmounted();
	test_hidden();
	test_nobody();
	test_denied();
	test_elsewhere(dir);
	return tap_end();
}

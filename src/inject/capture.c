#include <config.h>

#include "inject/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/debug.h"
#include "os/children.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/status.h"

/* ---- a private copy of the stderr stream ---- */

/*
 * struct _IO_FILE and the vtable pointer after it (libio/bits/types/struct_FILE.h, libioP.h): these
 * fields have had the same 64-bit offsets since 2.1.
 */
struct file_image {
	int32_t flags, pad;
	uint64_t read_ptr, read_end, read_base;
	uint64_t write_base, write_ptr, write_end;
	uint64_t buf_base, buf_end;
	uint64_t save_base, backup_base, save_end, markers, chain;
	int32_t fileno, flags2;
	int64_t old_offset;
	uint16_t cur_column;
	int8_t vtable_offset, shortbuf;
	uint32_t pad2;
	uint64_t lock;
	int64_t offset;
	uint64_t codecvt, wide_data, freeres_list, freeres_buf, prevchain;
	int32_t mode;
	char unused[20];
	uint64_t vtable;
};

_Static_assert(sizeof(struct file_image) == 0xe0, "struct _IO_FILE_plus is 224 bytes");

#define MAX_FILENO (1 << 20) /* the kernel's limit, fs.nr_open, unless it was raised */
#define IO_MAGIC 0xfbad0000u
#define IO_MAGIC_MASK 0xffff0000u
/* _IO_USER_BUF | _IO_NO_READS | _IO_CURRENTLY_PUTTING | _IO_USER_LOCK (libio/libio.h) */
#define IO_FLAGS (0x0001 | 0x0004 | 0x0800 | 0x8000)

/* The page at ws->data: the stream, then zeroes for its lock and its wide-character half. */
#define FILE_OFFSET 512
#define LOCK_OFFSET 1024
#define WIDE_OFFSET 1536
#define NAME_OFFSET 256

bool
inject_can_copy_stream(const struct inject_target *callee)
{
	struct file_image f;
	struct err e;

	if (os_read(callee->target, callee->stderr_stream, &f, sizeof f, &e) < 0)
		return false;
	/* The program may have closed or redirected it; neither affects a copy. */
	return ((uint32_t)f.flags & IO_MAGIC_MASK) == IO_MAGIC && f.fileno >= -1 &&
		f.fileno < MAX_FILENO &&
		raddr_in((raddr){ f.lock }, callee->libc->start, callee->libc->end) &&
		raddr_in((raddr){ f.vtable }, callee->libc->start, callee->libc->end);
}

int
stream_copy_lay(struct stream_copy *s, struct worker *c, const struct workspace *ws, struct err *e)
{
	const struct inject_target *callee = c->callee;
	const uint64_t end = ws->buffer.v + ws->buffer_bytes;
	struct file_image theirs;
	struct file_image f = {
		.flags = (int32_t)(IO_MAGIC | IO_FLAGS),
		.write_base = ws->buffer.v,
		.write_ptr = ws->buffer.v,
		.write_end = end,
		.buf_base = ws->buffer.v,
		.buf_end = end,
		.fileno = -1, /* if it overflows, the rest is lost: is_cut */
		.old_offset = -1,
		.lock = ws->data.v + LOCK_OFFSET,
		.offset = -1,
		.wide_data = ws->data.v + WIDE_OFFSET,
		.mode = -1, /* bytes, not wide characters */
	};

	if (os_read(callee->target, callee->stderr_stream, &theirs, sizeof theirs, e) < 0)
		return -1;
	f.vtable = theirs.vtable;
	*s = (struct stream_copy){ raddr_add(ws->data, FILE_OFFSET), ws->buffer, ws->buffer_bytes };
	return worker_write(c, s->file, &f, sizeof f, e);
}

int
stream_copy_read(const struct stream_copy *s, const struct inject_target *callee, struct text *out,
	bool *ret_is_cut, struct err *e)
{
	struct file_image f;
	uint64_t len;

	if (os_read(callee->target, s->file, &f, sizeof f, e) < 0)
		return -1;
	len = f.write_ptr - s->buffer.v;
	if (f.write_base != s->buffer.v || len > s->buffer_bytes)
		return err_set(e, 0, "the stream that malloc_info wrote to in %d is damaged",
			callee->target->pid);
	out->v = malloc(len + 1);
	if (!out->v)
		return err_set(e, ENOMEM, "cannot hold what malloc_info wrote");
	if (os_read(callee->target, s->buffer, out->v, len, e) < 0) {
		text_release(out);
		return -1;
	}
	out->v[len] = '\0';
	out->len = len;
	/*
	 * Output beyond the last byte of the buffer is lost.  _IO_ERR_SEEN does not show it: the
	 * seek before the write fails first (libio/fileops.c, new_do_write).
	 */
	*ret_is_cut = len == s->buffer_bytes;
	return 0;
}

/* ---- descriptor 2 redirected to a file ---- */

#define SETTLE_NS 3000000
#define MAX_SETTLES 100
#define REPLAY_MS 2000
#define FILE_MAX_BYTES (1 << 30)

/* Name of the file of redirect_begin() in /proc/PID/fd. */
#define FILE_NAME "memdiag-stderr"
#define FILE_LINK "/memfd:" FILE_NAME

/*
 * The time that a thread may take to undo the changes of a killed memdiag, including its sleep
 * (sleep.c).
 */
#define UNDO_WITHIN_NS UINT64_C(2000000000)
#define UNDO_PAUSE_NS 20000000

/*
 * The kept descriptor's number lies this far above the highest in use.  open() does not return such
 * a number meanwhile, so the call that closes it can be on the undo list before it exists.
 */
#define KEPT_ABOVE 64

/*
 * Return whether a file of MODE and FLAGS serves for output.  In a program that has closed
 * descriptor 2, it may be any file: a client's connection, a data file.  While it leads elsewhere a
 * recv() fails, and the file misses what is written.
 */
static bool
is_for_output(mode_t mode, int flags)
{
	const int access = flags & O_ACCMODE;

	if (S_ISCHR(mode))
		return true;
	return (S_ISREG(mode) || S_ISFIFO(mode)) &&
		(access == O_WRONLY || (access == O_RDWR && flags & O_APPEND));
}

/* As is_for_output(), for our descriptor FD, without waiting for a server of its file. */
static bool
is_open_for_output(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 &&
		is_for_output(st.stx_mode, fcntl(fd, F_GETFL));
}

static bool
capture_is_ours(const struct target *t, int fd)
{
	struct os_descriptor d;
	struct err gone;

	return os_descriptor(t, fd, &d, &gone) == 0 &&
		strncmp(d.name, FILE_LINK, strlen(FILE_LINK)) == 0;
}

/*
 * Wait until the thread that a killed memdiag had borrowed has restored descriptor 2 and closed the
 * descriptors that it has opened, some time after malloc_info: until then their numbers must not be
 * given to other files.
 */
static void
await_undo(const struct target *t)
{
	const uint64_t end_ns = os_now_ns() + UNDO_WITHIN_NS;
	bool is_left = true;

	while (is_left && os_now_ns() < end_ns) {
		auto_free int *fd = NULL;
		struct err e;
		size_t nr;

		is_left = false;
		if (os_descriptors(t, &fd, &nr, &e) < 0)
			return;
		for (size_t i = 0; i < nr; i++)
			is_left |= capture_is_ours(t, fd[i]);
		if (is_left)
			os_sleep_ns(UNDO_PAUSE_NS);
	}
}

/*
 * Check that writing to FD takes no more rights than the target has.  Files that control the kernel
 * check the rights of the writer.
 */
static int
capture_check_rights(const struct target *t, int fd, struct err *e)
{
	if (!os_controls_kernel(fd))
		return 0;
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"cannot write to descriptor 2 of %d (%s): its file controls the kernel, and memdiag may have more rights there than the process",
		t->pid, t->comm);
}

/* Check that descriptor 2 can be copied, before anything is changed in the target. */
static int
check_copy(const struct target *t, struct err *e)
{
	auto_fd int fd = os_copy_fd(t, 0, 2, e);

	if (fd >= 0)
		return capture_check_rights(t, fd, e);
	/* Closed meanwhile; redirect_begin() handles that. */
	return e->code == EBADF ? 0
				: err_hint(e, "--capture=stream and --method=read do not need it");
}

static int
check_descriptor(const struct target *t, struct err *e)
{
	struct os_descriptor d;
	char name[64];

	await_undo(t);
	if (os_descriptor(t, 2, &d, e) < 0)
		return e->code == ENOENT ? 0 : -1;
	if (capture_is_ours(t, 2))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"cannot redirect descriptor 2 of %d (%s): a memdiag that was killed has left it redirected already, and what it was is not known",
			t->pid, t->comm);
	if (is_for_output(d.mode, d.flags))
		return check_copy(t, e);
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"cannot redirect descriptor 2 of %d (%s): it is %s, which the program may read from or send to; "
		"use --capture=stream, which leaves it alone",
		t->pid, t->comm, text_printable(d.name, name, sizeof name));
}

int
redirect_check(const struct inject_target *callee, struct err *e)
{
	struct os_status s;

	if (os_status(callee->target, callee->target->mem_tid, &s, e) < 0)
		return -1;
	if (s.seccomp)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) is under a seccomp filter, which may end it when its descriptor 2 is redirected",
			callee->target->pid, callee->target->comm);
	/* The limit applies to the file in memory, too (mm/filemap.c, generic_write_checks()). */
	if (os_file_size_limit(callee->target) < FILE_MAX_BYTES)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"cannot redirect descriptor 2 of %d (%s): its files may not be larger than %" PRIu64
			" bytes (ulimit -f), and a write beyond that ends it",
			callee->target->pid, callee->target->comm,
			os_file_size_limit(callee->target));
	if (check_descriptor(callee->target, e) < 0)
		return -1;
	if (callee->fn.memfd_create.v && callee->fn.fcntl.v && callee->fn.dup2.v &&
		callee->fn.close.v)
		return 0;
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"the libc of %d (%s) is too old to redirect its stderr to a file in memory (memfd_create, 2.27)",
		callee->target->pid, callee->target->comm);
}

/*
 * Close the file of a memdiag that was killed between memfd_create() and the frame that closes it.
 * The target is claimed, so no running memdiag owns such a file.
 */
static int
close_left_over(struct redirect *r, struct worker *c, const int *fd, size_t nr,
	uint64_t deadline_ns, struct err *e)
{
	for (size_t i = 0; i < nr; i++) {
		if (!capture_is_ours(c->callee->target, fd[i]))
			continue;
		debug("descriptor %d was left by a memdiag that was killed", fd[i]);
		if (worker_syscall(c, c->callee->fn.close, (uint64_t[]){ (uint64_t)fd[i] }, 1,
			    deadline_ns, "closing a file that was left", e) < 0)
			return -1;
		r->nr_left_over++;
	}
	return 0;
}

/* Return a number above all of FD, which other threads cannot get by opening files meanwhile. */
static uint64_t
number_to_keep(const int *fd, size_t nr)
{
	int highest = 2;

	for (size_t i = 0; i < nr; i++)
		if (fd[i] > highest)
			highest = fd[i];
	return (uint64_t)highest + KEPT_ABOVE;
}

/*
 * Duplicate descriptor 2 as NUMBER, and put the calls that restore it on the undo list.  The call
 * that closes NUMBER is laid before NUMBER exists: if we are killed in between, nothing stays open.
 */
static int
keep_descriptor(struct worker *c, uint64_t number, uint64_t deadline_ns, struct err *e)
{
	const struct inject_target *callee = c->callee;

	if (worker_undo(c, callee->fn.close, &number, 1, e) < 0)
		return -1;
	if (worker_syscall(c, callee->fn.fcntl, (uint64_t[]){ 2, F_DUPFD_CLOEXEC, number }, 3,
		    deadline_ns, "keeping descriptor 2", e) < 0) {
		if (e->code == EINVAL)
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"cannot keep descriptor 2 of %d (%s): number %" PRIu64
				" is above its "
				"limit of open files (ulimit -n)",
				callee->target->pid, callee->target->comm, number);
		if (e->code != EBADF)
			return -1;
		/* It is closed: close it again afterwards. */
		return worker_undo(c, callee->fn.close, (uint64_t[]){ 2 }, 1, e);
	}
	if ((uint64_t)c->result != number) {
		uint64_t other = (uint64_t)c->result;

		worker_drop(c); /* the number belongs to another file now */
		return worker_syscall(c, callee->fn.close, &other, 1, deadline_ns, "close", e) < 0
			? -1
			: err_set_kind(e, ERR_NO_SAFE_POINT, 0,
				  "cannot keep descriptor 2 of %d (%s): it opens files too quickly",
				  callee->target->pid, callee->target->comm);
	}
	return worker_undo(c, callee->fn.dup2, (uint64_t[]){ number, 2 }, 2, e);
}

/*
 * Copy descriptor 2, to write the program's own output to it afterwards.  It may have become
 * another file since it was checked.  The copy stays -1 if descriptor 2 is closed.
 */
static int
copy_old(struct redirect *r, const struct worker *c, struct err *e)
{
	const struct target *t = c->callee->target;
	struct os_descriptor d;
	struct err gone;

	r->old_fd = os_copy_fd(t, c->tid, 2, e);
	if (r->old_fd < 0)
		return os_descriptor(t, 2, &d, &gone) < 0 && gone.code == ENOENT ? 0 : -1;
	if (is_open_for_output(r->old_fd))
		return 0;
	cleanup_fd(&r->old_fd);
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"cannot redirect descriptor 2 of %d (%s): it has become a file that the program may read from or send to",
		t->pid, t->comm);
}

int
redirect_begin(struct redirect *r, struct worker *c, const struct workspace *ws,
	uint64_t deadline_ns, struct err *e)
{
	static const char name[] = FILE_NAME;
	const struct inject_target *callee = c->callee;
	const raddr at = raddr_add(ws->data, NAME_OFFSET);
	auto_free int *fd = NULL;
	uint64_t file;
	size_t nr;

	if (os_descriptors(callee->target, &fd, &nr, e) < 0 ||
		close_left_over(r, c, fd, nr, deadline_ns, e) < 0 ||
		worker_write(c, at, name, sizeof name, e) < 0 ||
		worker_syscall(c, callee->fn.memfd_create,
			(uint64_t[]){ at.v, MFD_CLOEXEC | MFD_ALLOW_SEALING }, 2, deadline_ns,
			"memfd_create", e) < 0)
		return -1;
	file = (uint64_t)c->result;
	/*
	 * Writers of such a file do not wait for each other's file position (fs/open.c sets
	 * FMODE_ATOMIC_POS for real files only); appending is under the inode's lock.
	 */
	if (worker_undo(c, callee->fn.close, &file, 1, e) < 0 ||
		worker_syscall(c, callee->fn.fcntl, (uint64_t[]){ file, F_SETFL, O_APPEND }, 3,
			deadline_ns, "fcntl", e) < 0)
		return -1;
	r->file_fd = os_copy_memfd(callee->target, c->tid, (int)file, name, e);
	if (r->file_fd < 0 || copy_old(r, c, e) < 0)
		return -1;
	if (keep_descriptor(c, number_to_keep(fd, nr), deadline_ns, e) < 0)
		return -1;
	/* Output in the program's buffer goes to the log, malloc_info's to the file. */
	if (worker_syscall(c, callee->fn.fflush, &callee->stderr_stream.v, 1, deadline_ns, "fflush",
		    e) < 0 ||
		worker_undo(c, callee->fn.fflush, &callee->stderr_stream.v, 1, e) < 0)
		return -1;
	return worker_syscall(c, callee->fn.dup2, (uint64_t[]){ file, 2 }, 2, deadline_ns,
		"redirecting descriptor 2", e);
}

/* Return whether malloc_info writes lines like the one at S. */
static bool
is_line_of_malloc(const char *s, size_t len)
{
	static const char *const begin[] = { "<malloc version=", "<heap nr=", "<sizes>", "</sizes>",
		"<size from=", "<unsorted from=", "<total type=", "<system type=", "<aspace type=",
		"</heap>", "</malloc>" };

	for (; len && (*s == ' ' || *s == '\t'); s++, len--)
		;
	for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
		if (len >= strlen(begin[i]) && memcmp(s, begin[i], strlen(begin[i])) == 0)
			return true;
	return false;
}

/* Write to the old descriptor 2.  It may be a pipe without a reader: never write more than fits. */
static int
replay(const struct redirect *r, const char *s, size_t len, struct err *e)
{
	struct pollfd p = { .fd = r->old_fd, .events = POLLOUT };

	while (len) {
		ssize_t n = -1;

		errno = EAGAIN;
		if (poll(&p, 1, REPLAY_MS) > 0)
			n = write(r->old_fd, s, len < PIPE_BUF ? len : PIPE_BUF);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(e, errno,
				"%zu bytes of the program's own output came in between and cannot be written back",
				len);
		s += n;
		len -= (size_t)n;
	}
	return 0;
}

/*
 * Read the whole file into ALL.  A write that had begun before descriptor 2 was restored may still
 * be under way, so wait until the size is stable; but not for ever: a child that was forked
 * meanwhile has the file as its own descriptor 2.
 */
static int
read_settled(const struct redirect *r, struct text *all, struct err *e)
{
	off_t size = -1;
	struct stat st;

	for (int i = 0; i < MAX_SETTLES; i++) {
		if (fstat(r->file_fd, &st) < 0)
			return err_set(e, errno, "cannot read what malloc_info wrote");
		if (st.st_size > FILE_MAX_BYTES)
			return err_set(e, EFBIG, "cannot read what malloc_info wrote");
		if (st.st_size == size)
			break;
		size = st.st_size;
		os_sleep_ns(SETTLE_NS);
	}
	if (text_read_whole(all, r->file_fd, FILE_MAX_BYTES) < 0)
		return err_set(e, errno, "cannot read what malloc_info wrote");
	return 0;
}

/*
 * Wait until descriptor 2 is restored.  A call that was given up is undone by its thread alone, if
 * that did not stop in time: output written until then belongs to the log, too.
 */
static void
await_back(const struct target *t)
{
	const uint64_t end_ns = os_now_ns() + UNDO_WITHIN_NS;

	while (capture_is_ours(t, 2) && os_now_ns() < end_ns)
		os_sleep_ns(SETTLE_NS);
}

int
redirect_read(struct redirect *r, const struct inject_target *callee, struct text *out,
	struct inject_report *ret, struct err *e)
{
	auto_text struct text all = { 0 };
	const char *at, *end;

	ret->nr_left_over = r->nr_left_over;
	if (r->file_fd < 0)
		return 0;
	await_back(callee->target);
	ret->nr_children = os_children_with(callee->target, 2, r->file_fd, &ret->child);
	if (read_settled(r, &all, e) < 0)
		return -1;
	out->v = malloc(all.len + 1);
	if (!out->v)
		return err_set(e, ENOMEM, "cannot hold what malloc_info wrote");
	for (at = all.v; at < all.v + all.len; at = end) {
		end = memchr(at, '\n', (size_t)(all.v + all.len - at));
		end = end ? end + 1 : all.v + all.len;
		if (is_line_of_malloc(at, (size_t)(end - at))) {
			memcpy(out->v + out->len, at, (size_t)(end - at));
			out->len += (size_t)(end - at);
			continue;
		}
		if (r->old_fd >= 0 &&
			((!ret->replayed_bytes &&
				 capture_check_rights(callee->target, r->old_fd, e) < 0) ||
				replay(r, at, (size_t)(end - at), e) < 0))
			return -1;
		ret->replayed_bytes += (uint64_t)(end - at);
	}
	out->v[out->len] = '\0';
	return 0;
}

void
redirect_release(struct redirect *r)
{
	cleanup_fd(&r->file_fd);
	cleanup_fd(&r->old_fd);
}

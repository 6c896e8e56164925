#include <config.h>

#include "inject/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* ---- a private copy of the stderr stream ---- */

/*
 * struct _IO_FILE and the vtable pointer behind it (libio/bits/types/struct_FILE.h, libioP.h): these
 * fields lie where they do on 64 bit from 2.1 on.
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

#define MAX_FILENO (1 << 20)	/* the kernel's limit, fs.nr_open, unless it was raised */
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
stream_copy_is_possible(const struct inject_target *it)
{
	struct file_image f;
	struct err e;

	if (os_read(it->target, it->stderr_stream, &f, sizeof f, &e) < 0)
		return false;
	/* The program may have closed it or sent it elsewhere: where it leads is nothing to a copy. */
	return ((uint32_t)f.flags & IO_MAGIC_MASK) == IO_MAGIC && f.fileno >= -1 &&
		f.fileno < MAX_FILENO &&
		raddr_in((raddr){ f.lock }, it->libc->start, it->libc->end) &&
		raddr_in((raddr){ f.vtable }, it->libc->start, it->libc->end);
}

int
stream_copy_lay(struct stream_copy *s, const struct inject_target *it, const struct workspace *ws,
	struct err *e)
{
	const uint64_t end = ws->buffer.v + ws->buffer_bytes;
	struct file_image theirs;
	struct file_image f = {
		.flags = (int32_t)(IO_MAGIC | IO_FLAGS),
		.write_base = ws->buffer.v,
		.write_ptr = ws->buffer.v,
		.write_end = end,
		.buf_base = ws->buffer.v,
		.buf_end = end,
		.fileno = -1,	/* if it overflows, the rest is lost: is_cut */
		.old_offset = -1,
		.lock = ws->data.v + LOCK_OFFSET,
		.offset = -1,
		.wide_data = ws->data.v + WIDE_OFFSET,
		.mode = -1,	/* bytes, not wide characters */
	};

	if (os_read(it->target, it->stderr_stream, &theirs, sizeof theirs, e) < 0)
		return -1;
	f.vtable = theirs.vtable;
	*s = (struct stream_copy){ raddr_add(ws->data, FILE_OFFSET), ws->buffer, ws->buffer_bytes };
	return os_write(it->target, s->file, &f, sizeof f, e);
}

int
stream_copy_read(const struct stream_copy *s, const struct inject_target *it, struct text *out,
	bool *ret_is_cut, struct err *e)
{
	struct file_image f;
	uint64_t len;

	if (os_read(it->target, s->file, &f, sizeof f, e) < 0)
		return -1;
	len = f.write_ptr - s->buffer.v;
	if (f.write_base != s->buffer.v || len > s->buffer_bytes)
		return err_set(e, 0, "the stream that malloc_info wrote to in %d is damaged",
			it->target->pid);
	out->v = malloc(len + 1);
	if (!out->v)
		return err_set(e, ENOMEM, "cannot hold what malloc_info wrote");
	if (os_read(it->target, s->buffer, out->v, len, e) < 0) {
		text_release(out);
		return -1;
	}
	out->v[len] = '\0';
	out->len = len;
	/*
	 * What does not fit is lost after the buffer was filled to its last byte.  _IO_ERR_SEEN does
	 * not tell: the seek before the write fails first (libio/fileops.c, new_do_write).
	 */
	*ret_is_cut = len == s->buffer_bytes;
	return 0;
}

/* ---- descriptor 2 sent to a file meanwhile ---- */

#define SETTLE_NS 3000000
#define MAX_SETTLES 100
#define REPLAY_MS 2000
#define FILE_MAX_BYTES (1 << 30)

int
redirect_check(const struct inject_target *it, struct err *e)
{
	struct os_status s;

	if (os_status(it->target, it->target->mem_tid, &s, e) < 0)
		return -1;
	if (s.seccomp)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) is under a seccomp filter, which may end it when its descriptor 2 is "
			"redirected", it->target->pid, it->target->comm);
	if (it->fn.memfd_create.v && it->fn.fcntl.v && it->fn.dup2.v && it->fn.close.v)
		return 0;
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"the libc of %d (%s) is too old to redirect its stderr to a file in memory "
		"(memfd_create, 2.27)", it->target->pid, it->target->comm);
}

int
redirect_begin(struct redirect *r, struct carrier *c, const struct workspace *ws,
	uint64_t deadline_ns, struct err *e)
{
	static const char name[] = "memdiag-stderr";
	const struct inject_target *it = c->it;
	const raddr at = raddr_add(ws->data, NAME_OFFSET);
	struct err ignored;
	uint64_t file, old;

	if (os_write(it->target, at, name, sizeof name, e) < 0 ||
		carrier_syscall(c, it->fn.memfd_create, (uint64_t[]){ at.v, MFD_CLOEXEC }, 2, deadline_ns,
			"memfd_create", e) < 0)
		return -1;
	file = (uint64_t)c->result;
	/*
	 * Writers of one such file do not wait for each other's file position (fs/open.c sets
	 * FMODE_ATOMIC_POS for real files only); appending is under the inode's lock.
	 */
	if (carrier_undo(c, it->fn.close, &file, 1, e) < 0 ||
		carrier_syscall(c, it->fn.fcntl, (uint64_t[]){ file, F_SETFL, O_APPEND }, 3, deadline_ns,
			"fcntl", e) < 0)
		return -1;
	r->file_fd = os_open_fd(it->target, (int)file, O_RDONLY, e);
	if (r->file_fd < 0)
		return -1;
	r->old_fd = os_open_fd(it->target, 2, O_WRONLY | O_APPEND, &ignored);
	if (carrier_syscall(c, it->fn.fcntl, (uint64_t[]){ 2, F_DUPFD_CLOEXEC, 3 }, 3, deadline_ns,
		    "keeping descriptor 2", e) < 0) {
		if (e->code != EBADF)
			return -1;
		/* It is closed: afterwards it is closed again. */
		if (carrier_undo(c, it->fn.close, (uint64_t[]){ 2 }, 1, e) < 0)
			return -1;
	} else {
		old = (uint64_t)c->result;
		if (carrier_undo(c, it->fn.close, &old, 1, e) < 0 ||
			carrier_undo(c, it->fn.dup2, (uint64_t[]){ old, 2 }, 2, e) < 0)
			return -1;
	}
	/* What the program has left in its buffer goes where it was meant to; ours to the file. */
	if (carrier_syscall(c, it->fn.fflush, &it->stderr_stream.v, 1, deadline_ns, "fflush", e) < 0 ||
		carrier_undo(c, it->fn.fflush, &it->stderr_stream.v, 1, e) < 0)
		return -1;
	return carrier_syscall(c, it->fn.dup2, (uint64_t[]){ file, 2 }, 2, deadline_ns,
		"redirecting descriptor 2", e);
}

/* Whether the line at S is one that malloc_info writes. */
static bool
is_ours(const char *s, size_t len)
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

/*
 * Write to where descriptor 2 leads; that may be a pipe nobody reads, so never more than fits.
 */
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
			return err_set(e, errno, "%zu bytes of the program's own output came in between "
				"and cannot be written back", len);
		s += n;
		len -= (size_t)n;
	}
	return 0;
}

/*
 * Read the file whole, into ALL.  A write that had begun before descriptor 2 was sent back may still
 * be on its way into it, so it must have been quiet for a while; but not for ever: a child that was
 * forked meanwhile has it as its own descriptor 2.
 */
static int
read_settled(const struct redirect *r, struct text *all, struct err *e)
{
	off_t size = -1;
	struct stat st;

	for (int i = 0; i < MAX_SETTLES; i++) {
		if (fstat(r->file_fd, &st) < 0)
			return err_set(e, errno, "cannot read what malloc_info wrote");
		if (st.st_size == size)
			break;
		size = st.st_size;
		os_sleep_ns(SETTLE_NS);
	}
	if (lseek(r->file_fd, 0, SEEK_SET) < 0 || text_read(all, r->file_fd, FILE_MAX_BYTES) < 0)
		return err_set(e, errno, "cannot read what malloc_info wrote");
	return 0;
}

int
redirect_read(struct redirect *r, struct text *out, uint64_t *ret_replayed_bytes, struct err *e)
{
	auto_text struct text all = { 0 };
	const char *at, *end;

	if (r->file_fd < 0)
		return 0;
	if (read_settled(r, &all, e) < 0)
		return -1;
	out->v = malloc(all.len + 1);
	if (!out->v)
		return err_set(e, ENOMEM, "cannot hold what malloc_info wrote");
	for (at = all.v; at < all.v + all.len; at = end) {
		end = memchr(at, '\n', (size_t)(all.v + all.len - at));
		end = end ? end + 1 : all.v + all.len;
		if (is_ours(at, (size_t)(end - at))) {
			memcpy(out->v + out->len, at, (size_t)(end - at));
			out->len += (size_t)(end - at);
			continue;
		}
		if (r->old_fd >= 0 && replay(r, at, (size_t)(end - at), e) < 0)
			return -1;
		*ret_replayed_bytes += (uint64_t)(end - at);
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

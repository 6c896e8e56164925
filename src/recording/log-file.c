#include <config.h>

#include "recording/log-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "base/cleanup.h"
#include "os/stranger.h"

/* The bytes of a zstd frame besides its blocks, and the size of an incompressible block. */
#define FRAME_BYTES 64
#define BLOCK_BYTES ((size_t)128 << 10)
/*
 * A higher level costs more time than the rest of a log, for a tenth of its size:
 * scripts/bench/log.
 */
#define LEVEL 1

static int
fail(const struct log_file *f, int code, struct err *e)
{
	return err_set(e, code, "cannot write '%s'", f->path);
}

static int
log_file_write_all(struct log_file *f, const uint8_t *data, size_t len, struct err *e)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = write(f->fd, data + at, len - at);

		if (n < 0 && errno != EINTR)
			return fail(f, errno, e);
		at += n > 0 ? (size_t)n : 0;
	}
	f->bytes += len;
	return 0;
}

#ifdef HAVE_ZSTD

const char log_file_suffix[] = ".mlog.zst";

size_t
log_file_bound(size_t len)
{
	return ZSTD_compressBound(len) + (len / BLOCK_BYTES + 1) * 4 + FRAME_BYTES;
}

/* Prepare for a new file. */
static int
begin_packing(struct log_file *f)
{
	if (!f->packer)
		f->packer = ZSTD_createCCtx();
	return f->packer && !ZSTD_isError(ZSTD_CCtx_reset(f->packer, ZSTD_reset_session_only)) &&
			!ZSTD_isError(ZSTD_CCtx_setParameter(
				f->packer, ZSTD_c_compressionLevel, LEVEL)) &&
			!ZSTD_isError(ZSTD_CCtx_setParameter(f->packer, ZSTD_c_checksumFlag, 1))
		? 0
		: -1;
}

static int
pack(struct log_file *f, const void *data, size_t len, bool is_end, struct err *e)
{
	const size_t room = log_file_bound(len);
	ZSTD_inBuffer in = { data, len, 0 };
	ZSTD_outBuffer out = { .size = room };
	size_t left;

	if (room > f->room) {
		uint8_t *bigger = realloc(f->out, room);

		if (!bigger)
			return fail(f, ENOMEM, e);
		f->out = bigger;
		f->room = room;
	}
	out.dst = f->out;
	left = ZSTD_compressStream2(f->packer, &out, &in, is_end ? ZSTD_e_end : ZSTD_e_flush);
	if (ZSTD_isError(left) || left)
		return fail(f, ENOMEM, e);
	return log_file_write_all(f, f->out, out.pos, e);
}

static void
free_packer(struct log_file *f)
{
	ZSTD_freeCCtx(f->packer);
}

#else

const char log_file_suffix[] = ".mlog";

size_t
log_file_bound(size_t len)
{
	return len;
}

static int
begin_packing(struct log_file *f)
{
	(void)f;
	return 0;
}

static int
pack(struct log_file *f, const void *data, size_t len, bool is_end, struct err *e)
{
	(void)is_end;
	return log_file_write_all(f, data, len, e);
}

static void
free_packer(struct log_file *f)
{
	(void)f;
}

#endif

/* Lock the file, by which readers see that it has no end yet.  Without locks, they do not. */
static void
log_file_lock(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct err ignored;

	if (fcntl(fd, F_OFD_SETLK, &l) < 0)
		err_set(&ignored, errno, "cannot lock the log");
}

const char *
log_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int
log_file_create(struct log_file *f, int dir_fd, const char *path, struct err *e)
{
	char *copy = strdup(path);

	if (!copy || begin_packing(f) < 0) {
		free(copy);
		return err_set(e, ENOMEM, "cannot write '%s'", path);
	}
	free(take_ptr(&f->path));
	f->fd = os_create_at(dir_fd, log_file_name(path));
	if (f->fd < 0) {
		free(copy);
		return err_set(e, errno, "cannot write '%s'", path);
	}
	log_file_lock(f->fd);
	f->path = copy;
	f->bytes = 0;
	return 0;
}

int
log_file_append(struct log_file *f, const void *data, size_t len, struct err *e)
{
	return len ? pack(f, data, len, false, e) : 0;
}

int
log_file_end(struct log_file *f, const void *data, size_t len, struct err *e)
{
	int failed;

	if (pack(f, data, len, true, e) < 0)
		return -1;
	failed = close(f->fd) < 0 && errno != EINTR;
	f->fd = -1;
	return failed ? fail(f, errno, e) : 0;
}

int
log_file_check(const struct log_file *f, struct err *e)
{
	struct stat st;

	if (fstat(f->fd, &st) == 0 && st.st_nlink)
		return 0;
	return err_set(e, 0, "cannot write '%s': it was removed", f->path);
}

void
log_file_abandon(struct log_file *f)
{
	struct err ignored;

	if (f->fd < 0)
		return;
	/* If this fails, a reader finds an incomplete end. */
	if (ftruncate(f->fd, (off_t)f->bytes) < 0)
		fail(f, errno, &ignored);
	close(f->fd);
	f->fd = -1;
}

void
log_file_release(struct log_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->packer)
		free_packer(f);
	free(f->out);
	free(f->path);
	*f = (struct log_file){ .fd = -1 };
}

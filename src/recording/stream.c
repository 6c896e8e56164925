#include <config.h>

#include "recording/stream.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

#include "base/cleanup.h"

#define INPUT_BYTES ((size_t)256 << 10)

static const char cut_off[] = "it was cut off";

/* Results of a step instead of a number of bytes. */
enum { DAMAGED = -1, NO_MEMORY = -2 };

enum packing { PACKING_UNKNOWN, PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

struct stream {
	const char *name;
	int fd; /* -1 if in memory */
	const char *data;
	size_t data_bytes;
	uint64_t read_bytes; /* of the file or of DATA */

	enum packing packing;
	unsigned char *input; /* of INPUT_BYTES */
	size_t input_at, input_nr;
	bool has_ended;	    /* the input has ended */
	bool is_drained;    /* all input so far is unpacked: zstd fails if called too often */
	bool is_in_frame;   /* inside a frame of gzip or zstd */
	const char *is_cut; /* why the end is not the file's */
	z_stream z;
	bool has_z;
#ifdef HAVE_ZSTD
	ZSTD_DStream *zstd;
#endif
};

void
stream_free(struct stream *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	if (s->has_z)
		inflateEnd(&s->z);
#ifdef HAVE_ZSTD
	ZSTD_freeDStream(s->zstd);
#endif
	free(s->input);
	free(s);
}

static struct stream *
stream_new(const char *name, struct err *e)
{
	struct stream *s = calloc(1, sizeof *s);

	if (s)
		s->input = malloc(INPUT_BYTES);
	if (!s || !s->input) {
		free(s);
		err_set(e, ENOMEM, "cannot read '%s'", name);
		return NULL;
	}
	s->name = name;
	s->fd = -1;
	return s;
}

struct stream *
stream_of_file(int fd, const char *name, struct err *e)
{
	struct stream *s = stream_new(name, e);

	if (!s) {
		close(fd);
		return NULL;
	}
	s->fd = fd;
	return s;
}

struct stream *
stream_of_memory(const char *data, size_t len, const char *name, struct err *e)
{
	struct stream *s = stream_new(name, e);

	if (!s)
		return NULL;
	s->data = data;
	s->data_bytes = len;
	return s;
}

int
stream_rewind(struct stream *s, struct err *e)
{
	if (s->fd >= 0 && lseek(s->fd, 0, SEEK_SET) < 0)
		return err_set(e, errno, "cannot read '%s' again", s->name);
	s->read_bytes = 0;
	s->input_at = s->input_nr = 0;
	s->has_ended = s->is_in_frame = s->is_drained = false;
	s->is_cut = NULL;
	s->packing = PACKING_UNKNOWN;
	return 0;
}

void
stream_resume(struct stream *s)
{
	s->has_ended = false;
	if (s->is_cut == cut_off)
		s->is_cut = NULL;
}

const char *
stream_is_cut(const struct stream *s)
{
	return s->is_cut;
}

/* ---- input ---- */

/* Fill the input, keeping what is left there.  0, or -1 with E. */
static int
stream_fill(struct stream *s, struct err *e)
{
	size_t left = s->input_nr - s->input_at, room;
	ssize_t n;

	memmove(s->input, s->input + s->input_at, left);
	s->input_at = 0;
	s->input_nr = left;
	room = INPUT_BYTES - left;
	if (s->fd < 0) {
		size_t more = s->data_bytes - (size_t)s->read_bytes;

		n = (ssize_t)(more < room ? more : room);
		if (n)
			memcpy(s->input + left, s->data + s->read_bytes, (size_t)n);
	} else {
		do
			n = read(s->fd, s->input + left, room);
		while (n < 0 && errno == EINTR);
	}
	if (n < 0)
		return err_set(e, errno, "cannot read '%s'", s->name);
	s->has_ended = n == 0;
	s->is_drained &= n == 0;
	s->input_nr += (size_t)n;
	s->read_bytes += (size_t)n;
	return 0;
}

/* ---- gzip ---- */

static int
start_gzip(struct stream *s, struct err *e)
{
	if (s->has_z ? inflateReset(&s->z) != Z_OK : inflateInit2(&s->z, 15 + 16) != Z_OK)
		return err_set(e, ENOMEM, "cannot unpack '%s'", s->name);
	s->has_z = true;
	s->is_in_frame = true;
	return 0;
}

/*
 * Skip zeros, which tapes and disks append to a file.  Returns whether the input has nothing else.
 */
static bool
is_padding(struct stream *s)
{
	while (s->input_at < s->input_nr && !s->input[s->input_at])
		s->input_at++;
	return s->input_at == s->input_nr;
}

/* Unpack one step from the input to BUF.  Returns the number of bytes, DAMAGED, or NO_MEMORY. */
static long
step_gzip(struct stream *s, char *buf, size_t size)
{
	int r;

	/* A file may consist of several that follow each other. */
	if (!s->is_in_frame && is_padding(s))
		return 0;
	if (!s->is_in_frame && inflateReset(&s->z) != Z_OK)
		return DAMAGED;
	s->is_in_frame = true;
	s->z.next_in = s->input + s->input_at;
	s->z.avail_in = (unsigned)(s->input_nr - s->input_at);
	s->z.next_out = (unsigned char *)buf;
	s->z.avail_out = size < UINT_MAX ? (unsigned)size : UINT_MAX;
	r = inflate(&s->z, Z_NO_FLUSH);
	s->input_at = s->input_nr - s->z.avail_in;
	if (r == Z_STREAM_END)
		s->is_in_frame = false;
	else if (r != Z_OK && r != Z_BUF_ERROR)
		return r == Z_MEM_ERROR ? NO_MEMORY : DAMAGED;
	return (long)((char *)s->z.next_out - buf);
}

/* ---- zstd ---- */

#ifdef HAVE_ZSTD
static int
start_zstd(struct stream *s, struct err *e)
{
	if (!s->zstd)
		s->zstd = ZSTD_createDStream();
	if (!s->zstd || ZSTD_isError(ZSTD_initDStream(s->zstd)))
		return err_set(e, ENOMEM, "cannot unpack '%s'", s->name);
	/* The default refuses files written with zstd --long=28 and more. */
	ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax,
		ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
	s->is_in_frame = true;
	return 0;
}

static long
step_zstd(struct stream *s, char *buf, size_t size)
{
	ZSTD_inBuffer in = { s->input + s->input_at, s->input_nr - s->input_at, 0 };
	ZSTD_outBuffer out = { buf, size, 0 };
	size_t r = ZSTD_decompressStream(s->zstd, &out, &in);

	s->input_at += in.pos;
	if (ZSTD_isError(r))
		return ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation ? NO_MEMORY : DAMAGED;
	s->is_in_frame = r != 0;
	return (long)out.pos;
}
#else
static int
start_zstd(struct stream *s, struct err *e)
{
	return err_set(e, 0,
		"cannot read '%s': it is compressed by zstd, and memdiag was built without libzstd; "
		"unpack it first",
		s->name);
}

static long
step_zstd(struct stream *s, char *buf, size_t size)
{
	(void)s;
	(void)buf;
	(void)size;
	return DAMAGED;
}
#endif

/* ---- output ---- */

static int
find_packing(struct stream *s, struct err *e)
{
	while (s->input_nr < 4 && !s->has_ended)
		if (stream_fill(s, e) < 0)
			return -1;
	s->packing = PACKING_NONE;
	if (s->input_nr >= 2 && memcmp(s->input, "\x1f\x8b", 2) == 0) {
		s->packing = PACKING_GZIP;
		return start_gzip(s, e);
	}
	if (s->input_nr >= 4 && memcmp(s->input, "\x28\xb5\x2f\xfd", 4) == 0) {
		s->packing = PACKING_ZSTD;
		return start_zstd(s, e);
	}
	return 0;
}

static long
stream_step(struct stream *s, char *buf, size_t size)
{
	switch (s->packing) {
		size_t n;

	case PACKING_GZIP:
		return step_gzip(s, buf, size);
	case PACKING_ZSTD:
		return step_zstd(s, buf, size);
	default:
		n = s->input_nr - s->input_at;
		n = n < size ? n : size;
		memcpy(buf, s->input + s->input_at, n);
		s->input_at += n;
		return (long)n;
	}
}

long
stream_read(struct stream *s, char *buf, size_t size, struct err *e)
{
	if (s->packing == PACKING_UNKNOWN && find_packing(s, e) < 0)
		return -1;
	while (!s->is_cut) {
		long n;

		if (s->input_at == s->input_nr && !s->has_ended && stream_fill(s, e) < 0)
			return -1;
		/* Both libraries may hold output back when no input is left. */
		if (s->input_at == s->input_nr && !s->is_in_frame)
			return 0;
		if (s->is_drained) {
			s->is_cut = cut_off;
			return 0;
		}
		n = stream_step(s, buf, size);
		if (n == NO_MEMORY)
			return err_set(e, ENOMEM, "cannot unpack '%s'", s->name);
		if (n < 0)
			s->is_cut = "its compressed data is damaged";
		else if (n > 0)
			return n;
		else if (s->has_ended && s->is_in_frame && s->input_at == s->input_nr) {
			s->is_cut = cut_off;
			s->is_drained = true;
		}
	}
	return 0;
}

/* Go back to the first byte, without reading the file again if all data read is still there. */
static int
stream_unread(struct stream *s, struct err *e)
{
	if (s->read_bytes != s->input_nr)
		return stream_rewind(s, e);
	s->input_at = 0;
	s->has_ended = s->is_in_frame = s->is_drained = false;
	s->is_cut = NULL;
	s->packing = PACKING_UNKNOWN;
	return 0;
}

long
stream_peek(struct stream *s, char *buf, size_t size, bool *ret_is_cut, struct err *e)
{
	size_t nr = 0;
	long n = 1;

	while (nr < size && n > 0) {
		n = stream_read(s, buf + nr, size - nr, e);
		nr += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		return -1;
	*ret_is_cut = s->is_cut;
	return stream_unread(s, e) < 0 ? -1 : (long)nr;
}

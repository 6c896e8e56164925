/* Profiles of pprof are always compressed by gzip, and so is the data of a page. */
#include <config.h>

#include "profile/gzip.h"

#include "base/text.h"
#include "os/ceiling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

bool
gzip_is(const char *data, size_t len)
{
	return len >= 2 && memcmp(data, "\x1f\x8b", 2) == 0;
}

/* 32 KiB of window, and 16 for the format of gzip (zlib.h, deflateInit2() and inflateInit2()). */
#define WINDOW_BITS_GZIP (15 + 16)

bool
gzip_begin(z_stream *z)
{
	return deflateInit2(z, 6, Z_DEFLATED, WINDOW_BITS_GZIP, 8, Z_DEFAULT_STRATEGY) == Z_OK;
}

int
gzip_pack(char **ret, size_t *ret_len, const char *data, size_t len, struct err *e)
{
	z_stream z = { 0 };
	size_t room;
	int r;

	if (!gzip_begin(&z))
		return err_set(e, ENOMEM, "cannot compress the data");
	room = deflateBound(&z, len);
	*ret = malloc(room);
	if (!*ret) {
		deflateEnd(&z);
		return err_set(e, ENOMEM, "cannot compress the data");
	}
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)len;
	z.next_out = (Bytef *)*ret;
	z.avail_out = (uInt)room;
	r = deflate(&z, Z_FINISH);
	*ret_len = z.total_out;
	deflateEnd(&z);
	return r == Z_STREAM_END ? 0 : err_set(e, 0, "cannot compress the data");
}

static void
end_inflate(z_stream *z)
{
	inflateEnd(z);
}

/* Make room for at least 64 KiB after TEXT, which has *ROOM. */
static int
grow_text(struct text *text, size_t *room)
{
	size_t want = *room ? 2 * *room : 1 << 20;
	char *bigger;

	if (*room - text->len >= 65536)
		return 0;
	bigger = want - *room <= os_memory_left() ? realloc(text->v, want) : NULL;
	if (!bigger)
		return -1;
	text->v = bigger;
	*room = want;
	return 0;
}

/* Unpack DATA.  Several streams one after the other are one. */
int
gzip_unpack(struct text *ret, const char *name, const char *data, size_t len, struct err *e)
{
	__attribute__((cleanup(end_inflate))) z_stream z = { 0 };
	const char *end = data + len;
	size_t room = 0;
	int r = Z_OK;

	if (inflateInit2(&z, WINDOW_BITS_GZIP) != Z_OK)
		return err_set(e, ENOMEM, "cannot read '%s'", name);
	z.next_in = (Bytef *)(uintptr_t)data;
	while (r == Z_OK) {
		size_t left = (size_t)(end - (const char *)z.next_in), space;

		if (grow_text(ret, &room) < 0) {
			char some[32], all[32], became[32];

			return err_set(e, ENOMEM,
				"cannot read '%s': %s of its %s are %s uncompressed", name,
				text_bytes(len - left, some, sizeof some),
				text_bytes(len, all, sizeof all),
				text_bytes(ret->len, became, sizeof became));
		}
		space = room - ret->len;
		z.avail_in = left < 1 << 30 ? (uInt)left : 1 << 30;
		z.avail_out = space < 1 << 30 ? (uInt)space : 1 << 30;
		z.next_out = (Bytef *)ret->v + ret->len;
		r = inflate(&z, Z_NO_FLUSH);
		ret->len = (size_t)((char *)z.next_out - ret->v);
		if (r == Z_STREAM_END && (const char *)z.next_in < end)
			r = inflateReset(&z);
	}
	if (r == Z_MEM_ERROR)
		return err_set(e, ENOMEM, "cannot read '%s'", name);
	if (r != Z_STREAM_END)
		return err_set(e, 0, "cannot read '%s': %s", name,
			r == Z_BUF_ERROR ? "its compressed data ends too early: it was cut off"
					 : "its compressed data is damaged");
	return 0;
}

#include <config.h>

#include "base/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
text_release(struct text *t)
{
	free(t->v);
	*t = (struct text){ 0 };
}

/* As text_read(); if IS_WHOLE, as text_read_whole(). */
static int
text_read_all(struct text *t, int fd, size_t max_bytes, bool is_whole)
{
	size_t room = 0;

	for (;;) {
		ssize_t n;

		if (room - t->len < 4096) {
			char *bigger = realloc(t->v, room ? room * 2 : 16384);

			if (!bigger)
				goto fail;
			t->v = bigger;
			room = room ? room * 2 : 16384;
		}
		n = is_whole ? pread(fd, t->v + t->len, room - t->len - 1, (off_t)t->len)
			     : read(fd, t->v + t->len, room - t->len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			goto fail;
		t->len += (size_t)n;
		t->v[t->len] = '\0';
		if (n == 0)
			return 0;
		if (t->len > max_bytes) {
			errno = EFBIG;
			goto fail;
		}
	}
fail:
	text_release(t);
	return -1;
}

int
text_read(struct text *t, int fd, size_t max_bytes)
{
	return text_read_all(t, fd, max_bytes, false);
}

int
text_read_whole(struct text *t, int fd, size_t max_bytes)
{
	return text_read_all(t, fd, max_bytes, true);
}

/*
 * Return the length of the valid UTF-8 sequence at S (RFC 3629), 0 if it is invalid or a control
 * character.
 */
static size_t
printable_length(const unsigned char *s)
{
	uint32_t c;
	size_t n;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if ((s[0] & 0xf0) == 0xe0)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	c = s[0] & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if ((n == 2 && c < 0xa0) || (n == 3 && c < 0x800) || (n == 4 && c < 0x10000))
		return 0; /* C1 control, or longer than necessary */
	/* Surrogates, and characters that change the direction of text or end a line. */
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) || c == 0x61c ||
		(c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
		(c >= 0x2066 && c <= 0x2069))
		return 0;
	return n;
}

size_t
text_length(const char *s, size_t size)
{
	size_t done = 0;

	while (done < size) {
		unsigned char next[4] = { 0 };
		size_t n;

		memcpy(next, s + done, size - done < sizeof next ? size - done : sizeof next);
		n = *next == '\t' || *next == '\n' || *next == '\r' ? 1 : printable_length(next);
		if (!n)
			break;
		done += n;
	}
	return done;
}

/* As text_printable(); if IS_EXACT, as text_escape().  Returns whether all of S is in BUF. */
static bool
escape(const char *s, char *buf, size_t size, bool is_exact)
{
	size_t out = 0;

	while (*s) {
		bool is_backslash = is_exact && *s == '\\';
		size_t n = printable_length((const unsigned char *)s);
		size_t wanted = is_backslash ? 2 : n ? n : 4;

		if (out + wanted >= size)
			break;
		if (is_backslash)
			memcpy(buf + out, "\\\\", 2);
		else if (n)
			memcpy(buf + out, s, n);
		else
			snprintf(buf + out, size - out, "\\%03o", (unsigned char)*s);
		out += wanted;
		s += n ? n : 1;
	}
	buf[out] = '\0';
	return !*s;
}

const char *
text_printable(const char *s, char *buf, size_t size)
{
	escape(s, buf, size, false);
	return buf;
}

const char *
text_abbreviate(const char *s, char *buf, size_t size)
{
	static const char mark[] = "...";

	if (!escape(s, buf, size, false)) {
		escape(s, buf, size - strlen(mark), false);
		strcat(buf, mark);
	}
	return buf;
}

const char *
text_escape(const char *s, char *buf, size_t size)
{
	escape(s, buf, size, true);
	return buf;
}

const char *
text_bytes(uint64_t bytes, char *buf, size_t size)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	size_t u = 0;

	while (value >= 1023.95 && u + 1 < sizeof unit / sizeof *unit) {
		value /= 1024;
		u++;
	}
	snprintf(buf, size, u ? "%.1f %s" : "%.0f %s", value, unit[u]);
	return buf;
}

#include <config.h>

#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "draw.h"
#include "tap.h"

static void
printable(const char *in, const char *want, const char *name)
{
	char buf[64];

	is_str(text_printable(in, buf, sizeof buf), want, name);
}

static void
bytes(uint64_t in, const char *want)
{
	char buf[32];

	is_str(text_bytes(in, buf, sizeof buf), want, want);
}

static void
test_err(void)
{
	struct err e = { 0 };

	ok(err_set(&e, ENOENT, "cannot open %s", "x") == -1, "err_set returns -1");
	is_str(e.msg, "cannot open x: No such file or directory", "errno's text is appended");
	is_u64(e.kind, ERR_FAILED, "ENOENT is an ordinary failure");
	err_context(&e, "reading %d", 7);
	is_str(e.msg, "reading 7: cannot open x: No such file or directory", "context goes before");
	err_hint(&e, "Try %s", "y");
	is_str(e.msg, "reading 7: cannot open x: No such file or directory. Try y",
		"a hint goes behind");
	err_set(&e, EPERM, "x");
	is_u64(e.kind, ERR_PERMISSION, "EPERM is a matter of permission");
	err_set(&e, ESRCH, "x");
	is_u64(e.kind, ERR_GONE, "ESRCH means gone");
	for (int i = 0; i < 100; i++)
		err_hint(&e, "and on and on");
	ok(strlen(e.msg) < sizeof e.msg, "a long message is cut, not overrun");
}

/* ---- the length of text ---- */

#define NR_TEXTS 200000
#define TEXT_BYTES 24

static bool
is_shown(uint32_t c)
{
	if (c < 0x20)
		return c == '\t' || c == '\n' || c == '\r';
	/* iconv() of glibc takes longer ones. */
	return c <= 0x10ffff && !(c >= 0x7f && c < 0xa0) && c != 0x61c && c != 0x200e &&
		c != 0x200f && !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069);
}

/* The bytes of the character at the beginning of the SIZE bytes at S that is shown; 0: none is. */
static size_t
shown_bytes(iconv_t from_utf8, const char *s, size_t size)
{
	for (size_t n = 1; n <= 4 && n <= size; n++) {
		uint32_t c = 0;
		char *in = (char *)s, *out = (char *)&c;
		size_t in_left = n, out_left = sizeof c;

		iconv(from_utf8, NULL, NULL, NULL, NULL);
		if (iconv(from_utf8, &in, &in_left, &out, &out_left) == 0 && !in_left && !out_left)
			return is_shown(c) ? n : 0;
	}
	return 0;
}

/* A byte of any kind that matters: of ASCII, of the beginning and the rest of a character. */
static char
draw_byte(void)
{
	static const unsigned char rare[] = { 0, 1, '\t', '\n', '\r', 0x1f, 0x7f, 0xc0, 0xc1, 0xe0,
		0xed, 0xf0, 0xf4, 0xf5, 0xff };

	switch (draw(8)) {
	case 0:
		return (char)rare[draw(sizeof rare)];
	case 1:
		return (char)(0xc0 + draw(64));
	case 2:
		return (char)(0xe0 + draw(3));
	case 3:
	case 4:
		return (char)(0x80 + draw(64));
	default:
		return (char)(' ' + draw(96));
	}
}

/* Random bytes against iconv(). */
static void
test_length(void)
{
	iconv_t from_utf8 = iconv_open("UCS-4LE", "UTF-8");
	int nr_same = 0;

	seed = 7;
	for (int i = 0; i < NR_TEXTS; i++) {
		const size_t size = draw(TEXT_BYTES);
		/* No byte follows in memory, so that memcheck and ASan see one too many. */
		char *s = malloc(size + 1);
		size_t want = 0, n;

		for (size_t k = 0; k < size; k++)
			s[k] = draw_byte();
		s = realloc(s, size ? size : 1);
		while (want < size && (n = shown_bytes(from_utf8, s + want, size - want)))
			want += n;
		nr_same += text_length(s, size) == want;
		free(s);
	}
	iconv_close(from_utf8);
	ok(nr_same == NR_TEXTS, "the length of %d random texts of %d is that of iconv()", nr_same,
		NR_TEXTS);
}

int
main(void)
{
	char small[6], long_enough[32];

	printable("plain [heap] name", "plain [heap] name", "plain text stays");
	printable("a\nb\033[31m", "a\\012b\\033[31m", "newline and escape are shown as octal");
	printable("gr\303\274n", "gr\303\274n", "valid UTF-8 stays");
	printable("\303(", "\\303(", "broken UTF-8 is shown as octal");
	printable("\302\233x", "\\302\\233x", "a C1 control is no letter");
	printable("\342\200\256x", "\\342\\200\\256x", "nor is a mark that turns the text around");
	printable("\330\234x", "\\330\\234x", "nor the mark of Arabic letters");
	printable("\300\257", "\\300\\257", "nor an overlong form");
	is_str(text_printable("a\\012", long_enough, sizeof long_enough), "a\\012",
		"a backslash is shown as it is");
	is_str(text_escape("a\\012", long_enough, sizeof long_enough), "a\\\\012",
		"or escaped as well");
	is_str(text_escape("a\n", long_enough, sizeof long_enough), "a\\012",
		"so that a newline differs from what looks like its escape");
	is_str(text_escape("\\\\\\", small, sizeof small), "\\\\\\\\",
		"an escaped backslash is not cut in two");
	is_str(text_printable("abcdefgh", small, sizeof small), "abcde", "cut to fit");
	is_str(text_printable("abcd\n", small, sizeof small), "abcd",
		"an escape is not cut in two");
	is_str(text_abbreviate("abcde", small, sizeof small), "abcde", "what fits is not marked");
	is_str(text_abbreviate("abcdef", small, sizeof small), "ab...", "what was cut is marked");
	is_str(text_abbreviate("a\nbcdef", small, sizeof small), "a...",
		"an escape is left out as a whole, before the mark");
	is_str(text_abbreviate("a\303\274cde", small, sizeof small), "a...",
		"so is a character of two bytes");
	is_str(text_abbreviate("abc", small, 4), "abc", "the least room: what fits");
	is_str(text_abbreviate("abcd", small, 4), "...", "the least room: the mark");
	bytes(0, "0 B");
	bytes(1023, "1023 B");
	bytes(1024, "1.0 KiB");
	bytes(1048575, "1.0 MiB");
	bytes(UINT64_MAX, "16.0 EiB");
	test_err();
	test_length();
	return tap_end();
}

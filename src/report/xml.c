#include <config.h>

#include "report/xml.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/*
 * True for U+FFFE and U+FFFF, which XML does not allow: the last bytes of their UTF-8 form follow
 * EF BF.
 */
static bool
is_no_character(const char *s)
{
	return (unsigned char)s[0] == 0xef && (unsigned char)s[1] == 0xbf &&
		(unsigned char)s[2] >= 0xbe;
}

static void
put_character(FILE *f, char c)
{
	switch (c) {
	case '&':
		fputs("&amp;", f);
		break;
	case '<':
		fputs("&lt;", f);
		break;
	case '>':
		fputs("&gt;", f);
		break;
	case '"':
		fputs("&quot;", f);
		break;
	case '\'':
		fputs("&#39;", f);
		break;
	default:
		fputc(c, f);
	}
}

void
xml_put(FILE *f, const char *s, size_t max_bytes)
{
	size_t len = strnlen(s, max_bytes + 1);
	bool is_cut = len > max_bytes;
	size_t size = (is_cut ? max_bytes : len) * 4 + 2;
	auto_free char *copy = strndup(s, is_cut ? max_bytes : len);
	auto_free char *text = malloc(size);

	if (!copy || !text)
		return;
	text_printable(copy, text, size);
	for (const char *at = text; *at; at++) {
		if (is_no_character(at)) {
			fputc('?', f);
			at += 2;
			continue;
		}
		put_character(f, *at);
	}
	if (is_cut)
		fputs("...", f);
}

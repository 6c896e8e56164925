#include <config.h>

#include "ui/cells.h"

#include <langinfo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* In place of the middle of a long text. */
#define CUT ".."

bool
cells_have_unicode(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* A character, and the columns that it takes. */
struct cell {
	const char *at;
	int len, width;
};

/* Return the length of the UTF-8 character at S; 1 if its bytes are invalid. */
static int
length_of(const char *s)
{
	const unsigned char c = (unsigned char)*s;
	const int len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

	for (int i = 1; i < len; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 1;
	return len;
}

/* Return the character at S, which is not at its end. */
static struct cell
cell_at(const char *s)
{
	struct cell c = { s, length_of(s), 1 };
	mbstate_t state = { 0 };
	wchar_t wide;

	if (c.len == 1)
		return (unsigned char)*s >= 0x20 && (unsigned char)*s < 0x7f
			? c
			: (struct cell){ "?", 1, 1 };
	if (!cells_have_unicode() || mbrtowc(&wide, s, (size_t)c.len, &state) != (size_t)c.len)
		return (struct cell){ "?", c.len, 1 };
	c.width = wcwidth(wide);
	return c.width >= 1 ? c : (struct cell){ "?", c.len, 1 };
}

static void
cells_put_one(FILE *f, struct cell c)
{
	if (*c.at == '?')
		fputc('?', f);
	else
		fwrite(c.at, 1, (size_t)c.len, f);
}

int
cells_width(const char *text)
{
	int width = 0;

	while (*text) {
		const struct cell c = cell_at(text);

		width += c.width;
		text += c.len;
	}
	return width;
}

/* Print the characters of TEXT in the columns FROM up to TO; return the number of columns. */
static int
put_part(FILE *f, const char *text, int from, int to)
{
	int done = 0;

	for (int column = 0; *text;) {
		const struct cell c = cell_at(text);

		if (column >= from && column + c.width <= to) {
			cells_put_one(f, c);
			done += c.width;
		}
		column += c.width;
		text += c.len;
	}
	return done;
}

/* Print TEXT of WIDE columns in WIDTH, which are fewer, without its middle. */
static int
put_without_middle(FILE *f, const char *text, int wide, int width)
{
	const int n_cut = (int)strlen(CUT);
	const int left = (width - n_cut) / 2, right = width - n_cut - left;
	int done;

	if (width <= n_cut + 1)
		return put_part(f, text, 0, width);
	done = put_part(f, text, 0, left);
	fputs(CUT, f);
	return done + n_cut + put_part(f, text, wide - right, wide);
}

void
cells_put(FILE *f, const char *text, int width, bool is_right)
{
	const int wide = cells_width(text);

	if (is_right && wide < width)
		fprintf(f, "%*s", width - wide, "");
	if (wide > width)
		fprintf(f, "%*s", width - put_without_middle(f, text, wide, width), "");
	else
		put_part(f, text, 0, wide);
	if (!is_right && wide < width)
		fprintf(f, "%*s", width - wide, "");
}

char *
cells_cut(const char *text, int width)
{
	const int wide = cells_width(text);
	char *ret = NULL;
	size_t size;
	FILE *f = open_memstream(&ret, &size);

	if (!f)
		return NULL;
	if (wide > width)
		put_without_middle(f, text, wide, width);
	else
		put_part(f, text, 0, wide);
	if (fclose(f) == 0)
		return ret;
	free(ret);
	return NULL;
}

void
cells_put_line(FILE *f, const char *text, int width)
{
	put_part(f, text, 0, width);
}

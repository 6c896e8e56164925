#include <config.h>

#include "profile/lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

bool
lines_next(struct lines *l)
{
	const char *newline;

	if (l->at == l->end)
		return false;
	newline = memchr(l->at, '\n', (size_t)(l->end - l->at));
	l->is_whole = newline != NULL;
	l->line = l->at;
	l->len = (size_t)((newline ? newline : l->end) - l->at);
	l->at = newline ? newline + 1 : l->end;
	l->nr++;
	while (l->len && is_space(l->line[l->len - 1]))
		l->len--;
	l->is_indented = l->len && is_space(*l->line);
	while (l->len && is_space(*l->line)) {
		l->line++;
		l->len--;
	}
	return true;
}

int
lines_fail(const struct lines *l, struct err *e, const char *why)
{
	return err_set(e, 0, "cannot read '%s', line %zu: %s", l->name, l->nr, why);
}

bool
lines_begins(const struct lines *l, const char *prefix)
{
	size_t len = strlen(prefix);

	return l->len >= len && memcmp(l->line, prefix, len) == 0;
}

static const char *
skip_space(const char *at, const char *end)
{
	while (at < end && is_space(*at))
		at++;
	return at;
}

bool
parse_char(const char **at, const char *end, char c)
{
	const char *p = skip_space(*at, end);

	if (p == end || *p != c)
		return false;
	*at = p + 1;
	return true;
}

bool
parse_number(const char **at, const char *end, int64_t *ret)
{
	const char *p = skip_space(*at, end), *first;
	bool is_negative = p < end && *p == '-';
	int64_t n = 0;

	p += is_negative;
	first = p;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
			return false;
	if (p == first)
		return false;
	*ret = is_negative ? -n : n;
	*at = p;
	return true;
}

/* Return the value of a digit, 16 for other characters. */
static unsigned int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : 16;
}

bool
parse_hex(const char **at, const char *end, uint64_t *ret)
{
	const char *p = skip_space(*at, end), *first;
	uint64_t n = 0;
	unsigned int digit;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	first = p;
	for (; p < end && (digit = hex_digit(*p)) < 16; p++) {
		if (n >> 60)
			return false;
		n = n << 4 | digit;
	}
	if (p == first)
		return false;
	*ret = n;
	*at = p;
	return true;
}

char *
heap_unescape(const char *s, size_t len)
{
	char *text = malloc(len + 1), *out = text;

	for (size_t i = 0; text && i < len; i++) {
		if (s[i] != '\\' || i + 1 == len) {
			*out++ = s[i];
		} else if (s[i + 1] == '\\') {
			*out++ = s[++i];
		} else if (len - i > 3 && isdigit((unsigned char)s[i + 1])) {
			*out++ = (char)((s[i + 1] & 7) << 6 | (s[i + 2] & 7) << 3 | (s[i + 3] & 7));
			i += 3;
		} else {
			*out++ = s[i];
		}
	}
	if (text)
		*out = '\0';
	return text;
}

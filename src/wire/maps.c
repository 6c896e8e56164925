#include <config.h>

#include "wire/maps.h"

#include <stdbool.h>
#include <stdint.h>

#include "wire/sites.h"

/* The agent also contains this file, so it calls no function of libc. */

/* A line, and its parsed fields if it describes code in a file. */
struct maps_line {
	const char *at;
	size_t len;
	bool is_code;
	uint64_t start, end; /* without the object's number */
	bool has_number;     /* the object's number is not 0 */
	const char *name;    /* name of the file, without directories */
	size_t name_len;
};

uint64_t
wire_maps_read_hex(const char **at, const char *end)
{
	uint64_t n = 0;

	for (; *at < end; (*at)++) {
		const char c = **at;

		if (c >= '0' && c <= '9')
			n = n << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	return n;
}

static void
find_name(struct maps_line *l, const char *at)
{
	static const char gone[] = " (deleted)";
	const char *end = l->at + l->len;
	const size_t nr = sizeof gone - 1;
	size_t same = 0;

	for (l->name = at; at < end; at++)
		if (*at == '/')
			l->name = at + 1;
	l->name_len = (size_t)(end - l->name);
	while (l->name_len >= nr && same < nr && (end - nr)[same] == gone[same])
		same++;
	if (same == nr)
		l->name_len -= nr;
}

/* "START-END r-xp OFFSET DEVICE INODE /PATH" */
static void
maps_parse(struct maps_line *l)
{
	const char *at = l->at, *end = at + l->len;
	const uint64_t start = wire_maps_read_hex(&at, end);

	l->is_code = false;
	if (at == l->at || at == end || *at++ != '-')
		return;
	l->end = wire_address_of(wire_maps_read_hex(&at, end));
	l->start = wire_address_of(start);
	l->has_number = l->start != start;
	if (end - at < 6 || at[3] != 'x')
		return;
	for (const char *c = at; c < end; c++)
		if (!*c)
			return;
	while (at < end && *at != '/')
		at++;
	if (at == end)
		return;
	l->is_code = true;
	find_name(l, at);
}

/* Get the next line of [*AT, END).  False if no line is left. */
static bool
maps_next(const char **at, const char *end, struct maps_line *ret)
{
	const char *from = *at;

	if (from == end)
		return false;
	ret->at = from;
	while (from < end && *from != '\n')
		from++;
	ret->len = (size_t)(from - ret->at);
	*at = from < end ? from + 1 : end;
	maps_parse(ret);
	return true;
}

static bool
maps_overlap(const struct maps_line *a, const struct maps_line *b)
{
	return a->start < b->end && b->start < a->end;
}

/* True if one name begins with the other: libfoo.so.1 is a link to libfoo.so.1.2. */
static bool
is_alike(const struct maps_line *a, const struct maps_line *b)
{
	const size_t len = a->name_len < b->name_len ? a->name_len : b->name_len;

	for (size_t i = 0; i < len; i++)
		if (a->name[i] != b->name[i])
			return false;
	return len;
}

/*
 * Largest number of lines of "seen".  Further lines are ignored, as the text may come from a
 * hostile process.
 */
#define MAX_LINES 2048

/* True if another object was seen at the address of S, whose number is 0. */
static bool
maps_is_shared(const struct wire_maps_texts *t, const struct maps_line *s)
{
	const char *at = t->seen;
	struct maps_line l;

	for (size_t i = 0; i < MAX_LINES && maps_next(&at, t->seen + t->seen_bytes, &l); i++)
		if (l.is_code && l.has_number && maps_overlap(&l, s))
			return true;
	return false;
}

static bool
maps_is_mapped(const struct wire_maps_texts *t, const struct maps_line *s)
{
	const char *at = t->maps;
	struct maps_line l;

	while (maps_next(&at, t->maps + t->maps_bytes, &l))
		if (l.is_code && l.start == s->start && l.end == s->end && is_alike(&l, s))
			return true;
	return false;
}

static bool
is_needed(const struct wire_maps_texts *t, const struct maps_line *s)
{
	return s->is_code && (s->has_number || maps_is_shared(t, s) || !maps_is_mapped(t, s));
}

/* The lines of "seen" that are needed, one bit for each. */
struct needed {
	uint64_t v[MAX_LINES / 64];
};

static bool
maps_has(const struct needed *n, size_t i)
{
	return i < MAX_LINES && n->v[i / 64] >> i % 64 & 1;
}

static void
merge_seen(const struct wire_maps_texts *t, struct needed *needed,
	void (*put)(void *arg, const char *line, size_t len), void *arg)
{
	const char *at = t->seen;
	bool is_put = false;
	struct maps_line l;

	for (size_t i = 0; i < MAX_LINES && maps_next(&at, t->seen + t->seen_bytes, &l); i++) {
		/* A comment belongs to the preceding line. */
		if (!l.len || l.at[0] != '#')
			is_put = is_needed(t, &l);
		needed->v[i / 64] |= (uint64_t)is_put << i % 64;
		if (is_put)
			put(arg, l.at, l.len);
	}
}

/* True if an object other than that of M was seen there first. */
static bool
is_covered(const struct wire_maps_texts *t, const struct needed *needed, const struct maps_line *m)
{
	const char *at = t->seen;
	struct maps_line l;

	for (size_t i = 0; i < MAX_LINES && maps_next(&at, t->seen + t->seen_bytes, &l); i++)
		if (maps_has(needed, i) && l.is_code && !l.has_number && maps_overlap(&l, m))
			return true;
	return false;
}

size_t
wire_maps_keep_code(char *text, size_t len)
{
	const char *at = text;
	struct maps_line l;
	size_t kept = 0;

	while (maps_next(&at, text + len, &l))
		if (l.is_code)
			while (l.at < at)
				text[kept++] = *l.at++;
	return kept;
}

void
wire_maps_merge(const struct wire_maps_texts *t,
	void (*put)(void *arg, const char *line, size_t len), void *arg)
{
	struct needed needed = { { 0 } };
	const char *at = t->maps;
	struct maps_line l;

	merge_seen(t, &needed, put, arg);
	while (maps_next(&at, t->maps + t->maps_bytes, &l))
		if (!l.is_code || !is_covered(t, &needed, &l))
			put(arg, l.at, l.len);
}

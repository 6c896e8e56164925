#include <config.h>

#include "profile/read-notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/lines.h"

/*
 * memdiag's own lines in a .heap file; write-heap.c describes them.  A word of another version of
 * memdiag is skipped.
 */

/* Return the next word of L from *AT on, unescaped, which the caller frees; NULL after the last. */
static char *
next_word(const struct lines *l, const char **at, char delimiter)
{
	const char *end = l->line + l->len, *stop;

	if (*at >= end)
		return NULL;
	stop = memchr(*at, delimiter, (size_t)(end - *at));
	if (!stop)
		stop = end;
	char *word = heap_unescape(*at, (size_t)(stop - *at));

	*at = stop < end ? stop + 1 : end;
	return word;
}

/* Read "NAME/UNIT ...": all types, the default one first. */
static int
note_values(struct profile *p, const struct lines *l, const char *at, struct err *e)
{
	if (p->types.nr)
		return lines_fail(l, e, "the types of values come twice, or too late");
	for (;;) {
		auto_free char *word = next_word(l, &at, ' ');
		char *unit = word ? strrchr(word, '/') : NULL;

		if (!word)
			break;
		if (!unit)
			return lines_fail(l, e, "a type of values has no unit");
		*unit++ = '\0';
		if (profile_add_type(p, word, unit, e) < 0)
			return -1;
	}
	return p->types.nr ? 0 : lines_fail(l, e, "types of values are missing");
}

/* Read "TID NAME". */
static int
note_thread(struct profile *p, struct heap_notes *notes, const struct lines *l, const char *at,
	struct err *e)
{
	const char *end = l->line + l->len;
	auto_free char *name = NULL;
	uint32_t *thread = array_add(&notes->threads);
	int64_t tid;

	if (!thread)
		return err_set(e, ENOMEM, "cannot keep a thread");
	if (!parse_number(&at, end, &tid))
		return lines_fail(l, e, "a thread has no id");
	at += at < end;
	name = heap_unescape(at, (size_t)(end - at));
	return profile_thread(p, tid, name, thread, e);
}

/* Read "START BUILD-ID": of the mapping that begins at START. */
static int
note_build_id(struct profile *p, const struct lines *l, const char *at, struct err *e)
{
	const char *end = l->line + l->len, *id;
	uint64_t start;

	if (!parse_hex(&at, end, &start))
		return lines_fail(l, e, "a build-id has no address");
	at += at < end;
	id = profile_string(p, at, (size_t)(end - at));
	for (size_t i = 0; id && i < p->mappings.nr; i++)
		if (p->mappings.v[i].start == start)
			p->mappings.v[i].build_id = id;
	return id ? 0 : err_set(e, ENOMEM, "cannot keep a build-id");
}

/* Read "ADDRESS LINE\tFILE\tFUNCTION": of the frame at ADDRESS, inside out. */
static int
note_name(struct profile *p, const struct lines *l, const char *at, struct err *e)
{
	const char *end = l->line + l->len;
	auto_free char *file = NULL;
	auto_free char *name = NULL;
	uint64_t address;
	uint32_t frame;
	int64_t line;

	if (!parse_hex(&at, end, &address) || !parse_number(&at, end, &line) || line < 0)
		return lines_fail(l, e, "a name has no address");
	at += at < end;
	file = next_word(l, &at, '\t');
	name = next_word(l, &at, '\t');
	/* An empty name is written, too, but white space at the end of a line is not read. */
	if (!name || !*name)
		return 0;
	if (profile_frame(p, address, false, &frame, e) < 0)
		return -1;
	/* Lines of one frame must be adjacent. */
	if (p->frames.v[frame].nr_lines &&
		p->frames.v[frame].first_line + p->frames.v[frame].nr_lines != p->lines.nr)
		return lines_fail(l, e, "the names of an address are not together");
	return profile_add_line(p, frame, name, file, line < UINT32_MAX ? (uint32_t)line : 0, e);
}

static int
read_notes_note_number(const struct lines *l, const char *at, int64_t *ret, struct err *e)
{
	return parse_number(&at, l->line + l->len, ret) ? 0
							: lines_fail(l, e, "a number is missing");
}

int
heap_note(struct profile *p, struct heap_notes *notes, const struct lines *l, struct err *e)
{
	static const char *const words[] = { "# values ", "# thread ", "# build-id ", "# name ",
		"# comment ", "# period ", "# pid ", "# time " };
	size_t word = 0;
	const char *at;
	int64_t n = 0;
	int r;

	if (lines_begins(l, HEAP_MARK))
		notes->is_ours = true;
	if (!notes->is_ours)
		return 0;
	notes->has_end |= l->len == strlen(HEAP_END) && lines_begins(l, HEAP_END);
	while (word < sizeof words / sizeof *words && !lines_begins(l, words[word]))
		word++;
	if (word == sizeof words / sizeof *words)
		return 0;
	at = l->line + strlen(words[word]);
	switch (word) {
	case 0:
		return note_values(p, l, at, e);
	case 1:
		return note_thread(p, notes, l, at, e);
	case 2:
		return note_build_id(p, l, at, e);
	case 3:
		return note_name(p, l, at, e);
	case 4: {
		auto_free char *text = heap_unescape(at, (size_t)(l->line + l->len - at));

		return profile_comment(p, text, e);
	}
	case 5:
		return read_notes_note_number(l, at, &p->period_bytes, e);
	case 6:
		return read_notes_note_number(l, at, &p->pid, e);
	default:
		r = read_notes_note_number(l, at, &n, e);
		p->time_ns = n > 0 ? (uint64_t)n : 0; /* negative: it could not be written */
		return r;
	}
}

int
heap_detail(const struct profile *p, const struct heap_notes *notes, const struct lines *l,
	struct profile_sample *ret, int64_t *values, struct err *e)
{
	const char *at = l->line + 2, *end = l->line + l->len;
	int64_t thread, size;

	if (!parse_number(&at, end, &thread) || !parse_number(&at, end, &size) || thread < 0 ||
		(uint64_t)thread > notes->threads.nr || size < 0)
		return lines_fail(l, e, "it has no such thread, or no size");
	for (size_t i = 0; i < p->types.nr; i++)
		if (!parse_number(&at, end, &values[i]))
			return lines_fail(l, e, "a value is missing");
	ret->thread_1 = thread ? notes->threads.v[thread - 1] : 0;
	ret->size_bytes = (uint64_t)size;
	return 0;
}

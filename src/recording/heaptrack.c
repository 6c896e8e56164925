#include <config.h>

#include "recording/heaptrack.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "recording/heaptrack-line.h"
#include "recording/heaptrack-names.h"
#include "recording/heaptrack-priv.h"
#include "recording/heaptrack-raw.h"

#define TEXT_BYTES ((size_t)256 << 10)
/* Names of C++ may be long, but not this long. */
#define MAX_LINE_BYTES ((size_t)16 << 20)
#define MAX_COMMAND_BYTES 8192
/* 278 years. */
#define MAX_MS ((uint64_t)1 << 43)
#define NS_PER_MS 1000000
#define MAX_PAGE_BYTES ((uint64_t)1 << 30)

/* ---- text ---- */

/* Read more text after the present text.  1: done, 0: end of the file, -1 with E. */
static int
read_more(struct heaptrack *h, struct err *e)
{
	long n;

	memmove(h->text, h->text + h->at, h->end - h->at);
	h->end -= h->at;
	h->at = 0;
	if (h->end + 1 >= h->room) {
		size_t room = h->room ? 2 * h->room : TEXT_BYTES;
		char *bigger = room <= 2 * MAX_LINE_BYTES ? realloc(h->text, room) : NULL;

		if (!bigger && room > 2 * MAX_LINE_BYTES) {
			h->line_nr++;
			return ht_fail(h, e, "it has no end");
		}
		if (!bigger)
			return ht_no_memory(h, e);
		h->text = bigger;
		h->room = room;
	}
	n = stream_read(h->stream, h->text + h->end, h->room - h->end - 1, e);
	if (n < 0)
		return -1;
	h->end += (size_t)n;
	h->text[h->end] = '\0';
	return n > 0;
}

/*
 * Read the whole next line into the text; store its length without the line end in *RET.  1: done,
 * 0: end of the file, -1 with E.
 */
static int
heaptrack_find_line(struct heaptrack *h, size_t *ret, struct err *e)
{
	size_t seen = 0;

	for (;;) {
		const char *from = h->text + h->at + seen;
		const char *end =
			h->end > h->at + seen ? memchr(from, '\n', h->end - h->at - seen) : NULL;
		int r;

		if (end) {
			*ret = (size_t)(end - h->text) - h->at;
			return 1;
		}
		seen = h->end - h->at;
		r = read_more(h, e);
		if (r <= 0)
			return r;
	}
}

/* Read LEN bytes of text: a string may contain line ends.  1, 0, -1 as heaptrack_find_line(). */
static int
find_bytes(struct heaptrack *h, size_t len, struct err *e)
{
	int r = 1;

	while (h->end - h->at < len && r > 0)
		r = read_more(h, e);
	return r;
}

/* ---- lines of tables ---- */

static int
heaptrack_read_version(struct heaptrack *h, struct ht_line l, struct err *e)
{
	uint64_t tool, file = 0;

	if (h->line_nr > 1)
		return ht_fail(h, e, "another recording begins there");
	if (!ht_number(&l, &tool))
		return ht_fail(h, e, "a version without a number");
	/* Before 1.0 that number was the file's version, too. */
	if (!ht_number(&l, &file))
		file = tool == 0x10200;
	if (file > HEAPTRACK_MAX_VERSION)
		return err_set(e, 0,
			"cannot read '%s': it is of version %" PRIu64 " of heaptrack's format, and "
			"memdiag knows %d",
			h->name, file, HEAPTRACK_MAX_VERSION);
	h->version = (unsigned)file;
	return 0;
}

static int
read_string(struct heaptrack *h, struct ht_line l, struct err *e)
{
	uint64_t len = (uint64_t)(l.end - l.at);
	uint32_t string_1;

	if (h->version >= 3 && (!ht_number(&l, &len) || len > (uint64_t)(l.end - l.at)))
		return ht_fail(h, e, "the length of a string is wrong");
	return ht_add_string(h, l.at, (size_t)len, &string_1, e);
}

/* Read the number of a string, 0 for no string. */
static bool
read_string_number(const struct heaptrack *h, struct ht_line *l, uint32_t *ret_1)
{
	uint64_t n;

	if (!ht_number(l, &n) || n > h->strings.nr)
		return false;
	*ret_1 = (uint32_t)n;
	return true;
}

/* Read one function of a place: 1, 0 if no more follow, -1 with E. */
static int
read_frame(struct heaptrack *h, struct ht_line *l, struct err *e)
{
	struct ht_frame *f;
	uint64_t line = 0;

	if (l->at == l->end)
		return 0;
	f = array_add(&h->frames);
	if (!f || h->frames.nr >= UINT32_MAX)
		return ht_no_memory(h, e);
	if (!read_string_number(h, l, &f->function_1))
		return ht_fail(h, e, "a place has a name that is not there");
	/* A function without a known line has no file. */
	if (l->at < l->end && (!read_string_number(h, l, &f->file_1) || !ht_number(l, &line)))
		return ht_fail(h, e, "a place has a name that is not there");
	f->line = line < INT32_MAX ? (uint32_t)line : 0;
	return 1;
}

static int
read_place(struct heaptrack *h, struct ht_line l, struct err *e)
{
	struct ht_place *p = array_add(&h->places);
	int r;

	if (!p || h->places.nr >= UINT32_MAX)
		return ht_no_memory(h, e);
	p->first = (uint32_t)h->frames.nr;
	if (!ht_number(&l, &p->address) || !read_string_number(h, &l, &p->module_1))
		return ht_fail(h, e, "a place without an address or a module");
	do
		r = read_frame(h, &l, e);
	while (r > 0);
	p->nr = (uint32_t)(h->frames.nr - p->first);
	return r;
}

static int
heaptrack_read_node(struct heaptrack *h, struct ht_line l, struct err *e)
{
	struct ht_node *n;
	uint64_t place, parent;

	if (!ht_number(&l, &place) || !ht_number(&l, &parent))
		return ht_fail(h, e, "a call without a place or a caller");
	if (!h->is_raw && place > h->places.nr)
		return ht_fail(h, e, "a call has a place that is not there");
	/* A caller comes first, so every stack ends. */
	if (parent > h->nodes.nr)
		return ht_fail(h, e, "a call has a caller that is not there");
	n = h->nodes.nr < UINT32_MAX - 1 ? array_add(&h->nodes) : NULL;
	if (!n)
		return ht_no_memory(h, e);
	n->place = place;
	n->parent_1 = (uint32_t)parent;
	n->module_1 = h->is_raw ? ht_find_module(h, place) : 0;
	return 0;
}

/* Find the site of NODE; make one for a node without a site. */
static int
heaptrack_find_site(struct heaptrack *h, uint64_t node, uint32_t *ret, struct err *e)
{
	uint32_t *of_site;

	if (node > h->nodes.nr)
		return ht_fail(h, e, "an allocation has a stack that is not there");
	while (h->site_of_node.nr <= node)
		if (!array_add(&h->site_of_node))
			return ht_no_memory(h, e);
	if (!h->site_of_node.v[node]) {
		of_site = array_add(&h->node_of_site);
		if (!of_site)
			return ht_no_memory(h, e);
		*of_site = (uint32_t)node;
		h->r.nr_sites = (uint32_t)h->node_of_site.nr;
		h->site_of_node.v[node] = h->r.nr_sites;
	}
	*ret = h->site_of_node.v[node] - 1;
	return 0;
}

static int
read_kind(struct heaptrack *h, struct ht_line l, struct err *e)
{
	struct ht_kind *k = h->kinds.nr < UINT32_MAX - 1 ? array_add(&h->kinds) : NULL;
	uint64_t node;

	if (!k)
		return ht_no_memory(h, e);
	if (!ht_number(&l, &k->bytes) || !ht_number(&l, &node))
		return ht_fail(h, e, "an allocation without a size or a stack");
	if (k->bytes > EVENT_MAX_BYTES)
		return ht_fail(h, e, "no allocation has so many bytes");
	return heaptrack_find_site(h, node, &k->site, e);
}

static int
heaptrack_read_program(struct heaptrack *h, struct ht_line l, struct err *e)
{
	uint64_t len = (uint64_t)(l.end - l.at);

	h->is_raw = true;
	if (h->version >= 3 && (!ht_number(&l, &len) || len > (uint64_t)(l.end - l.at)))
		return ht_fail(h, e, "the length of a name is wrong");
	return ht_add_string(h, l.at, (size_t)len, &h->program_1, e);
}

static int
read_command(struct heaptrack *h, struct ht_line l, struct err *e)
{
	auto_free char *text = NULL;

	if (asprintf(&text, "command: %.*s", (int)(l.end - l.at), l.at) < 0) {
		text = NULL;
		return ht_no_memory(h, e);
	}
	return profile_comment(h->r.facts, text, e);
}

/*
 * Return whether a line with LETTER does not belong in this file: a raw file has no lines s, i and
 * a, and others no lines x and m.  What a number refers to would differ before and after it.
 */
static bool
is_mixed(const struct heaptrack *h, char letter)
{
	if (letter == 'x' || letter == 'm')
		return !h->is_raw && (h->strings.nr || h->nodes.nr || h->kinds.nr);
	return h->is_raw && (letter == 's' || letter == 'i' || letter == 'a');
}

/* Read a line that occurs once in the file, and is known already when the file is read again. */
static int
heaptrack_read_table(struct heaptrack *h, char letter, struct ht_line l, struct err *e)
{
	if (is_mixed(h, letter))
		return ht_fail(h, e, "it is raw, and others are not, or the reverse");
	switch (letter) {
	case 'v':
		return heaptrack_read_version(h, l, e);
	case 's':
		return read_string(h, l, e);
	case 'i':
		return read_place(h, l, e);
	case 't':
		return heaptrack_read_node(h, l, e);
	case 'a':
		return read_kind(h, l, e);
	case 'X':
		return read_command(h, l, e);
	case 'x':
		return heaptrack_read_program(h, l, e);
	case 'm':
		h->is_raw = true;
		return ht_read_module(h, l, e);
	case 'I':
		if (!ht_number(&l, &h->page_bytes) || h->page_bytes > MAX_PAGE_BYTES)
			return ht_fail(h, e, "no page has that size");
		return 0;
	case 'A': /* heaptrack was attached to a running process */
	case 'S': /* leaks that should not be shown */
	case '#':
		return 0;
	}
	return ht_fail(h, e, "it is of no kind that is known");
}

/* ---- lines of events ---- */

static int
heaptrack_read_time(struct heaptrack *h, struct ht_line l, struct event *ret, struct err *e)
{
	uint64_t ms;

	if (!ht_number(&l, &ms) || ms > MAX_MS)
		return ht_fail(h, e, "invalid time");
	if (ms * NS_PER_MS >= h->time_ns)
		h->time_ns = ms * NS_PER_MS;
	else if (!h->has_late_stamp)
		profile_warn(h->r.facts, false,
			"'%s': line %" PRIu64 ": the time goes back, which was ignored", h->name,
			h->line_nr);
	h->has_late_stamp |= ms * NS_PER_MS < h->time_ns;
	*ret = (struct event){ .time_ns = h->time_ns, .kind = EVENT_TIME };
	return 1;
}

static int
read_rss(struct heaptrack *h, struct ht_line l, struct event *ret, struct err *e)
{
	uint64_t pages, bytes;

	if (!ht_number(&l, &pages) || __builtin_mul_overflow(pages, h->page_bytes, &bytes) ||
		bytes > EVENT_MAX_BYTES)
		return ht_fail(h, e, "no process has so many pages");
	*ret = (struct event){ .time_ns = h->time_ns, .bytes = bytes, .kind = EVENT_RSS };
	return h->page_bytes != 0;
}

/* Read "+ BYTES NODE ADDRESS". */
static int
heaptrack_read_block(struct heaptrack *h, struct ht_line l, struct event *ret, struct err *e)
{
	uint64_t node;
	struct block b;

	if (!ht_number(&l, &b.bytes) || !ht_number(&l, &node) || !ht_number(&l, &b.address) ||
		!b.address)
		return ht_fail(h, e, "an allocation without a size, a stack or an address");
	if (b.bytes > EVENT_MAX_BYTES)
		return ht_fail(h, e, "no allocation has so many bytes");
	if (heaptrack_find_site(h, node, &b.site, e) < 0)
		return -1;
	if (blocks_put(&h->blocks, b) < 0)
		return ht_no_memory(h, e);
	h->last = b.address;
	*ret = (struct event){ h->time_ns, b.bytes, b.site, EVENT_ALLOCATED };
	return 1;
}

/* Read "- ADDRESS", which may be of a block from before the recording. */
static int
read_free(struct heaptrack *h, struct ht_line l, struct event *ret, struct err *e)
{
	uint64_t address;
	bool is_soon;
	struct block b;

	if (!ht_number(&l, &address))
		return ht_fail(h, e, "what was freed has no address");
	is_soon = h->last == address;
	h->last = 0;
	if (!blocks_take(&h->blocks, address, &b))
		return 0;
	*ret = (struct event){ h->time_ns, b.bytes, b.site,
		is_soon ? EVENT_FREED_SOON : EVENT_FREED };
	return 1;
}

/*
 * Return whether the line at L belongs to the command above it, whose words may contain line ends.
 * Line I comes next since heaptrack 1.0 (writeCommandLine(), writeSystemInfo()), and a command is
 * cut at 4096 bytes.
 */
static bool
is_in_command(struct heaptrack *h, char letter, struct ht_line l)
{
	uint64_t number;

	if (!h->command_bytes_left || h->version < 1)
		return false;
	if (letter == 'I' && ht_number(&l, &number) && ht_number(&l, &number)) {
		h->command_bytes_left = 0;
		return false;
	}
	h->command_bytes_left -= h->command_bytes_left < (size_t)(l.end - l.at) + 3
		? h->command_bytes_left
		: (size_t)(l.end - l.at) + 3;
	return h->command_bytes_left;
}

/* Read the next line, of LEN bytes.  1: *RET is an event, 0: it was not an event, -1 with E. */
static int
read_line(struct heaptrack *h, size_t len, struct event *ret, struct err *e)
{
	const char *text = h->text + h->at;
	struct ht_line l = { len > 2 ? text + 2 : text + len, text + len };
	char letter = len ? *text : '#';

	h->at += len + 1;
	h->line_nr++;
	if (is_in_command(h, letter, l))
		return 0;
	if (letter == 'X')
		h->command_bytes_left = MAX_COMMAND_BYTES;
	if (letter == 'c')
		return heaptrack_read_time(h, l, ret, e);
	if (letter == 'R')
		return read_rss(h, l, ret, e);
	if (letter == '+' || letter == '-') {
		if (h->version >= 1 && !h->is_raw)
			return ht_fail(h, e, "it allocates or frees what it has no line 'a' for");
		return letter == '+' ? heaptrack_read_block(h, l, ret, e) : read_free(h, l, ret, e);
	}
	return h->is_again ? 0 : heaptrack_read_table(h, letter, l, e);
}

#define MAX_FAST_DIGITS 8

/* The value of a digit + 1; 0 for other characters. */
static const uint8_t digit_of[256] = {
	['0'] = 1,
	['1'] = 2,
	['2'] = 3,
	['3'] = 4,
	['4'] = 5,
	['5'] = 6,
	['6'] = 7,
	['7'] = 8,
	['8'] = 9,
	['9'] = 10,
	['a'] = 11,
	['b'] = 12,
	['c'] = 13,
	['d'] = 14,
	['e'] = 15,
	['f'] = 16,
};

/*
 * Read the lines "+ KIND" and "- KIND" that come next, which are nearly all of a file, as up to
 * ROOM events; any other line is left to read_line().  The NUL after the text ends a number as any
 * other character does.  Returns the number of events.
 */
static size_t
read_fast(struct heaptrack *h, struct event *v, size_t room)
{
	const struct ht_kind *const kinds = h->kinds.v;
	const uint64_t nr_kinds = h->kinds.nr, time_ns = h->time_ns;
	const char *line = h->text + h->at;
	uint64_t last = h->last;
	size_t nr = 0, nr_digits;

	if (h->command_bytes_left)
		return 0;
	while (nr < room && (*line == '+' || *line == '-') && line[1] == ' ') {
		const unsigned char *at = (const unsigned char *)line + 2;
		bool is_freed = *line == '-';
		uint64_t kind = 0;
		unsigned int digit;

		while ((digit = digit_of[*at])) {
			kind = 16 * kind + digit - 1;
			at++;
		}
		nr_digits = (size_t)((const char *)at - line) - 2;
		if (*at != '\n' || kind >= nr_kinds || nr_digits - 1 >= MAX_FAST_DIGITS)
			break;
		v[nr].time_ns = time_ns;
		v[nr].bytes = kinds[kind].bytes;
		v[nr].site = kinds[kind].site;
		v[nr++].kind = !is_freed   ? EVENT_ALLOCATED
			: last == kind + 1 ? EVENT_FREED_SOON
					   : EVENT_FREED;
		last = is_freed ? 0 : kind + 1;
		line = (const char *)at + 1;
	}
	h->at = (size_t)(line - h->text);
	h->line_nr += nr;
	h->last = last;
	return nr;
}

/* Check the end of the file.  0, or -1 with E if the file was longer before. */
static int
heaptrack_end_file(struct heaptrack *h, struct err *e)
{
	const char *cut = stream_is_cut(h->stream);
	char shown[256];

	h->has_ended = true;
	if (h->is_again)
		return h->line_nr == h->nr_lines
			? 0
			: err_set(e, 0, "cannot read '%s' again: it has become shorter",
				  text_printable(h->name, shown, sizeof shown));
	h->nr_lines = h->line_nr;
	if (cut && !h->line_nr)
		return err_set(e, 0, "cannot read '%s': %s",
			text_printable(h->name, shown, sizeof shown), cut);
	if (!cut && h->at == h->end)
		return 0;
	h->r.is_partial = true;
	profile_warn(h->r.facts, true, "'%s': %s in line %" PRIu64 "; what is before that is shown",
		text_printable(h->name, shown, sizeof shown), cut ? cut : "it was cut off",
		h->line_nr + 1);
	return 0;
}

/* Return how many of ROOM lines may be read. */
static size_t
lines_left(const struct heaptrack *h, size_t room)
{
	uint64_t left = h->nr_lines - h->line_nr;

	return h->is_again && left < room ? (size_t)left : room;
}

/*
 * Extend the line to a whole string of *LEN bytes, which may contain line ends.  1, 0, -1 as
 * heaptrack_find_line().
 */
static int
heaptrack_find_string(struct heaptrack *h, size_t *len, struct err *e)
{
	struct ht_line l = { h->text + h->at + 2, h->text + h->at + *len };
	uint64_t bytes;
	size_t before;
	int r;

	if (h->version < 3 || h->text[h->at] != 's' || *len < 3 || !ht_number(&l, &bytes))
		return 1;
	before = (size_t)(l.at - (h->text + h->at));
	if (bytes <= *len - before || bytes > MAX_LINE_BYTES)
		return 1;
	r = find_bytes(h, before + (size_t)bytes + 1, e);
	if (r > 0 && h->text[h->at + before + bytes] == '\n')
		*len = before + (size_t)bytes;
	return r;
}

static int
heaptrack_next(struct recording *r, struct event *v, size_t room, size_t *ret, struct err *e)
{
	struct heaptrack *h = (struct heaptrack *)r;

	*ret = 0;
	while (*ret < room && !h->has_ended) {
		size_t len;
		int found;

		if (h->version >= 1 && !h->is_raw)
			*ret += read_fast(h, v + *ret, lines_left(h, room - *ret));
		if (*ret == room)
			break;
		found = lines_left(h, 1) ? heaptrack_find_line(h, &len, e) : 0;
		if (found > 0)
			found = heaptrack_find_string(h, &len, e);
		if (found < 0)
			return -1;
		if (!found)
			return heaptrack_end_file(h, e);
		/* The line was incomplete before, and read_fast() has not seen its end. */
		if (h->version >= 1 && !h->is_raw && (found = (int)read_fast(h, v + *ret, 1))) {
			*ret += 1;
			continue;
		}
		found = read_line(h, len, &v[*ret], e);
		if (found < 0)
			return -1;
		*ret += (size_t)found;
	}
	return 0;
}

/* ---- the rest ---- */

static int
rewind_file(struct recording *r, struct err *e)
{
	struct heaptrack *h = (struct heaptrack *)r;

	if (!h->has_ended)
		return 0;
	if (stream_rewind(h->stream, e) < 0)
		return -1;
	h->at = h->end = 0;
	h->text[0] = '\0';
	h->line_nr = 0;
	h->time_ns = 0;
	h->last = 0;
	h->command_bytes_left = 0;
	h->has_ended = false;
	h->is_again = true;
	blocks_release(&h->blocks);
	return 0;
}

static void
free_heaptrack(struct recording *r)
{
	struct heaptrack *h = (struct heaptrack *)r;

	stream_free(h->stream);
	profile_free(h->r.facts);
	free(h->text);
	free(h->strings.v);
	free(h->frames.v);
	free(h->places.v);
	free(h->nodes.v);
	free(h->kinds.v);
	free(h->site_of_node.v);
	free(h->node_of_site.v);
	blocks_release(&h->blocks);
	free(h->modules.v);
	free(h->mapped.v);
	hash_release(&h->by_place);
	hash_release(&h->by_string);
	free(h->made.frames);
	free(h->made.mappings);
	hash_release(&h->made.by_address);
	free(h);
}

static const struct recording_ops ops = {
	.next = heaptrack_next,
	.rewind = rewind_file,
	.begin = ht_begin,
	.sample = ht_sample,
	.free = free_heaptrack,
};

int
heaptrack_open(struct recording **ret, struct stream *s, const char *name, struct err *e)
{
	struct heaptrack *h = calloc(1, sizeof *h);

	if (h) {
		h->r.facts = profile_new();
		h->text = calloc(1, TEXT_BYTES);
	}
	if (!h || !h->r.facts || !h->text) {
		if (h) {
			profile_free(h->r.facts);
			free(h->text);
		}
		free(h);
		stream_free(s);
		return err_set(e, ENOMEM, "cannot read '%s'", name);
	}
	h->r.ops = &ops;
	h->r.format = "heaptrack";
	h->room = TEXT_BYTES;
	h->name = name;
	h->stream = s;
	*ret = &h->r;
	return 0;
}

#include <config.h>

#include "profile/read-heap.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/hash.h"
#include "profile/lines.h"
#include "profile/profile-priv.h"
#include "profile/read-notes.h"

/*
 * The text formats: gperftools' heap profile, jemalloc's of each thread, and both after a list of
 * symbols.
 *
 *	heap profile: 3: 300 [ 5: 500] @ heap_v2/524288
 *	  3: 300 [ 5: 500] @ 0x4011d0 0x401200		in use and allocated, the leaf first
 *	MAPPED_LIBRARIES:
 *	(as /proc/PID/maps)
 *
 *	heap_v2/524288
 *	  t*: 3: 300 [0: 0]				all threads
 *	  t0: 3: 300 [0: 0] name
 *	@ 0x4011d0 0x401200
 *	  t*: 3: 300 [0: 0]
 *	  t0: 3: 300 [0: 0]
 */

/* Counts and bytes in use, then allocated. */
struct counts {
	int64_t n[4];
};

struct heap_reader {
	struct profile *p;
	struct lines l;
	struct heap_notes notes;
	double rate; /* mean distance of samples; 0: do not scale numbers */
	bool is_threaded;
	bool has_allocated; /* the second pair of numbers is valid */
	/* The stack that is being read. */
	struct {
		uint32_t *v;
		size_t nr, room;
	} stack;
	bool has_stack;
	size_t first_sample; /* of this stack */
	struct counts whole; /* of the stack, as in the file */
	bool has_whole;
	/* Numbers of its threads, as in the file. */
	struct {
		struct part {
			uint32_t thread_1;
			struct counts counts;
		} * v;
		size_t nr, room;
	} parts;
	/* jemalloc's threads, by number */
	struct {
		struct {
			int64_t number;
			uint32_t thread_1;
		} * v;
		size_t nr, room;
	} threads;
	struct hash by_number;
	/* Names from before the samples, for addresses as jeprof looks them up. */
	struct {
		struct {
			uint64_t key;
			const char *names; /* inside out, "a--b" */
		} * v;
		size_t nr, room;
	} symbols;
};

static void
read_heap_reader_release(struct heap_reader *r)
{
	free(r->notes.threads.v);
	free(r->stack.v);
	free(r->parts.v);
	free(r->threads.v);
	free(r->symbols.v);
	hash_release(&r->by_number);
}
#define auto_reader __attribute__((cleanup(read_heap_reader_release)))

static int
read_heap_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep the profile");
}

/* ---- numbers ---- */

/* Read "N: BYTES [N: BYTES]" at *AT. */
static bool
parse_counts(const char **at, const char *end, struct counts *ret)
{
	int64_t *n = ret->n;

	return parse_number(at, end, &n[0]) && parse_char(at, end, ':') &&
		parse_number(at, end, &n[1]) && parse_char(at, end, '[') &&
		parse_number(at, end, &n[2]) && parse_char(at, end, ':') &&
		parse_number(at, end, &n[3]) && parse_char(at, end, ']');
}

/*
 * Return the factor for a line.  A block of Z bytes is sampled with a chance of 1 - exp(-Z / RATE).
 * All readers take the mean of a line for Z (google/pprof, scaleHeapSample(); jeprof,
 * AdjustSamples()), and writers know it.
 */
static double
scale_of(double rate, int64_t count, int64_t bytes)
{
	double mean = count ? (double)bytes / (double)count : 0;

	return rate > 1 && mean > 0 ? 1 / -expm1(-mean / rate) : 1;
}

static int64_t
read_heap_scaled(int64_t n, double by)
{
	double value = round((double)n * by);

	/* A larger number is invalid, and must not overflow into a plausible one. */
	return value >= 0x1p62	   ? INT64_C(1) << 62
		: value <= -0x1p62 ? -(INT64_C(1) << 62)
				   : (int64_t)value;
}

/* Scale the pair of C that begins at FIRST. */
static void
scale_pair(struct counts *c, size_t first, double by)
{
	c->n[first] = read_heap_scaled(c->n[first], by);
	c->n[first + 1] = read_heap_scaled(c->n[first + 1], by);
}

static double
scale_of_pair(const struct heap_reader *r, const struct counts *c, size_t first)
{
	return scale_of(r->rate, c->n[first], c->n[first + 1]);
}

static struct counts
scaled_counts(const struct heap_reader *r, const struct counts *c)
{
	struct counts result = *c;

	for (size_t first = 0; first < 4; first += 2)
		scale_pair(&result, first, scale_of_pair(r, c, first));
	return result;
}

/* ---- samples ---- */

/* Add the types of the file, once they are known. */
static int
read_heap_add_types(struct heap_reader *r, struct err *e)
{
	if (r->p->types.nr)
		return 0;
	if (r->has_allocated)
		return profile_add_usual_types(r->p, e);
	r->p->default_type = 1;
	return profile_add_type(r->p, "inuse_objects", "count", e) < 0 ||
			profile_add_type(r->p, "inuse_space", "bytes", e) < 0
		? -1
		: 0;
}

/* Types of the values in struct counts, which the line of a stack contains. */
static const char *const counted[4] = { "inuse_objects", "inuse_space", "alloc_objects",
	"alloc_space" };

/* Add a sample of the present stack with C; values of other types are 0. */
static int
add_sample(struct heap_reader *r, struct profile_sample s, const struct counts *c, struct err *e)
{
	int64_t values[PROFILE_MAX_TYPES] = { 0 };

	if (profile_stack(r->p, r->stack.v, r->stack.nr, &s.stack, e) < 0)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		int type = profile_find_type(r->p, counted[i]);

		if (type >= 0)
			values[type] = c->n[i];
	}
	return profile_add_sample(r->p, s, values, e);
}

static int64_t
total_of(const struct heap_reader *r, int type)
{
	int64_t sum = 0;

	for (size_t i = r->first_sample; type >= 0 && i < r->p->samples.nr; i++)
		sum = profile_sum(sum, profile_values(r->p, i)[type]);
	return sum;
}

/*
 * If threads lack REST only because each was rounded separately, add it to the last one and return
 * true.
 */
static bool
give_to_last(struct heap_reader *r, const struct counts *rest)
{
	struct profile *p = r->p;
	int64_t nr = (int64_t)(p->samples.nr - r->first_sample);

	if (!nr || !r->is_threaded)
		return false;
	for (size_t i = 0; i < 4; i++)
		if (rest->n[i] > nr || rest->n[i] < -nr)
			return false;
	for (size_t i = 0; i < 4; i++) {
		int type = profile_find_type(p, counted[i]);

		int64_t *last = &p->values.v[(p->samples.nr - 1) * p->types.nr];

		if (type >= 0)
			last[type] = profile_sum(last[type], rest->n[i]);
	}
	return true;
}

/* ---- threads of a stack ---- */

static int64_t
sum_of_parts(const struct heap_reader *r, size_t i)
{
	int64_t sum = 0;

	for (size_t k = 0; k < r->parts.nr; k++)
		sum = profile_sum(sum, r->parts.v[k].counts.n[i]);
	return sum;
}

/* Change the numbers of all threads in proportion, so that their sum is WHOLE. */
static void
fit_parts(struct heap_reader *r, size_t i, int64_t whole)
{
	int64_t sum = sum_of_parts(r, i);

	for (size_t k = 0; whole > 0 && sum > 0 && k < r->parts.nr; k++) {
		int64_t *n = &r->parts.v[k].counts.n[i];

		*n = read_heap_scaled(*n, (double)whole / (double)sum);
	}
}

/*
 * Scale the threads' values of a pair of the stack's numbers, each by its own mean: one thread may
 * have large blocks, another small ones.  Up to jemalloc 5.2 the threads' numbers in the file add
 * up to the stack's.  Since 5.3 (src/prof_data.c, prof_do_unbias()) they add up when all are
 * scaled, except for rounding: they never exceed the stack's.
 */
static void
scale_parts(struct heap_reader *r, size_t first)
{
	const struct counts whole = scaled_counts(r, &r->whole);
	bool is_sum = sum_of_parts(r, first) == r->whole.n[first] &&
		sum_of_parts(r, first + 1) == r->whole.n[first + 1];

	for (size_t k = 0; k < r->parts.nr; k++) {
		struct counts *c = &r->parts.v[k].counts;

		scale_pair(c, first, scale_of_pair(r, c, first));
	}
	for (size_t i = first; r->has_whole && i < first + 2; i++)
		if (is_sum || sum_of_parts(r, i) > whole.n[i])
			fit_parts(r, i, whole.n[i]);
}

static int
add_parts(struct heap_reader *r, struct err *e)
{
	scale_parts(r, 0);
	scale_parts(r, 2);
	for (size_t k = 0; k < r->parts.nr; k++) {
		struct profile_sample s = { .thread_1 = r->parts.v[k].thread_1 };

		if (add_sample(r, s, &r->parts.v[k].counts, e) < 0)
			return -1;
	}
	return 0;
}

/*
 * Add the part of the stack that its samples do not account for: the whole stack if it has no
 * samples.
 */
static int
read_heap_add_rest(struct heap_reader *r, struct err *e)
{
	struct counts rest = scaled_counts(r, &r->whole);
	bool is_any = false;

	for (size_t i = 0; i < 4; i++) {
		int type = profile_find_type(r->p, counted[i]);

		if (__builtin_sub_overflow(rest.n[i], total_of(r, type), &rest.n[i]))
			return lines_fail(&r->l, e, "a number is too large");
		is_any |= type >= 0 && rest.n[i];
	}
	if (!is_any || give_to_last(r, &rest))
		return 0;
	return add_sample(r, (struct profile_sample){ 0 }, &rest, e);
}

static int
end_stack(struct heap_reader *r, struct err *e)
{
	if (!r->has_stack)
		return 0;
	r->has_stack = false;
	return add_parts(r, e) < 0 || (r->has_whole && read_heap_add_rest(r, e) < 0) ? -1 : 0;
}

static int
begin_stack(struct heap_reader *r, const char *at, struct err *e)
{
	const char *end = r->l.line + r->l.len;
	uint64_t address;

	r->stack.nr = r->parts.nr = 0;
	r->has_stack = true;
	r->first_sample = r->p->samples.nr;
	while (parse_hex(&at, end, &address)) {
		uint32_t *frame = array_add(&r->stack);

		if (!frame)
			return read_heap_no_memory(e);
		if (profile_frame(r->p, address, false, frame, e) < 0)
			return -1;
	}
	return at == end ? 0 : lines_fail(&r->l, e, "it contains an invalid address");
}

/* Read "3: 300 [ 5: 500] @ 0x...  0x..." */
static int
read_heap_read_stack(struct heap_reader *r, struct err *e)
{
	const char *at = r->l.line, *end = at + r->l.len;

	if (!parse_counts(&at, end, &r->whole) || !parse_char(&at, end, '@'))
		return lines_fail(&r->l, e, "it is not 'COUNT: BYTES [COUNT: BYTES] @ ADDRESSES'");
	r->has_whole = true;
	return read_heap_add_types(r, e) < 0 || begin_stack(r, at, e) < 0 ? -1 : 0;
}

/* Read "#+ ...": a part of the stack above. */
static int
read_detail(struct heap_reader *r, struct err *e)
{
	struct profile_sample s = { 0 };
	int64_t values[PROFILE_MAX_TYPES];

	if (!r->has_stack)
		return lines_fail(&r->l, e, "it is a part of no stack");
	if (heap_detail(r->p, &r->notes, &r->l, &s, values, e) < 0 ||
		profile_stack(r->p, r->stack.v, r->stack.nr, &s.stack, e) < 0)
		return -1;
	return profile_add_sample(r->p, s, values, e);
}

/* ---- jemalloc's threads ---- */

/* Find or add the thread with jemalloc's NUMBER, called NAME, as thread_1. */
static int
find_thread(struct heap_reader *r, int64_t number, const char *name, size_t len, uint32_t *ret,
	struct err *e)
{
	uint32_t hash = hash_pair((uint64_t)number, 0);
	const struct hash_slot *slot;
	auto_free char *text = NULL;

	for (size_t at = hash; (slot = hash_next(&r->by_number, hash, &at));)
		if (r->threads.v[slot->number_1 - 1].number == number) {
			*ret = r->threads.v[slot->number_1 - 1].thread_1;
			return 0;
		}
	/* No other program knows jemalloc's number: it is a part of the name. */
	if (asprintf(&text, "t%" PRId64 "%s%.*s", number, len ? " " : "", (int)len, name) < 0) {
		text = NULL;
		return read_heap_no_memory(e);
	}
	__typeof__(r->threads.v) thread = array_add(&r->threads);

	if (!thread || hash_add(&r->by_number, hash, r->threads.nr - 1) < 0)
		return read_heap_no_memory(e);
	thread->number = number;
	if (profile_thread(r->p, 0, text, &thread->thread_1, e) < 0)
		return -1;
	*ret = thread->thread_1;
	return 0;
}

static int
read_heap_add_part(struct heap_reader *r, const struct part *part, struct err *e)
{
	struct part *new = array_add(&r->parts);

	if (!new)
		return read_heap_no_memory(e);
	*new = *part;
	return 0;
}

/* Read "t*: ..."  and "tN: ...  NAME": totals of the file, or of the stack above. */
static int
read_heap_read_thread(struct heap_reader *r, struct err *e)
{
	const char *at = r->l.line + 1, *end = r->l.line + r->l.len;
	bool is_all = parse_char(&at, end, '*');
	struct part part = { 0 };
	struct counts c;
	int64_t number = 0;

	if ((!is_all && !parse_number(&at, end, &number)) || !parse_char(&at, end, ':') ||
		!parse_counts(&at, end, &c))
		return lines_fail(&r->l, e, "it is not 'tNUMBER: COUNT: BYTES [COUNT: BYTES]'");
	if (is_all && !r->has_stack) {
		r->has_allocated = c.n[2] || c.n[3] || !c.n[0];
		return read_heap_add_types(r, e);
	}
	if (is_all) {
		r->whole = c;
		r->has_whole = true;
		return 0;
	}
	at += at < end;
	part.counts = c;
	if (find_thread(r, number, at, (size_t)(end - at), &part.thread_1, e) < 0)
		return -1;
	return r->has_stack ? read_heap_add_part(r, &part, e) : 0;
}

/* ---- headers ---- */

/* Read "heap profile: 3: 300 [ 5: 500] @ TYPE/RATE"; TYPE is missing in very old files. */
static int
read_header(struct heap_reader *r, struct err *e)
{
	const char *at = r->l.line + strlen("heap profile:"), *end = r->l.line + r->l.len, *type;
	struct counts c;
	int64_t rate = 0;
	size_t len;

	if (!parse_counts(&at, end, &c))
		return lines_fail(
			&r->l, e, "it is not 'heap profile: COUNT: BYTES [COUNT: BYTES] @ TYPE'");
	r->has_allocated = c.n[2] || c.n[3] || !c.n[0];
	if (!parse_char(&at, end, '@'))
		return lines_fail(&r->l, e, "its type ('@ heapprofile') is missing");
	while (at < end && *at == ' ')
		at++;
	type = at;
	while (at < end && *at != '/')
		at++;
	len = (size_t)(at - type);
	if (at < end) {
		at++;
		if (!parse_number(&at, end, &rate) || rate < 0 || at < end)
			return lines_fail(&r->l, e, "its sampling rate is not a number");
	}
	if (len > 3 && memcmp(type + len - 3, "_v2", 3) == 0)
		r->rate = (double)rate;
	else if (len == 4 && memcmp(type, "heap", 4) == 0)
		r->rate = (double)rate /
			2; /* it has twice the mean (google/pprof, parseHeapHeader()) */
	else if (len != strlen("heapprofile") || memcmp(type, "heapprofile", len) != 0)
		return lines_fail(
			&r->l, e, "it is not a profile of type heapprofile, heap or heap_v2");
	r->p->format = "gperftools heap profile";
	r->p->period_bytes = rate ? (int64_t)r->rate : 0;
	return 0;
}

/* ---- symbols before the profile ---- */

/* Read "0x4011cf malloc_wrapper--caller" */
static int
read_symbol(struct heap_reader *r, struct err *e)
{
	const char *at = r->l.line, *end = at + r->l.len, *names;
	uint64_t key;

	if (lines_begins(&r->l, "binary="))
		return 0;
	if (!parse_hex(&at, end, &key) || at == end)
		return lines_fail(&r->l, e, "it is not 'ADDRESS FUNCTION'");
	at++;
	names = profile_string(r->p, at, (size_t)(end - at));
	__typeof__(r->symbols.v) symbol = names ? array_add(&r->symbols) : NULL;

	if (!symbol)
		return read_heap_no_memory(e);
	symbol->key = key;
	symbol->names = names;
	return 0;
}

static int
read_heap_by_key(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b; /* the first member */

	return (*x > *y) - (*x < *y);
}

/* Return the names of FRAME: jeprof looks callers up before their return address, a leaf at it. */
static const char *
symbols_of(const struct heap_reader *r, const struct profile_frame *frame)
{
	uint64_t keys[2] = { frame->address - 1, frame->address };

	for (size_t i = 0; i < 2 && r->symbols.nr; i++) {
		__typeof__(r->symbols.v) found = bsearch(&keys[i], r->symbols.v, r->symbols.nr,
			sizeof *r->symbols.v, read_heap_by_key);

		if (found)
			return found->names;
	}
	return NULL;
}

static int
read_heap_name_frames(struct heap_reader *r, struct err *e)
{
	if (r->symbols.nr)
		qsort(r->symbols.v, r->symbols.nr, sizeof *r->symbols.v, read_heap_by_key);
	for (size_t i = 0; r->symbols.nr && i < r->p->frames.nr; i++) {
		const char *names = symbols_of(r, &r->p->frames.v[i]);

		if (r->p->frames.v[i].nr_lines)
			continue;
		while (names && *names) {
			const char *stop = strstr(names, "--");
			size_t len = stop ? (size_t)(stop - names) : strlen(names);
			const char *name = profile_string(r->p, names, len);

			if (!name)
				return read_heap_no_memory(e);
			if (len && profile_add_line(r->p, (uint32_t)i, name, "", 0, e) < 0)
				return -1;
			names = stop ? stop + 2 : NULL;
		}
	}
	return 0;
}

/* ---- mappings ---- */

/* Read a line of /proc/PID/maps; other lines are skipped, as in all readers. */
static int
read_heap_read_mapping(struct heap_reader *r, struct err *e)
{
	const char *at = r->l.line, *end = at + r->l.len, *path;
	uint64_t start, stop, offset;
	int64_t inode;
	auto_free char *copy = NULL;
	bool is_executable;

	if (!parse_hex(&at, end, &start) || !parse_char(&at, end, '-') ||
		!parse_hex(&at, end, &stop) || start >= stop || end - at < 6)
		return 0;
	is_executable = at[3] == 'x';
	at += 5;
	if (!is_executable || !parse_hex(&at, end, &offset))
		return 0;
	while (at < end && *at == ' ')
		at++;
	while (at < end && *at != ' ') /* the device */
		at++;
	if (!parse_number(&at, end, &inode))
		return 0;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	path = at;
	copy = strndup(path, (size_t)(end - path));
	if (!copy)
		return read_heap_no_memory(e);
	return profile_add_mapping(r->p, start, stop, offset, copy, "", e);
}

/* ---- the file ---- */

/* Return whether the present line is the last one of a memdiag file, and was cut off. */
static bool
is_torn(const struct heap_reader *r)
{
	return r->notes.is_ours && !r->l.is_whole && r->l.at == r->l.end;
}

static bool
begins_mappings(const struct lines *l)
{
	return lines_begins(l, "MAPPED_LIBRARIES:") || lines_begins(l, "--- Memory map:");
}

/* Read one line between the header and the mappings. */
static int
read_body_line(struct heap_reader *r, struct err *e)
{
	if (lines_begins(&r->l, "#+"))
		return r->notes.is_ours ? read_detail(r, e) : 0;
	if (*r->l.line == '#')
		return heap_note(r->p, &r->notes, &r->l, e);
	if (r->is_threaded && *r->l.line == 't')
		return read_heap_read_thread(r, e);
	if (end_stack(r, e) < 0)
		return -1;
	r->whole = (struct counts){ 0 };
	r->has_whole = false;
	if (r->is_threaded && *r->l.line == '@')
		return read_heap_add_types(r, e) < 0 ? -1 : begin_stack(r, r->l.line + 1, e);
	return r->is_threaded
		? lines_fail(&r->l, e, "it is neither '@ ADDRESSES' nor 'tNUMBER: ...'")
		: read_heap_read_stack(r, e);
}

static int
read_body(struct heap_reader *r, bool *ret_has_mappings, struct err *e)
{
	*ret_has_mappings = false;
	while (!*ret_has_mappings && lines_next(&r->l)) {
		if (is_torn(r))
			break;
		if (begins_mappings(&r->l))
			*ret_has_mappings = true;
		else if (r->l.len && read_body_line(r, e) < 0)
			return r->l.is_whole ? -1
					     : err_hint(e, "The file ends there: it was cut off");
	}
	return end_stack(r, e) < 0 || read_heap_add_types(r, e) < 0 ? -1 : 0;
}

static int
read_heap_read_mappings(struct heap_reader *r, struct err *e)
{
	while (lines_next(&r->l)) {
		if (is_torn(r))
			break;
		if ((r->l.len && *r->l.line == '#' ? heap_note(r->p, &r->notes, &r->l, e)
						   : read_heap_read_mapping(r, e)) < 0)
			return -1;
	}
	return 0;
}

/* Read from "--- symbol" up to the profile itself. */
static int
read_heap_read_symbols(struct heap_reader *r, struct err *e)
{
	while (lines_next(&r->l)) {
		if (lines_begins(&r->l, "heap profile:") || lines_begins(&r->l, "heap_v2/"))
			return 0;
		/* "jeprof --raw" writes this. */
		if (lines_begins(&r->l, "--- profile"))
			return lines_fail(&r->l, e,
				"it continues with a binary profile; use the .heap file itself");
		if (r->l.len && !lines_begins(&r->l, "---") && read_symbol(r, e) < 0)
			return -1;
	}
	return lines_fail(&r->l, e, "it ends before the profile: it was cut off");
}

/* Read the header, and the lines that may precede it. */
static int
read_heap_read_head(struct heap_reader *r, struct err *e)
{
	do
		if (!lines_next(&r->l))
			return lines_fail(&r->l, e, "a header is missing");
	while (!r->l.len || *r->l.line == '%');
	if (lines_begins(&r->l, "--- symbol") && read_heap_read_symbols(r, e) < 0)
		return -1;
	if (lines_begins(&r->l, "heap profile:"))
		return read_header(r, e);
	if (lines_begins(&r->l, "heap_v2/")) {
		const char *at = r->l.line + strlen("heap_v2/"), *end = r->l.line + r->l.len;
		int64_t rate;

		if (!parse_number(&at, end, &rate) || rate < 0 || at < end)
			return lines_fail(&r->l, e, "its sampling rate is not a number");
		r->is_threaded = true;
		r->rate = (double)rate;
		r->p->format = "jemalloc heap_v2";
		r->p->period_bytes = rate;
		return 0;
	}
	return lines_fail(&r->l, e, "it does not begin as a heap profile does");
}

bool
heap_is_text(const char *data, size_t len)
{
	static const char *const begins[] = { "heap profile:", "heap_v2/", "--- symbol", "%" };

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (len >= strlen(begins[i]) && memcmp(data, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

int
heap_parse(struct profile *p, const char *name, const char *data, size_t len, struct err *e)
{
	auto_reader struct heap_reader r = {
		.p = p,
		.l = { .name = name, .at = data, .end = data + len },
	};
	bool has_mappings;

	if (read_heap_read_head(&r, e) < 0 || read_body(&r, &has_mappings, e) < 0 ||
		read_heap_read_mappings(&r, e) < 0 || read_heap_name_frames(&r, e) < 0)
		return -1;
	if (r.notes.is_ours) {
		int type = profile_find_type(p, "inuse_space");

		p->format = "memdiag heap profile";
		p->default_type = type < 0 ? 0 : (size_t)type;
	}
	if (r.notes.is_ours && !r.notes.has_end)
		profile_warn(p, true, "%s was cut off: %zu samples are whole and were kept", name,
			p->samples.nr);
	else if (!has_mappings)
		profile_warn(p, false, "%s has no list of mappings: addresses have no names", name);
	profile_find_mappings(p);
	return 0;
}

/*
 * Files of pprof: messages encoded by this test itself, at random by seeds, with ids of any size
 * and members in any
 * order, are read and compared with what was encoded; then written by memdiag, and read once more.
 * And files in which
 * something is missing are refused, each with its reason.
 *
 *	report-pprof [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "profile/pprof-write.h"
#include "profile/read.h"
#include "seeds.h"

#define MAX 24
#define MAX_TYPES 6
#define MAX_INLINED 3

static struct world {
	size_t nr_types, nr_mappings, nr_functions, nr_locations, nr_samples, nr_comments;
	size_t shown; /* a type; nr_types: none */
	bool has_period, is_period_of_bytes;
	int64_t period, time_ns;
	uint64_t mapping_id[MAX], function_id[MAX], location_id[MAX];
	struct location {
		size_t mapping_1; /* 0: none */
		uint64_t address;
		size_t nr_lines, function[MAX_INLINED];
		int64_t line[MAX_INLINED];
	} location[MAX];
	struct sample {
		size_t nr, location[MAX];
		int64_t value[MAX_TYPES], bytes, tid;
		bool has_thread;
	} sample[MAX];
} w;

/* ---- encoding: protobuf.dev, "Encoding" ---- */

struct bytes {
	unsigned char v[60000];
	size_t nr;
};

static struct bytes file;
static char strings[200][32]; /* the string table */
static size_t nr_strings;

static void
put_byte(struct bytes *b, unsigned int byte)
{
	if (b->nr == sizeof b->v)
		abort();
	b->v[b->nr++] = (unsigned char)byte;
}

static void
put_varint(struct bytes *b, uint64_t n)
{
	for (; n >= 128; n >>= 7)
		put_byte(b, (n & 127) | 128);
	put_byte(b, (unsigned int)n);
}

/* Zero is the default: it may be left out. */
static void
put_number(struct bytes *b, unsigned int field, uint64_t n)
{
	if (!n && some(2))
		return;
	put_varint(b, field << 3);
	put_varint(b, n);
}

static void
put_block(struct bytes *b, unsigned int field, const void *bytes, size_t nr)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, nr);
	for (size_t i = 0; i < nr; i++)
		put_byte(b, ((const unsigned char *)bytes)[i]);
}

/* Numbers may be in one block, or each by itself. */
static void
put_numbers(struct bytes *b, unsigned int field, const uint64_t *n, size_t nr)
{
	static struct bytes packed;

	packed.nr = 0;
	if (some(2)) {
		for (size_t i = 0; i < nr; i++)
			put_varint(&packed, n[i]);
		put_block(b, field, packed.v, packed.nr);
		return;
	}
	for (size_t i = 0; i < nr; i++) {
		put_varint(b, field << 3);
		put_varint(b, n[i]);
	}
}

/* A member that this memdiag does not know. */
static void
put_unknown(struct bytes *b)
{
	if (some(4) == 0)
		put_block(b, 100, "later", 5);
	if (some(4) == 0)
		put_number(b, 101, some(1000));
}

/* BEGIN and the number I; NONE: BEGIN alone. */
#define NONE SIZE_MAX
static void
make_text(char text[32], const char *begin, size_t i)
{
	if (i == NONE)
		snprintf(text, 32, "%s", begin);
	else
		snprintf(text, 32, "%s%zu", begin, i);
}

/* The number of that text in the table. */
static uint64_t
string(const char *begin, size_t i)
{
	char text[32] = "";
	size_t at = 0;

	make_text(text, begin, i);
	while (at < nr_strings && strcmp(strings[at], text) != 0)
		at++;
	if (at == nr_strings)
		memcpy(strings[nr_strings++], text, sizeof text);
	return at;
}

/* ---- a profile ---- */

/* Numbers of any size, each another one: the last digits are those of I. */
static uint64_t
some_id(size_t i)
{
	return (some(UINT64_C(1) << 20) << some(30)) * 100 + i + 1;
}

static void
some_locations(void)
{
	for (size_t i = 0; i < w.nr_locations; i++) {
		struct location *l = &w.location[i];

		w.location_id[i] = some_id(i);
		l->mapping_1 = some(w.nr_mappings + 1);
		l->address = some(UINT64_C(1) << 40) << some(20);
		l->nr_lines = w.nr_functions ? some(MAX_INLINED + 1) : 0;
		for (size_t k = 0; k < l->nr_lines; k++) {
			l->function[k] = some(w.nr_functions);
			l->line[k] = (int64_t)some(5000);
		}
	}
}

static void
some_samples(void)
{
	for (size_t i = 0; i < w.nr_samples; i++) {
		struct sample *s = &w.sample[i];

		s->nr = w.nr_locations ? some(MAX) : 0;
		for (size_t k = 0; k < s->nr; k++)
			s->location[k] = some(w.nr_locations);
		for (size_t k = 0; k < w.nr_types; k++)
			s->value[k] = (int64_t)some(UINT64_C(1) << 30) << some(20);
		s->bytes = some(2) ? (int64_t)some(100000) : 0;
		s->tid = some(2) ? (int64_t)some(100000) : 0;
		s->has_thread = some(2);
	}
}

static void
some_world(void)
{
	memset(&w, 0, sizeof w);
	w.nr_types = 1 + some(MAX_TYPES);
	w.nr_mappings = some(MAX);
	w.nr_functions = some(MAX);
	w.nr_locations = some(MAX);
	w.nr_samples = some(MAX);
	w.nr_comments = some(4);
	w.shown = some(w.nr_types + 1);
	w.has_period = some(2);
	w.is_period_of_bytes = some(2);
	w.period = 1 + (int64_t)some(1 << 20);
	w.time_ns = (int64_t)some(UINT64_C(1) << 31) << 30;
	for (size_t i = 0; i < w.nr_mappings; i++)
		w.mapping_id[i] = some_id(i);
	for (size_t i = 0; i < w.nr_functions; i++)
		w.function_id[i] = some_id(i);
	some_locations();
	some_samples();
}

/* ---- as it is in the file ---- */

static void
put_types(void)
{
	struct bytes m = { .nr = 0 };

	for (size_t i = 0; i < w.nr_types; i++) {
		m.nr = 0;
		put_number(&m, 1, string("type_", i));
		put_number(&m, 2, string(i % 2 ? "bytes" : "count", NONE));
		put_block(&file, 1, m.v, m.nr);
	}
}

static void
put_mappings(void)
{
	struct bytes m = { .nr = 0 };

	for (size_t i = 0; i < w.nr_mappings; i++) {
		m.nr = 0;
		put_unknown(&m);
		put_number(&m, 3, (i + 1) << 21);
		put_number(&m, 2, (i + 1) << 20);
		put_number(&m, 1, w.mapping_id[i]);
		put_number(&m, 4, i << 12);
		put_number(&m, 5, string("/lib/lib", i));
		put_number(&m, 6, string("id", i));
		put_block(&file, 3, m.v, m.nr);
	}
}

static void
put_functions(void)
{
	struct bytes m = { .nr = 0 };

	for (size_t i = 0; i < w.nr_functions; i++) {
		m.nr = 0;
		put_number(&m, 1, w.function_id[i]);
		/* Without a name it has that of the linker. */
		if (i % 3)
			put_number(&m, 2, string("function_", i));
		put_number(&m, 3, string(i % 3 ? "mangled_" : "function_", i));
		put_number(&m, 4, string("/src/", i / 2));
		put_number(&m, 5, 17);
		put_block(&file, 5, m.v, m.nr);
	}
}

static void
put_locations(void)
{
	struct bytes m = { .nr = 0 }, line = { .nr = 0 };

	for (size_t i = 0; i < w.nr_locations; i++) {
		const struct location *l = &w.location[i];

		m.nr = 0;
		put_number(&m, 1, w.location_id[i]);
		if (l->mapping_1)
			put_number(&m, 2, w.mapping_id[l->mapping_1 - 1]);
		put_number(&m, 3, l->address);
		for (size_t k = 0; k < l->nr_lines; k++) {
			line.nr = 0;
			put_number(&line, 2, (uint64_t)l->line[k]);
			put_number(&line, 1, w.function_id[l->function[k]]);
			put_block(&m, 4, line.v, line.nr);
		}
		put_unknown(&m);
		put_block(&file, 4, m.v, m.nr);
	}
}

static void
put_label(struct bytes *to, const char *key, uint64_t text, int64_t number)
{
	struct bytes m = { .nr = 0 };

	put_number(&m, 1, string(key, NONE));
	put_number(&m, 2, text);
	put_number(&m, 3, (uint64_t)number);
	put_block(to, 3, m.v, m.nr);
}

static void
put_samples(void)
{
	struct bytes m = { .nr = 0 };
	uint64_t id[MAX];

	for (size_t i = 0; i < w.nr_samples; i++) {
		const struct sample *s = &w.sample[i];

		m.nr = 0;
		for (size_t k = 0; k < s->nr; k++)
			id[k] = w.location_id[s->location[k]];
		put_numbers(&m, 1, id, s->nr);
		put_numbers(&m, 2, (const uint64_t *)s->value, w.nr_types);
		put_label(&m, "colour", string("red", NONE), 0);
		if (s->bytes)
			put_label(&m, "bytes", 0, s->bytes);
		if (s->has_thread)
			put_label(&m, "thread", string("thread_", i % 5), 0);
		if (s->tid)
			put_label(&m, i % 2 ? "tid" : "thread_id", 0, s->tid);
		put_block(&file, 2, m.v, m.nr);
	}
}

static void
put_rest(void)
{
	struct bytes m = { .nr = 0 };
	uint64_t comment[4];

	for (size_t i = 0; i < w.nr_comments; i++)
		comment[i] = string("comment ", i);
	put_numbers(&file, 13, comment, w.nr_comments);
	if (w.shown < w.nr_types)
		put_number(&file, 14, string("type_", w.shown));
	put_number(&m, 1, string("space", NONE));
	put_number(&m, 2, string(w.is_period_of_bytes ? "bytes" : "count", NONE));
	if (w.has_period) {
		put_block(&file, 11, m.v, m.nr);
		put_number(&file, 12, (uint64_t)w.period);
	}
	put_number(&file, 9, (uint64_t)w.time_ns);
	put_unknown(&file);
}

/* Members of a message may be in any order. */
static void
encode(void)
{
	static void (*const parts[])(void) = { put_types, put_mappings, put_functions,
		put_locations, put_samples, put_rest };
	const size_t nr = sizeof parts / sizeof *parts, first = some(nr);

	file.nr = nr_strings = 0;
	string("", NONE);
	for (size_t i = 0; i < nr; i++)
		parts[(first + i) % nr]();
	for (size_t i = 0; i < nr_strings; i++)
		put_block(&file, 6, strings[i], strlen(strings[i]));
}

/* ---- what is read ---- */

static bool
is_text(const char *got, const char *begin, size_t i)
{
	char want[32];

	make_text(want, begin, i);
	return strcmp(got, want) == 0;
}

/* Mappings of a file that memdiag has written may be in another order: the program is the first. */
static bool
is_mapping(const struct profile_mapping *m, size_t i)
{
	return m->start == (i + 1) << 20 && m->end == (i + 1) << 21 && m->offset_bytes == i << 12 &&
		is_text(m->path, "/lib/lib", i) && is_text(m->build_id, "id", i);
}

static bool
check_location(const struct profile *p, size_t i)
{
	const struct profile_frame *f = &p->frames.v[i];
	const struct location *l = &w.location[i];

	if (f->address != l->address || !f->is_exact || f->nr_lines != l->nr_lines)
		return FAIL("location %zu is at %#" PRIx64 ", not %#" PRIx64, i, f->address,
			l->address);
	if (l->mapping_1 ? !f->mapping_1 ||
				!is_mapping(&p->mappings.v[f->mapping_1 - 1], l->mapping_1 - 1)
			 : f->mapping_1 != 0)
		return FAIL("location %zu is in mapping %u", i, f->mapping_1);
	for (size_t k = 0; k < l->nr_lines; k++) {
		const struct profile_line *line = &p->lines.v[f->first_line + k];
		const struct profile_function *fn = &p->functions.v[line->function];

		if (line->line != l->line[k] || !is_text(fn->name, "function_", l->function[k]) ||
			!is_text(fn->file, "/src/", l->function[k] / 2))
			return FAIL("location %zu is %s, line %u", i, fn->name, line->line);
	}
	return true;
}

static bool
check_sample(const struct profile *p, size_t i)
{
	const struct sample *s = &w.sample[i];
	const struct profile_sample *got = &p->samples.v[i];
	const struct profile_stack *stack = &p->stacks.v[got->stack];
	const struct profile_thread *t = got->thread_1 ? &p->threads.v[got->thread_1 - 1] : NULL;

	if (memcmp(profile_values(p, i), s->value, w.nr_types * sizeof *s->value) != 0)
		return FAIL("the values of sample %zu", i);
	if (got->size_bytes != (uint64_t)s->bytes)
		return FAIL("sample %zu has blocks of %" PRIu64, i, got->size_bytes);
	if (!!t != (s->has_thread || s->tid) || (t && t->tid != s->tid) ||
		(t && !(s->has_thread ? is_text(t->name, "thread_", i % 5) : !*t->name)))
		return FAIL("sample %zu is of thread %s", i, t ? t->name : "none");
	for (size_t k = 0; k < s->nr && k < stack->nr; k++)
		if (p->stack_frames.v[stack->first + k] != s->location[k])
			return FAIL("frame %zu of sample %zu", k, i);
	return stack->nr == s->nr || FAIL("sample %zu has %u frames", i, stack->nr);
}

static bool
check(const struct profile *p)
{
	const size_t shown = w.shown < w.nr_types ? w.shown : w.nr_types - 1;

	if (p->types.nr != w.nr_types || p->mappings.nr != w.nr_mappings ||
		p->frames.nr != w.nr_locations || p->samples.nr != w.nr_samples ||
		p->comments.nr != w.nr_comments)
		return FAIL("%zu types, %zu mappings, %zu frames, %zu samples, %zu comments",
			p->types.nr, p->mappings.nr, p->frames.nr, p->samples.nr, p->comments.nr);
	for (size_t i = 0; i < w.nr_types; i++)
		if (!is_text(p->types.v[i].name, "type_", i) ||
			profile_is_bytes(&p->types.v[i]) != (i % 2 == 1))
			return FAIL("type %zu is %s", i, p->types.v[i].name);
	if (p->default_type != shown)
		return FAIL("type %zu is shown first", p->default_type);
	if (p->period_bytes != (w.has_period && w.is_period_of_bytes ? w.period : 0))
		return FAIL("the period is %" PRId64, p->period_bytes);
	if (p->time_ns != (uint64_t)w.time_ns)
		return FAIL("the time is %" PRIu64, p->time_ns);
	for (size_t i = 0; i < w.nr_comments; i++)
		if (!is_text(p->comments.v[i], "comment ", i))
			return FAIL("comment %zu is '%s'", i, p->comments.v[i]);
	for (size_t i = 0; i < w.nr_locations; i++)
		if (!check_location(p, i))
			return false;
	for (size_t i = 0; i < w.nr_samples; i++)
		if (!check_sample(p, i))
			return false;
	return true;
}

/* Write P, and read that: it is compressed. */
static bool
check_written(const struct profile *p)
{
	auto_profile struct profile *again = NULL;
	auto_free char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct err e = { 0 };

	if (pprof_write(p, f, &e) < 0 || fclose(f) != 0)
		return FAIL("it is written: %s", e.msg);
	if (memcmp(text, "\x1f\x8b", 2) != 0)
		return FAIL("it is not compressed");
	if (profile_parse(&again, "it", text, len, &e) < 0)
		return FAIL("it is read again: %s", e.msg);
	w.shown = p->default_type;
	if (check(again))
		return true;
	memmove(why + 9, why, sizeof why - 9);
	memcpy(why, "written: ", 9);
	return false;
}

static bool
try(void)
{
	auto_profile struct profile *p = NULL;
	struct err e = { 0 };

	some_world();
	encode();
	if (profile_parse(&p, "it", (char *)file.v, file.nr, &e) < 0)
		return FAIL("%s", e.msg);
	return check(p) && check_written(p);
}

/* ---- files that are not read ---- */

/* Encode the world, and see that it is refused with SAYS. */
static void
is_refused(const char *says, const char *name)
{
	auto_profile struct profile *p = NULL;
	struct err e = { 0 };

	encode();
	if (!ok(profile_parse(&p, "it", (char *)file.v, file.nr, &e) < 0 && strstr(e.msg, says),
		    "refused: %s", name))
		printf("#   got '%s', want '%s'\n", e.msg, says);
}

/* One of everything. */
static void
plain_world(void)
{
	memset(&w, 0, sizeof w);
	w.nr_types = w.nr_mappings = w.nr_functions = w.nr_locations = w.nr_samples = 1;
	w.mapping_id[0] = w.function_id[0] = w.location_id[0] = 5;
	w.location[0] = (struct location){ .mapping_1 = 1, .nr_lines = 1 };
	w.sample[0].nr = 1;
}

static void
test_refused(void)
{
	plain_world();
	w.nr_types = 0;
	is_refused("no types", "a file without types");
	plain_world();
	w.location_id[0] = 0;
	is_refused("location number 0 has no id", "a location without an id");
	plain_world();
	w.nr_mappings = 2;
	w.mapping_id[1] = 5;
	is_refused("mapping number 1 has the id of another", "two mappings with one id");
	plain_world();
	w.location[0].mapping_1 = 2; /* id 0, but that is written */
	w.mapping_id[1] = 6;
	is_refused("in a mapping that is missing", "a location in a mapping that is missing");
	plain_world();
	w.location[0].function[0] = 1;
	w.function_id[1] = 6;
	is_refused("a function that is missing", "a location with a function that is missing");
	plain_world();
	w.sample[0].location[0] = 1;
	w.location_id[1] = 6;
	is_refused("a location that is missing", "a sample with a location that is missing");
}

/* A file that is cut off is refused, or, at the end of a member, has fewer samples. */
static void
test_cut(void)
{
	size_t nr_more = 0;
	struct err e;

	plain_world();
	encode();
	for (size_t len = 1; len < file.nr; len++) {
		auto_profile struct profile *p = NULL;
		char *copy = malloc(len); /* so that a sanitizer sees its end */

		memcpy(copy, file.v, len);
		nr_more += profile_parse(&p, "it", copy, len, &e) == 0 && p->samples.nr > 1;
		free(copy);
	}
	is_u64(nr_more, 0,
		"a file that is cut off anywhere has no more samples than the whole one");
}

int
main(int argc, char **argv)
{
	seeds_try(seeds_of(argc, argv, 600), try, "files of pprof are read as they were encoded");
	test_refused();
	test_cut();
	return tap_end();
}

/*
 * memdiag's own .heap files: text that this test writes at random, by seeds, with names of any
 * bytes, is read and compared
 * with what was written; then written by memdiag, and read once more.  A file that is cut off
 * anywhere has the samples
 * before that, and says that it is not whole.
 *
 *	report-notes [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include "base/cleanup.h"
#include "profile/read.h"
#include "profile/write-heap.h"
#include "put.h"
#include "seeds.h"

#define MAX_STACKS 12
#define MAX_DEPTH 6
#define MAX_SAMPLES 4 /* of a stack */
#define MAX_THREADS 5
#define MAX_TYPES 6
#define MAX_NAME 24
#define CODE UINT64_C(0x500000) /* no file is mapped there: these have names */

static const char *const types[MAX_TYPES] = { "inuse_objects", "inuse_space", "alloc_objects",
	"alloc_space", "peak_objects", "peak_space" };

static struct world {
	size_t nr_types, nr_threads, nr_stacks, nr_comments;
	int64_t period, pid, time_ns;
	char comment[3][MAX_NAME], thread[MAX_THREADS][MAX_NAME];
	int64_t tid[MAX_THREADS];
	struct stack {
		size_t nr, nr_samples;
		uint64_t address[MAX_DEPTH];
		char name[MAX_NAME], file[MAX_NAME]; /* of the first address */
		uint32_t line;
		struct sample {
			size_t thread_1;
			uint64_t size_bytes;
			int64_t value[MAX_TYPES];
		} sample[MAX_SAMPLES];
	} stack[MAX_STACKS];
} w;

/* Bytes below 32, and those that are no UTF-8, are octal; a backslash is two. */
static void
put_name(const char *name)
{
	for (; *name; name++)
		if (*name == '\\')
			put("\\\\");
		else if (*name < 32 || *name == 127)
			put("\\%03o", (unsigned char)*name);
		else
			put("%c", *name);
}

/* ---- a profile ---- */

/* Names of any bytes; spaces only within them, as those at the end of a line do not count. */
static void
some_name(char name[MAX_NAME])
{
	static const char odd[] = "\\\t\n ;:/\"'<&\x01\x7f\xff\xc3";
	const size_t nr = 1 + some(MAX_NAME - 2);

	for (size_t i = 0; i < nr; i++)
		name[i] = (char)(some(3) || i == 0 || i + 1 == nr ? 'a' + (int)some(26)
								  : odd[some(sizeof odd - 1)]);
	name[nr] = '\0';
}

static void
some_stack(struct stack *s, size_t number)
{
	s->nr = 1 + some(MAX_DEPTH);
	s->address[0] = CODE + number;
	for (size_t i = 1; i < s->nr; i++)
		s->address[i] = 0x400001 + some(0xfff);
	some_name(s->name);
	some_name(s->file);
	s->line = (uint32_t)some(10000);
	s->nr_samples = 1 + some(MAX_SAMPLES);
	for (size_t i = 0; i < s->nr_samples; i++) {
		s->sample[i].thread_1 = some(w.nr_threads + 1);
		s->sample[i].size_bytes = some(3) ? 16 * some(100) : 0;
		for (size_t k = 0; k < w.nr_types; k += 2) {
			s->sample[i].value[k] = 1 + (int64_t)some(1000);
			s->sample[i].value[k + 1] = (int64_t)some(UINT64_C(1) << 31);
		}
	}
}

static void
some_world(void)
{
	memset(&w, 0, sizeof w);
	w.nr_types = 2 * (1 + some(MAX_TYPES / 2));
	w.nr_threads = some(MAX_THREADS);
	w.nr_stacks = 1 + some(MAX_STACKS);
	w.nr_comments = some(4);
	w.period = some(2) ? 1 + (int64_t)some(1 << 20) : 0;
	w.pid = some(2) ? 1 + (int64_t)some(100000) : 0;
	w.time_ns = some(2) ? 1 + (int64_t)some(1 << 30) : 0;
	for (size_t i = 0; i < w.nr_comments; i++)
		some_name(w.comment[i]);
	for (size_t i = 0; i < w.nr_threads; i++) {
		some_name(w.thread[i]);
		w.tid[i] = (int64_t)(1000 * i + some(1000));
	}
	for (size_t i = 0; i < w.nr_stacks; i++)
		some_stack(&w.stack[i], i);
}

/* ---- as it is in the file ---- */

static void
put_head(void)
{
	put("heap profile: 1: 2 [ 3: 4] @ heapprofile\n# memdiag heap 1\n# values");
	for (size_t i = 0; i < w.nr_types; i++)
		put(" %s/%s", types[i], i % 2 ? "bytes" : "count");
	put("\n# later something that is not known yet\n");
	if (w.period)
		put("# period %" PRId64 "\n", w.period);
	if (w.pid)
		put("# pid %" PRId64 "\n", w.pid);
	if (w.time_ns)
		put("# time %" PRId64 "\n", w.time_ns);
	for (size_t i = 0; i < w.nr_comments; i++) {
		put("# comment ");
		put_name(w.comment[i]);
		put("\n");
	}
	for (size_t i = 0; i < w.nr_threads; i++) {
		put("# thread %" PRId64 " ", w.tid[i]);
		put_name(w.thread[i]);
		put("\n");
	}
}

/* The four numbers are what other readers take: the sums of the samples. */
static void
put_stack(const struct stack *s)
{
	int64_t sum[4] = { 0 };

	for (size_t i = 0; i < s->nr_samples; i++)
		for (size_t k = 0; k < 4; k++)
			sum[k] += s->sample[i].value[w.nr_types == 2 ? k % 2 : k];
	put("  %" PRId64 ": %" PRId64 " [ %" PRId64 ": %" PRId64 "] @", sum[0], sum[1], sum[2],
		sum[3]);
	for (size_t i = 0; i < s->nr; i++)
		put(" 0x%" PRIx64, s->address[i]);
	put("\n");
	for (size_t i = 0; i < s->nr_samples; i++) {
		put("#+ %zu %" PRIu64, s->sample[i].thread_1, s->sample[i].size_bytes);
		for (size_t k = 0; k < w.nr_types; k++)
			put(" %" PRId64, s->sample[i].value[k]);
		put("\n");
	}
}

static void
put_end(void)
{
	put("\nMAPPED_LIBRARIES:\n00400000-00401000 r-xp 00002000 00:00 0    /bin/it\n"
	    "# build-id 0x400000 00ff\n");
	for (size_t i = 0; i < w.nr_stacks; i++) {
		put("# name 0x%" PRIx64 " %u\t", w.stack[i].address[0], w.stack[i].line);
		put_name(w.stack[i].file);
		put("\t");
		put_name(w.stack[i].name);
		put("\n");
	}
	put("# end\n");
}

/* Returns the bytes before the mappings. */
static size_t
encode(void)
{
	size_t before;

	len = 0;
	put_head();
	for (size_t i = 0; i < w.nr_stacks; i++)
		put_stack(&w.stack[i]);
	before = len;
	put_end();
	return before;
}

/* ---- what is read ---- */

static bool
is_stack(const struct profile *p, const struct profile_stack *got, const struct stack *s)
{
	bool is_it = got->nr == s->nr;

	for (size_t k = 0; is_it && k < s->nr; k++)
		is_it = p->frames.v[p->stack_frames.v[got->first + k]].address == s->address[k];
	return is_it;
}

static bool
check_sample(const struct profile *p, size_t i, const struct stack *s, const struct sample *want)
{
	const struct profile_sample *got = &p->samples.v[i];
	const struct profile_thread *t = got->thread_1 ? &p->threads.v[got->thread_1 - 1] : NULL;

	if (!is_stack(p, &p->stacks.v[got->stack], s))
		return FAIL("sample %zu has another stack", i);
	if (got->size_bytes != want->size_bytes)
		return FAIL("sample %zu has %" PRIu64 " bytes", i, got->size_bytes);
	if (memcmp(profile_values(p, i), want->value, w.nr_types * sizeof want->value[0]) != 0)
		return FAIL("the values of sample %zu", i);
	if (!!t != !!want->thread_1 ||
		(t &&
			(t->tid != w.tid[want->thread_1 - 1] ||
				strcmp(t->name, w.thread[want->thread_1 - 1]) != 0)))
		return FAIL("sample %zu is of thread '%s'", i, t ? t->name : "none");
	return true;
}

/* The first NR samples are those of the file. */
static bool
check_samples(const struct profile *p, size_t nr)
{
	size_t i = 0;

	for (size_t n = 0; n < w.nr_stacks; n++)
		for (size_t k = 0; k < w.stack[n].nr_samples && i < nr; k++)
			if (!check_sample(p, i++, &w.stack[n], &w.stack[n].sample[k]))
				return false;
	return i == nr || FAIL("there are %zu samples, not %zu", nr, i);
}

static bool
check_name(const struct profile *p, const struct stack *s)
{
	for (size_t i = 0; i < p->frames.nr; i++) {
		const struct profile_frame *f = &p->frames.v[i];
		const struct profile_line *l = &p->lines.v[f->first_line];

		if (f->address != s->address[0])
			continue;
		return f->nr_lines == 1 && l->line == s->line && !f->mapping_1 &&
			strcmp(p->functions.v[l->function].name, s->name) == 0 &&
			strcmp(p->functions.v[l->function].file, s->file) == 0;
	}
	return false;
}

static bool
check(const struct profile *p)
{
	size_t nr = 0;

	for (size_t i = 0; i < w.nr_stacks; i++) {
		nr += w.stack[i].nr_samples;
		if (!check_name(p, &w.stack[i]))
			return FAIL("stack %zu is not named '%s'", i, w.stack[i].name);
	}
	if (p->is_partial || p->samples.nr != nr)
		return FAIL("it has %zu samples, not %zu", p->samples.nr, nr);
	if (p->period_bytes != w.period || p->pid != w.pid || p->time_ns != (uint64_t)w.time_ns)
		return FAIL("period %" PRId64 ", pid %" PRId64 ", time %" PRIu64, p->period_bytes,
			p->pid, p->time_ns);
	if (p->types.nr != w.nr_types || p->default_type != 1 ||
		strcmp(p->format, "memdiag heap profile") != 0)
		return FAIL("it has %zu types, shows number %zu, and is a %s", p->types.nr,
			p->default_type, p->format);
	for (size_t i = 0; i < w.nr_types; i++)
		if (strcmp(p->types.v[i].name, types[i]) != 0 ||
			profile_is_bytes(&p->types.v[i]) != (i % 2 == 1))
			return FAIL("type %zu is %s", i, p->types.v[i].name);
	if (p->comments.nr != w.nr_comments)
		return FAIL("it has %zu comments", p->comments.nr);
	for (size_t i = 0; i < w.nr_comments; i++)
		if (strcmp(p->comments.v[i], w.comment[i]) != 0)
			return FAIL("comment %zu is '%s'", i, p->comments.v[i]);
	if (p->mappings.nr != 1 || strcmp(p->mappings.v[0].build_id, "00ff") != 0)
		return FAIL("it has %zu mappings", p->mappings.nr);
	return check_samples(p, nr);
}

static bool
check_written(const struct profile *p)
{
	auto_profile struct profile *again = NULL;
	auto_free char *written = NULL;
	size_t nr;
	FILE *f = open_memstream(&written, &nr);
	struct err e = { 0 };

	if (heap_write(p, f, some(2), &e) < 0 || fclose(f) != 0)
		return FAIL("it is written: %s", e.msg);
	if (profile_parse(&again, "it", written, nr, &e) < 0)
		return FAIL("it is read again: %s", e.msg);
	if (check(again))
		return true;
	memmove(why + 9, why, sizeof why - 9);
	memcpy(why, "written: ", 9);
	why[sizeof why - 1] = '\0';
	return false;
}

/* The last sample where only its stack's line is whole: what that says, of nobody in particular. */
static bool
check_last(const struct profile *p)
{
	const size_t i = p->samples.nr - 1;
	const struct sample *want = &w.stack[i].sample[0];
	const struct profile_sample *got = &p->samples.v[i];

	if (got->thread_1 || got->size_bytes)
		return check_sample(p, i, &w.stack[i], want);
	if (!is_stack(p, &p->stacks.v[got->stack], &w.stack[i]))
		return FAIL("the last sample has another stack");
	for (size_t k = 0; k < w.nr_types && k < 4; k++)
		if (profile_values(p, i)[k] != want->value[k])
			return FAIL("value %zu of the last sample", k);
	return true;
}

/* The first NR bytes of the file, which are not all of it; each stack has one sample. */
static bool
check_cut(size_t nr)
{
	auto_profile struct profile *p = NULL;
	auto_free char *copy = malloc(nr + 1); /* so that a sanitizer sees its end */
	const size_t head = (size_t)(strstr(text, "# values") - text);
	size_t nr_stacks = 0;
	struct err e = { 0 };

	memcpy(copy, text, nr);
	copy[nr] = '\0';
	if (profile_parse(&p, "it", copy, nr, &e) < 0)
		return nr < head || FAIL("cut at %zu: %s", nr, e.msg);
	if (nr < head)
		return true;
	if (!p->is_partial)
		return FAIL("cut at %zu: it is whole", nr);
	/* A line is whole when it has ended. */
	for (const char *at = copy; (at = strstr(at, "] @")) && strchr(at, '\n'); at++)
		nr_stacks++;
	if (p->samples.nr != (nr_stacks ? nr_stacks - 1 : 0))
		return FAIL("cut at %zu: %zu samples of %zu stacks", nr, p->samples.nr, nr_stacks);
	return !p->samples.nr || (check_samples(p, p->samples.nr - 1) && check_last(p));
}

static bool
try(void)
{
	auto_profile struct profile *p = NULL;
	struct err e = { 0 };

	some_world();
	encode();
	if (profile_parse(&p, "it", text, len, &e) < 0)
		return FAIL("%s", e.msg);
	return check(p) && check_written(p);
}

static bool
try_cut(void)
{
	some_world();
	for (size_t i = 0; i < w.nr_stacks; i++)
		w.stack[i].nr_samples = 1;
	encode();
	for (size_t i = 0; i < 30; i++)
		if (!check_cut(some(len - 1)))
			return false;
	return true;
}

int
main(int argc, char **argv)
{
	const struct seeds s = seeds_of(argc, argv, 600);

	seeds_try(s, try, "memdiag's .heap files are read as they were written");
	seeds_try(s, try_cut, "a .heap file that is cut off has the samples before that");
	return tap_end();
}

/*
 * A redacted copy of random profiles, by seeds: it has none of the names, and the same samples. The
 * oracle knows each name by its number, and wants one new name for each.
 *
 *	profile-redact [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include "base/cleanup.h"
#include "profile/redact.h"
#include "report/calls.h"
#include "seeds.h"

#define NR_FUNCTIONS 14
#define NR_PUBLIC 2 /* the last ones, whose names stay */
#define NR_FILES 5
#define NR_OBJECTS 7
#define NR_FRAMES 40
#define NR_THREADS 5
#define MAX_DEPTH 8

static const char *const functions[NR_FUNCTIONS] = { "main", "secret_one", "Secret::buy(int)",
	"secret;three", "std::secret<secret>", "xmalloc", "g_malloc", "je_secret", "mi_secret",
	"_PySecret", "<module>", "secret", "malloc", "operator new" };
static const char *const files[NR_FILES] = { "", "/home/secret/one.c", "/home/secret/two.py",
	"<secret>", "/srv/secret/one.c" };
static const char *const objects[NR_OBJECTS] = { "/srv/secret/program", "/usr/lib/libc.so.6",
	"/opt/secret/libcrypto.so.3", "/opt/secret/libjemalloc.so.2", "/usr/bin/python3.11",
	"/usr/lib/python3/lib-dynload/secret.so", "[secret]" };
static const char *const threads[NR_THREADS] = { "", "secret-0", "secret-1", "", "secret-1" };

struct world {
	struct frame {
		size_t object_1, nr, function[3], file[3];
		uint32_t line[3];
		uint64_t address;
	} frame[NR_FRAMES];
	size_t nr_samples;
};

/* ---- a profile ---- */

static void
add_some_frame(struct profile *p, struct frame *f)
{
	uint32_t frame;
	struct err e;

	f->object_1 = some(NR_OBJECTS + 1);
	f->nr = some(4);
	f->address = (f->object_1 << 20) + 0x1000 + some(8);
	if (profile_add_frame(p, f->address, some(2), (uint32_t)f->object_1, &frame, &e) < 0)
		abort();
	for (size_t i = 0; i < f->nr; i++) {
		f->function[i] = some(NR_FUNCTIONS);
		f->file[i] = some(NR_FILES);
		f->line[i] = (uint32_t)some(3);
		if (profile_add_line(p, frame, functions[f->function[i]], files[f->file[i]],
			    f->line[i], &e) < 0)
			abort();
	}
}

static void
add_some_sample(struct profile *p)
{
	struct profile_sample s = { .size_bytes = 16 * some(4) };
	uint32_t frames[MAX_DEPTH];
	size_t nr = some(MAX_DEPTH + 1);
	int64_t values[4];
	struct err e;

	for (size_t i = 0; i < nr; i++)
		frames[i] = (uint32_t)some(NR_FRAMES);
	for (size_t i = 0; i < 4; i++)
		values[i] = (int64_t)some(2000) - 500;
	s.thread_1 = (uint32_t)some(NR_THREADS + 1);
	if (profile_stack(p, frames, nr, &s.stack, &e) < 0 ||
		profile_add_sample(p, s, values, &e) < 0)
		abort();
}

static struct profile *
some_profile(struct world *w)
{
	struct profile *p = profile_new();
	uint32_t thread;
	struct err e;

	if (!p || profile_add_usual_types(p, &e) < 0)
		abort();
	for (size_t i = 0; i < NR_OBJECTS; i++)
		if (profile_add_mapping(p, (i + 1) << 20, (i + 2) << 20, i << 12, objects[i],
			    i % 2 ? "" : "5ec2e75ec2e7", &e) < 0)
			abort();
	for (size_t i = 0; i < NR_FRAMES; i++)
		add_some_frame(p, &w->frame[i]);
	for (size_t i = 0; i < NR_THREADS; i++)
		if (profile_thread(p, i < 3 ? (int64_t)(4711 + i) : 0, threads[i], &thread, &e) < 0)
			abort();
	w->nr_samples = some(60);
	for (size_t i = 0; i < w->nr_samples; i++)
		add_some_sample(p);
	if (profile_comment(p, "made on the host secret", &e) < 0)
		abort();
	profile_warn(p, true, "a warning with a secret");
	p->pid = 4711;
	p->time_ns = 1795000000000000000;
	p->period_bytes = 524288;
	return p;
}

static struct text
key_of(const char *text)
{
	return (struct text){ .v = (char *)(uintptr_t)text, .len = strlen(text) };
}

static struct profile *
redacted(const struct profile *p, const char *key, const char *keep)
{
	const struct redact_options o = { .keep = keep, .key = key_of(key) };
	struct profile *ret;
	struct err e;

	if (redact_profile(&ret, p, &o, &e) < 0)
		abort();
	return ret;
}

#define KEY "sixteen or more bytes"

/* ---- what must not be left ---- */

static bool
is_clean(const char *s)
{
	static const char *const secrets[] = { "ecre", "main", "program", "one", "two", "home",
		"module", "crypto", "alloc.so", "5ec2e75ec2e7", "xmalloc", "g_malloc", "host",
		"/usr", "libc" };

	for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
		if (strstr(s, secrets[i]))
			return FAIL("'%s' is left in '%s'", secrets[i], s);
	return true;
}

static bool
has_no_names(const struct profile *p)
{
	for (size_t i = 0; i < p->functions.nr; i++)
		if (!is_clean(p->functions.v[i].name) || !is_clean(p->functions.v[i].file))
			return false;
	for (size_t i = 0; i < p->mappings.nr; i++)
		if (!is_clean(p->mappings.v[i].path) || !is_clean(p->mappings.v[i].build_id))
			return false;
	for (size_t i = 0; i < p->threads.nr; i++)
		if (!is_clean(p->threads.v[i].name) || p->threads.v[i].tid > NR_THREADS)
			return FAIL("thread %zu has its name or TID", i);
	for (size_t i = 0; i < p->comments.nr; i++)
		if (!is_clean(p->comments.v[i]))
			return false;
	for (size_t i = 0; i < p->frames.nr; i++)
		if ((p->frames.v[i].address & ((UINT64_C(1) << 40) - 1)) != 16 * (i + 1))
			return FAIL("frame %zu has another address than its number", i);
	return (!p->pid && !p->time_ns && !p->warnings.nr) || FAIL("a PID, time or warning");
}

/* ---- what must be left ---- */

/* The new name of each old one; NULL: not seen yet. */
struct names {
	const char *of[4096];
};

/* NUMBER has the new name NAME, now and before, and no other number has it. */
static bool
is_name_of(struct names *n, size_t number, const char *name, const char *what)
{
	if (n->of[number])
		return strcmp(n->of[number], name) == 0 ||
			FAIL("%s %zu is '%s' and '%s'", what, number, n->of[number], name);
	for (size_t i = 0; i < sizeof n->of / sizeof *n->of; i++)
		if (n->of[i] && strcmp(n->of[i], name) == 0)
			return FAIL("%s %zu and %zu are '%s'", what, i, number, name);
	n->of[number] = name;
	return true;
}

static bool
has_same_frame(const struct world *w, const struct profile *p, size_t i, struct names *by_function,
	struct names *by_file)
{
	const struct frame *f = &w->frame[i];
	const struct profile_frame *to = &p->frames.v[i];

	if (to->mapping_1 != f->object_1 || to->nr_lines != (f->nr ? f->nr : 1))
		return FAIL("frame %zu: its object or number of functions", i);
	for (size_t k = 0; k < f->nr; k++) {
		const struct profile_line *l = &p->lines.v[to->first_line + k];
		const struct profile_function *fn = &p->functions.v[l->function];

		if (!is_name_of(by_function, f->function[k], fn->name, "function") ||
			!is_name_of(by_file, f->file[k], fn->file, "file"))
			return false;
		if (f->function[k] >= NR_FUNCTIONS - NR_PUBLIC &&
			strcmp(fn->name, functions[f->function[k]]) != 0)
			return FAIL("malloc is '%s'", fn->name);
		if (!l->line != !f->line[k] || (l->line && l->line < 3))
			return FAIL("line %" PRIu32 " became %" PRIu32, f->line[k], l->line);
	}
	return true;
}

static bool
has_same_samples(const struct profile *p, const struct profile *q)
{
	if (p->samples.nr != q->samples.nr || p->stacks.nr != q->stacks.nr ||
		p->threads.nr != q->threads.nr)
		return FAIL("%zu samples, %zu stacks, %zu threads", q->samples.nr, q->stacks.nr,
			q->threads.nr);
	for (size_t i = 0; i < p->samples.nr; i++) {
		const struct profile_sample *a = &p->samples.v[i], *b = &q->samples.v[i];
		const struct profile_stack *s = &p->stacks.v[a->stack], *t = &q->stacks.v[b->stack];

		if (a->thread_1 != b->thread_1 || a->size_bytes != b->size_bytes ||
			s->nr != t->nr ||
			memcmp(&p->stack_frames.v[s->first], &q->stack_frames.v[t->first],
				s->nr * sizeof(uint32_t)) != 0 ||
			memcmp(profile_values(p, i), profile_values(q, i), 4 * sizeof(int64_t)) !=
				0)
			return FAIL("sample %zu is another one", i);
	}
	return p->default_type == q->default_type && p->period_bytes == q->period_bytes;
}

/* A report adds up the same rows, in the order in which their frames come. */
static bool
has_same_rows(const struct profile *p, const struct profile *q, struct calls_options o)
{
	auto_calls struct calls a = { 0 }, b = { 0 };
	struct err e;

	if (calls_make(&a, p, &o, &e) < 0 || calls_make(&b, q, &o, &e) < 0)
		abort();
	if (a.nodes.nr != b.nodes.nr || a.total != b.total || a.shown != b.shown ||
		a.nr_stacks != b.nr_stacks || a.threads.nr != b.threads.nr ||
		a.sizes.nr != b.sizes.nr)
		return FAIL("by %s: %zu rows of %zu, total %" PRId64 " of %" PRId64,
			calls_by_names[o.by], b.nodes.nr, a.nodes.nr, b.total, a.total);
	for (size_t i = 0; i < a.nodes.nr; i++)
		if (a.nodes.v[i].flat != b.nodes.v[i].flat || a.nodes.v[i].cum != b.nodes.v[i].cum)
			return FAIL("by %s: '%s' has %" PRId64 ", and '%s' %" PRId64,
				calls_by_names[o.by], a.nodes.v[i].name, a.nodes.v[i].flat,
				b.nodes.v[i].name, b.nodes.v[i].flat);
	return true;
}

static bool
try_redact(void)
{
	static struct world w;
	struct names *by_function = calloc(1, sizeof *by_function);
	struct names *by_file = calloc(1, sizeof *by_file);
	auto_profile struct profile *p = some_profile(&w), *q = redacted(p, KEY, NULL);
	bool is_same = has_no_names(q) && has_same_samples(p, q);

	for (size_t i = 0; is_same && i < NR_FRAMES; i++)
		is_same = has_same_frame(&w, q, i, by_function, by_file);
	for (int by = 0; is_same && by < 3; by++)
		for (int view = 0; is_same && view < (by == CALLS_BY_OBJECT ? 1 : 2); view++)
			for (int all = 0; is_same && all < 2; all++)
				is_same = has_same_rows(p, q,
					(struct calls_options){ .type = some(4),
						.by = (enum calls_by)by,
						.view = (enum calls_view)view,
						.has_allocators = all });
	free(by_function);
	free(by_file);
	return is_same;
}

/* ---- keys and what is kept ---- */

static bool
has_same_names(const struct profile *p, const struct profile *q)
{
	for (size_t i = 0; i < p->lines.nr; i++) {
		const struct profile_function *a = &p->functions.v[p->lines.v[i].function];
		const struct profile_function *b = &q->functions.v[q->lines.v[i].function];

		if (strcmp(a->name, b->name) != 0 || strcmp(a->file, b->file) != 0 ||
			p->lines.v[i].line != q->lines.v[i].line)
			return false;
	}
	return true;
}

static bool
try_keys(void)
{
	static struct world w;
	auto_profile struct profile *p = some_profile(&w), *q = redacted(p, KEY, NULL);
	auto_profile struct profile *again = redacted(p, KEY, NULL);
	auto_profile struct profile *other = redacted(p, KEY "!", NULL);

	if (!has_same_names(q, again))
		return FAIL("another name with the same key");
	for (size_t i = 0; i < q->mappings.nr; i++)
		if (strcmp(q->mappings.v[i].path, other->mappings.v[i].path) == 0)
			return FAIL("the same name with another key: %s", q->mappings.v[i].path);
	return true;
}

/* Functions of libc keep their names, and of no other object. */
static bool
try_keep(void)
{
	static struct world w;
	auto_profile struct profile *p = some_profile(&w), *q = redacted(p, KEY, "x,libc");

	for (size_t i = 0; i < NR_FRAMES; i++)
		for (size_t k = 0; k < w.frame[i].nr; k++) {
			const struct profile_line *l = &q->lines.v[q->frames.v[i].first_line + k];
			const char *name = q->functions.v[l->function].name;
			const char *want = functions[w.frame[i].function[k]];
			const bool is_public = w.frame[i].function[k] >= NR_FUNCTIONS - NR_PUBLIC;

			if ((strcmp(name, want) == 0) != (w.frame[i].object_1 == 2 || is_public))
				return FAIL("%s of object %zu is '%s'", want, w.frame[i].object_1,
					name);
			if (*q->functions.v[l->function].file == '/')
				return FAIL("a source has its directory");
		}
	if (!has_same_samples(p, q) ||
		!has_same_rows(p, q, (struct calls_options){ .by = CALLS_BY_OBJECT }))
		return false;
	return strcmp(strrchr(q->mappings.v[1].path, '/'), "/libc.so.6") == 0 ||
		FAIL("libc is '%s'", q->mappings.v[1].path);
}

static void
test_short_key(void)
{
	char path[] = "/tmp/memdiag-key.XXXXXX";
	const int fd = mkstemp(path);
	struct text key = { 0 };
	struct err e = { 0 };

	ok(fd >= 0 && write(fd, "fifteen bytes!!", 15) == 15, "a file with a short key is made");
	ok(redact_read_key(&key, path, &e) < 0 && e.kind == ERR_USAGE, "a short key is refused");
	ok(write(fd, "\n", 1) == 1 && redact_read_key(&key, path, &e) == 0 && key.len == 16,
		"a key of 16 bytes is taken");
	text_release(&key);
	close(fd);
	unlink(path);
}

int
main(int argc, char **argv)
{
	const struct seeds seeds = seeds_of(argc, argv, 300);

	seeds_try(seeds, try_redact, "redacted profiles have no names and the same samples");
	seeds_try(seeds, try_keys, "names depend on the key alone");
	seeds_try(seeds, try_keep, "libc keeps its names, and no other object");
	test_short_key();
	return tap_end();
}

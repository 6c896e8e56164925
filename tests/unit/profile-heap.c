/*
 * Heap profiles as gperftools and jemalloc write them: files made at random, by seeds, with any
 * rate, threads, names in
 * front and mappings, are read, and compared with what was written, scaled by arithmetic of our
 * own.
 *
 *	report-heap [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include <math.h>

#include "profile/read.h"
#include "seeds.h"

#define MAX_STACKS 40
#define MAX_DEPTH 12
#define MAX_THREADS 5
#define NR_MAPPINGS 4
#define MAPPING UINT64_C(0x400000) /* the first begins there, and each other one so much later */
#define MAPPING_BYTES UINT64_C(0x1000)

enum format { PLAIN, HEAP, HEAP_V2, THREADED };

/* Blocks and bytes in use, then allocated. */
struct numbers {
	int64_t n[4];
};

static struct world {
	enum format format;
	int64_t rate;
	bool has_allocated, has_names, adds_up; /* the threads of each stack */
	size_t nr_threads, nr_stacks;
	struct stack {
		uint64_t address[MAX_DEPTH];
		size_t nr;
		struct numbers whole, thread[MAX_THREADS];
	} stack[MAX_STACKS];
	char text[100000];
	size_t len;
} w;

/* ---- what is written ---- */

static void __attribute__((format(printf, 1, 2))) put(const char *fmt, ...)
{
	__builtin_va_list ap;

	__builtin_va_start(ap, fmt);
	w.len += (size_t)vsnprintf(w.text + w.len, sizeof w.text - w.len, fmt, ap);
	__builtin_va_end(ap);
	if (w.len >= sizeof w.text)
		abort();
}

static void
some_numbers(struct numbers *ret)
{
	const int64_t size = 1 + (int64_t)some(UINT64_C(1) << some(22));

	ret->n[0] = (int64_t)some(50);
	ret->n[1] = ret->n[0] * size;
	ret->n[2] = w.has_allocated ? ret->n[0] + (int64_t)some(50) : 0;
	ret->n[3] = ret->n[2] * size;
}

/*
 * The number of the stack is its first address, so all are different; the others may be at the
 * edges of mappings.
 */
static void
some_stack(struct stack *s, size_t number)
{
	const uint64_t some_factor = some(2);

	memset(s, 0, sizeof *s);
	s->nr = 1 + some(MAX_DEPTH);
	s->address[0] = MAPPING + 16 + number;
	for (size_t i = 1; i < s->nr; i++)
		s->address[i] = MAPPING * (1 + some(NR_MAPPINGS)) +
			(some(4) ? some(MAPPING_BYTES) : some(2) * MAPPING_BYTES + some(2));
	some_numbers(&s->whole);
	for (size_t k = 0; w.format == THREADED && k < w.nr_threads; k++) {
		some_numbers(&s->thread[k]);
		for (size_t i = 0; i < 4; i++)
			s->whole.n[i] = (k ? s->whole.n[i] : 0) + s->thread[k].n[i];
	}
	if (w.format == THREADED && !w.adds_up)
		for (size_t i = 0; i < 4; i++)
			s->whole.n[i] =
				some_factor == 1 ? 2 * s->whole.n[i] : s->whole.n[i] * 3 / 4;
}

static void
some_world(void)
{
	memset(&w, 0, sizeof w);
	w.format = (enum format)some(4);
	w.rate = w.format == PLAIN ? 0
		: (int64_t)some(3) ? (int64_t)1 << some(21)
				   : (int64_t)some(2);
	w.has_allocated = some(2);
	w.has_names = some(2);
	w.adds_up = some(3);
	w.nr_threads = 1 + some(MAX_THREADS);
	w.nr_stacks = 1 + some(MAX_STACKS);
	for (size_t i = 0; i < w.nr_stacks; i++)
		some_stack(&w.stack[i], i);
}

static void
put_numbers(const struct numbers *c, const char *space)
{
	put("%s%" PRId64 ": %s%" PRId64 " [%s%" PRId64 ": %s%" PRId64 "]", space, c->n[0], space,
		c->n[1], space, c->n[2], space, c->n[3]);
}

/*
 * The sums of all stacks; without blocks in use a reader cannot know whether what was allocated is
 * counted.
 */
static struct numbers
sum_of_all(void)
{
	struct numbers sum = { { 1, 100, w.has_allocated, 100 * w.has_allocated } };

	for (size_t i = 0; i < w.nr_stacks; i++)
		for (size_t k = 0; k < 4; k++)
			sum.n[k] += w.stack[i].whole.n[k];
	return sum;
}

static void
put_addresses(const struct stack *s)
{
	put("@");
	for (size_t i = 0; i < s->nr; i++)
		put(some(2) ? " 0x%" PRIx64 : " 0x%012" PRIx64, s->address[i]);
	put("\n");
}

static void
put_threaded(void)
{
	const struct numbers all = sum_of_all();

	put("heap_v2/%" PRId64 "\n  t*: ", w.rate);
	put_numbers(&all, "");
	for (size_t k = 0; k < w.nr_threads; k++) {
		put("\n  t%zu: ", k);
		put_numbers(&all, "");
		if (k % 2)
			put(" worker %zu", k);
	}
	put("\n");
	for (size_t i = 0; i < w.nr_stacks; i++) {
		put_addresses(&w.stack[i]);
		put("  t*: ");
		put_numbers(&w.stack[i].whole, "");
		for (size_t k = 0; k < w.nr_threads; k++) {
			put("\n  t%zu: ", k);
			put_numbers(&w.stack[i].thread[k], "");
		}
		put("\n");
	}
}

static void
put_plain(void)
{
	static const char *const type[] = { "heapprofile", "heap", "heap_v2" };
	const struct numbers all = sum_of_all();

	put("heap profile: ");
	put_numbers(&all, "   ");
	put(" @ %s", type[w.format]);
	if (w.format != PLAIN)
		put("/%" PRId64, w.rate);
	put("\n");
	for (size_t i = 0; i < w.nr_stacks; i++) {
		put_numbers(&w.stack[i].whole, "  ");
		put(" ");
		put_addresses(&w.stack[i]);
	}
}

/*
 * The leaf of each stack has two names, as jeprof writes them: one function is inlined into another
 * one.
 */
static void
put_names(void)
{
	put("--- symbol\nbinary=/bin/it\n");
	for (size_t i = w.nr_stacks; i--;)
		put("0x%016" PRIx64 " inner_%zu--outer_%zu\n", w.stack[i].address[0] - some(2), i,
			i);
	put("---\n--- heap\n");
}

static void
put_mappings(void)
{
	put("\nMAPPED_LIBRARIES:\n");
	for (uint64_t i = 1; i <= NR_MAPPINGS; i++) {
		put("%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 08:01 %u   /lib/lib%u.so\n",
			i * MAPPING, i * MAPPING + MAPPING_BYTES, i * 4096, 17u, (unsigned int)i);
		put("%08" PRIx64 "-%08" PRIx64 " rw-p 00000000 00:00 0\n",
			i * MAPPING + 2 * MAPPING_BYTES, i * MAPPING + 3 * MAPPING_BYTES);
	}
}

/* ---- what is to be read ---- */

/*
 * By how much the blocks C that were sampled, as the pair of numbers from FIRST on, stand for more.
 */
static long double
factor(const struct numbers *c, size_t first)
{
	const long double rate = w.format == HEAP ? (long double)w.rate / 2 : (long double)w.rate;

	if (rate <= 1 || !c->n[first])
		return 1;
	return 1 / (1 - expl(-((long double)c->n[first + 1] / (long double)c->n[first]) / rate));
}

static bool
is_near(int64_t got, long double want, int slack)
{
	return fabsl((long double)got - want) <= slack + fabsl(want) * 1e-9L;
}

/* The sum of stack S in P of the type, and in *RET_THREAD that of thread K. */
static int64_t
sum_in(const struct profile *p, const struct stack *s, int type, const char *thread,
	int64_t *ret_thread)
{
	int64_t sum = 0;

	*ret_thread = 0;
	for (size_t i = 0; i < p->samples.nr; i++) {
		const struct profile_sample *sample = &p->samples.v[i];
		const struct profile_stack *stack = &p->stacks.v[sample->stack];
		bool is_it = stack->nr == s->nr;

		for (size_t k = 0; is_it && k < s->nr; k++)
			is_it = p->frames.v[p->stack_frames.v[stack->first + k]].address ==
				s->address[k];
		if (!is_it)
			continue;
		sum += profile_values(p, i)[type];
		if (sample->thread_1 && thread &&
			strcmp(p->threads.v[sample->thread_1 - 1].name, thread) == 0)
			*ret_thread += profile_values(p, i)[type];
	}
	return sum;
}

/* What thread K has of stack S: by its own mean, and no more in all than the stack has. */
static long double
thread_wants(const struct stack *s, size_t k, size_t i)
{
	const size_t first = i & ~(size_t)1;
	const long double whole = (long double)s->whole.n[i] * factor(&s->whole, first);
	long double sum = 0;

	for (size_t n = 0; n < w.nr_threads; n++)
		sum += (long double)s->thread[n].n[i] * factor(&s->thread[n], first);
	return (long double)s->thread[k].n[i] * factor(&s->thread[k], first) *
		((w.adds_up || sum > whole) && sum > 0 && whole > 0 ? whole / sum : 1);
}

static bool
check_stack(const struct profile *p, size_t number)
{
	static const char *const types[] = { "inuse_objects", "inuse_space", "alloc_objects",
		"alloc_space" };
	const struct stack *s = &w.stack[number];

	for (size_t i = 0; i < (w.has_allocated ? 4 : 2); i++) {
		const int type = profile_find_type(p, types[i]);
		int64_t of_thread;

		if (type < 0)
			return FAIL("there is no type %s", types[i]);
		for (size_t k = 0; k < (w.format == THREADED ? w.nr_threads : 1); k++) {
			char name[32];
			const long double want =
				(long double)s->whole.n[i] * factor(&s->whole, i & ~(size_t)1);
			int64_t sum;

			snprintf(name, sizeof name, k % 2 ? "t%zu worker %zu" : "t%zu", k, k);
			sum = sum_in(p, s, type, name, &of_thread);
			if (!is_near(sum, want, 1))
				return FAIL("stack %zu has %" PRId64 " %s, not %.0Lf", number, sum,
					types[i], want);
			if (w.format == THREADED &&
				!is_near(of_thread, thread_wants(s, k, i), (int)w.nr_threads + 2))
				return FAIL("stack %zu, %s: %" PRId64 " %s, not %.0Lf", number,
					name, of_thread, types[i], thread_wants(s, k, i));
		}
	}
	return true;
}

/*
 * The call is before its return address: an address at the end of a mapping is in it, one at its
 * start is not.
 */
static bool
check_frame(const struct profile *p, const struct profile_frame *f)
{
	const uint64_t pc = f->address - 1;
	const bool is_in =
		pc / MAPPING >= 1 && pc / MAPPING <= NR_MAPPINGS && pc % MAPPING < MAPPING_BYTES;
	const struct profile_mapping *m = f->mapping_1 ? &p->mappings.v[f->mapping_1 - 1] : NULL;

	if (f->is_exact || profile_frame_pc(f) != pc)
		return FAIL("%#" PRIx64 " is not a return address", f->address);
	if (is_in != !!m)
		return FAIL("%#" PRIx64 " is in %s mapping", f->address, m ? "a" : "no");
	return !m ||
		(m->start == pc / MAPPING * MAPPING &&
			m->offset_bytes == m->start / MAPPING * 4096) ||
		FAIL("%#" PRIx64 " is in the mapping at %#" PRIx64, f->address, m->start);
}

static bool
check_names(const struct profile *p)
{
	for (size_t i = 0; i < p->frames.nr; i++) {
		const struct profile_frame *f = &p->frames.v[i];
		const uint64_t number = f->address - MAPPING - 16;
		char inner[32], outer[32];
		const struct profile_line *l = &p->lines.v[f->first_line];

		if (!check_frame(p, f))
			return false;
		if (!w.has_names || number >= w.nr_stacks)
			continue;
		snprintf(inner, sizeof inner, "inner_%" PRIu64, number);
		snprintf(outer, sizeof outer, "outer_%" PRIu64, number);
		/* A neighbour's key may be that of the call. */
		if (f->nr_lines != 2 || !strstr(p->functions.v[l[0].function].name, "inner_") ||
			!strstr(p->functions.v[l[1].function].name, "outer_"))
			return FAIL("%#" PRIx64 " has %u names", f->address, f->nr_lines);
		if (w.nr_stacks == 1 && strcmp(p->functions.v[l[0].function].name, inner) != 0)
			return FAIL("%#" PRIx64 " is not %s in %s", f->address, inner, outer);
	}
	return true;
}

static bool
check(const struct profile *p)
{
	const int64_t period = w.format == HEAP ? w.rate / 2 : w.rate;

	if (p->types.nr != (w.has_allocated ? 4 : 2))
		return FAIL("it has %zu types", p->types.nr);
	if (strcmp(p->types.v[p->default_type].name, "inuse_space") != 0)
		return FAIL("it shows %s first", p->types.v[p->default_type].name);
	if (p->period_bytes != period)
		return FAIL("its period is %" PRId64 ", not %" PRId64, p->period_bytes, period);
	if (p->mappings.nr != NR_MAPPINGS || strcmp(p->mappings.v[1].path, "/lib/lib2.so") != 0)
		return FAIL("it has %zu mappings", p->mappings.nr);
	for (size_t i = 0; i < w.nr_stacks; i++)
		if (!check_stack(p, i))
			return false;
	return check_names(p);
}

static bool
try(void)
{
	auto_profile struct profile *p = NULL;
	struct err e = { 0 };

	some_world();
	if (w.has_names)
		put_names();
	if (w.format == THREADED)
		put_threaded();
	else
		put_plain();
	put_mappings();
	if (profile_parse(&p, "it", w.text, w.len, &e) < 0)
		return FAIL("%s", e.msg);
	return check(p);
}

/* ---- files that are not read ---- */

static void
is_refused(const char *text, const char *says, const char *name)
{
	auto_profile struct profile *p = NULL;
	struct err e = { 0 };

	if (!ok(profile_parse(&p, "it", text, strlen(text), &e) < 0 && strstr(e.msg, says),
		    "refused: %s", name))
		printf("#   got '%s', want '%s'\n", e.msg, says);
}

#define HEAD "heap profile: 1: 2 [3: 4] @ heap/1\n"

static void
test_refused(void)
{
	is_refused("heap profile: 1: 2 [3: 4]", "its type", "a header without a type");
	is_refused("heap profile: 1: 2 [3 4] @ heap/1\n", "it is not 'heap profile",
		"a header without a colon");
	is_refused("heap profile: 1: 2 [3: 4] @ heap_v3/1\n", "it is not a profile of type",
		"a type that is unknown");
	is_refused("heap profile: 1: 2 [3: 4] @ heap_v2/-1\n", "rate is not a number",
		"a rate below zero");
	is_refused("heap profile: 1: 2 [3: 4] @ heap/1x\n", "rate is not a number",
		"a rate with a letter behind it");
	is_refused(HEAD "1: 2 [3: 4] 0x1\n", "line 2: it is not 'COUNT", "a stack without @");
	is_refused(HEAD "1: 2 [3: 4] @ 0x1 z\n", "line 2: it contains an invalid address",
		"a stack with a word that is no address");
	is_refused(HEAD "1: 2 [3: 4] @ 0x11112222333344445\n",
		"line 2: it contains an invalid address", "an address of more than 64 bits");
	is_refused(HEAD "9223372036854775808: 2 [3: 4] @ 0x1\n", "line 2: it is not 'COUNT",
		"a count of more than 63 bits");
	is_refused("heap_v2/x\n", "rate is not a number", "jemalloc's format with a rate of x");
	is_refused("heap_v2/1\nq\n", "line 2: it is neither", "jemalloc's format with a line q");
	is_refused("heap_v2/1\n  t1 3: 300 [0: 0]\n", "line 2: it is not 'tNUMBER",
		"a thread without a colon");
	is_refused("--- symbol\n0x1 f\n", "it ends before the profile", "names alone");
	is_refused("--- symbol\nf\n", "it is not 'ADDRESS FUNCTION'", "a name without an address");
	is_refused("--- symbol\n0x1 f\n--- profile\n", "binary profile",
		"names before a binary profile");
	is_refused("%warn\n", "a header is missing", "a warning alone");
	is_refused("", "it is empty", "an empty file");
}

int
main(int argc, char **argv)
{
	seeds_try(seeds_of(argc, argv, 600), try,
		"heap profiles are read as they were written, and scaled");
	test_refused();
	return tap_end();
}

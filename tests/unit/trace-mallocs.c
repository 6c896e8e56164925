/*
 * Which frames of a stack are malloc's: random stacks, by seeds, of frames that this test knows.
 *
 *	trace-mallocs [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include "base/cleanup.h"
#include "seeds.h"
#include "trace/mallocs.h"

#define MAX_DEPTH 12
#define STACKS 200

/* Objects that code is in; the last has no file. */
enum object { LIBC, PROGRAM, OTHER, JEMALLOC, TCMALLOC, AGENT, NONE, NR_OBJECTS };

static const struct {
	const char *path;
	bool is_mallocs;
} objects[NR_OBJECTS] = {
	[LIBC] = { "/usr/lib/x86_64-linux-gnu/libc.so.6", false },
	[PROGRAM] = { "/opt/libjemalloc.so/program", false },
	[OTHER] = { "/usr/lib/libother.so", false },
	[JEMALLOC] = { "/usr/lib/libjemalloc.so.2", true },
	[TCMALLOC] = { "libtcmalloc_minimal.so.4", true },
	[AGENT] = { "/usr/lib/memdiag/libmemdiag-agent.so", true },
};

enum kind { PLAIN, MALLOCS, WRAPPER };

static const struct {
	const char *name; /* NULL: the frame has no name */
	enum kind kind;
} functions[] = {
	{ NULL, PLAIN },
	{ "main", PLAIN },
	{ "sysmalloc", PLAIN },
	{ "malloc_consolidate", PLAIN },
	{ "my_malloc", PLAIN },
	{ "pthread_create", PLAIN },
	{ "freeze", PLAIN },
	{ "__GI_fopen", PLAIN },
	{ "mmap_file", PLAIN },
	{ "malloc", MALLOCS },
	{ "calloc", MALLOCS },
	{ "realloc", MALLOCS },
	{ "free", MALLOCS },
	{ "__libc_malloc", MALLOCS },
	{ "__GI___libc_malloc", MALLOCS },
	{ "__GI___libc_free", MALLOCS },
	{ "__libc_free", MALLOCS },
	{ "posix_memalign", MALLOCS },
	{ "aligned_alloc", MALLOCS },
	{ "malloc_trim", MALLOCS },
	{ "operator new", MALLOCS },
	{ "operator new[]", MALLOCS },
	{ "je_malloc", MALLOCS },
	{ "mmap", WRAPPER },
	{ "__mmap", WRAPPER },
	{ "mmap64", WRAPPER },
	{ "__mmap64", WRAPPER },
	{ "__GI___mmap64", WRAPPER },
	{ "munmap", WRAPPER },
	{ "__GI_munmap", WRAPPER },
	{ "mremap", WRAPPER },
	{ "__mremap", WRAPPER },
	{ "brk", WRAPPER },
	{ "__brk", WRAPPER },
	{ "sbrk", WRAPPER },
	{ "__GI___sbrk", WRAPPER },
	{ "madvise", WRAPPER },
	{ "__madvise", WRAPPER },
	{ "posix_madvise", WRAPPER },
	{ "shmat", WRAPPER },
	{ "shmdt", WRAPPER },
	{ "syscall", WRAPPER },
};
#define NR_FUNCTIONS (sizeof functions / sizeof *functions)

struct frame {
	enum object object;
	bool has_mallocs, has_wrapper; /* among its lines */
};

static struct profile *p;

/* A frame with up to three functions inlined into each other, at an address of its own. */
static struct frame
add_frame(uint32_t *ret)
{
	static uint64_t address;
	struct frame f = { .object = some(3) ? LIBC : (enum object)some(NR_OBJECTS) };
	const uint32_t mapping_1 = f.object == NONE ? 0 : f.object + 1;
	struct err e;

	if (profile_add_frame(p, ++address, false, mapping_1, ret, &e) < 0)
		abort();
	for (uint64_t nr = some(4) ? 1 : some(4); nr; nr--) {
		/* Half of the functions are malloc's: most frames shall not be. */
		const size_t i = some(2) ? some(9) : some(NR_FUNCTIONS);

		if (!functions[i].name)
			break;
		if (profile_add_line(p, *ret, functions[i].name, "", 0, &e) < 0)
			abort();
		f.has_mallocs |= functions[i].kind == MALLOCS;
		f.has_wrapper |= functions[i].kind == WRAPPER;
	}
	return f;
}

/*
 * The words of trace_nr_mallocs(): the frames up to the outermost one of malloc's, of those that
 * are in one object with the innermost, or in a library of malloc's.
 */
static uint32_t
wanted(const struct frame *f, size_t nr)
{
	size_t reached = 0;

	while (reached < nr &&
		(f[reached].object == f[0].object || objects[f[reached].object].is_mallocs))
		reached++;
	while (reached &&
		!(objects[f[reached - 1].object].is_mallocs || f[reached - 1].has_mallocs))
		reached--;
	return (uint32_t)reached;
}

static void
describe(char *buf, size_t size, uint32_t stack)
{
	const struct profile_stack *s = &p->stacks.v[stack];
	size_t len = 0;

	*buf = '\0';
	for (uint32_t i = 0; i < s->nr && len + 80 < size; i++) {
		const struct profile_frame *f = &p->frames.v[p->stack_frames.v[s->first + i]];

		len += (size_t)snprintf(buf + len, size - len, " (%u)", f->mapping_1);
		for (uint32_t k = 0; k < f->nr_lines && len + 40 < size; k++) {
			const uint32_t function = p->lines.v[f->first_line + k].function;

			len += (size_t)snprintf(
				buf + len, size - len, "%s,", p->functions.v[function].name);
		}
	}
}

static bool
try_stack(void)
{
	struct frame f[MAX_DEPTH];
	uint32_t number[MAX_DEPTH], stack, got, want;
	const size_t nr = some(MAX_DEPTH + 1);
	char text[400];
	struct err e;
	bool begins;

	for (size_t i = 0; i < nr; i++)
		f[i] = add_frame(&number[i]);
	if (profile_stack(p, number, nr, &stack, &e) < 0)
		abort();
	describe(text, sizeof text, stack);
	got = trace_nr_mallocs(p, stack);
	want = wanted(f, nr);
	if (got != want)
		return FAIL("%u frames are malloc's, not %u:%s", got, want, text);
	begins = nr && f[0].has_wrapper;
	return trace_begins_with_wrapper(p, stack) == begins ||
		FAIL("begins with a wrapper: %d:%s", !begins, text);
}

static bool
try(void)
{
	auto_profile struct profile *made = profile_new();
	bool is_good = true;
	struct err e;

	p = made;
	for (size_t i = 0; i < NONE; i++)
		if (profile_add_mapping(p, i << 32, (i + 1) << 32, 0, objects[i].path, "", &e) < 0)
			abort();
	for (size_t i = 0; i < STACKS && is_good; i++)
		is_good = try_stack();
	return is_good;
}

int
main(int argc, char **argv)
{
	seeds_try(seeds_of(argc, argv, 100), try, "frames of malloc are those that are");
	return tap_end();
}

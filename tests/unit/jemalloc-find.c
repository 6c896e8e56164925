/*
 * Which functions are jemalloc's, by their names, and where its code is: random functions, by
 * seeds, in the order of their
 * addresses, against a search for each byte.
 *
 *	jemalloc-find [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include "jemalloc/find.c"

#include "seeds.h"

#define MAX_FUNCTIONS 60

static void
test_names(void)
{
	static const char *const its[] = { "malloc", "je_malloc", "_rjem_malloc", "je_arena_new",
		"_rjem_je_arena_new", "mallctl", "je_mallctlbymib", "calloc.cold", "je_free.part.0",
		"je_je_tcache_init", "sdallocx.constprop.0" };
	static const char *const others[] = { "main", "mallocate", "je", "mi_malloc", "jemalloc",
		"xje_malloc", "mall", "_rjem_", "free_list", "operator new" };

	for (size_t i = 0; i < sizeof its / sizeof *its; i++)
		ok(is_jemallocs(its[i]), "%s() is jemalloc's", its[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ok(!is_jemallocs(others[i]), "%s() is not jemalloc's", others[i]);
}

/* ---- where its code is ---- */

static struct jemalloc_function functions[MAX_FUNCTIONS];
static size_t nr;

/* Functions do not overlap; some are far from the next one. */
static void
some_functions(void)
{
	uint64_t at = 0x400000;

	nr = 1 + some(MAX_FUNCTIONS);
	for (size_t i = 0; i < nr; i++) {
		at += some(5) ? some(1000) : 2 * some(NEAR_BYTES);
		functions[i].start.v = at;
		at += 1 + some(3000);
		functions[i].end.v = at;
		functions[i].is_ours = some(3) > 0;
		functions[i].is_local = some(2);
	}
}

/* Whether J's code has A. */
static bool
has(const struct jemalloc *j, uint64_t a)
{
	for (size_t i = 0; i < j->inject.nr_code; i++)
		if (a >= j->code[i].start.v && a < j->code[i].end.v)
			return true;
	return false;
}

/*
 * Whether A, between two functions of jemalloc, may be its: they are near, and nobody else's that
 * others see is there.
 */
static bool
is_between(uint64_t a)
{
	const struct jemalloc_function *before = NULL, *after = NULL;

	for (size_t i = 0; i < nr; i++) {
		if (functions[i].is_ours && functions[i].end.v <= a)
			before = &functions[i];
		if (functions[i].is_ours && functions[i].start.v > a && !after)
			after = &functions[i];
	}
	if (!before || !after || after->start.v > before->end.v + NEAR_BYTES)
		return false;
	for (const struct jemalloc_function *f = before; f < after; f++)
		if (!f->is_ours && !f->is_local)
			return false;
	return true;
}

static bool
is_in_ours(uint64_t a)
{
	for (size_t i = 0; i < nr; i++)
		if (functions[i].is_ours && a >= functions[i].start.v && a < functions[i].end.v)
			return true;
	return false;
}

static bool
check_at(const struct jemalloc *j, uint64_t a)
{
	const bool want = is_in_ours(a) || is_between(a);

	return has(j, a) == want || FAIL("%#" PRIx64 " is%s jemalloc's", a, want ? "" : " not");
}

static bool
try(void)
{
	static struct jemalloc j;
	struct jemalloc_program p = { .tsd_bytes = 0 };
	size_t nr_ours = 0;
	bool is_good = true, is_found;

	some_functions();
	for (size_t i = 0; i < nr; i++) {
		struct jemalloc_function *f = array_add(&p.function);

		/* In any order. */
		*f = functions[i];
		nr_ours += f->is_ours;
	}
	for (size_t i = nr; i-- > 1;) {
		const size_t k = some(i + 1);
		const struct jemalloc_function was = p.function.v[i];

		p.function.v[i] = p.function.v[k];
		p.function.v[k] = was;
	}
	j.inject.nr_code = 0;
	is_found = jemalloc_find_code(&j, &p);
	free(p.function.v);
	if (is_found != (nr_ours > 0))
		return FAIL("code is found: %d, of %zu functions", is_found, nr_ours);
	for (size_t i = 0; i < nr && is_good && is_found; i++)
		is_good = check_at(&j, functions[i].start.v) &&
			check_at(&j, functions[i].end.v - 1) && check_at(&j, functions[i].end.v) &&
			check_at(&j, functions[i].start.v - 1);
	return is_good;
}

int
main(int argc, char **argv)
{
	test_names();
	seeds_try(seeds_of(argc, argv, 1000), try,
		"jemalloc's code is its functions, and what lies between");
	return tap_end();
}

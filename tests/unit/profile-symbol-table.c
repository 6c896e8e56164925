/* Names by address: of random symbols, compared with a search of all of them. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/symbol-table.h"
#include "seeds.h"

#define MOST_SYMBOLS 400

static const char *const names[] = { "malloc", "__libc_malloc", "_start", "free", "a", "b", "_a" };

/* Return how good S is as a name: a smaller text is better. */
static void
rank_of(const struct symbol *s, char buf[64])
{
	snprintf(buf, 64, "%d%d%s", !s->is_global, *s->name == '_', s->name);
}

static bool
ranks_before(const struct symbol *a, const struct symbol *b)
{
	char x[64], y[64];

	if (!a || !b)
		return !b;
	rank_of(a, x);
	rank_of(b, y);
	return strcmp(x, y) < 0;
}

/* The name at ADDRESS of the symbols ALL: the best one of the last place before it. */
static const char *
expected(const struct symbol *all, size_t nr, uint64_t address)
{
	const struct symbol *best = NULL, *sized = NULL, *last = NULL;
	uint64_t size;

	for (size_t i = 0; i < nr; i++)
		if (all[i].start <= address && (!last || all[i].start > last->start))
			last = &all[i];
	for (size_t i = 0; last && i < nr; i++) {
		const struct symbol *s = &all[i];

		if (s->start == last->start && ranks_before(s, best))
			best = s;
		if (s->start == last->start && s->size_bytes && ranks_before(s, sized))
			sized = s;
	}
	if (!best)
		return NULL;
	size = best->size_bytes || !sized ? best->size_bytes : sized->size_bytes;
	return !size || address - best->start < size ? best->name : NULL;
}

/* Addresses are close to each other, or as far apart as 64 bits allow; some occur repeatedly. */
static uint64_t
some_address(unsigned int bits)
{
	const uint64_t any = some(1U << 31) << 33 | some(1U << 31) << 2 | some(4);

	return some(8) ? any >> (64 - bits) : some(4) * 100;
}

static bool
names_are_found(void)
{
	struct symbol all[MOST_SYMBOLS];
	struct symbol_table t = { 0 };
	const size_t nr = some(2) ? some(8) : some(MOST_SYMBOLS);
	const unsigned int bits = 1 + (unsigned int)some(64);
	bool found = true;

	for (size_t i = 0; i < nr; i++) {
		struct symbol *added = array_add(&t);

		all[i] = (struct symbol){ some_address(bits), some(3) ? some(64) : 0,
			names[some(sizeof names / sizeof *names)], some(2) };
		*added = all[i];
	}
	if (symbol_table_finish(&t) < 0)
		return FAIL("no memory");
	for (size_t i = 0; i < 2 * nr + 10 && found; i++) {
		const uint64_t address =
			nr && some(2) ? all[some(nr)].start + some(70) - 3 : some_address(bits);
		const char *want = expected(all, nr, address);

		if (symbol_table_at(&t, address) != want)
			found = FAIL("%zu symbols, %u bits, at %#llx: %s, not %s", nr, bits,
				(unsigned long long)address, symbol_table_at(&t, address), want);
	}
	free(t.v);
	return found;
}

int
main(int argc, char **argv)
{
	seeds_try(seeds_of(argc, argv, 2000), names_are_found,
		"names of random symbols are those of a search of all symbols");
	return tap_end();
}

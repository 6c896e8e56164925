#include <config.h>

#include "profile/symbol-table.h"

#include <stdlib.h>
#include <string.h>

/* ---- order ---- */

#define DIGIT_BITS 11
#define NR_DIGITS (1U << DIGIT_BITS)

static size_t
symbol_digit(uint64_t number, unsigned int shift)
{
	return number >> shift & (NR_DIGITS - 1);
}

/* Copy FROM to TO, sorted by one digit of the distance from LEAST; equal ones keep their order. */
static void
sort_by_digit(
	const struct symbol *from, struct symbol *to, size_t nr, uint64_t least, unsigned int shift)
{
	size_t at[NR_DIGITS + 1] = { 0 };

	for (size_t i = 0; i < nr; i++)
		at[symbol_digit(from[i].start - least, shift) + 1]++;
	for (size_t i = 1; i < NR_DIGITS; i++)
		at[i] += at[i - 1];
	for (size_t i = 0; i < nr; i++)
		to[at[symbol_digit(from[i].start - least, shift)]++] = from[i];
}

/*
 * Sort T by start, one digit after the other, the lowest first.  To compare symbols would take
 * longer than all else that is needed for the names of a few functions of libc, which has 13,000
 * symbols within two digits.
 */
static int
symbol_table_sort(struct symbol_table *t)
{
	struct symbol *other = malloc(t->nr * sizeof *other);
	uint64_t least = UINT64_MAX, most = 0;

	if (!other)
		return -1;
	for (size_t i = 0; i < t->nr; i++) {
		least = t->v[i].start < least ? t->v[i].start : least;
		most = t->v[i].start > most ? t->v[i].start : most;
	}
	t->room = t->nr;
	for (unsigned int shift = 0; shift < 64 && (most - least) >> shift; shift += DIGIT_BITS) {
		struct symbol *sorted = other;

		sort_by_digit(t->v, sorted, t->nr, least, shift);
		other = t->v;
		t->v = sorted;
	}
	free(other);
	return 0;
}

/* ---- names ---- */

/* Return whether A is the better name of two at the same place. */
static bool
is_better(const struct symbol *a, const struct symbol *b)
{
	if (a->is_global != b->is_global)
		return a->is_global;
	if ((*a->name == '_') != (*b->name == '_'))
		return *b->name == '_';
	return strcmp(a->name, b->name) < 0;
}

/* Return the best of the NR symbols at one place, with the size of the best one that has a size. */
static struct symbol
best_of(const struct symbol *v, size_t nr)
{
	const struct symbol *best = v, *sized = v;
	struct symbol ret;

	for (const struct symbol *s = v + 1; s < v + nr; s++) {
		if (is_better(s, best))
			best = s;
		if (!sized->size_bytes || (s->size_bytes && is_better(s, sized)))
			sized = s;
	}
	ret = *best;
	if (!ret.size_bytes)
		ret.size_bytes = sized->size_bytes;
	return ret;
}

int
symbol_table_finish(struct symbol_table *t)
{
	size_t kept = 0, nr;

	if (t->nr && symbol_table_sort(t) < 0) {
		t->nr = 0;
		return -1;
	}
	for (size_t i = 0; i < t->nr; i += nr) {
		for (nr = 1; i + nr < t->nr && t->v[i + nr].start == t->v[i].start; nr++)
			;
		t->v[kept++] = best_of(&t->v[i], nr);
	}
	t->nr = kept;
	return 0;
}

const char *
symbol_table_at(const struct symbol_table *t, uint64_t address)
{
	size_t from = 0, to = t->nr;
	const struct symbol *s;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (t->v[mid].start <= address)
			from = mid + 1;
		else
			to = mid;
	}
	if (!from)
		return NULL;
	s = &t->v[from - 1];
	return !s->size_bytes || address - s->start < s->size_bytes ? s->name : NULL;
}

/*
 * Rows of a map with as many files as a server may have, whose names begin alike; and rows by class
 * of random maps, compared with the sums over their leaves.
 */
#include <config.h>

#include "account/rows.h"
#include "base/cleanup.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "seeds.h"

#define NR_FILES 200000
/* Where each name is compared with each other one this takes minutes. */
#define CPU_SECONDS 30

/* The rows of a map that a test writes. */
struct made {
	char *text;
	size_t len;
	struct map_file file;
	struct space space;
	struct rows rows;
	struct err e;
};

/* Write a map with PUT, and make its rows BY.  False with M->e if that fails. */
static bool
make_rows(struct made *m, void (*put)(FILE *out), enum rows_by by)
{
	const struct space_options options = { .want_pss = by == BY_CLASS };
	const struct selection all = { 0 };
	FILE *out;

	*m = (struct made){ 0 };
	out = open_memstream(&m->text, &m->len);
	if (!out)
		return false;
	put(out);
	return fclose(out) == 0 && map_file_parse(&m->file, "FILE", m->text, m->len, &m->e) == 0 &&
		space_read_file(&m->space, &m->file, &options, &m->e) == 0 &&
		rows_make(&m->rows, &m->space, NULL, by, &all, &m->e) == 0;
}

static void
made_release(struct made *m)
{
	rows_release(&m->rows);
	space_release(&m->space);
	map_file_release(&m->file);
	free(m->text);
}

/* ---- many files ---- */

static void
put_many_files(FILE *out)
{
	for (uint64_t i = 0; i < NR_FILES; i++)
		fprintf(out,
			"%" PRIx64 "-%" PRIx64 " r--s 00000000 08:01 %" PRIu64
			" /srv/data/%06" PRIu64 "\n",
			(2 * i + 1) << 20, ((2 * i + 1) << 20) + 4096, i + 1, i);
}

static void
test_many_files(void)
{
	size_t nr_single = 0;
	uint64_t bytes = 0;
	struct made m;

	limit_cpu(CPU_SECONDS);
	if (ok(make_rows(&m, put_many_files, BY_OBJECT), "rows by object %s", m.e.msg)) {
		is_u64(m.rows.nr, NR_FILES, "a row for each file");
		for (size_t i = 0; i < m.rows.nr; i++) {
			nr_single += m.rows.v[i].sum.nr == 1;
			bytes += m.rows.v[i].sum.size_bytes;
		}
		is_u64(nr_single, NR_FILES, "each of one mapping");
		is_u64(bytes, UINT64_C(4096) * NR_FILES, "and all of VIRT");
	}
	made_release(&m);
}

/* ---- classes ---- */

#define NR_MAPS 200
#define NR_MAPPINGS 60

/* Write a mapping at START to OUT, as smaps does; of at most 2^27 bytes. */
static void
put_mapping(FILE *out, uint64_t start)
{
	static const char *const mapped[] = {
		"rw-p 00000000 00:00 0 ",
		"---p 00000000 00:00 0 ",
		"rwxp 00000000 00:00 0 ",
		"rw-p 00000000 00:00 0 [heap]",
		"rw-p 00000000 00:00 0 [stack]",
		"r--s 00000000 08:01 7 /srv/data",
		"r--p 00000000 08:01 8 /srv/old (deleted)",
		"rw-s 00000000 00:01 9 /memfd:x",
		"rw-s 00000000 00:01 10 /dev/shm/y",
		"rw-s 00000000 00:05 11 /dev/card0",
	};
	uint64_t bytes = UINT64_C(16384) << some(14);

	fprintf(out, "%" PRIx64 "-%" PRIx64 " %s\n", start, start + bytes,
		mapped[some(sizeof mapped / sizeof *mapped)]);
	fprintf(out, "Rss: %d kB\nPss: %d kB\nSwap: %d kB\n", (int)some(3) * 4, (int)some(3) * 2,
		(int)some(2) * 4);
}

/* Whether R has the sums of the leaves of GROUP; of KIND alone unless that is negative. */
static bool
is_sum_of(const struct row *r, const struct space *s, enum group group, int kind)
{
	uint64_t nr = 0, size = 0, rss = 0, swap = 0, pss = 0;
	enum confidence least = CONFIDENCE_EXACT;

	for (size_t i = 0; i < s->leaves.nr; i++) {
		const struct leaf *l = &s->leaves.v[i];

		if (leaf_kind_group(l->kind) != group || (kind >= 0 && l->kind != kind))
			continue;
		nr++;
		size += l->end.v - l->start.v;
		rss += l->rss_bytes;
		swap += l->swap_bytes;
		pss += l->smaps->pss_bytes;
		least = l->confidence < least ? l->confidence : least;
	}
	return r->sum.nr == nr && r->sum.size_bytes == size && r->sum.rss_bytes == rss &&
		r->sum.swap_bytes == swap && r->sum.extra_bytes[EXTRA_PSS] == pss &&
		(enum confidence)r->confidence == least;
}

static bool
is_row_of(const struct row *r, const struct space *s)
{
	for (int kind = 0; kind < NR_LEAF_KINDS && r->parent != NO_PARENT; kind++)
		if (strcmp(r->name, leaf_kind_name(kind)) == 0)
			return is_sum_of(r, s, leaf_kind_group(kind), kind);
	for (int group = 0; group < NR_GROUPS && r->parent == NO_PARENT; group++)
		if (strcmp(r->name, group_name(group)) == 0)
			return is_sum_of(r, s, group, -1);
	return false;
}

static void
put_random_map(FILE *out)
{
	for (uint64_t i = 1; i <= NR_MAPPINGS; i++)
		put_mapping(out, i << 30);
}

static bool
are_rows_right(const struct made *m)
{
	for (size_t i = 0; i < m->rows.nr; i++)
		if (!is_row_of(&m->rows.v[i], &m->space))
			return FAIL("the row of %s", m->rows.v[i].name);
	return m->rows.nr >= 10 || FAIL("it has %zu rows only", m->rows.nr);
}

/* Make the rows of a random map.  Whether each of them is right. */
static bool
try_map(void)
{
	struct made m;
	const bool is_right =
		make_rows(&m, put_random_map, BY_CLASS) ? are_rows_right(&m) : FAIL("%s", m.e.msg);

	made_release(&m);
	return is_right;
}

int
main(int argc, char **argv)
{
	test_many_files();
	seeds_try(seeds_of(argc, argv, NR_MAPS), try_map, "rows by class of random maps");
	return tap_end();
}

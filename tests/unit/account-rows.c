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

/* ---- many files ---- */

static void
test_many_files(void)
{
	auto_free char *text = NULL;
	auto_map_file struct map_file f = { 0 };
	auto_space struct space s = { 0 };
	struct rows rows = { 0 };
	struct selection all = { 0 };
	struct err e = { 0 };
	size_t len = 0, nr_single = 0;
	uint64_t bytes = 0;
	FILE *out = open_memstream(&text, &len);

	if (!ok(out, "memory for a map"))
		return;
	limit_cpu(CPU_SECONDS);
	for (uint64_t i = 0; i < NR_FILES; i++)
		fprintf(out,
			"%" PRIx64 "-%" PRIx64 " r--s 00000000 08:01 %" PRIu64
			" /srv/data/%06" PRIu64 "\n",
			(2 * i + 1) << 20, ((2 * i + 1) << 20) + 4096, i + 1, i);
	fclose(out);
	if (!ok(map_file_parse(&f, "FILE", text, len, &e) == 0, "the map is read: %s", e.msg) ||
		!ok(space_read_file(&s, &f, &(struct space_options){ 0 }, &e) == 0, "its space") ||
		!ok(rows_make(&rows, &s, NULL, BY_OBJECT, &all, &e) == 0, "and its rows"))
		return;
	is_u64(rows.nr, NR_FILES, "a row for each file");
	for (size_t i = 0; i < rows.nr; i++) {
		nr_single += rows.v[i].sum.nr == 1;
		bytes += rows.v[i].sum.size_bytes;
	}
	is_u64(nr_single, NR_FILES, "each of one mapping");
	is_u64(bytes, UINT64_C(4096) * NR_FILES, "and all of VIRT");
	rows_release(&rows);
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

/* Make the rows of a random map; whether each of them is right. */
static bool
try_map(void)
{
	auto_free char *text = NULL;
	auto_map_file struct map_file f = { 0 };
	auto_space struct space s = { 0 };
	struct rows rows = { 0 };
	struct selection all = { 0 };
	bool is_right = true;
	struct err e = { 0 };
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	for (uint64_t i = 1; out && i <= NR_MAPPINGS; i++)
		put_mapping(out, i << 30);
	if (!out || fclose(out) != 0 || map_file_parse(&f, "FILE", text, len, &e) < 0 ||
		space_read_file(&s, &f, &(struct space_options){ .want_pss = true }, &e) < 0 ||
		rows_make(&rows, &s, NULL, BY_CLASS, &all, &e) < 0)
		return FAIL("%s", e.msg);
	for (size_t i = 0; i < rows.nr && is_right; i++) {
		is_right = is_row_of(&rows.v[i], &s);
		if (!is_right)
			snprintf(why, sizeof why, "the row of %s", rows.v[i].name);
	}
	if (rows.nr < 10)
		is_right = FAIL("it has %zu rows only", rows.nr);
	rows_release(&rows);
	return is_right;
}

int
main(int argc, char **argv)
{
	test_many_files();
	seeds_try(seeds_of(argc, argv, NR_MAPS), try_map, "rows by class of random maps");
	return tap_end();
}

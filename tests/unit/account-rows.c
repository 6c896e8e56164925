/* Rows of a map with as many files as a server may have, whose names begin alike. */
#include <config.h>

#include "account/rows.h"
#include "base/cleanup.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "tap.h"

#define NR_FILES 200000
/* Where each name is compared with each other one this takes minutes. */
#define CPU_SECONDS 30

int
main(void)
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

	if (!out)
		return 99;
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
		return tap_end();
	is_u64(rows.nr, NR_FILES, "a row for each file");
	for (size_t i = 0; i < rows.nr; i++) {
		nr_single += rows.v[i].sum.nr == 1;
		bytes += rows.v[i].sum.size_bytes;
	}
	is_u64(nr_single, NR_FILES, "each of one mapping");
	is_u64(bytes, UINT64_C(4096) * NR_FILES, "and all of VIRT");
	rows_release(&rows);
	return tap_end();
}

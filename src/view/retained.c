#include <config.h>

#include "view/retained.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "census/chunks.h"
#include "census/paths.h"
#include "ui/table.h"
#include "ui/units.h"
#include "view/census.h"
#include "view/type-name.h"

/* If more blocks of one type follow each other, only the first and the last one are printed. */
#define HOPS_IN_A_ROW 4
/* A list may have millions of them, and memory is read for each offset. */
#define HOPS_WITH_OFFSET 1000

/* ---- blocks ---- */

static const struct census_type *
retained_type_of(const struct retained_report *r, uint32_t chunk)
{
	const struct census *c = &r->of->census;
	const uint32_t type = c->type_of.nr ? c->type_of.v[chunk] & CENSUS_TYPE_MASK : 0;

	return type ? &r->of->types.type.v[type] : NULL;
}

/* Return the sum of CHUNK and all that it dominates; zeroes if nothing leads to it. */
static struct census_sum
retained_by_chunk(const struct retained_report *r, uint32_t chunk)
{
	const uint32_t place = r->dominators->place[census_chunk_node(r->dominators, chunk)];

	return place == CENSUS_NO_NODE ? (struct census_sum){ 0 } : r->dominators->held[place];
}

/* ---- text ---- */

/* Begin a table whose last column is text. */
static struct ui_table *
retained_table(struct ui_output *out, const char *third, const char *last, struct err *e)
{
	auto_table struct ui_table *t = ui_table_new(out);

	if (!t) {
		err_set(e, ENOMEM, "cannot make a table");
		return NULL;
	}
	if (ui_table_column(t, "RETAINED", true, e) < 0 ||
		ui_table_column(t, "SHARE", true, e) < 0 ||
		ui_table_column(t, third, true, e) < 0 || ui_table_column(t, last, false, e) < 0)
		return NULL;
	return take_ptr(&t);
}

static int
retained_add(struct ui_table *t, const struct ui_options *ui, const struct retained_report *r,
	uint64_t bytes, uint64_t blocks, const char *name, struct err *e)
{
	const uint64_t all = r->of->census.in_use.bytes;
	char share[16], number[24];

	snprintf(share, sizeof share, "%.1f%%", all ? 100.0 * (double)bytes / (double)all : 0);
	snprintf(number, sizeof number, "%" PRIu64, blocks);
	return ui_table_add(t, e, UI_SIZE(ui, bytes), share, number, name, NULL);
}

static int
retained_print_owners(struct ui_output *out, const struct ui_options *ui,
	const struct retained_report *r, struct err *e)
{
	auto_table struct ui_table *t = retained_table(out, "BLOCKS", "HELD BY", e);
	const struct census_retained *sums = r->retained;
	const size_t nr = sums->owner.nr, shown = r->limit && r->limit < nr ? r->limit : nr;
	char name[2 * TYPE_NAME_BYTES];

	if (!t)
		return -1;
	for (size_t i = 0; i < shown; i++) {
		const struct census_retained_owner *o = &sums->owner.v[i];

		type_name_owner(&r->owners->owner.v[o->owner], &r->of->types, name, sizeof name);
		if (retained_add(t, ui, r, o->held.bytes, o->held.blocks, name, e) < 0)
			return -1;
	}
	if (sums->shared.blocks &&
		retained_add(t, ui, r, sums->shared.bytes, sums->shared.blocks,
			"several of these together", e) < 0)
		return -1;
	if (sums->unreachable.blocks &&
		retained_add(t, ui, r, sums->unreachable.bytes, sums->unreachable.blocks,
			"nothing: see memdiag leaks", e) < 0)
		return -1;
	fputc('\n', out->f);
	if (ui_table_print(t, e) < 0)
		return -1;
	ui_print_more(out->f, nr - shown);
	return 0;
}

static int
retained_print_types(struct ui_output *out, const struct ui_options *ui,
	const struct retained_report *r, struct err *e)
{
	auto_table struct ui_table *t = retained_table(out, "OF TYPE", "TYPE", e);
	const struct census_retained *sums = r->retained;
	const size_t nr = sums->type.nr, shown = r->limit && r->limit < nr ? r->limit : nr;

	if (!t)
		return -1;
	for (size_t i = 0; i < shown; i++) {
		const struct census_retained_type *row = &sums->type.v[i];
		auto_free char *name = type_name_of(&r->of->types.type.v[row->type]);
		char printable[TYPE_NAME_BYTES];

		if (!name)
			return err_set(e, ENOMEM, "cannot make a table");
		text_printable(name, printable, sizeof printable);
		if (retained_add(t, ui, r, row->held.bytes, row->blocks, printable, e) < 0)
			return -1;
	}
	if (!nr)
		return 0;
	fputc('\n', out->f);
	if (ui_table_print(t, e) < 0)
		return -1;
	ui_print_more(out->f, nr - shown);
	return 0;
}

/*
 * Return the offset of the pointer to hop NR of PATH, in the block before it or in the root, or
 * CENSUS_NO_OFFSET.
 */
static uint64_t
retained_offset(const struct retained_report *r, const struct census_path *path, size_t nr)
{
	const struct census *c = &r->of->census;

	return nr ? census_pointer_in_block(c, &r->of->target, path->hop.v[nr - 1], path->hop.v[nr])
		  : census_pointer_in_owner(c, &r->owners->owner.v[path->owner], path->hop.v[0]);
}

/* Print CHUNK, whose address is at OFFSET of what leads to it, or CENSUS_NO_OFFSET. */
static int
retained_print_hop(struct ui_output *out, const struct ui_options *ui,
	const struct retained_report *r, uint64_t offset, uint32_t chunk, struct err *e)
{
	const struct census *c = &r->of->census;
	const struct census_type *type = retained_type_of(r, chunk);
	const struct census_sum held = retained_by_chunk(r, chunk);
	auto_free char *name = type ? type_name_of(type) : NULL;
	char printable[TYPE_NAME_BYTES] = "", from[24] = "";
	struct census_cursor at;

	if (type && !name)
		return err_set(e, ENOMEM, "cannot name a type");
	if (name)
		text_printable(name, printable, sizeof printable);
	if (offset != CENSUS_NO_OFFSET)
		snprintf(from, sizeof from, "+%" PRIu64 " ", offset);
	census_chunk_find(&c->chunks, chunk, &at);
	fprintf(out->f, "  %s-> " PRIraddr "  %s, retains %s%s%s\n", from, at.start.v,
		UI_SIZE(ui, census_block_bytes(c, &at)), UI_SIZE(ui, held.bytes),
		*printable ? "  " : "", printable);
	return 0;
}

/* Print the hops of PATH; of many of one type in a row the first and the last one. */
static int
retained_print_hops(struct ui_output *out, const struct ui_options *ui,
	const struct retained_report *r, const struct census_path *path, struct err *e)
{
	for (size_t i = 0, end; i < path->hop.nr; i = end) {
		const struct census_type *type = retained_type_of(r, path->hop.v[i]);

		end = i + 1;
		while (end < path->hop.nr && retained_type_of(r, path->hop.v[end]) == type)
			end++;
		for (size_t k = i; k < end; k++) {
			const size_t left_out = end - i > HOPS_IN_A_ROW ? end - i - 2 : 0;

			if (left_out && k == i + 1) {
				fprintf(out->f, "     and %zu more%s\n", left_out,
					type ? " of the same type" : " without a type");
				k += left_out;
			}
			if (retained_print_hop(
				    out, ui, r, retained_offset(r, path, k), path->hop.v[k], e) < 0)
				return -1;
		}
	}
	return 0;
}

/* Print what leads to CHUNK, after the words BEFORE. */
static int
retained_print_path(struct ui_output *out, const struct ui_options *ui,
	const struct retained_report *r, const char *before, uint32_t chunk, struct err *e)
{
	auto_census_path struct census_path path = { 0 };
	char name[2 * TYPE_NAME_BYTES] = "nothing: see memdiag leaks";

	if (census_path_find(&path, r->reach, chunk, e) < 0)
		return -1;
	if (path.hop.nr)
		type_name_owner(&r->owners->owner.v[path.owner], &r->of->types, name, sizeof name);
	fprintf(out->f, "%s%s\n", before, name);
	return path.hop.nr ? retained_print_hops(out, ui, r, &path, e)
			   : retained_print_hop(out, ui, r, CENSUS_NO_OFFSET, chunk, e);
}

static int
retained_print_block(struct ui_output *out, const struct ui_options *ui,
	const struct retained_report *r, struct err *e)
{
	auto_free uint32_t *referrers = census_referrers_count(&r->of->census, e);

	if (!referrers || retained_print_path(out, ui, r, "", r->chunk, e) < 0)
		return -1;
	if (referrers[r->chunk] == 1)
		fputs("No other place has its address\n", out->f);
	else
		fprintf(out->f, "%" PRIu32 " places have its address\n", referrers[r->chunk]);
	return 0;
}

static int
retained_print_ways(struct ui_output *out, const struct ui_options *ui,
	const struct retained_report *r, struct err *e)
{
	const struct census_ways *ways = r->ways;
	const size_t nr = ways->way.nr, shown = r->limit && r->limit < nr ? r->limit : nr;
	char name[TYPE_NAME_BYTES], before[64];

	fprintf(out->f, "%" PRIu64 " blocks of %s, %s, in %zu way%s\n", ways->all.blocks,
		text_printable(r->name, name, sizeof name), UI_SIZE(ui, ways->all.bytes), nr,
		nr == 1 ? "" : "s");
	for (size_t i = 0; i < shown; i++) {
		const struct census_way *way = &ways->way.v[i];

		fputc('\n', out->f);
		snprintf(before, sizeof before, "%" PRIu64 " blocks, %s: ", way->sum.blocks,
			UI_SIZE(ui, way->sum.bytes));
		if (retained_print_path(out, ui, r, before, way->first, e) < 0)
			return -1;
	}
	ui_print_more(out->f, nr - shown);
	return 0;
}

int
retained_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct retained_report *r, struct err *e)
{
	view_census_head(out, ui, r->of);
	fputc('\n', out->f);
	if (r->reach)
		return r->name ? retained_print_ways(out, ui, r, e)
			       : retained_print_block(out, ui, r, e);
	return retained_print_owners(out, ui, r, e) < 0 ? -1 : retained_print_types(out, ui, r, e);
}

/* ---- JSON ---- */

static json_t *
retained_root_json(const struct retained_report *r, const struct census_retained_owner *row)
{
	json_t *o = type_name_owner_to_json(&r->owners->owner.v[row->owner], &r->of->types);

	json_object_set_new(o, "retained", view_census_sum(&row->held));
	return o;
}

static json_t *
retained_type_json(const struct retained_report *r, const struct census_retained_type *row)
{
	const struct census_type *type = &r->of->types.type.v[row->type];
	auto_free char *name = type_name_of(type);
	struct census_cursor at;

	census_chunk_find(&r->of->census.chunks, row->largest, &at);
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o}", "name",
		ui_json_string(name ? name : type->name), "evidence",
		census_evidence_name(type->evidence), "blocks", ui_json_number(row->blocks),
		"retained", view_census_sum(&row->held), "largest", ui_json_address(at.start),
		"largest_bytes", ui_json_number(row->largest_bytes));
}

static json_t *
retained_hop_json(const struct retained_report *r, const struct census_path *path, size_t nr)
{
	const struct census *c = &r->of->census;
	const uint32_t chunk = path->hop.v[nr];
	const struct census_type *type = retained_type_of(r, chunk);
	const struct census_sum held = retained_by_chunk(r, chunk);
	const uint64_t offset =
		nr < HOPS_WITH_OFFSET ? retained_offset(r, path, nr) : CENSUS_NO_OFFSET;
	auto_free char *name = type ? type_name_of(type) : NULL;
	struct census_cursor at;

	census_chunk_find(&c->chunks, chunk, &at);
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "offset",
		offset == CENSUS_NO_OFFSET ? json_null() : ui_json_number(offset), "address",
		ui_json_address(at.start), "bytes", ui_json_number(census_block_bytes(c, &at)),
		"type", name ? ui_json_string(name) : json_null(), "retained",
		view_census_sum(&held));
}

/* Return the path to CHUNK, with its number in REFERRERS; NULL with E. */
static json_t *
retained_path_json(
	const struct retained_report *r, uint32_t chunk, const uint32_t *referrers, struct err *e)
{
	auto_census_path struct census_path path = { 0 };
	json_t *hops;

	if (census_path_find(&path, r->reach, chunk, e) < 0)
		return NULL;
	hops = json_array();
	for (size_t i = 0; i < path.hop.nr; i++)
		json_array_append_new(hops, retained_hop_json(r, &path, i));
	return json_pack("{s:o, s:o, s:o}", "root",
		path.hop.nr
			? type_name_owner_to_json(&r->owners->owner.v[path.owner], &r->of->types)
			: json_null(),
		"hops", hops, "referrers", ui_json_number(referrers[chunk]));
}

/* Return the ways to the blocks of the type, at most as many as the limit; NULL with E. */
static json_t *
retained_ways_json(const struct retained_report *r, const uint32_t *referrers, struct err *e)
{
	const size_t nr = r->ways->way.nr, shown = r->limit && r->limit < nr ? r->limit : nr;
	json_auto_t *ways = json_array();

	for (size_t i = 0; i < shown; i++) {
		const struct census_way *way = &r->ways->way.v[i];
		json_t *path = retained_path_json(r, way->first, referrers, e);

		if (!path)
			return NULL;
		json_array_append_new(ways,
			json_pack("{s:o, s:o}", "sum", view_census_sum(&way->sum), "path", path));
	}
	return json_incref(ways);
}

/* Set the members of what leads to blocks.  0, or -1 with E. */
static int
retained_set_holds(json_t *data, const struct retained_report *r, struct err *e)
{
	auto_free uint32_t *referrers = census_referrers_count(&r->of->census, e);
	json_t *ways, *path;

	if (!referrers)
		return -1;
	if (!r->name) {
		path = retained_path_json(r, r->chunk, referrers, e);
		return path ? json_object_set_new(data, "path", path) : -1;
	}
	ways = retained_ways_json(r, referrers, e);
	if (!ways)
		return -1;
	json_object_set_new(data, "of_type",
		json_pack("{s:o, s:o, s:o, s:o}", "name", ui_json_string(r->name), "sum",
			view_census_sum(&r->ways->all), "way_count",
			ui_json_number(r->ways->way.nr), "ways", ways));
	return 0;
}

/* Set the members of the two tables. */
static void
retained_set_sums(json_t *data, const struct retained_report *r)
{
	const struct census_retained *sums = r->retained;
	json_t *owners = json_array(), *types = json_array();

	for (size_t i = 0; i < sums->owner.nr; i++)
		json_array_append_new(owners, retained_root_json(r, &sums->owner.v[i]));
	for (size_t i = 0; i < sums->type.nr; i++)
		json_array_append_new(types, retained_type_json(r, &sums->type.v[i]));
	json_object_set_new(data, "roots", owners);
	json_object_set_new(data, "shared", view_census_sum(&sums->shared));
	json_object_set_new(data, "unreachable", view_census_sum(&sums->unreachable));
	json_object_set_new(data, "types", types);
}

json_t *
retained_to_json(const struct retained_report *r, struct err *e)
{
	json_t *data;
	json_auto_t *document = view_census_document("retained", r->of, &data, e);

	if (!document || (r->reach && retained_set_holds(data, r, e) < 0))
		return NULL;
	if (!r->reach)
		retained_set_sums(data, r);
	warnings_to_json(&r->of->warnings, document);
	return json_incref(document);
}

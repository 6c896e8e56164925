#include <config.h>

#include "view/retained.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "census/chunks.h"
#include "ui/table.h"
#include "ui/units.h"
#include "view/census.h"
#include "view/type-name.h"

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

static int
retained_print_hop(struct ui_output *out, const struct ui_options *ui,
	const struct retained_report *r, uint32_t chunk, struct err *e)
{
	const struct census *c = &r->of->census;
	const struct census_type *type = retained_type_of(r, chunk);
	const struct census_sum held = retained_by_chunk(r, chunk);
	auto_free char *name = type ? type_name_of(type) : NULL;
	char printable[TYPE_NAME_BYTES] = "";
	struct census_cursor at;

	if (type && !name)
		return err_set(e, ENOMEM, "cannot name a type");
	if (name)
		text_printable(name, printable, sizeof printable);
	census_chunk_find(&c->chunks, chunk, &at);
	fprintf(out->f, "  -> " PRIraddr "  %s, retains %s%s%s\n", at.start.v,
		UI_SIZE(ui, census_block_bytes(c, &at)), UI_SIZE(ui, held.bytes),
		*printable ? "  " : "", printable);
	return 0;
}

static int
retained_print_path(struct ui_output *out, const struct ui_options *ui,
	const struct retained_report *r, struct err *e)
{
	const struct census_path *path = r->path;
	char name[2 * TYPE_NAME_BYTES];

	if (!path->hop.nr) {
		fputs("Nothing leads to this block: see memdiag leaks\n", out->f);
		return retained_print_hop(out, ui, r, r->chunk, e);
	}
	fprintf(out->f, "%s\n",
		type_name_owner(
			&r->owners->owner.v[path->owner], &r->of->types, name, sizeof name));
	for (size_t i = 0; i < path->hop.nr; i++)
		if (retained_print_hop(out, ui, r, path->hop.v[i], e) < 0)
			return -1;
	if (path->nr_referrers == 1)
		fputs("No other place has its address\n", out->f);
	else
		fprintf(out->f, "%" PRIu64 " places have its address\n", path->nr_referrers);
	return 0;
}

int
retained_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct retained_report *r, struct err *e)
{
	view_census_head(out, ui, r->of);
	fputc('\n', out->f);
	if (r->path)
		return retained_print_path(out, ui, r, e);
	return retained_print_owners(out, ui, r, e) < 0 ? -1 : retained_print_types(out, ui, r, e);
}

/* ---- JSON ---- */

static json_t *
retained_owner_json(const struct retained_report *r, const struct census_owner *owner,
	const struct census_sum *held)
{
	json_t *o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "kind", type_name_owner_kind(owner),
		"symbol", owner->name ? ui_json_string(owner->name) : json_null(), "module",
		owner->path ? ui_json_string(owner->path) : json_null(), "address",
		owner->start.v ? ui_json_address(owner->start) : json_null(), "tid",
		owner->tid ? json_integer(owner->tid) : json_null(), "type",
		owner->type ? ui_json_string(r->of->types.type.v[owner->type].name) : json_null());

	if (held)
		json_object_set_new(o, "retained", view_census_sum(held));
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
retained_hop_json(const struct retained_report *r, uint32_t chunk)
{
	const struct census *c = &r->of->census;
	const struct census_type *type = retained_type_of(r, chunk);
	const struct census_sum held = retained_by_chunk(r, chunk);
	auto_free char *name = type ? type_name_of(type) : NULL;
	struct census_cursor at;

	census_chunk_find(&c->chunks, chunk, &at);
	return json_pack("{s:o, s:o, s:o, s:o}", "address", ui_json_address(at.start), "bytes",
		ui_json_number(census_block_bytes(c, &at)), "type",
		name ? ui_json_string(name) : json_null(), "retained", view_census_sum(&held));
}

static json_t *
retained_path_json(const struct retained_report *r)
{
	json_t *hops = json_array();

	for (size_t i = 0; i < r->path->hop.nr; i++)
		json_array_append_new(hops, retained_hop_json(r, r->path->hop.v[i]));
	return json_pack("{s:o, s:o, s:o}", "root",
		r->path->hop.nr ? retained_owner_json(r, &r->owners->owner.v[r->path->owner], NULL)
				: json_null(),
		"hops", hops, "referrers", ui_json_number(r->path->nr_referrers));
}

/* Set the members of the two tables. */
static void
retained_set_sums(json_t *data, const struct retained_report *r)
{
	const struct census_retained *sums = r->retained;
	json_t *owners = json_array(), *types = json_array();

	for (size_t i = 0; i < sums->owner.nr; i++)
		json_array_append_new(owners,
			retained_owner_json(r, &r->owners->owner.v[sums->owner.v[i].owner],
				&sums->owner.v[i].held));
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
	json_t *data, *document = view_census_document("retained", r->of, &data, e);

	if (!document)
		return NULL;
	if (r->path)
		json_object_set_new(data, "path", retained_path_json(r));
	else
		retained_set_sums(data, r);
	warnings_to_json(&r->of->warnings, document);
	return document;
}

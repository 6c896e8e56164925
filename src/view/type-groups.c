#include <config.h>

#include "view/type-groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "heap/heap.h"
#include "ui/table.h"
#include "ui/units.h"
#include "view/census.h"
#include "view/type-name.h"

/* A group and its blocks. */
struct type_groups_row {
	const struct census_type_group *group;
	const struct census_known *known;
	struct census_sum all;
};

/* ---- order ---- */

static int
type_groups_by_bytes(const void *a, const void *b)
{
	const struct type_groups_row *x = a, *y = b;

	if (x->all.bytes != y->all.bytes)
		return x->all.bytes > y->all.bytes ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

/* Return the groups of G that have blocks, in order; the caller frees them.  NULL with E. */
static struct type_groups_row *
type_groups_rows(const struct census_type_groups *g, const struct census_type_sums *sums,
	size_t *ret_nr, struct err *e)
{
	struct type_groups_row *row = calloc(g->group.nr + 1, sizeof *row);
	size_t nr = 0;

	if (!row) {
		err_set(e, ENOMEM, "cannot list the groups of blocks");
		return NULL;
	}
	for (size_t i = 0; i < g->group.nr; i++) {
		const struct census_sum all = census_known_sum(&sums->group[i]);

		if (all.blocks)
			row[nr++] =
				(struct type_groups_row){ &g->group.v[i], &sums->group[i], all };
	}
	qsort(row, nr, sizeof *row, type_groups_by_bytes);
	*ret_nr = nr;
	return row;
}

/* ---- text ---- */

static const char *
type_groups_module_name(const struct census_type_group *group, char *buf, size_t size)
{
	return text_printable(group->path ? type_name_module(group->path)
			: group->has_type ? "types in blocks"
					  : "no type",
		buf, size);
}

static const char *
type_groups_arena_name(const struct census_type_group *group, char *buf, size_t size)
{
	const struct heap_arena *arena = group->arena;

	if (!arena || arena->is_main)
		snprintf(buf, size, "%s", arena ? "main arena" : "separate mappings");
	else
		snprintf(buf, size, "arena %u at " PRIraddr, arena->nr, arena->addr.v);
	return buf;
}

static const char *
type_groups_size_name(
	const struct census_type_group *group, const struct ui_options *ui, char *buf, size_t size)
{
	if (group->to_bytes != UINT64_MAX)
		snprintf(buf, size, "%s to %s", UI_SIZE(ui, group->from_bytes),
			UI_SIZE(ui, group->to_bytes));
	else
		snprintf(buf, size, "%s and more", UI_SIZE(ui, group->from_bytes));
	return buf;
}

static const char *
type_groups_contents_name(const struct census_type_group *group)
{
	static const char *const name[] = {
		[CENSUS_CONTENTS_ZEROES] = "zeroes",
		[CENSUS_CONTENTS_NODE] = "nodes that are linked both ways",
		[CENSUS_CONTENTS_ARRAY] = "arrays with begin and end elsewhere",
		[CENSUS_CONTENTS_TEXT] = "text",
		[CENSUS_CONTENTS_POINTERS] = "pointers",
		[CENSUS_CONTENTS_OTHER] = "other",
	};

	return name[group->contents];
}

/* Write the name of GROUP of R, made printable, to BUF; return it. */
static const char *
type_groups_name(const struct types_report *r, const struct census_type_group *group,
	const struct ui_options *ui, char *buf, size_t size)
{
	switch (r->groups->by) {
	case CENSUS_BY_MODULE:
		return type_groups_module_name(group, buf, size);
	case CENSUS_BY_ARENA:
		return type_groups_arena_name(group, buf, size);
	case CENSUS_BY_SIZE:
		return type_groups_size_name(group, ui, buf, size);
	case CENSUS_BY_CONTENTS:
		return type_groups_contents_name(group);
	default:
		return group->owner ? type_name_owner(group->owner, &r->of->types, buf, size)
				    : "nothing: see memdiag leaks";
	}
}

static int
type_groups_columns(struct ui_table *t, enum census_by by, struct err *e)
{
	static const char *const right[] = { "BYTES", "BLOCKS", "PROVEN", "INFERRED", "GLOBAL",
		"UNKNOWN" };
	static const char *const name[] = {
		[CENSUS_BY_MODULE] = "MODULE",
		[CENSUS_BY_ARENA] = "ARENA",
		[CENSUS_BY_SIZE] = "SIZE",
		[CENSUS_BY_CONTENTS] = "CONTENTS",
		[CENSUS_BY_HOLDER] = "HELD BY",
	};

	for (size_t i = 0; i < sizeof right / sizeof *right; i++)
		if (ui_table_column(t, right[i], true, e) < 0)
			return -1;
	return ui_table_column(t, name[by], false, e);
}

int
type_groups_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct types_report *r, struct err *e)
{
	auto_table struct ui_table *t = ui_table_new(out);
	size_t nr, shown;
	auto_free struct type_groups_row *row = type_groups_rows(r->groups, r->sums, &nr, e);

	if (!row)
		return -1;
	if (!nr)
		return 0;
	if (!t)
		return err_set(e, ENOMEM, "cannot make a table");
	shown = r->limit && r->limit < nr ? r->limit : nr;
	if (type_groups_columns(t, r->groups->by, e) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++) {
		const struct census_known *k = row[i].known;
		char blocks[24], name[2 * TYPE_NAME_BYTES];

		snprintf(blocks, sizeof blocks, "%" PRIu64, row[i].all.blocks);
		if (ui_table_add(t, e, UI_SIZE(ui, row[i].all.bytes), blocks,
			    UI_SIZE(ui, k->proven.bytes), UI_SIZE(ui, k->inferred.bytes),
			    UI_SIZE(ui, k->global.bytes), UI_SIZE(ui, k->unknown.bytes),
			    type_groups_name(r, row[i].group, ui, name, sizeof name), NULL) < 0)
			return -1;
	}
	fputc('\n', out->f);
	if (ui_table_print(t, e) < 0)
		return -1;
	ui_print_more(out->f, nr - shown);
	return 0;
}

/* ---- JSON ---- */

/* Return what identifies GROUP. */
static json_t *
type_groups_key_json(const struct types_report *r, const struct census_type_group *group)
{
	switch (r->groups->by) {
	case CENSUS_BY_MODULE:
		return json_pack("{s:o, s:b}", "module",
			group->path ? ui_json_string(group->path) : json_null(), "has_type",
			group->has_type);
	case CENSUS_BY_ARENA:
		return json_pack("{s:o, s:b}", "arena",
			group->arena ? ui_json_address(group->arena->addr) : json_null(), "main",
			group->arena && group->arena->is_main);
	case CENSUS_BY_CONTENTS:
		return json_pack("{s:s}", "contents", census_contents_names[group->contents]);
	case CENSUS_BY_HOLDER:
		return json_pack("{s:o}", "holder",
			group->owner ? type_name_owner_to_json(group->owner, &r->of->types)
				     : json_null());
	default:
		return json_pack("{s:o, s:o}", "from_bytes", ui_json_number(group->from_bytes),
			"to_bytes",
			group->to_bytes != UINT64_MAX ? ui_json_number(group->to_bytes)
						      : json_null());
	}
}

json_t *
type_groups_to_json(const struct types_report *r, struct err *e)
{
	size_t nr;
	auto_free struct type_groups_row *row = type_groups_rows(r->groups, r->sums, &nr, e);
	json_t *list = row ? json_array() : NULL;

	for (size_t i = 0; row && i < nr; i++) {
		json_t *o = type_groups_key_json(r, row[i].group);

		json_object_set_new(o, "blocks", ui_json_number(row[i].all.blocks));
		json_object_set_new(o, "bytes", ui_json_number(row[i].all.bytes));
		view_census_set_known(o, row[i].known);
		json_array_append_new(list, o);
	}
	return list;
}

#include <config.h>

#include "view/leaks.h"

#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "capture/block-stacks.h"
#include "census/leaks.h"
#include "diagnose/leaks-groups.h"
#include "diagnose/suppressions.h"
#include "report/frames.h"
#include "ui/json.h"
#include "ui/table.h"
#include "ui/units.h"
#include "view/census.h"
#include "view/type-name.h"
#include "wire/wire.h"

/* Frames of a stack in text, without -v. */
#define TOP_FRAMES 6

/* Return what the agent takes of the process; NULL: nothing. */
static const char *
leaks_source(const struct leaks_answer *s)
{
	switch (s->stacks.noting) {
	case WIRE_NOTE_SAMPLES:
		return "profile";
	case WIRE_NOTE_ALL:
		return "record";
	default:
		return NULL;
	}
}

/* ---- text ---- */

/* Print what the file of suppressions has taken out. */
static void
leaks_print_suppressed(
	FILE *f, const struct ui_options *ui, const struct suppressions *suppressions)
{
	char line[200];

	if (suppressions->rule.nr)
		fprintf(f, "Suppressed: %s in %" PRIu64 " blocks\n",
			UI_SIZE(ui, suppressions->all.bytes), suppressions->all.blocks);
	for (size_t i = 0; ui->verbose && i < suppressions->rule.nr; i++) {
		const struct suppression *rule = &suppressions->rule.v[i];

		if (!rule->all.blocks)
			fprintf(f, "  unused: line %u, %s\n", rule->line,
				text_printable(rule->text, line, sizeof line));
	}
}

/* Print how many heads have a stack, or how to get one. */
static void
leaks_print_source(FILE *f, const struct leaks_answer *s)
{
	if (!leaks_source(s)) {
		if (s->leaks.heads && !s->of.core)
			fprintf(f,
				"For the functions that allocate them run 'memdiag record start --pid %d': then 'memdiag leaks' has the stacks of later blocks\n",
				(int)s->of.target.pid);
		return;
	}
	if (!s->leaks.heads)
		return;
	fprintf(f, "Stacks: from the running %s", leaks_source(s));
	if (s->unknown_heads)
		fprintf(f, "; %" PRIu64 " of %" PRIu64 " heads have none: %s", s->unknown_heads,
			s->leaks.heads,
			s->stacks.noting == WIRE_NOTE_ALL
				? "they were allocated before it began, or it had no room"
				: "they were not sampled");
	fputc('\n', f);
}

static void
leaks_print_head(
	const struct ui_output *out, const struct ui_options *ui, const struct leaks_answer *s)
{
	const struct census *c = &s->of.census;
	const struct census_sum *all = &s->leaks.all;
	char stop[32];
	FILE *f = out->f;

	view_census_head(out, ui, &s->of);
	fputc('\n', f);
	fprintf(f, "Unreachable: %s%s in %" PRIu64 " blocks", s->of.is_certain ? "" : "~",
		UI_SIZE(ui, all->bytes), all->blocks);
	if (all->blocks)
		fprintf(f, ", below %" PRIu64 " heads", s->leaks.heads);
	fputc('\n', f);
	if (s->of.heap.nr_stops)
		fprintf(f, "Roots: %zu threads, %s of memory; the process was stopped for %s",
			c->roots.nr_threads, UI_SIZE(ui, c->roots.bytes),
			ui_duration(s->of.heap.longest_stop_ns, stop, sizeof stop));
	if (s->of.copy_ns)
		fprintf(f, "; a copy of it existed for %s",
			ui_duration(s->of.copy_ns, stop, sizeof stop));
	if (s->of.heap.nr_stops)
		fputc('\n', f);
	if (s->looks.nr)
		fprintf(f, "Looks: %u, without a stop; the last one removed %" PRIu64 " blocks\n",
			s->looks.nr, s->looks.removed);
	leaks_print_suppressed(f, ui, &s->suppressions);
	leaks_print_source(f, s);
}

/* Return the type of the heads of G; NULL: they have none. */
static const struct census_type *
leaks_type(const struct leaks_answer *s, const struct census_group *g)
{
	return g->type ? &s->of.types.type.v[g->type] : NULL;
}

/* Write what the heads of G are, made printable, to BUF: their type, or their size. */
static const char *
leaks_heads_name(const struct leaks_answer *s, const struct ui_options *ui,
	const struct census_group *g, char *buf, size_t size)
{
	const struct census_type *type = leaks_type(s, g);
	auto_free char *name = type ? type_name_of(type) : NULL;

	return type ? text_printable(name ? name : type->name, buf, size)
		    : ui_size(ui, g->head_bytes, buf, size);
}

/* Add a row for G, with its type if HAS_TYPES. */
static int
leaks_print_row(struct ui_table *t, const struct ui_options *ui, const struct leaks_answer *s,
	const struct census_group *g, bool has_types, struct err *e)
{
	char heads[24], blocks[24], example[24], type[TYPE_NAME_BYTES];

	snprintf(heads, sizeof heads, "%" PRIu64, g->heads);
	snprintf(blocks, sizeof blocks, "%" PRIu64, g->all.blocks);
	snprintf(example, sizeof example, PRIraddr, g->example[0].v);
	return ui_table_add(t, e, UI_SIZE(ui, g->all.bytes), blocks, heads,
		g->head_bytes ? UI_SIZE(ui, g->head_bytes) : "various", census_shape_name(g->shape),
		example,
		!has_types	  ? NULL
			: g->type ? leaks_heads_name(s, ui, g, type, sizeof type)
				  : "",
		NULL);
}

/* Return whether one of the first NR groups has a type. */
static bool
leaks_has_types(const struct leaks_answer *s, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (s->groups.v[i].sum.type)
			return true;
	return false;
}

/* Print that pointers to the blocks of G may be encoded, if they look so. */
static void
leaks_print_doubt(
	FILE *f, const struct leaks_answer *s, const struct leaks_group *g, const char *name)
{
	const struct census_type_blocks *type = leaks_group_type(g, &s->leaks);

	if (!leaks_group_may_be_encoded(g, &s->leaks))
		return;
	fprintf(f, "\n%s of %s: %" PRIu64 " of %" PRIu64 " blocks of this %s are reached",
		census_shape_name(g->sum.shape), name,
		type ? type->reached : g->sum.reached_same_size,
		type ? type->all : g->sum.same_size, type ? "type" : "size");
	if (type && type->linked)
		fprintf(f, ", %" PRIu64 " of the others are linked with each other", type->linked);
	fputs(": its pointers may be encoded (--mask-tags, --unaligned)\n", f);
}

/* Return the part of G that has a stack and the most bytes; NULL: no part has a stack. */
static const struct census_group *
leaks_first_stack(const struct leaks_answer *s, const struct leaks_group *g, uint32_t *ret_stack)
{
	for (size_t i = g->first; i < g->first + g->nr; i++)
		if (block_stacks_stack(&s->stacks, s->leaks.group.v[i].label, ret_stack))
			return &s->leaks.group.v[i];
	return NULL;
}

/* Print what is known of G besides its row: the most frequent stack, and a reason for doubt. */
static void
leaks_print_details(FILE *f, const struct ui_options *ui, const struct leaks_answer *s,
	const struct leaks_group *g)
{
	char name[TYPE_NAME_BYTES];
	uint32_t stack;
	const struct census_group *part = leaks_first_stack(s, g, &stack);

	leaks_heads_name(s, ui, &g->sum, name, sizeof name);
	leaks_print_doubt(f, s, g, name);
	if (!part)
		return;
	fprintf(f, "\n%s of %s: %" PRIu64 " of %" PRIu64 " heads were allocated by\n",
		census_shape_name(g->sum.shape), name, part->heads, g->sum.heads);
	frames_print_top(
		s->stacks.p, stack, &s->stacks.marks, ui->verbose ? SIZE_MAX : TOP_FRAMES, f);
}

static int
leaks_print_groups(struct ui_output *out, const struct ui_options *ui, const struct leaks_answer *s,
	size_t limit, struct err *e)
{
	static const char *const column[] = { "BYTES", "BLOCKS", "HEADS", "HEAD SIZE" };
	auto_table struct ui_table *t = ui_table_new(out);
	const size_t nr = s->groups.nr, shown = limit && limit < nr ? limit : nr;
	const bool has_types = leaks_has_types(s, shown);

	if (!t)
		return err_set(e, ENOMEM, "cannot make a table");
	for (size_t i = 0; i < sizeof column / sizeof *column; i++)
		if (ui_table_column(t, column[i], true, e) < 0)
			return -1;
	if (ui_table_column(t, "SHAPE", false, e) < 0 ||
		ui_table_column(t, "EXAMPLE", false, e) < 0 ||
		(has_types && ui_table_column(t, "TYPE", false, e) < 0))
		return -1;
	for (size_t i = 0; i < shown; i++)
		if (leaks_print_row(t, ui, s, &s->groups.v[i].sum, has_types, e) < 0)
			return -1;
	fputc('\n', out->f);
	if (ui_table_print(t, e) < 0)
		return -1;
	ui_print_more(out->f, nr - shown);
	for (size_t i = 0; i < shown; i++)
		leaks_print_details(out->f, ui, s, &s->groups.v[i]);
	return 0;
}

int
leaks_show_text(struct ui_output *out, const struct ui_options *ui, const struct leaks_answer *s,
	size_t limit, struct err *e)
{
	leaks_print_head(out, ui, s);
	return s->groups.nr ? leaks_print_groups(out, ui, s, limit, e) : 0;
}

/* ---- JSON ---- */

/* Return the stacks that allocated the heads of G. */
static json_t *
leaks_stacks_json(const struct leaks_answer *s, const struct leaks_group *g)
{
	json_t *list = json_array();

	for (size_t i = g->first; i < g->first + g->nr; i++) {
		const struct census_group *part = &s->leaks.group.v[i];
		uint32_t stack;

		if (block_stacks_stack(&s->stacks, part->label, &stack))
			json_array_append_new(list,
				json_pack("{s:o, s:o, s:o, s:o}", "heads",
					ui_json_number(part->heads), "blocks",
					ui_json_number(part->all.blocks), "bytes",
					ui_json_number(part->all.bytes), "frames",
					frames_json(s->stacks.p, stack, &s->stacks.marks)));
	}
	return list;
}

/* Return N, which has no meaning if the heads of G have several sizes. */
static json_t *
leaks_size_json(const struct census_group *g, uint64_t n)
{
	return g->head_bytes ? ui_json_number(n) : json_null();
}

/* Set the members of O that are about the type of the heads of GROUP. */
static void
leaks_set_type(json_t *o, const struct leaks_answer *s, const struct leaks_group *group)
{
	const struct census_type *type = leaks_type(s, &group->sum);
	const struct census_type_blocks *blocks = leaks_group_type(group, &s->leaks);

	json_object_set_new(o, "head_type", type ? type_name_to_json(type) : json_null());
	json_object_set_new(o, "same_type", blocks ? ui_json_number(blocks->all) : json_null());
	json_object_set_new(o, "reachable_of_same_type",
		blocks ? ui_json_number(blocks->reached) : json_null());
	json_object_set_new(
		o, "linked_of_same_type", blocks ? ui_json_number(blocks->linked) : json_null());
	json_object_set_new(
		o, "may_be_encoded", json_boolean(leaks_group_may_be_encoded(group, &s->leaks)));
}

static json_t *
leaks_group_json(const struct leaks_answer *s, const struct leaks_group *group)
{
	const struct census_group *g = &group->sum;
	json_t *o, *examples = json_array();

	for (int i = 0; i < CENSUS_NR_EXAMPLES && g->example[i].v; i++)
		json_array_append_new(examples, ui_json_address(g->example[i]));
	o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "shape",
		census_shape_name(g->shape), "head_bytes", leaks_size_json(g, g->head_bytes),
		"heads", ui_json_number(g->heads), "blocks", ui_json_number(g->all.blocks), "bytes",
		ui_json_number(g->all.bytes), "largest_blocks", ui_json_number(g->largest_blocks),
		"largest_bytes", ui_json_number(g->largest_bytes), "same_size",
		leaks_size_json(g, g->same_size), "reachable_of_same_size",
		leaks_size_json(g, g->reached_same_size), "examples", examples, "stacks",
		leaks_stacks_json(s, group));
	leaks_set_type(o, s, group);
	return o;
}

static json_t *
leaks_roots_json(const struct census *c)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "bytes", ui_json_number(c->roots.bytes), "threads",
		ui_json_number(c->roots.nr_threads), "unread_bytes",
		ui_json_number(c->unread_bytes), "swapped_bytes", ui_json_number(c->swapped_bytes));
}

static json_t *
leaks_suppressed_json(const struct suppressions *s)
{
	json_t *document = view_census_sum(&s->all), *by = json_array();

	for (size_t i = 0; i < s->rule.nr; i++) {
		const struct suppression *rule = &s->rule.v[i];

		json_array_append_new(by,
			json_pack("{s:o, s:o, s:o, s:o}", "line", ui_json_number(rule->line),
				"rule", ui_json_string(rule->text), "blocks",
				ui_json_number(rule->all.blocks), "bytes",
				ui_json_number(rule->all.bytes)));
	}
	json_object_set_new(document, "by", by);
	return document;
}

json_t *
leaks_to_json(const struct leaks_answer *s, struct err *e)
{
	json_t *data, *document = view_census_document("leaks", &s->of, &data, e);
	json_t *groups = json_array();

	if (!document) {
		json_decref(groups);
		return NULL;
	}
	for (size_t i = 0; i < s->groups.nr; i++)
		json_array_append_new(groups, leaks_group_json(s, &s->groups.v[i]));
	json_object_set_new(
		data, "certainty", json_string(s->of.is_certain ? "certain" : "approximate"));
	json_object_set_new(
		data, "why", *s->of.census.why ? ui_json_text(s->of.census.why) : json_null());
	json_object_set_new(data, "unreachable", view_census_sum(&s->leaks.all));
	json_object_set_new(data, "heads", ui_json_number(s->leaks.heads));
	json_object_set_new(data, "roots", leaks_roots_json(&s->of.census));
	json_object_set_new(data, "looks", ui_json_number(s->looks.nr));
	json_object_set_new(data, "suppressed", leaks_suppressed_json(&s->suppressions));
	json_object_set_new(
		data, "stacks_from", leaks_source(s) ? json_string(leaks_source(s)) : json_null());
	json_object_set_new(data, "heads_without_stack",
		leaks_source(s) ? ui_json_number(s->unknown_heads) : json_null());
	json_object_set_new(data, "groups", groups);
	warnings_to_json(&s->of.warnings, document);
	return document;
}

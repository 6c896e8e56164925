#include <config.h>

#include "report/text.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "report/format.h"
#include "report/frames.h"
#include "report/tree.h"
#include "report/unnamed-text.h"
#include "ui/table.h"
#include "ui/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The tree of calls omits smaller shares of the shown total. */
#define LEAST_SHARE 0.005

const char *
report_value(const struct report_view *v, int64_t value, char *buf, size_t size)
{
	uint64_t amount = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char text[32];

	if (profile_is_bytes(&v->p->types.v[v->c->options.type]))
		ui_size(v->ui, amount, text, sizeof text);
	else
		snprintf(text, sizeof text, "%" PRIu64, amount);
	snprintf(buf, size, "%s%s", value < 0 ? "-" : v->base && value ? "+" : "", text);
	return buf;
}

const char *
report_type_text(const struct profile_type *type, char *buf, size_t size)
{
	static const struct {
		const char *name, *text;
	} known[] = {
		{ "inuse_space", "bytes in use" },
		{ "inuse_objects", "blocks in use" },
		{ "alloc_space", "bytes allocated" },
		{ "alloc_objects", "blocks allocated" },
		{ "peak_space", "bytes at the peak" },
		{ "peak_objects", "blocks at the peak" },
		{ "temporary_space", "bytes freed soon" },
		{ "temporary_objects", "blocks freed soon" },
		{ "possible_space", "bytes in use at most" },
		{ "possible_objects", "blocks in use at most" },
		{ "resident_space", "bytes in memory" },
	};
	char name[64], unit[64];

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(type->name, known[i].name) == 0) {
			snprintf(buf, size, "%s", known[i].text);
			return buf;
		}
	snprintf(buf, size, "%s (%s)", text_printable(type->name, name, sizeof name),
		text_printable(type->unit, unit, sizeof unit));
	return buf;
}

const struct report_words *
report_words_of(const struct report_view *v)
{
	static const struct report_words words[] = {
		[CALLS_BY_FUNCTION] = { "calls", "stacks", "Functions", "CALLS" },
		[CALLS_BY_LINE] = { "calls", "stacks", "Lines", "CALLS" },
		[CALLS_BY_OBJECT] = { "calls", "stacks", "Objects", "CALLS" },
	};

	return v->words ? v->words : &words[v->c->options.by];
}

/* Write ", older than 1.0 min, of 4.0 KiB or more" to BUF, "" without a choice, and return it. */
static const char *
report_text_choice(const struct report_view *v, char *buf, size_t size)
{
	const struct history_choice *c = v->choice;
	char age[32];
	size_t len = 0;

	*buf = '\0';
	if (c && c->has_age)
		len += (size_t)snprintf(
			buf, size, ", older than %s", ui_duration(c->age_ns, age, sizeof age));
	if (c && c->min_bytes && len < size)
		len += (size_t)snprintf(buf + len, size - len, ", blocks of %s or more",
			UI_SIZE(v->ui, c->min_bytes));
	if (c && c->max_bytes != UINT64_MAX && len < size)
		snprintf(buf + len, size - len, ", blocks of at most %s",
			UI_SIZE(v->ui, c->max_bytes));
	return buf;
}

static const char *
text_percent(double share, char *buf, size_t size)
{
	snprintf(buf, size, "%.1f%%", share * 100);
	return buf;
}

/* ---- the line above ---- */

static void
text_print_head(const struct report_view *v, FILE *f)
{
	const char *stacks = report_words_of(v)->stacks;
	char file[512], type[160], shown[32], total[32], period[32], choice[160];

	fprintf(f, "%s", text_printable(v->file, file, sizeof file));
	if (v->base)
		fprintf(f, " less %s", text_printable(v->base, file, sizeof file));
	fprintf(f, ": %s%s, ",
		report_type_text(&v->p->types.v[v->c->options.type], type, sizeof type),
		report_text_choice(v, choice, sizeof choice));
	report_value(v, v->c->shown, shown, sizeof shown);
	if (v->base || v->c->shown == v->c->total)
		fputs(shown, f);
	else
		fprintf(f, "%s of %s (%s)", shown,
			report_value(v, v->c->total, total, sizeof total),
			text_percent(calls_share(v->c, v->c->shown), period, sizeof period));
	if (v->blocks)
		fprintf(f, " in %s%" PRId64 " block%s of",
			v->base && v->blocks->shown > 0 ? "+" : "", v->blocks->shown,
			v->blocks->shown == 1 ? "" : "s");
	else
		fputs(" in", f);
	fprintf(f, " %zu %.*s", v->c->nr_stacks, (int)strlen(stacks) - (v->c->nr_stacks == 1),
		stacks);
	if (v->p->period_bytes > 1)
		fprintf(f, ", one sample every %s",
			text_bytes((uint64_t)v->p->period_bytes, period, sizeof period));
	fputs("\n\n", f);
}

/* ---- the table ---- */

enum { BLOCKS_COLUMN = 1 };

static int
text_add_columns(struct ui_table *t, const struct report_view *v, struct err *e)
{
	static const char *const numbers[] = { "FLAT", "BLOCKS", "FLAT%", "SUM%", "CUM", "CUM%" };
	static const char *const name[] = {
		[CALLS_BY_FUNCTION] = "FUNCTION",
		[CALLS_BY_LINE] = "LINE",
		[CALLS_BY_OBJECT] = "OBJECT",
	};

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if ((i != BLOCKS_COLUMN || v->blocks) &&
			ui_table_column(t, numbers[i], true, e) < 0)
			return -1;
	return ui_table_column(t, name[v->c->options.by], false, e);
}

/* Write the number of blocks of node I, if shown, to BUF and return it. */
static const char *
blocks_of(const struct report_view *v, uint32_t i, char *buf, size_t size)
{
	const int64_t blocks = v->blocks->nodes.v[i].flat;

	snprintf(buf, size, "%s%" PRId64, v->base && blocks > 0 ? "+" : "", blocks);
	return buf;
}

/* Set own code, and that of allocators, apart from that of libraries. */
static void
mark_code(struct ui_table *t, const struct calls_node *n)
{
	static const enum ui_mark marks[] = {
		[CODE_OWN] = UI_BOLD,
		[CODE_LIBRARY] = UI_PLAIN,
		[CODE_ALLOCATOR] = UI_FAINT,
	};

	ui_table_mark(t, marks[n->code]);
}

/* Add the row of node I; SUM is the sum up to and including it. */
static int
text_add_row(
	struct ui_table *t, const struct report_view *v, uint32_t i, int64_t sum, struct err *e)
{
	const struct calls_node *n = &v->c->nodes.v[i];
	char flat[32], blocks[32], cum[32], share[3][32];

	report_value(v, n->flat, flat, sizeof flat);
	report_value(v, n->cum, cum, sizeof cum);
	text_percent(calls_share(v->c, n->flat), share[0], sizeof share[0]);
	text_percent(calls_share(v->c, sum), share[1], sizeof share[1]);
	text_percent(calls_share(v->c, n->cum), share[2], sizeof share[2]);
	if ((v->blocks ? ui_table_add(t, e, flat, blocks_of(v, i, blocks, sizeof blocks), share[0],
				 share[1], cum, share[2], n->name, NULL)
		       : ui_table_add(
				 t, e, flat, share[0], share[1], cum, share[2], n->name, NULL)) < 0)
		return -1;
	mark_code(t, n);
	return 0;
}

/* Width of the columns before a block's stack. */
#define BLOCK_COLUMNS 40

/* List single blocks, the largest first. */
static void
print_blocks(const struct report_view *v, const struct ui_output *out)
{
	fprintf(out->f, "\n%-14s  %11s  %8s  %s\n", "ADDRESS", "SIZE", "THREAD", "STACK");
	for (size_t i = 0; i < v->addresses->nr; i++) {
		const struct report_block *b = &v->addresses->v[i];
		char tid[16] = "?";

		if (b->tid)
			snprintf(tid, sizeof tid, "%" PRIu32, b->tid);
		fprintf(out->f, "%-14" PRIx64 "  %11s  %8s  ", b->at.v, UI_SIZE(v->ui, b->bytes),
			tid);
		frames_print_line(
			v->p, b->stack, 0, out->columns ? out->columns - BLOCK_COLUMNS : 0, out->f);
		fputc('\n', out->f);
	}
	if (v->addresses->nr_more)
		fprintf(out->f, "and %" PRIu64 " smaller blocks\n", v->addresses->nr_more);
}

int
report_print_table(const struct report_view *v, struct ui_output *out, struct err *e)
{
	auto_table struct ui_table *t = ui_table_new(out);
	auto_free uint32_t *order = calls_order(v->c, v->by_cum);
	auto_free char *unnamed = NULL;
	size_t nr = 0;
	int64_t sum = 0;

	if (!t || !order)
		return err_set(e, ENOMEM, "cannot make a table");
	if (text_add_columns(t, v, e) < 0 || report_unnamed_text(&unnamed, v, e) < 0)
		return -1;
	for (size_t i = 0; i < v->c->nodes.nr; i++) {
		const struct calls_node *n = &v->c->nodes.v[order[i]];

		if ((!n->flat && !n->cum) || (nr++ >= v->limit && v->limit))
			continue;
		sum = profile_sum(sum, n->flat);
		if (text_add_row(t, v, order[i], sum, e) < 0)
			return -1;
	}
	text_print_head(v, out->f);
	if (ui_table_print(t, e) < 0)
		return -1;
	ui_print_more(out->f, v->limit && v->limit < nr ? nr - v->limit : 0);
	if (v->addresses)
		print_blocks(v, out);
	fputs(unnamed, out->f);
	return 0;
}

/* ---- the tree ---- */

struct tree_printer {
	const struct report_view *v;
	const struct tree *tree;
	struct ui_table *table;
	size_t nr, nr_more;
};

/* Return NAME, indented and freed by the caller; a name may be as long as a page. */
static char *
indented(const char *name, uint32_t depth)
{
	char *text;

	return asprintf(&text, "%*s%s", (int)(2 * depth), "", name) < 0 ? NULL : text;
}

static int
print_calls(struct tree_printer *p, uint32_t i, struct err *e)
{
	const struct tree_node *n = &p->tree->v[i];
	char value[32], self[32], share[32];

	if (i && p->v->limit && p->nr >= p->v->limit) {
		p->nr_more++;
	} else if (i) {
		auto_free char *name = indented(p->v->c->nodes.v[n->node].name, n->depth - 1);

		p->nr++;
		if (!name)
			return err_set(e, ENOMEM, "cannot make a table");
		if (ui_table_add(p->table, e, report_value(p->v, n->value, value, sizeof value),
			    text_percent(calls_share(p->v->c, n->value), share, sizeof share),
			    report_value(p->v, n->self, self, sizeof self), name, NULL) < 0)
			return -1;
		mark_code(p->table, &p->v->c->nodes.v[n->node]);
	}
	for (uint32_t k = 0; k < n->nr_children; k++) {
		uint32_t child = p->tree->children[n->first_child + k];

		if (calls_share_of_shown(p->v->c, p->tree->v[child].value) >= LEAST_SHARE &&
			print_calls(p, child, e) < 0)
			return -1;
	}
	return 0;
}

/* Print the tree of calls, down to 0.5 % of the total. */
static int
report_print_tree(const struct report_view *v, struct ui_output *out, struct err *e)
{
	auto_tree struct tree tree = { 0 };
	auto_table struct ui_table *t = ui_table_new(out);
	auto_free char *unnamed = NULL;
	struct tree_printer p = { .v = v, .tree = &tree, .table = t };

	if (!t)
		return err_set(e, ENOMEM, "cannot make a table");
	if (report_unnamed_text(&unnamed, v, e) < 0 || tree_make(&tree, v->c, e) < 0 ||
		ui_table_column(t, "CUM", true, e) < 0 || ui_table_column(t, "CUM%", true, e) < 0 ||
		ui_table_column(t, "FLAT", true, e) < 0 ||
		ui_table_column(t, report_words_of(v)->column, false, e) < 0 ||
		print_calls(&p, 0, e) < 0)
		return -1;
	text_print_head(v, out->f);
	if (ui_table_print(t, e) < 0)
		return -1;
	ui_print_more(out->f, p.nr_more);
	fputs(unnamed, out->f);
	return 0;
}

const struct report_format report_format_text = { "text",
	FORMAT_TAKES_BLOCKS | FORMAT_TAKES_REPEATS, 0, report_print_table };

const struct report_format report_format_tree = { "tree", 0, 0, report_print_tree, "of calls" };

/* The text output of 'memdiag maps'. */
#include <config.h>

#include "view/maps-text.h"

#include "account/sums.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "maps/identities.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "maps/repeats.h"
#include "os/machine.h"
#include "ui/table.h"
#include "ui/units.h"
#include "view/growth.h"
#include "view/maps-mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BAR_WIDTH 24

struct maps_text_shower {
	struct ui_output *out;
	const struct ui_options *ui;
	const struct maps_report *r;
	const struct space *s; /* of the report */
	struct ui_table *table;
	bool has_rss, has_hugetlb, has_bar;
	bool has_guess; /* a shown row contains a guess */
	size_t nr_more; /* number of groups not shown */
	struct err *e;
	bool failed; /* E has the reason */
};

/* ---- cells ---- */

static void
column(struct maps_text_shower *sh, const char *name, bool is_right)
{
	if (!sh->failed && ui_table_column(sh->table, name, is_right, sh->e) < 0)
		sh->failed = true;
}

static void
row(struct maps_text_shower *sh)
{
	if (!sh->failed && ui_table_row(sh->table, sh->e) < 0)
		sh->failed = true;
}

static void
cell(struct maps_text_shower *sh, const char *text)
{
	if (!sh->failed && ui_table_cell(sh->table, text, sh->e) < 0)
		sh->failed = true;
}

/* Add a name; record in SH whether it is a guess. */
static void
name_cell(struct maps_text_shower *sh, const char *text, enum confidence confidence)
{
	bool is_guess = confidence == CONFIDENCE_GUESS;

	sh->has_guess |= is_guess;
	if (!sh->failed && ui_table_cell_marked(sh->table, text, is_guess, sh->e) < 0)
		sh->failed = true;
}

static void
maps_text_size_cell(struct maps_text_shower *sh, uint64_t bytes, bool is_known)
{
	char text[32];

	cell(sh, is_known ? ui_size(sh->ui, bytes, text, sizeof text) : "?");
}

/* ---- the table ---- */

static void
number_cells(struct maps_text_shower *sh, const struct row *r)
{
	maps_text_size_cell(sh, r->sum.size_bytes, true);
	maps_text_size_cell(sh, r->sum.rss_bytes, sh->has_rss);
	if (sh->r->by == BY_THREAD) {
		if (r->has_unused)
			maps_text_size_cell(sh, r->unused_bytes, rows_know_unused(sh->s));
		else
			cell(sh, "-");
	}
	maps_text_size_cell(sh, r->sum.swap_bytes, sh->has_rss && space_knows(sh->s, SMAPS_SWAP));
	if (sh->has_hugetlb)
		maps_text_size_cell(sh, r->sum.hugetlb_bytes, sh->has_rss);
	for (int x = 0; x < NR_EXTRAS; x++)
		if (sh->r->extras & 1U << x)
			maps_text_size_cell(
				sh, r->sum.extra_bytes[x], extra_is_known(sh->s, (enum extra)x));
}

/* True if the name is the last column: paths can be long, and a terminal cuts them there. */
static bool
is_name_last(const struct maps_text_shower *sh)
{
	return sh->r->by == BY_OBJECT;
}

static void
columns(struct maps_text_shower *sh)
{
	static const char *const title[NR_BY] = { "CLASS", "OBJECT", "ARENA", "THREAD" };

	if (!is_name_last(sh))
		column(sh, title[sh->r->by], false);
	column(sh, "VIRT", true);
	column(sh, "RSS", true);
	if (sh->r->by == BY_THREAD)
		column(sh, "UNUSED", true);
	column(sh, "SWAP", true);
	if (sh->has_hugetlb)
		column(sh, "HUGETLB", true);
	for (int x = 0; x < NR_EXTRAS; x++)
		if (sh->r->extras & 1U << x)
			column(sh, extra_columns[x].title, true);
	column(sh, "COUNT", true);
	if (is_name_last(sh))
		column(sh, title[sh->r->by], false);
	else if (sh->has_bar)
		column(sh, "", false);
}

/* Return R's share of the total, by the sort column. */
static double
maps_text_share(const struct maps_text_shower *sh, const struct row *r)
{
	bool by_virt = sh->r->sort == SORT_VIRT || !sh->has_rss;
	uint64_t part = by_virt ? r->sum.size_bytes : r->sum.rss_bytes;
	uint64_t whole = by_virt ? sh->s->totals.virt_bytes : sh->s->totals.rss_bytes;

	return whole ? (double)part / (double)whole : 0;
}

static void
maps_text_group_row(struct maps_text_shower *sh, const struct row *r)
{
	bool is_part = r->parent != NO_PARENT;
	char bar[BAR_WIDTH + 1];
	auto_free char *name = NULL;
	char text[32];

	if (asprintf(&name, "%s%s", is_part ? "  " : "", leaf_label(r->name)) < 0)
		name = NULL;
	row(sh);
	if (!is_name_last(sh))
		name_cell(sh, name ? name : "?", r->confidence);
	number_cells(sh, r);
	snprintf(text, sizeof text, "%" PRIu64, r->sum.nr);
	cell(sh, text);
	if (is_name_last(sh))
		name_cell(sh, name ? name : "?", r->confidence);
	else if (sh->has_bar)
		cell(sh, is_part ? "" : ui_bar(maps_text_share(sh, r), BAR_WIDTH, bar, sizeof bar));
}

static void
total_row(struct maps_text_shower *sh)
{
	struct row total = row_of_all(sh->s, sh->r->selection);
	bool has_bar = sh->has_bar;

	total.confidence = CONFIDENCE_EXACT; /* only the division into rows is a guess */
	sh->has_bar = false;
	maps_text_group_row(sh, &total);
	sh->has_bar = has_bar;
}

/* True if R is its group's only part, which needs no separate line. */
static bool
is_only_part(const struct rows *rows, const struct row *r)
{
	return r->parent != NO_PARENT && rows->v[r->parent].sum.nr == r->sum.nr;
}

static void
all_rows(struct maps_text_shower *sh)
{
	const struct rows *rows = sh->r->rows;
	size_t tops = 0;

	for (size_t i = 0; i < rows->nr; i++) {
		const struct row *r = sh->r->order[i];

		tops += r->parent == NO_PARENT;
		if (sh->r->limit && tops > sh->r->limit)
			sh->nr_more += r->parent == NO_PARENT;
		else if (!is_only_part(rows, r))
			maps_text_group_row(sh, r);
	}
	total_row(sh);
}

/* ---- around the table ---- */

/* Print the name of the file or process, and its totals. */
static void
head_of_file(struct ui_output *out, const struct ui_options *ui, const struct space *s)
{
	const bool has_rss = s->rss_from != SPACE_RSS_NONE;
	char virt[32], rss[32], swap[32];

	fprintf(out->f, "%s  VIRT %s  RSS %s  swap %s\n", s->file->name,
		ui_size(ui, s->after.vm_size_bytes, virt, sizeof virt),
		has_rss ? ui_size(ui, s->after.vm_rss_bytes, rss, sizeof rss) : "?",
		has_rss && space_knows(s, SMAPS_SWAP)
			? ui_size(ui, s->after.vm_swap_bytes, swap, sizeof swap)
			: "?");
}

static void
maps_text_head(struct ui_output *out, const struct ui_options *ui, const struct target *t,
	const struct os_status *s)
{
	char virt[32], rss[32], swap[32];

	fprintf(out->f, "%s %d  VIRT %s  RSS %s  swap %s\n", t->comm, t->pid,
		ui_size(ui, s->vm_size_bytes, virt, sizeof virt),
		ui_size(ui, s->vm_rss_bytes, rss, sizeof rss),
		ui_size(ui, s->vm_swap_bytes, swap, sizeof swap));
}

void
maps_selection_text(FILE *f, const struct selection *sel)
{
	const char *comma = "Only ";
	char text[256];

	for (size_t i = 0; i < sel->classes.nr; i++, comma = ", ")
		fprintf(f, "%s%s", comma, text_printable(sel->classes.v[i], text, sizeof text));
	if (sel->object)
		fprintf(f, "%sobjects called %s", comma[0] == ',' ? " in " : comma,
			text_printable(sel->object, text, sizeof text));
	if (sel->has_range)
		fprintf(f, "%s%" PRIx64 "-%" PRIx64,
			comma[0] == ',' || sel->object ? " within " : comma, sel->start.v,
			sel->end.v);
	if (!selection_is_all(sel))
		fputs(":\n", f);
}

/* Print equal identities in one line, each different one in a separate line. */
static void
identities(const struct maps_text_shower *sh)
{
	struct identity id[NR_IDENTITIES];
	size_t nr = space_identities(sh->s, id);
	const char *comma = "Equal to the kernel's own: ";
	FILE *f = sh->out->f;

	for (size_t i = 0; i < nr; i++)
		if (!id[i].explained_by) {
			fprintf(f, "%s%s", comma, id[i].name);
			comma = ", ";
		}
	if (strcmp(comma, ", ") == 0)
		fputc('\n', f);
	for (size_t i = 0; i < nr; i++) {
		char change[32];

		if (id[i].explained_by)
			fprintf(f, "Not equal to %s: %s (%s)\n", id[i].name,
				ui_size_change(sh->ui,
					(int64_t)(id[i].ours_bytes - id[i].kernel_bytes), change,
					sizeof change),
				id[i].explained_by);
	}
}

/* --json lists all of them. */
#define REPEATS_SHOWN 3

/* List files mapped more than once: the sums are right, but may surprise. */
static void
print_repeats(const struct maps_text_shower *sh)
{
	const struct repeats *r = sh->r->repeats;

	for (size_t i = 0; i < r->nr && i < REPEATS_SHOWN; i++) {
		const struct repeat *repeat = &r->v[i];
		char virt[32], rss[32], path[256];

		ui_size(sh->ui, repeat->virt_bytes, virt, sizeof virt);
		ui_size(sh->ui, repeat->rss_bytes, rss, sizeof rss);
		text_printable(repeat->path, path, sizeof path);
		fprintf(sh->out->f,
			"Mapped more than once: %s of VIRT, at most %s of "
			"RSS: %s\n",
			virt, sh->has_rss ? rss : "?", path);
	}
	if (r->nr > REPEATS_SHOWN)
		fprintf(sh->out->f, "and %zu more files; --json lists all\n",
			r->nr - REPEATS_SHOWN);
}

/* Print the memory of another malloc. */
static void
maps_text_other_malloc(const struct maps_text_shower *sh)
{
	const struct object *o = sh->s->malloc_object;
	const char *name = o ? object_allocator(o) : NULL;
	char path[256];

	if (o && !o->is_libc)
		fprintf(sh->out->f,
			"malloc is %s%s%s%s: its memory is in anon and heap, among the "
			"program's own.\n",
			name ? name : "", name ? "'s (" : "",
			text_printable(o->path, path, sizeof path), name ? ")" : "");
}

/* Print the last lines for a file, which has no data on page tables and limits. */
static void
foot_of_file(const struct maps_text_shower *sh)
{
	char huge[32];

	fprintf(sh->out->f, "\n%" PRIu64 " mappings", space_nr_mappings(sh->s));
	if (sh->s->totals.huge_bytes)
		fprintf(sh->out->f, "; transparent huge pages %s of RSS",
			ui_size(sh->ui, sh->s->totals.huge_bytes, huge, sizeof huge));
	fputs(".\n", sh->out->f);
	print_repeats(sh);
}

static void
foot(const struct maps_text_shower *sh)
{
	char tables[32], huge[32];

	if (sh->s->file) {
		foot_of_file(sh);
		return;
	}
	fprintf(sh->out->f, "\nPage tables %s, not in RSS",
		ui_size(sh->ui, sh->s->after.vm_pte_bytes, tables, sizeof tables));
	if (sh->s->totals.huge_bytes)
		fprintf(sh->out->f, "; transparent huge pages %s of RSS",
			ui_size(sh->ui, sh->s->totals.huge_bytes, huge, sizeof huge));
	fprintf(sh->out->f, "; %" PRIu64 " of ", space_nr_mappings(sh->s));
	if (os_max_mappings())
		fprintf(sh->out->f, "%" PRIu64 " mappings.\n", os_max_mappings());
	else
		fputs("? mappings.\n", sh->out->f);
	maps_text_other_malloc(sh);
	print_repeats(sh);
	identities(sh);
}

static int
rows_table(struct maps_text_shower *sh)
{
	if (sh->r->by == BY_MAPPING) {
		maps_show_mappings(sh->out, sh->ui, sh->r);
		return 0;
	}
	columns(sh);
	all_rows(sh);
	if (sh->failed || ui_table_print(sh->table, sh->e) < 0)
		return -1;
	ui_print_more(sh->out->f, sh->nr_more);
	if (sh->has_guess)
		fputs(UI_GUESS_LEGEND, sh->out->f);
	return 0;
}

static int
growth_table(struct maps_text_shower *sh)
{
	const struct growth *g = sh->r->growth;
	bool is_any = growth_is_any(g), is_missing;

	if (is_any && growth_print(g, sh->out, sh->ui, sh->r->limit, sh->e) < 0)
		return -1;
	is_missing = growth_print_missing(g, sh->out->f);
	if (!is_any)
		fputs(is_missing ? "Nothing else changed.\n" : "Nothing changed.\n", sh->out->f);
	return 0;
}

int
maps_show_text(struct ui_output *out, const struct ui_options *ui, const struct maps_report *report,
	struct err *e)
{
	auto_table struct ui_table *table = ui_table_new(out);
	const struct space *s = report->s;
	struct maps_text_shower sh = {
		.out = out,
		.ui = ui,
		.r = report,
		.s = s,
		.table = table,
		.e = e,
		.has_rss = s->rss_from != SPACE_RSS_NONE,
		.has_hugetlb = s->totals.hugetlb_bytes != 0,
		.has_bar = out->is_terminal && (report->by == BY_CLASS || report->by == BY_ARENA),
	};

	if (!table)
		return err_set(e, ENOMEM, "cannot make a table");
	if (s->file)
		head_of_file(out, ui, s);
	else
		maps_text_head(out, ui, report->t, &s->after);
	maps_selection_text(out->f, report->selection);
	if ((report->growth ? growth_table(&sh) : rows_table(&sh)) < 0)
		return -1;
	foot(&sh);
	return 0;
}

void
maps_totals_text(struct ui_output *out, const struct ui_options *ui, const struct target *t,
	const struct os_status *s)
{
	char anon[32], file[32], shmem[32], tables[32];

	maps_text_head(out, ui, t, s);
	fprintf(out->f,
		"RSS: anonymous %s, files %s, shared memory %s.  Page tables %s, not in RSS.\n",
		ui_size(ui, s->rss_anon_bytes, anon, sizeof anon),
		ui_size(ui, s->rss_file_bytes, file, sizeof file),
		ui_size(ui, s->rss_shmem_bytes, shmem, sizeof shmem),
		ui_size(ui, s->vm_pte_bytes, tables, sizeof tables));
}

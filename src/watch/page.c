#include <config.h>

#include "watch/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "ui/units.h"
#include "ui/cells.h"
#include "watch/graph.h"

/* Widths of columns, with the two blanks before each but the names. */
#define NUMBER_COLUMNS 12
#define SHARE_COLUMNS 8
#define GROWTH_COLUMNS 14
#define TREND_COLUMNS 14
/* The least for names, and for a table with more than a number. */
#define NAME_COLUMNS 8
#define ROOMY_NAME_COLUMNS 20
/* Rows that a table keeps when there is a graph, and rows of a graph. */
#define LEAST_TABLE 8
#define LEAST_GRAPH 3
#define MOST_GRAPH 10

const char *const watch_order_names[NR_WATCH_ORDERS + 1] = { "first", "second", "third", "growth",
	"name", NULL };

/* ---- above the table ---- */

/* Write the local time of NS to BUF and return it. */
static const char *
page_time(uint64_t ns, char *buf, size_t size)
{
	const time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(buf, size, "%H:%M:%S", &tm))
		snprintf(buf, size, "?");
	return buf;
}

/* Write ", +1.2 MiB a minute" to BUF and return it; "" if the growth is not known. */
static const char *
page_growth(const struct watch_history *h, const struct ui_options *ui, char *buf, size_t size)
{
	char change[32];
	int64_t growth;

	if (!watch_history_growth(h, &growth))
		return "";
	snprintf(buf, size, ", %s a minute", ui_size_change(ui, growth, change, sizeof change));
	return buf;
}

static int
add_limit(struct watch_lines *l, const struct watch_sample *s, const struct ui_options *ui,
	struct err *e)
{
	const double share = (double)s->used_bytes / (double)s->limit_bytes;

	return watch_lines_add(l, share >= 0.9 ? WATCH_ALERT : WATCH_PLAIN, e,
		"cgroup: %s of %s used (%.1f%%)", UI_SIZE(ui, s->used_bytes),
		UI_SIZE(ui, s->limit_bytes), 100 * share);
}

static int
add_head(struct watch_lines *l, const struct watch_page *p, const struct watch_history *h,
	const struct ui_options *ui, struct err *e)
{
	const struct watch_sample *s = watch_history_last(h);
	char comm[4 * OS_COMM_BYTES], time[32], growth[64];

	if (watch_lines_add(l, WATCH_TITLE, e, "%s (%d)  %s  %s",
		    text_printable(s->comm, comm, sizeof comm), (int)s->pid,
		    page_time(s->time_ns, time, sizeof time), p->state) < 0 ||
		watch_lines_add(l, WATCH_PLAIN, e, "RSS %s%s  at most %s  swap %s  VIRT %s",
			UI_SIZE(ui, s->rss_bytes), page_growth(h, ui, growth, sizeof growth),
			UI_SIZE(ui, s->peak_bytes), UI_SIZE(ui, s->swap_bytes),
			UI_SIZE(ui, s->virt_bytes)) < 0 ||
		watch_lines_add(l, WATCH_PLAIN, e,
			"%" PRIu64 " thread%s  %" PRIu64 " arena%s  %" PRIu64 " mapping%s",
			s->nr_threads, s->nr_threads == 1 ? "" : "s", s->nr_arenas,
			s->nr_arenas == 1 ? "" : "s", s->nr_mappings,
			s->nr_mappings == 1 ? "" : "s") < 0)
		return -1;
	if (s->limit_bytes && add_limit(l, s, ui, e) < 0)
		return -1;
	return p->note ? watch_lines_add(l, WATCH_ALERT, e, "%s", p->note) : 0;
}

/* ---- the table ---- */

enum column_kind { COLUMN_NUMBER, COLUMN_SHARE, COLUMN_GROWTH, COLUMN_TREND };

struct table_column {
	enum column_kind kind;
	int number; /* of COLUMN_NUMBER */
};

struct table_layout {
	struct table_column column[WATCH_NUMBERS + 3];
	int nr, name_columns;
};

static int
column_width(enum column_kind kind)
{
	static const int widths[] = {
		[COLUMN_NUMBER] = NUMBER_COLUMNS,
		[COLUMN_SHARE] = SHARE_COLUMNS,
		[COLUMN_GROWTH] = GROWTH_COLUMNS,
		[COLUMN_TREND] = TREND_COLUMNS,
	};

	return widths[kind];
}

/* Choose the columns of VIEW that fit into COLUMNS: the most important ones. */
static struct table_layout
layout_of(enum watch_view view, int columns)
{
	static const struct table_column wanted[] = { { COLUMN_NUMBER, 0 }, { COLUMN_GROWTH, 0 },
		{ COLUMN_SHARE, 0 }, { COLUMN_NUMBER, 1 }, { COLUMN_TREND, 0 },
		{ COLUMN_NUMBER, 2 } };
	struct table_layout ret = { .name_columns = columns };

	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		const int least = ret.nr ? ROOMY_NAME_COLUMNS : NAME_COLUMNS;

		if (wanted[i].kind == COLUMN_NUMBER &&
			!watch_views[view].number[wanted[i].number].title)
			continue;
		if (ret.name_columns - column_width(wanted[i].kind) < least)
			break;
		ret.name_columns -= column_width(wanted[i].kind);
		ret.column[ret.nr++] = wanted[i];
	}
	return ret;
}

static int
add_table_head(struct watch_lines *l, const struct table_layout *layout, enum watch_view view,
	struct err *e)
{
	static const char *const titles[] = { [COLUMN_SHARE] = "SHARE",
		[COLUMN_GROWTH] = "A MINUTE",
		[COLUMN_TREND] = "LAST MINUTE" };
	auto_free char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return err_set(e, ENOMEM, "cannot draw a table");
	cells_put(f, watch_views[view].title, layout->name_columns, false);
	for (int i = 0; i < layout->nr; i++) {
		const struct table_column *c = &layout->column[i];

		cells_put(f,
			c->kind == COLUMN_NUMBER ? watch_views[view].number[c->number].title
						 : titles[c->kind],
			column_width(c->kind), true);
	}
	if (fclose(f) != 0)
		return err_set(e, ENOMEM, "cannot draw a table");
	return watch_lines_add(l, WATCH_HEAD, e, "%s", text);
}

/* Print the first number of R in the samples of the last minute, from 0 to the greatest. */
static void
put_trend(FILE *f, const struct watch_history *h, enum watch_view view, const struct watch_row *r)
{
	static const char *const blocks[] = { " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585",
		"\u2586", "\u2587", "\u2588" };
	static const char *const plain[] = { " ", "_", ".", "-", "=", "+", "*", "%", "#" };
	const char *const *levels = cells_have_unicode() ? blocks : plain;
	const char *parent = watch_parent(&watch_history_last(h)->table[view], r);
	const int width = TREND_COLUMNS - 2;
	uint64_t value[TREND_COLUMNS] = { 0 }, greatest = 0;
	const size_t nr = h->kept.nr;

	for (size_t i = 0; i < nr; i++) {
		const struct watch_row *one =
			watch_table_find(&h->kept.v[i].table[view], r->name, parent);
		const size_t at =
			nr <= (size_t)width ? (size_t)width - nr + i : i * (size_t)width / nr;

		if (one && one->number[0] > value[at])
			value[at] = one->number[0];
		if (one && one->number[0] > greatest)
			greatest = one->number[0];
	}
	fputs("  ", f);
	for (int i = 0; i < width; i++)
		fputs(levels[greatest ? (int)((double)value[i] / (double)greatest * 8 + 0.5) : 0],
			f);
}

/* Write number NR of R, of a table of VIEW, to BUF and return it. */
static const char *
number_text(enum watch_view view, const struct watch_row *r, int nr, bool is_rough,
	const struct ui_options *ui, char *buf, size_t size)
{
	char text[32];

	if (watch_views[view].number[nr].is_bytes)
		ui_size(ui, r->number[nr], text, sizeof text);
	else
		snprintf(text, sizeof text, "%" PRIu64, r->number[nr]);
	return ui_mark(text, is_rough, buf, size);
}

/* Print column C of R. */
static void
put_column(FILE *f, const struct table_column *c, const struct watch_page *p,
	const struct watch_history *h, const struct watch_row *r, const struct ui_options *ui)
{
	const struct watch_sample *s = watch_history_last(h);
	const struct watch_table *t = &s->table[p->view];
	char text[40] = "";
	int64_t growth;

	switch (c->kind) {
	case COLUMN_NUMBER:
		number_text(p->view, r, c->number, t->is_rough, ui, text, sizeof text);
		break;
	case COLUMN_SHARE:
		if (s->rss_bytes)
			snprintf(text, sizeof text, "%.1f%%",
				100.0 * (double)r->number[0] / (double)s->rss_bytes);
		break;
	case COLUMN_GROWTH:
		if (watch_history_row_growth(h, p->view, r, &growth))
			ui_size_change(ui, growth, text, sizeof text);
		break;
	case COLUMN_TREND:
		put_trend(f, h, p->view, r);
		return;
	}
	cells_put(f, text, column_width(c->kind), true);
}

/* Print the name of R: in the table of the heap it is a member of JSON, such as "in_use". */
static void
page_put_name(FILE *f, enum watch_view view, const struct watch_row *r, int width)
{
	char name[64];

	if (view != WATCH_HEAP) {
		cells_put(f, r->name, width, false);
		return;
	}
	snprintf(name, sizeof name, "%s", r->name);
	for (char *c = name; *c; c++)
		if (*c == '_')
			*c = ' ';
	cells_put(f, name, width, false);
}

static int
add_row(struct watch_lines *l, const struct table_layout *layout, const struct watch_page *p,
	const struct watch_history *h, const struct watch_row *r, const struct ui_options *ui,
	struct err *e)
{
	const int indent = r->parent == WATCH_NO_PARENT ? 0 : 2;
	auto_free char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return err_set(e, ENOMEM, "cannot draw a table");
	fprintf(f, "%*s", indent, "");
	page_put_name(f, p->view, r, layout->name_columns - indent);
	for (int i = 0; i < layout->nr; i++)
		put_column(f, &layout->column[i], p, h, r, ui);
	if (fclose(f) != 0)
		return err_set(e, ENOMEM, "cannot draw a table");
	return watch_lines_add(l, WATCH_PLAIN, e, "%s", text);
}

struct page_sorting {
	const struct watch_page *p;
	const struct watch_history *h;
};

static int
compare_growth(
	const struct page_sorting *sorting, const struct watch_row *a, const struct watch_row *b)
{
	int64_t x = 0, y = 0;

	watch_history_row_growth(sorting->h, sorting->p->view, a, &x);
	watch_history_row_growth(sorting->h, sorting->p->view, b, &y);
	return (x < y) - (x > y);
}

static int
compare_by_order(const struct watch_table *t, const struct watch_row *a, const struct watch_row *b,
	void *arg)
{
	const struct page_sorting *sorting = arg;
	const enum watch_order order = sorting->p->order;
	int result;

	(void)t;
	if (order == WATCH_BY_NAME)
		result = strcmp(a->name, b->name);
	else if (order == WATCH_BY_GROWTH)
		result = compare_growth(sorting, a, b);
	else
		result = (a->number[order] < b->number[order]) -
			(a->number[order] > b->number[order]);
	return sorting->p->is_reversed ? -result : result;
}

/* Explain that the table of P is missing. */
static int
add_no_table(struct watch_lines *l, const struct watch_table *t, struct err *e)
{
	return watch_lines_add(l, WATCH_ALERT, e, "%s", t->why ? t->why : "not read");
}

/* Add at most MOST rows of the table, 0: all. */
static int
add_rows(struct watch_lines *l, const struct table_layout *layout, struct watch_page *p,
	const struct watch_history *h, size_t most, const struct ui_options *ui, struct err *e)
{
	const struct watch_table *t = &watch_history_last(h)->table[p->view];
	struct page_sorting sorting = { p, h };
	auto_free size_t *order = calloc(t->nr + 1, sizeof *order);
	size_t end;

	if (!order)
		return err_set(e, ENOMEM, "cannot draw a table");
	watch_table_order(t, compare_by_order, &sorting, order);
	if (!most)
		p->first = 0;
	else if (p->first + most > t->nr)
		p->first = t->nr > most ? t->nr - most : 0;
	end = most && p->first + most < t->nr ? p->first + most : t->nr;
	for (size_t i = p->first; i < end; i++)
		if (add_row(l, layout, p, h, &t->v[order[i]], ui, e) < 0)
			return -1;
	if (end < t->nr || !t->nr_more || (most && end - p->first + 1 > most))
		return 0;
	return watch_lines_add(
		l, WATCH_PLAIN, e, "%" PRIu64 " smaller rows are left out", t->nr_more);
}

/* Add the table in at most ROWS lines, 0: as many as it has. */
static int
add_table(struct watch_lines *l, struct watch_page *p, const struct watch_history *h, int rows,
	const struct ui_options *ui, struct err *e)
{
	const struct watch_table *t = &watch_history_last(h)->table[p->view];
	const struct table_layout layout = layout_of(p->view, l->columns);

	if (!t->is_read)
		return add_no_table(l, t, e);
	if (add_table_head(l, &layout, p->view, e) < 0)
		return -1;
	return rows == 1 ? 0 : add_rows(l, &layout, p, h, rows ? (size_t)(rows - 1) : 0, ui, e);
}

/* ---- help ---- */

static int
add_help(struct watch_lines *l, struct err *e)
{
	static const char *const lines[] = {
		"c o a t s h  classes, objects, arenas, threads, sites of a profile, free heap",
		"< >          sort by another column       r  the other way round",
		"up down PgUp PgDn Home End  move in the table",
		"g            another curve in the graph",
		"+ -          more often, less often",
		"space        pause, continue",
		"S            stop the process for a moment, for exact numbers of the free heap",
		"left right   in a saved file: one sample back, forward; [ ] a tenth of the file",
		"?            this help, and back          q  quit",
		"Only S stops the process; all else reads.",
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (watch_lines_add(l, WATCH_PLAIN, e, "%s", lines[i]) < 0)
			return -1;
	return 0;
}

static int
add_keys(struct watch_lines *l, struct err *e)
{
	return watch_lines_add(
		l, WATCH_HEAD, e, "q quit  ? help  c o a t s h table  < > sort  space pause");
}

/* ---- the page ---- */

/* Return the rows of a graph if LEFT lines are left for it and the table. */
static int
graph_rows(const struct watch_lines *l, const struct watch_history *h, int left)
{
	const int rows = left - WATCH_GRAPH_AXIS - 1 - LEAST_TABLE;

	if (l->columns < WATCH_GRAPH_COLUMNS || rows < LEAST_GRAPH || h->points.nr < 2)
		return 0;
	return rows / 2 > MOST_GRAPH ? MOST_GRAPH : rows / 2 < LEAST_GRAPH ? LEAST_GRAPH : rows / 2;
}

/* Draw what comes after the head, into a page of ROWS lines. */
static int
add_rest(struct watch_lines *l, struct watch_page *p, const struct watch_history *h, int rows,
	const struct ui_options *ui, struct err *e)
{
	int left = rows - (int)l->nr - 1; /* the last line has the keys */
	const int graph = graph_rows(l, h, left);

	if (left <= 0)
		return 0;
	if (p->has_help)
		return add_help(l, e) < 0 ? -1 : add_keys(l, e);
	if (graph && watch_graph_add(l, h, p->curve, graph, ui, e) < 0)
		return -1;
	if (graph)
		left -= graph + WATCH_GRAPH_AXIS;
	if (add_table(l, p, h, left, ui, e) < 0)
		return -1;
	while ((int)l->nr < rows - 1)
		if (watch_lines_add(l, WATCH_PLAIN, e, "%s", "") < 0)
			return -1;
	return add_keys(l, e);
}

int
watch_page_draw(struct watch_lines *l, struct watch_page *p, const struct watch_history *h,
	int rows, const struct ui_options *ui, struct err *e)
{
	if (add_head(l, p, h, ui, e) < 0)
		return -1;
	if (!rows)
		return add_table(l, p, h, 0, ui, e);
	if (add_rest(l, p, h, rows, ui, e) < 0)
		return -1;
	watch_lines_limit(l, (size_t)rows);
	return 0;
}

#include <config.h>

#include "report/html.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "report/flame.h"
#include "report/format.h"
#include "report/text.h"
#include "report/unnamed-text.h"
#include "report/xml.h"
#include "ui/ui.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/assets.h"

#define MAX_NAME_BYTES 2000

/* ---- above ---- */

void
page_put_head(FILE *f, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>", f);
	xml_put(f, title, 200);
	fprintf(f, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n", flame_css, page_css);
}

void
page_put_tail(FILE *f)
{
	fprintf(f, "<script>\n%s%s</script>\n</body>\n</html>\n", page_js, flame_js);
}

static void
html_put_heading(const struct report_view *v, FILE *f, int level)
{
	const struct profile_type *type = &v->p->types.v[v->c->options.type];
	char text[160], shown[32], total[32], period[32];

	fprintf(f, "<h%d>", level);
	xml_put(f, v->file, MAX_NAME_BYTES);
	if (v->base) {
		fputs(" less ", f);
		xml_put(f, v->base, MAX_NAME_BYTES);
	}
	fprintf(f, "</h%d>\n<p class=\"facts\">", level);
	xml_put(f, report_type_text(type, text, sizeof text), sizeof text);
	fprintf(f, ": %s of %s, in %zu different %s",
		report_value(v, v->c->shown, shown, sizeof shown),
		report_value(v, v->c->total, total, sizeof total), v->c->nr_stacks,
		report_words_of(v)->stacks);
	if (v->p->period_bytes > 1)
		fprintf(f, ", one sample every %s",
			text_bytes((uint64_t)v->p->period_bytes, period, sizeof period));
	fputs("</p>\n", f);
	for (size_t i = 0; i < v->p->comments.nr; i++) {
		fputs("<p class=\"facts\">", f);
		xml_put(f, v->p->comments.v[i], MAX_NAME_BYTES);
		fputs("</p>\n", f);
	}
	fputs("<p><input id=\"expression\" placeholder=\"search: regular expression\" size=\"40\"> "
	      "<button id=\"theme\">dark or light</button></p>\n",
		f);
}

/* ---- tables ---- */

static void
put_cell(const struct report_view *v, FILE *f, int64_t value)
{
	char text[32];

	fprintf(f, "<td>%s</td><td>%.1f%%</td>", report_value(v, value, text, sizeof text),
		100 * calls_share(v->c, value));
}

static int
put_functions(const struct report_view *v, FILE *f, struct err *e)
{
	auto_free uint32_t *order = calls_order(v->c, v->by_cum);
	size_t nr = 0;

	if (!order)
		return err_set(e, ENOMEM, "cannot make a table");
	fprintf(f,
		"<h2>%s</h2>\n<table id=\"functions\">\n<thead><tr><th>flat</th><th>flat%%</th>"
		"<th>cum</th><th>cum%%</th><th>name</th></tr></thead>\n<tbody>\n",
		report_words_of(v)->title);
	for (size_t i = 0; i < v->c->nodes.nr; i++) {
		const struct calls_node *n = &v->c->nodes.v[order[i]];

		if ((!n->flat && !n->cum) || (nr++ >= v->limit && v->limit))
			continue;
		fputs("<tr>", f);
		put_cell(v, f, n->flat);
		put_cell(v, f, n->cum);
		fputs("<td>", f);
		xml_put(f, n->name, MAX_NAME_BYTES);
		fputs("</td></tr>\n", f);
	}
	fputs("</tbody>\n</table>\n", f);
	if (v->limit && nr > v->limit)
		fprintf(f, "<p class=\"facts\">and %zu more; -n 0 shows all</p>\n", nr - v->limit);
	return 0;
}

static void
put_bar(const struct report_view *v, FILE *f, int64_t value)
{
	double share = calls_share(v->c, value < 0 ? -value : value);

	fprintf(f, "<td><span class=\"bar\" style=\"width:%.0fpx\"></span></td>",
		200 * (share < 1 ? share : 1));
}

static void
html_put_threads(const struct report_view *v, FILE *f)
{
	if (!v->c->threads.nr)
		return;
	fputs("<h2>Threads</h2>\n<table id=\"threads\">\n<tbody>\n", f);
	for (size_t i = 0; i < v->c->threads.nr; i++) {
		const struct calls_group *g = &v->c->threads.v[i];
		const struct profile_thread *t = &v->p->threads.v[g->thread_1 - 1];

		fputs("<tr>", f);
		put_cell(v, f, g->value);
		put_bar(v, f, g->value);
		fputs("<td>", f);
		if (t->tid)
			fprintf(f, "%" PRId64 " ", t->tid);
		xml_put(f, t->name, MAX_NAME_BYTES);
		fputs("</td></tr>\n", f);
	}
	fputs("</tbody>\n</table>\n", f);
}

static void
html_put_sizes(const struct report_view *v, FILE *f)
{
	char size[32];

	if (!v->c->sizes.nr)
		return;
	fputs("<h2>Sizes of blocks</h2>\n<table id=\"sizes\">\n<tbody>\n", f);
	for (size_t i = 0; i < v->c->sizes.nr; i++) {
		const struct calls_group *g = &v->c->sizes.v[i];

		fputs("<tr>", f);
		put_cell(v, f, g->value);
		put_bar(v, f, g->value);
		fprintf(f, "<td>%s</td></tr>\n", text_bytes(g->size_bytes, size, sizeof size));
	}
	fputs("</tbody>\n</table>\n", f);
}

static int
put_unnamed(const struct report_view *v, FILE *f, struct err *e)
{
	auto_free char *text = NULL;
	char *rest = NULL;

	if (report_unnamed_text(&text, v, e) < 0)
		return -1;
	if (!*text)
		return 0;
	fputs("<pre class=\"facts\" id=\"unnamed\">", f);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		xml_put(f, line, MAX_NAME_BYTES);
		fputc('\n', f);
	}
	fputs("</pre>\n", f);
	return 0;
}

int
page_put_report(const struct report_view *v, FILE *f, int level, struct err *e)
{
	html_put_heading(v, f, level);
	if (put_unnamed(v, f, e) < 0 || flame_put(v, f, false, e) < 0 || put_functions(v, f, e) < 0)
		return -1;
	html_put_threads(v, f);
	html_put_sizes(v, f);
	return 0;
}

/* Print a page with the flame graph, functions, threads and sizes, which needs no other file. */
static int
report_print_html(const struct report_view *v, struct ui_output *out, struct err *e)
{
	page_put_head(out->f, v->file);
	if (page_put_report(v, out->f, 1, e) < 0)
		return -1;
	page_put_tail(out->f);
	return 0;
}

/* Rows in each table of a page. */
#define PAGE_ROWS 200

const struct report_format report_format_html = { "html", FORMAT_HAS_ROWS, PAGE_ROWS,
	report_print_html };

#include <config.h>

#include "report/timeline-text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "ui/units.h"

#define DEFAULT_COLUMNS 80
#define LABEL_COLUMNS 12 /* "1023.9 KiB |" */
#define LEAST_COLUMNS 8
#define MOST_COLUMNS 2000
#define LIVE_ROWS 12
#define RSS_ROWS 5
#define MAPPED_ROWS 5
/*
 * Lines of a plot for its title, axis and times; all plots but the first also have an empty line
 * above.
 */
#define PLOT_LINES 3

/* The values shown in a plot. */
enum what { LIVE, MAPPED, RSS };

struct plot {
	const struct timeline_view *v;
	FILE *f;
	struct timeline_column *column;
	size_t nr, peak; /* number of columns, column of the peak */
	bool lacks_rss;	 /* some columns lack RSS */
};

/* The heights of plots; 0: not drawn. */
struct heights {
	int live, mapped, rss;
};

/* ---- the lines above the plots ---- */

/* Print the sums of the program's own mappings, which are not part of the live bytes. */
static void
timeline_text_put_mapped(const struct timeline_view *v, FILE *f)
{
	const struct history *h = v->h;
	char time[32];

	fprintf(f, "mapped by the program's own mmap at most %s at %s",
		UI_SIZE(v->ui, (uint64_t)h->mapped_peak.live.bytes),
		timeline_time(h->mapped_peak.at_ns, TIMELINE_MOMENT_NS, time, sizeof time));
	fprintf(f, "; at the end %s in %" PRId64 " mapping%s\n",
		UI_SIZE(v->ui, (uint64_t)h->mapped.bytes), h->mapped.blocks,
		h->mapped.blocks == 1 ? "" : "s");
}

static void
put_facts(const struct timeline_view *v, FILE *f)
{
	const struct history *h = v->h;
	char file[512], text[600], time[32];

	fprintf(f, "%s: %s", text_printable(v->file, file, sizeof file),
		timeline_time(h->end_ns, TIMELINE_MOMENT_NS, time, sizeof time));
	fprintf(f, ", local maxima of %s\n", ui_duration(h->interval_ns, time, sizeof time));
	for (size_t i = 0; i < v->r->facts->comments.nr; i++)
		fprintf(f, "%s\n", text_printable(v->r->facts->comments.v[i], text, sizeof text));
	fprintf(f, "peak %s%s at %s; at the end %s in %" PRId64 " blocks\n",
		h->unordered_bytes ? "~" : "", UI_SIZE(v->ui, (uint64_t)h->peak.live.bytes),
		timeline_time(h->peak.at_ns, TIMELINE_MOMENT_NS, time, sizeof time),
		UI_SIZE(v->ui, (uint64_t)h->live.bytes), h->live.blocks);
	fprintf(f, "%" PRId64 " blocks allocated (%s), of these %" PRId64 " temporary\n",
		h->allocated.blocks, UI_SIZE(v->ui, (uint64_t)h->allocated.bytes),
		h->temporary.blocks);
	if (h->mapped_peak.live.bytes)
		timeline_text_put_mapped(v, f);
	fputc('\n', f);
}

/* ---- the plot ---- */

/* Return the number of ROWS that VALUE fills: at least one if it is not 0. */
static int
rows_of(int64_t value, int64_t greatest, int rows)
{
	int n = greatest ? (int)((double)value / (double)greatest * rows + 0.5) : 0;

	return value && !n ? 1 : n;
}

static int64_t
value_of(const struct timeline_column *c, enum what what)
{
	return what == LIVE ? c->live_bytes : what == RSS ? c->rss_bytes : c->mapped_bytes;
}

/* Print ROW of ROWS rows of WHAT, counted from the bottom; GREATEST fills all rows. */
static void
put_row(const struct plot *p, int row, int rows, int64_t greatest, enum what what, char *line)
{
	size_t len = 0;

	fprintf(p->f, "%*s |", LABEL_COLUMNS - 2,
		(row == rows / 2 - 1) ? UI_SIZE(p->v->ui, (uint64_t)(greatest / 2)) : "");
	for (size_t i = 0; i < p->nr; i++) {
		int filled = rows_of(value_of(&p->column[i], what), greatest, rows);

		line[i] = filled > row ? '#' : ' ';
		if (what == LIVE && i == p->peak && filled == row + 1)
			line[i] = '*';
		if (line[i] != ' ')
			len = i + 1;
	}
	fprintf(p->f, "%.*s\n", (int)len, line);
}

/* Return the name of the values, with an explanation if space permits. */
static const char *
legend(const struct plot *p, enum what what)
{
	static const char blank[] = "RSS, blank where it was not measured";

	if (what != RSS)
		return what == LIVE ? "live" : "mapped";
	return p->lacks_rss && p->nr > strlen(blank) ? blank : "RSS";
}

static void
put_rows(const struct plot *p, int rows, int64_t greatest, enum what what, char *line)
{
	for (int row = rows - 1; row >= 0; row--) {
		if (row == rows - 1) {
			/* The top label is the value itself. */
			fprintf(p->f, "%*s + %s\n", LABEL_COLUMNS - 2,
				UI_SIZE(p->v->ui, (uint64_t)greatest), legend(p, what));
		}
		put_row(p, row, rows, greatest, what, line);
	}
	memset(line, '-', p->nr);
	fprintf(p->f, "%*s +%.*s\n", LABEL_COLUMNS - 2, "0", (int)p->nr, line);
}

/* Print the times of the start, the middle and the end, as far as space permits. */
static void
timeline_text_put_times(const struct plot *p)
{
	const struct history *h = p->v->h;
	uint64_t end = h->intervals.nr * h->interval_ns;
	char middle[32], last[32];
	int nr = (int)p->nr, at = 3;

	timeline_time(end / 2, h->interval_ns, middle, sizeof middle);
	timeline_time(end, h->interval_ns, last, sizeof last);
	fprintf(p->f, "%*s0 s", LABEL_COLUMNS, "");
	if (nr / 2 > at + 1 && nr / 2 + (int)strlen(middle) + 2 + (int)strlen(last) < nr) {
		fprintf(p->f, "%*s", nr / 2 - at + (int)strlen(middle), middle);
		at = nr / 2 + (int)strlen(middle);
	}
	if (at + (int)strlen(last) + 1 < nr)
		fprintf(p->f, "%*s", nr - at, last);
	fputc('\n', p->f);
}

static size_t
columns_for(const struct ui_output *out)
{
	int columns = (out->columns ? out->columns : DEFAULT_COLUMNS) - LABEL_COLUMNS;

	if (columns < LEAST_COLUMNS)
		columns = LEAST_COLUMNS;
	return columns < MOST_COLUMNS ? (size_t)columns : MOST_COLUMNS;
}

static int
lines_of(const struct heights *r)
{
	return r->live + PLOT_LINES + (r->mapped ? r->mapped + PLOT_LINES + 1 : 0) +
		(r->rss ? r->rss + PLOT_LINES + 1 : 0);
}

/* Reduce R until all plots fit into LINES, or the first has its minimum height. */
static void
shrink(struct heights *r, int lines)
{
	while (lines_of(r) > lines) {
		if (r->rss > 2)
			r->rss--;
		else if (r->mapped > 2)
			r->mapped--;
		else if (r->live > 6)
			r->live--;
		else if (r->rss)
			r->rss = 0;
		else if (r->mapped)
			r->mapped = 0;
		else if (r->live > 2)
			r->live--;
		else
			return;
	}
}

/*
 * Return the number of lines that TEXT fills on a terminal with COLUMNS columns, which wraps long
 * lines.
 */
static int
lines_on(const char *text, int columns)
{
	int nr = 0;

	for (size_t len; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		nr += len && columns > 0 ? (int)((len - 1) / (size_t)columns) + 1 : 1;
	}
	return nr;
}

/* Print the part above the plots, and compute their heights. */
static int
timeline_text_put_head(const struct timeline_view *v, const struct ui_output *out,
	struct heights *ret, struct err *e)
{
	const struct history *h = v->h;
	auto_free char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f)
		put_facts(v, f);
	if (!f || fclose(f) != 0)
		return err_set(e, ENOMEM, "cannot draw the timeline");
	*ret = (struct heights){ LIVE_ROWS, h->mapped_peak.live.bytes ? MAPPED_ROWS : 0,
		h->rss_peak_bytes ? RSS_ROWS : 0 };
	/* The cursor stays on the last line. */
	if (v->rows)
		shrink(ret, v->rows - 1 - lines_on(text, out->columns));
	fputs(text, out->f);
	return 0;
}

int
timeline_print_text(const struct timeline_view *v, struct ui_output *out, struct err *e)
{
	struct heights rows = { 0 };
	const struct history *h = v->h;
	struct plot p = { .v = v, .f = out->f, .nr = columns_for(out) };
	auto_free struct timeline_column *column = calloc(p.nr, sizeof *column);
	auto_free char *line = malloc(p.nr);
	size_t peak = timeline_peak(h);

	if (!column || !line)
		return err_set(e, ENOMEM, "cannot draw the timeline");
	p.column = column;
	p.peak = p.nr;
	for (size_t i = 0; i < p.nr; i++) {
		column[i] = timeline_column(h, i, p.nr);
		p.lacks_rss |= !column[i].rss_bytes;
		if (p.peak == p.nr && peak >= column[i].first && peak < column[i].end)
			p.peak = i;
	}
	if (timeline_text_put_head(v, out, &rows, e) < 0)
		return -1;
	put_rows(&p, rows.live, h->peak.live.bytes, LIVE, line);
	timeline_text_put_times(&p);
	if (rows.mapped) {
		fputc('\n', out->f);
		put_rows(&p, rows.mapped, h->mapped_peak.live.bytes, MAPPED, line);
		timeline_text_put_times(&p);
	}
	if (rows.rss) {
		fputc('\n', out->f);
		put_rows(&p, rows.rss, h->rss_peak_bytes, RSS, line);
		timeline_text_put_times(&p);
	}
	return 0;
}

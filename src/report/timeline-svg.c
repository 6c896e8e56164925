#include <config.h>

#include "report/timeline-svg.h"

#include <inttypes.h>

#include "base/text.h"
#include "report/html.h"
#include "report/xml.h"
#include "ui/units.h"

#include "report/assets.h"

/* The size of the drawing, and the margins of its plot. */
#define WIDTH 1200
#define HEIGHT 340
#define LEFT 90
#define RIGHT 10
#define TOP 40
#define BOTTOM 30
#define MAX_COLUMNS (WIDTH - LEFT - RIGHT)
#define NR_LINES 4 /* labelled with a size */
#define NR_TIMES 6

struct timeline_svg_drawing {
	const struct timeline_view *v;
	FILE *f;
	size_t nr; /* columns */
	int64_t greatest;
};

static double
x_of(const struct timeline_svg_drawing *d, size_t column)
{
	return LEFT + (double)column / (double)d->nr * (WIDTH - LEFT - RIGHT);
}

static double
y_of(const struct timeline_svg_drawing *d, int64_t bytes)
{
	double share = d->greatest ? (double)bytes / (double)d->greatest : 0;

	return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
}

/* ---- the background of the plot ---- */

static void
timeline_svg_put_sizes(const struct timeline_svg_drawing *d)
{
	for (int i = 0; i <= NR_LINES; i++) {
		int64_t bytes = d->greatest / NR_LINES * i;
		double y = y_of(d, bytes);

		fprintf(d->f,
			"<line class=\"line\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4,
			UI_SIZE(d->v->ui, (uint64_t)bytes));
	}
}

/* Label times where they are: each is the beginning of an interval, the last one the end. */
static void
timeline_svg_put_times(const struct timeline_svg_drawing *d)
{
	const struct history *h = d->v->h;
	uint64_t end = h->intervals.nr * h->interval_ns, last = UINT64_MAX;
	char time[32];

	for (unsigned int i = 0; i <= NR_TIMES; i++) {
		uint64_t at = h->intervals.nr * i / NR_TIMES * h->interval_ns;

		if (at == last)
			continue;
		last = at;
		fprintf(d->f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
			LEFT + (end ? (double)at / (double)end : 0) * (WIDTH - LEFT - RIGHT),
			HEIGHT - 10,
			i == 0			? "start"
				: i == NR_TIMES ? "end"
						: "middle",
			timeline_time(at, h->interval_ns, time, sizeof time));
	}
}

/* ---- the plot ---- */

static void
timeline_svg_put_live(const struct timeline_svg_drawing *d)
{
	fprintf(d->f, "<path class=\"live\" d=\"M%d %.1f", LEFT, y_of(d, 0));
	for (size_t i = 0; i < d->nr; i++) {
		int64_t bytes = timeline_column(d->v->h, i, d->nr).live_bytes;

		fprintf(d->f, "L%.1f %.1fL%.1f %.1f", x_of(d, i), y_of(d, bytes), x_of(d, i + 1),
			y_of(d, bytes));
	}
	fprintf(d->f, "L%d %.1fZ\"/>\n", WIDTH - RIGHT, y_of(d, 0));
}

/* Draw RSS, as a straight line where it was not measured. */
static void
put_rss(const struct timeline_svg_drawing *d)
{
	char move = 'M';

	if (!d->v->h->rss_peak_bytes)
		return;
	fputs("<path class=\"rss\" d=\"", d->f);
	for (size_t i = 0; i < d->nr; i++) {
		int64_t bytes = timeline_column(d->v->h, i, d->nr).rss_bytes;

		if (!bytes)
			continue;
		fprintf(d->f, "%c%.1f %.1fL%.1f %.1f", move, x_of(d, i), y_of(d, bytes),
			x_of(d, i + 1), y_of(d, bytes));
		move = 'L';
	}
	fputs("\"/>\n", d->f);
}

static void
timeline_svg_put_mapped(const struct timeline_svg_drawing *d)
{
	char move = 'M';

	if (!d->v->h->mapped_peak.live.bytes)
		return;
	fputs("<path class=\"mapped\" d=\"", d->f);
	for (size_t i = 0; i < d->nr; i++, move = 'L') {
		const double y = y_of(d, timeline_column(d->v->h, i, d->nr).mapped_bytes);

		fprintf(d->f, "%c%.1f %.1fL%.1f %.1f", move, x_of(d, i), y, x_of(d, i + 1), y);
	}
	fputs("\"/>\n", d->f);
}

/* Add the text of each column, shown under the mouse pointer. */
static void
timeline_svg_put_columns(const struct timeline_svg_drawing *d)
{
	const struct history *h = d->v->h;
	char time[32];

	for (size_t i = 0; i < d->nr; i++) {
		struct timeline_column c = timeline_column(h, i, d->nr);

		fprintf(d->f,
			"<rect class=\"column\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\">"
			"<title>%s: %s live",
			x_of(d, i), TOP, x_of(d, i + 1) - x_of(d, i), HEIGHT - TOP - BOTTOM,
			timeline_time(c.first * h->interval_ns, h->interval_ns, time, sizeof time),
			UI_SIZE(d->v->ui, (uint64_t)c.live_bytes));
		if (c.rss_bytes)
			fprintf(d->f, ", RSS %s", UI_SIZE(d->v->ui, (uint64_t)c.rss_bytes));
		if (h->mapped_peak.live.bytes)
			fprintf(d->f, ", mapped %s", UI_SIZE(d->v->ui, (uint64_t)c.mapped_bytes));
		fputs("</title></rect>\n", d->f);
	}
}

static void
put_peak(const struct timeline_svg_drawing *d)
{
	const struct history *h = d->v->h;
	double x = LEFT +
		((double)timeline_peak(h) + 0.5) / (double)h->intervals.nr * (WIDTH - LEFT - RIGHT);

	fprintf(d->f, "<circle class=\"peak\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", x,
		y_of(d, h->peak.live.bytes));
}

static void
put_legend(const struct timeline_svg_drawing *d)
{
	const struct history *h = d->v->h;
	char time[32];

	fprintf(d->f,
		"<rect class=\"live\" x=\"%d\" y=\"12\" width=\"12\" height=\"12\"/>"
		"<text x=\"%d\" y=\"22\">live, peak %s at %s</text>\n",
		LEFT, LEFT + 18, UI_SIZE(d->v->ui, (uint64_t)h->peak.live.bytes),
		timeline_time(h->peak.at_ns, TIMELINE_MOMENT_NS, time, sizeof time));
	if (h->rss_peak_bytes)
		fprintf(d->f,
			"<path class=\"rss\" d=\"M%d 18h12\"/><text x=\"%d\" y=\"22\">RSS, at most "
			"%s</text>\n",
			LEFT + 300, LEFT + 318, UI_SIZE(d->v->ui, (uint64_t)h->rss_peak_bytes));
	if (h->mapped_peak.live.bytes)
		fprintf(d->f,
			"<path class=\"mapped\" d=\"M%d 18h12\"/><text x=\"%d\" y=\"22\">mapped by "
			"the program's own mmap, at most %s</text>\n",
			LEFT + 520, LEFT + 538,
			UI_SIZE(d->v->ui, (uint64_t)h->mapped_peak.live.bytes));
}

static void
put_svg(const struct timeline_view *v, FILE *f)
{
	struct timeline_svg_drawing d = { .v = v, .f = f, .greatest = v->h->peak.live.bytes };

	d.nr = v->h->intervals.nr < MAX_COLUMNS ? v->h->intervals.nr : MAX_COLUMNS;
	if (v->h->rss_peak_bytes > d.greatest)
		d.greatest = v->h->rss_peak_bytes;
	if (v->h->mapped_peak.live.bytes > d.greatest)
		d.greatest = v->h->mapped_peak.live.bytes;
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" width=\"%d\" "
		"height=\"%d\" viewBox=\"0 0 %d %d\">\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	fprintf(f, "<style>\n%s</style>\n<title>", timeline_css);
	xml_put(f, v->file, 200);
	fputs("</title>\n", f);
	timeline_svg_put_sizes(&d);
	timeline_svg_put_live(&d);
	put_rss(&d);
	timeline_svg_put_mapped(&d);
	put_peak(&d);
	timeline_svg_put_columns(&d);
	timeline_svg_put_times(&d);
	put_legend(&d);
	fputs("</svg>\n", f);
}

void
timeline_print_svg(const struct timeline_view *v, struct ui_output *out)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n", out->f);
	put_svg(v, out->f);
}

int
timeline_print_html(const struct timeline_view *v, const struct report_view *all,
	struct ui_output *out, struct err *e)
{
	const struct history *h = v->h;
	char text[400], peak[32];

	snprintf(text, sizeof text,
		"%" PRId64 " blocks allocated (%s), of these %" PRId64
		" temporary; at the peak, at %s, %s in %" PRId64
		" blocks; at the end %s in %" PRId64 " blocks",
		h->allocated.blocks, UI_SIZE(v->ui, (uint64_t)h->allocated.bytes),
		h->temporary.blocks,
		timeline_time(h->peak.at_ns, TIMELINE_MOMENT_NS, peak, sizeof peak),
		UI_SIZE(v->ui, (uint64_t)h->peak.live.bytes), h->peak.live.blocks,
		UI_SIZE(v->ui, (uint64_t)h->live.bytes), h->live.blocks);
	page_put_head(out->f, v->file, true);
	if (page_put_report(all, out->f, text, e) < 0)
		return -1;
	page_put_tail(out->f, true);
	return 0;
}

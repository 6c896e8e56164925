#include <config.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "report/format.h"
#include "report/text.h"
#include "report/tree.h"
#include "report/unnamed-text.h"
#include "report/xml.h"
#include "ui/ui.h"

#include <stdlib.h>
#include <string.h>

#include "report/assets.h"

#define WIDTH 1200.0
#define ROW 17
#define TOP 44 /* above the first row */
/*
 * Narrower frames are omitted, even when zoomed: they are too small to see, and too many for the
 * file.
 */
#define LEAST_WIDTH 0.25
#define MAX_NAME_BYTES 1000
/* flame.js uses the same value. */
#define CHARACTER_WIDTH 7

struct flame {
	const struct report_view *v;
	FILE *f;
	struct tree tree;
	double scale; /* pixels per unit of value */
	uint32_t depth;
	size_t nr_left_out;
};

static void
flame_release(struct flame *f)
{
	tree_release(&f->tree);
}

static const char *
flame_name_of(const struct flame *f, const struct tree_node *n)
{
	return n->node == UINT32_MAX ? "all" : f->v->c->nodes.v[n->node].name;
}

/* Green shades, usual for memory; for a difference, red for growth and blue for shrinkage. */
static void
put_colour(const struct flame *f, const struct tree_node *n)
{
	unsigned int h = 2166136261u, faded;
	double share = calls_share(f->v->c, n->value);

	for (const char *at = flame_name_of(f, n); *at; at++)
		h = (h ^ (unsigned char)*at) * 16777619u;
	h ^= h >> 15;
	if (!f->v->base) {
		fprintf(f->f, "rgb(%u,%u,%u)", 80 + h % 80, 185 + (h >> 8) % 50,
			80 + (h >> 16) % 70);
		return;
	}
	share = share < 0 ? -share : share;
	faded = 220 - (unsigned int)(150 * (share < 1 ? share : 1));
	if (n->value >= 0)
		fprintf(f->f, "rgb(255,%u,%u)", faded, faded);
	else
		fprintf(f->f, "rgb(%u,%u,255)", faded, faded);
}

/* Print as much of NAME as fits into WIDTH. */
static void
flame_put_label(const struct flame *f, const char *name, double width)
{
	char text[512];
	int room = (int)((width - 6) / CHARACTER_WIDTH);
	size_t len;

	if (room < 3)
		return;
	text_printable(name, text, sizeof text);
	len = strlen(text);
	if (len > (size_t)room) {
		len = (size_t)room - 1;
		while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
		text[len] = '\0';
		xml_put(f->f, text, sizeof text);
		fputs("\xe2\x80\xa6", f->f); /* an ellipsis */
		return;
	}
	xml_put(f->f, text, sizeof text);
}

static void
flame_put_frame(const struct flame *f, const struct tree_node *n, double x, double width)
{
	int y = TOP + (int)n->depth * ROW;
	char value[32], self[32];

	fprintf(f->f, "<g class=\"frame\" data-x=\"%.3f\" data-w=\"%.3f\" data-d=\"%u\"><title>", x,
		width, n->depth);
	xml_put(f->f, flame_name_of(f, n), MAX_NAME_BYTES);
	fprintf(f->f,
		"\n%s, %.2f%%; itself %s</title><rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
		"height=\"%d\" rx=\"1\" fill=\"",
		report_value(f->v, n->value, value, sizeof value),
		100 * calls_share(f->v->c, n->value),
		report_value(f->v, n->self, self, sizeof self), x, y,
		width > 0.6 ? width - 0.5 : 0.1, ROW - 1);
	put_colour(f, n);
	fprintf(f->f, "\"/><text x=\"%.2f\" y=\"%d\">", x + 3, y + ROW - 5);
	flame_put_label(f, flame_name_of(f, n), width);
	fputs("</text></g>\n", f->f);
}

static void
put_frames(struct flame *f, uint32_t i, double x)
{
	const struct tree_node *n = &f->tree.v[i];

	flame_put_frame(f, n, x, (double)n->width * f->scale);
	for (uint32_t k = 0; k < n->nr_children; k++) {
		uint32_t child = f->tree.children[n->first_child + k];
		double width = (double)f->tree.v[child].width * f->scale;

		if (width >= LEAST_WIDTH)
			put_frames(f, child, x);
		x += width;
	}
}

/* Find the depth of the graph, and the number of omitted nodes. */
static void
flame_measure(struct flame *f)
{
	f->scale = f->tree.v[0].width ? WIDTH / (double)f->tree.v[0].width : 0;
	for (size_t i = 1; i < f->tree.nr; i++) {
		if ((double)f->tree.v[i].width * f->scale < LEAST_WIDTH)
			f->nr_left_out++;
		else if (f->depth < f->tree.v[i].depth)
			f->depth = f->tree.v[i].depth;
	}
}

static void
flame_put_heading(const struct flame *f, const char *unnamed)
{
	const struct profile_type *type = &f->v->p->types.v[f->v->c->options.type];
	char text[160], value[32];

	fputs("<text x=\"4\" y=\"16\">", f->f);
	xml_put(f->f, f->v->file, 200);
	fprintf(f->f, ": %s, ", report_value(f->v, f->v->c->shown, value, sizeof value));
	xml_put(f->f, report_type_text(type, text, sizeof text), sizeof text);
	fputs("</text>\n<text x=\"4\" y=\"34\" id=\"notes\">", f->f);
	if (f->nr_left_out)
		fprintf(f->f, "%zu %s are too small to be drawn%s", f->nr_left_out,
			report_words_of(f->v)->frames, *unnamed ? "; " : "");
	xml_put(f->f, unnamed, MAX_NAME_BYTES);
	fprintf(f->f,
		"</text>\n<text x=\"%.0f\" y=\"34\" text-anchor=\"end\" id=\"matched\"></text>\n"
		"<text x=\"%.0f\" y=\"16\" text-anchor=\"end\" id=\"search\" "
		"class=\"control\">Search"
		"</text>\n<text x=\"%.0f\" y=\"16\" text-anchor=\"end\" id=\"reset\" "
		"class=\"control away\">Reset zoom</text>\n",
		WIDTH - 4, WIDTH - 4, WIDTH - 80);
}

static int
flame_put(const struct report_view *v, FILE *f, struct err *e)
{
	__attribute__((cleanup(flame_release))) struct flame flame = { .v = v, .f = f };
	auto_free char *unnamed = NULL;
	unsigned int height;

	if (report_unnamed_line(&unnamed, v, e) < 0 || tree_make(&flame.tree, v->c, e) < 0)
		return -1;
	flame_measure(&flame);
	height = TOP + (flame.depth + 1) * ROW + 8;
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"%.0f\" "
		"height=\"%u\" viewBox=\"0 0 %.0f %u\">\n",
		WIDTH, height, WIDTH, height);
	fprintf(f, "<style>\n%s</style>\n", flame_css);
	flame_put_heading(&flame, unnamed);
	put_frames(&flame, 0, 0);
	fprintf(f, "<script><![CDATA[\n%s]]></script>\n", flame_js);
	fputs("</svg>\n", f);
	return 0;
}

/* Print a flame graph as SVG, with built-in search and zoom. */
static int
report_print_flame(const struct report_view *v, struct ui_output *out, struct err *e)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n", out->f);
	return flame_put(v, out->f, e);
}

const struct report_format report_format_flame = { "flame", 0, 0, report_print_flame,
	"graph, SVG" };

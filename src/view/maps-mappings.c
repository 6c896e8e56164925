/*
 * The text output of 'memdiag maps --by=mapping'.  A process may have 60,000 mappings, so the
 * widths of columns are set before the first row: rows are neither stored nor measured.  No other
 * function may write meanwhile.
 */
#include <config.h>

#include "view/maps-mappings.h"

#include "base/text.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "ui/table.h"
#include "ui/units.h"

#include <string.h>
#include <wchar.h>

/* "1023.9 MiB" */
#define HUMAN_WIDTH 10
#define ADDRESS_WIDTH 25
#define PROT_WIDTH 4
#define GUESS_MARK " ?"
#define PATH_BYTES 4096
/* A cache of formatted sizes: most rows have one of a few sizes. */
#define NR_SIZES 64

/* Columns from EXTRA on follow enum extra. */
enum column { VIRT, RSS, SWAP, HUGETLB, EXTRA, NR_COLUMNS = EXTRA + NR_EXTRAS };

struct printer {
	struct ui_output *out;
	const struct ui_options *ui;
	const struct maps_report *report;
	const struct space *s; /* of the report */
	bool is_shown[NR_COLUMNS], is_known[NR_COLUMNS];
	int width[NR_COLUMNS], class_width;
	int lead; /* columns before the name */
	bool has_guess, has_unknown;
	struct {
		uint64_t bytes;
		char text[24];
	} size[NR_SIZES];
	const char *path;		/* the last path, and ... */
	char printable[4 * PATH_BYTES]; /* ... as it is printed */
};

static uint64_t
value(const struct leaf *l, enum column c)
{
	switch (c) {
	case VIRT:
		return l->end.v - l->start.v;
	case RSS:
		return l->rss_bytes;
	case SWAP:
		return l->swap_bytes;
	case HUGETLB:
		return l->hugetlb_bytes;
	default:
		return leaf_extra(l, (enum extra)(c - EXTRA));
	}
}

static const char *
title(enum column c)
{
	static const char *const titles[] = { "VIRT", "RSS", "SWAP", "HUGETLB" };

	return c < EXTRA ? titles[c] : extra_columns[c - EXTRA].title;
}

/*
 * True if the column is shown, whose largest value is MAX; the next function returns true if it was
 * counted.
 */
static bool
maps_mappings_is_shown(const struct printer *p, enum column c, uint64_t max)
{
	return c < HUGETLB ||
		(c == HUGETLB ? max != 0 : (p->report->extras & 1U << (c - EXTRA)) != 0);
}

static bool
maps_mappings_is_known(const struct printer *p, enum column c)
{
	if (c >= EXTRA)
		return extra_is_known(p->s, (enum extra)(c - EXTRA));
	return c == VIRT ||
		(p->s->rss_from != SPACE_RSS_NONE && (c != SWAP || space_knows(p->s, SMAPS_SWAP)));
}

static const char *
size_text(struct printer *p, uint64_t bytes)
{
	size_t i = (bytes >> 12 ^ bytes >> 18) % NR_SIZES;

	if (p->size[i].bytes != bytes || !p->size[i].text[0]) {
		p->size[i].bytes = bytes;
		ui_size(p->ui, bytes, p->size[i].text, sizeof p->size[i].text);
	}
	return p->size[i].text;
}

static int
digits(uint64_t n)
{
	int nr = 1;

	while (n /= 10)
		nr++;
	return nr;
}

static const char *
maps_mappings_class_of(const struct printer *p, const struct leaf *l)
{
	const char *own = leaf_user_class(&p->report->selection->own, p->s, l);

	return own ? own : leaf_kind_name((enum leaf_kind)l->kind);
}

/* Choose the columns and their widths. */
static void
maps_mappings_measure(struct printer *p)
{
	uint64_t max[NR_COLUMNS] = { 0 };

	for (size_t i = 0; i < p->report->nr_leaves; i++) {
		const struct leaf *leaf = &p->s->leaves.v[p->report->leaves[i]];
		int width = (int)strlen(maps_mappings_class_of(p, leaf));

		if (leaf->confidence == CONFIDENCE_GUESS)
			width += (int)strlen(GUESS_MARK);
		if (width > p->class_width)
			p->class_width = width;
		for (int c = 0; c < NR_COLUMNS; c++)
			if (value(leaf, (enum column)c) > max[c])
				max[c] = value(leaf, (enum column)c);
	}
	p->lead = ADDRESS_WIDTH + 2 + PROT_WIDTH + 2 + p->class_width + 2;
	for (int c = 0; c < NR_COLUMNS; c++) {
		p->is_shown[c] = maps_mappings_is_shown(p, (enum column)c, max[c]);
		p->is_known[c] = maps_mappings_is_known(p, (enum column)c);
		p->width[c] = p->ui->bytes ? digits(max[c]) : HUMAN_WIDTH;
		if (p->width[c] < (int)strlen(title((enum column)c)))
			p->width[c] = (int)strlen(title((enum column)c));
		if (p->is_shown[c])
			p->lead += p->width[c] + 2;
	}
}

/* Print TEXT; on a terminal, cut it to ROOM columns. */
static void
print_cut(const struct ui_output *out, const char *text, int room)
{
	mbstate_t state = { 0 };
	size_t n, done = 0;
	wchar_t wide;

	if (!out->is_terminal || out->columns <= 0) {
		fputs_unlocked(text, out->f);
		return;
	}
	while ((n = mbrtowc(&wide, text + done, MB_CUR_MAX, &state)) > 0 && n < (size_t)-2) {
		room -= wcwidth(wide) > 0 ? wcwidth(wide) : 0;
		if (room < 0)
			break;
		done += n;
	}
	fwrite_unlocked(text, 1, done, out->f);
}

static void
print_name(struct printer *p, const char *path)
{
	if (!path)
		return;
	/* Neighbouring rows share the string with their name. */
	if (path != p->path)
		text_printable(path, p->printable, sizeof p->printable);
	p->path = path;
	fputs_unlocked("  ", p->out->f);
	print_cut(p->out, p->printable, p->out->columns - p->lead);
}

/* Print TEXT in WIDTH columns; printf() would take most of the time. */
static void
print_padded(FILE *f, const char *text, int width, bool is_right)
{
	static const char blanks[] = "                                                ";
	int length = (int)strlen(text), pad = width > length ? width - length : 0;

	if (pad > (int)sizeof blanks - 1)
		pad = (int)sizeof blanks - 1;
	if (is_right)
		fwrite_unlocked(blanks, 1, (size_t)pad, f);
	fwrite_unlocked(text, 1, (size_t)length, f);
	if (!is_right)
		fwrite_unlocked(blanks, 1, (size_t)pad, f);
}

static void
maps_mappings_print_row(struct printer *p, const struct leaf *l)
{
	const struct region *r = &p->s->process->maps.region[l->region];
	bool is_guess = l->confidence == CONFIDENCE_GUESS;
	FILE *f = p->out->f;
	char text[96];

	snprintf(text, sizeof text, "%012" PRIx64 "-%012" PRIx64 "  %s", l->start.v, l->end.v,
		r->prot);
	fputs_unlocked(text, f);
	for (int c = 0; c < NR_COLUMNS; c++) {
		if (!p->is_shown[c])
			continue;
		fputs_unlocked("  ", f);
		p->has_unknown |= !p->is_known[c];
		print_padded(f, p->is_known[c] ? size_text(p, value(l, (enum column)c)) : "?",
			p->width[c], true);
	}
	snprintf(text, sizeof text, "  %s%s", maps_mappings_class_of(p, l),
		is_guess ? GUESS_MARK : "");
	/* Avoid trailing blanks at the end of a line. */
	if (r->path)
		print_padded(f, text, p->class_width + 2, false);
	else
		fputs_unlocked(text, f);
	print_name(p, r->path);
	putc_unlocked('\n', f);
	p->has_guess |= is_guess;
}

void
maps_show_mappings(
	struct ui_output *out, const struct ui_options *ui, const struct maps_report *report)
{
	const size_t nr = report->nr_leaves,
		     shown = report->limit && report->limit < nr ? report->limit : nr;
	struct printer p = { .out = out,
		.ui = ui,
		.report = report,
		.s = report->s,
		.class_width = (int)strlen("CLASS") };

	maps_mappings_measure(&p);
	fprintf(p.out->f, "%-*s  %-*s", ADDRESS_WIDTH, "ADDRESS", PROT_WIDTH, "PROT");
	for (int c = 0; c < NR_COLUMNS; c++)
		if (p.is_shown[c])
			fprintf(p.out->f, "  %*s", p.width[c], title((enum column)c));
	fprintf(p.out->f, "  %-*s  NAME\n", p.class_width, "CLASS");
	for (size_t i = 0; i < shown; i++)
		maps_mappings_print_row(&p, &p.s->leaves.v[report->leaves[i]]);
	ui_print_more(out->f, nr - shown);
	if (p.has_unknown)
		fputs_unlocked(UI_UNKNOWN_LEGEND, out->f);
	if (p.has_guess)
		fputs_unlocked(UI_GUESS_LEGEND, out->f);
}

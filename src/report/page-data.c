#include <config.h>

#include "report/page-data.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/hash.h"
#include "profile/source.h"
#include "report/calls.h"
#include "report/text.h"
#include "report/tree.h"
#include "ui/json.h"

static int
page_data_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot write the page");
}

/* ---- names ---- */

/* Print a list with the member at OFFSET, a string, of each node. */
static int
put_page_names(const struct calls *c, const char *key, size_t offset, FILE *f, struct err *e)
{
	fprintf(f, "\"%s\":[", key);
	for (size_t i = 0; i < c->nodes.nr; i++) {
		const char *name;

		memcpy(&name, (const char *)&c->nodes.v[i] + offset, sizeof name);
		fputs(i ? "," : "", f);
		if (ui_json_put_string(name, f, e) < 0)
			return -1;
	}
	putc(']', f);
	return 0;
}

static int
put_nodes(const struct calls *c, FILE *f, struct err *e)
{
	fputs(",\n\"nodes\":{", f);
	if (put_page_names(c, "name", offsetof(struct calls_node, name), f, e) < 0)
		return -1;
	putc(',', f);
	if (put_page_names(c, "file", offsetof(struct calls_node, file), f, e) < 0)
		return -1;
	putc(',', f);
	if (put_page_names(c, "object", offsetof(struct calls_node, object), f, e) < 0)
		return -1;
	fputs(",\"code\":[", f);
	for (size_t i = 0; i < c->nodes.nr; i++)
		fprintf(f, "%s%d", i ? "," : "", c->nodes.v[i].code);
	fputs("]}", f);
	return 0;
}

static int
put_page_types(const struct report_view *v, FILE *f, struct err *e)
{
	const struct profile *p = v->p;
	char text[160];

	fputs("\"types\":[", f);
	for (size_t i = 0; i < p->types.nr; i++) {
		fputs(i ? ",{\"name\":" : "{\"name\":", f);
		if (ui_json_put_string(p->types.v[i].name, f, e) < 0)
			return -1;
		fputs(",\"unit\":", f);
		if (ui_json_put_string(p->types.v[i].unit, f, e) < 0)
			return -1;
		fputs(",\"text\":", f);
		if (ui_json_put_string(report_type_text(&p->types.v[i], text, sizeof text), f, e) <
			0)
			return -1;
		putc('}', f);
	}
	fprintf(f, "],\"type\":%zu,\"totals\":[", v->c->options.type);
	for (size_t i = 0; i < p->types.nr; i++) {
		int64_t total = 0;

		for (size_t k = 0; k < p->samples.nr; k++)
			total = profile_sum(total, profile_values(p, k)[i]);
		fprintf(f, "%s%" PRId64, i ? "," : "", total);
	}
	putc(']', f);
	return 0;
}

static int
put_threads(const struct profile *p, FILE *f, struct err *e)
{
	fputs(",\n\"threads\":[", f);
	for (size_t i = 0; i < p->threads.nr; i++) {
		fprintf(f, "%s{\"tid\":%" PRId64 ",\"name\":", i ? "," : "", p->threads.v[i].tid);
		if (ui_json_put_string(p->threads.v[i].name, f, e) < 0)
			return -1;
		putc('}', f);
	}
	putc(']', f);
	return 0;
}

/* ---- the tree, and samples ---- */

static void
put_page_tree(const struct tree *t, FILE *f)
{
	fputs(",\n\"tree\":{\"depth\":[", f);
	for (size_t i = 0; i < t->nr; i++)
		fprintf(f, "%s%" PRIu32, i ? "," : "", t->v[i].depth);
	fputs("],\"node\":[-1", f);
	for (size_t i = 1; i < t->nr; i++)
		fprintf(f, ",%" PRIu32, t->v[i].node);
	fputs("]}", f);
}

static int
by_element(const void *a, const void *b, void *arg)
{
	const struct tree *t = arg;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (t->of_path[x] != t->of_path[y])
		return t->of_path[x] < t->of_path[y] ? -1 : 1;
	return (x > y) - (x < y);
}

/* Return the paths of C in the order of their elements of T; NULL: no memory. */
static uint32_t *
order_paths(const struct calls *c, struct tree *t)
{
	uint32_t *order = calloc(c->paths.nr + 1, sizeof *order);

	for (size_t i = 0; order && i < c->paths.nr; i++)
		order[i] = (uint32_t)i;
	if (order)
		qsort_r(order, c->paths.nr, sizeof *order, by_element, t);
	return order;
}

/* The samples of C's paths in their ORDER. */
static void
put_samples(const struct calls *c, const struct tree *t, const uint32_t *order, FILE *f)
{
	const struct profile *p = c->p;
	uint32_t at = 0;

	fputs(",\n\"samples\":{\"at\":[", f);
	for (size_t i = 0; i < c->paths.nr; i++) {
		fprintf(f, "%s%" PRIu32, i ? "," : "", t->of_path[order[i]] - at);
		at = t->of_path[order[i]];
	}
	fputs("],\"thread\":[", f);
	for (size_t i = 0; i < c->paths.nr; i++)
		fprintf(f, "%s%" PRIu32, i ? "," : "",
			p->samples.v[c->paths.v[order[i]].sample].thread_1);
	fputs("],\"size\":[", f);
	for (size_t i = 0; i < c->paths.nr; i++)
		fprintf(f, "%s%" PRIu64, i ? "," : "",
			p->samples.v[c->paths.v[order[i]].sample].size_bytes);
	fputs("],\"values\":[", f);
	for (size_t type = 0; type < p->types.nr; type++) {
		fputs(type ? ",[" : "[", f);
		for (size_t i = 0; i < c->paths.nr; i++)
			fprintf(f, "%s%" PRId64, i ? "," : "",
				profile_values(p, c->paths.v[order[i]].sample)[type]);
		putc(']', f);
	}
	fputs("]}", f);
}

/* ---- moments ---- */

/* Print a list with the member at OFFSET, a number of 64 bits, of each step. */
static void
put_steps(const struct history_changes *changes, const char *key, size_t offset, FILE *f)
{
	fprintf(f, "\"%s\":[", key);
	for (size_t i = 0; i < changes->steps.nr; i++) {
		int64_t value;

		memcpy(&value, (const char *)&changes->steps.v[i] + offset, sizeof value);
		fprintf(f, "%s%" PRId64, i ? "," : "", value);
	}
	fputs("],", f);
}

/*
 * Print the changes of M of which WHERE has the place of the sample: lists of places, bytes and
 * blocks, and for each step where its changes end.
 */
static int
put_changes(const struct report_moments *m, const uint32_t *where, FILE *f, struct err *e)
{
	const struct history_changes *changes = m->changes;
	auto_free uint32_t *kept = calloc(changes->changes.nr + 1, sizeof *kept);
	size_t nr = 0;

	if (!kept)
		return page_data_no_memory(e);
	fputs("\"end\":[", f);
	for (size_t i = 0, k = 0; i < changes->steps.nr; i++) {
		for (; k < changes->steps.v[i].end; k++) {
			const uint32_t sample = m->samples[changes->changes.v[k].site];

			if (sample != UINT32_MAX && where[sample] != UINT32_MAX)
				kept[nr++] = (uint32_t)k;
		}
		fprintf(f, "%s%zu", i ? "," : "", nr);
	}
	fputs("],\"sample\":[", f);
	for (size_t i = 0; i < nr; i++)
		fprintf(f, "%s%" PRIu32, i ? "," : "",
			where[m->samples[changes->changes.v[kept[i]].site]]);
	fputs("],\"bytes\":[", f);
	for (size_t i = 0; i < nr; i++)
		fprintf(f, "%s%" PRId64, i ? "," : "", changes->changes.v[kept[i]].more.bytes);
	fputs("],\"blocks\":[", f);
	for (size_t i = 0; i < nr; i++)
		fprintf(f, "%s%" PRId64, i ? "," : "", changes->changes.v[kept[i]].more.blocks);
	fputs("]}", f);
	return 0;
}

/* Print the moments of V, whose samples are printed in ORDER of C's paths. */
static int
put_moments(const struct report_view *v, const struct calls *c, const uint32_t *order, FILE *f,
	struct err *e)
{
	const struct history_changes *changes = v->moments->changes;
	auto_free uint32_t *where = calloc(v->p->samples.nr + 1, sizeof *where);

	if (!where)
		return page_data_no_memory(e);
	for (size_t i = 0; i < v->p->samples.nr; i++)
		where[i] = UINT32_MAX;
	for (size_t i = 0; i < c->paths.nr; i++)
		where[c->paths.v[order[i]].sample] = (uint32_t)i;
	fputs(",\n\"moments\":{", f);
	put_steps(changes, "at_ns", offsetof(struct history_step, at_ns), f);
	put_steps(changes, "live", offsetof(struct history_step, live_bytes), f);
	put_steps(changes, "rss", offsetof(struct history_step, rss_bytes), f);
	put_steps(changes, "mapped", offsetof(struct history_step, mapped_bytes), f);
	return put_changes(v->moments, where, f, e);
}

/* ---- lines ---- */

#define TAB_COLUMNS 8

struct page_line {
	uint32_t node, line;
	size_t last_path_1; /* the last path that contained it, plus 1 */
};

/* The values of lines; a line has nr_types values of flat, and then as many of cum. */
struct page_lines {
	struct {
		struct page_line *v;
		size_t nr, room;
	} lines;
	struct {
		int64_t *v;
		size_t nr, room;
	} values;
	struct hash by_place;
	size_t nr_types;
};

static void
page_lines_release(struct page_lines *l)
{
	free(l->lines.v);
	free(l->values.v);
	hash_release(&l->by_place);
}

/* Return the number of LINE of NODE, which is added if needed; SIZE_MAX: no memory. */
static size_t
page_line_at(struct page_lines *l, uint32_t node, uint32_t line)
{
	const uint32_t hash = hash_pair(node, line);
	const struct hash_slot *slot;
	struct page_line *added;

	for (size_t at = hash; (slot = hash_next(&l->by_place, hash, &at));) {
		const struct page_line *known = &l->lines.v[slot->number_1 - 1];

		if (known->node == node && known->line == line)
			return slot->number_1 - 1;
	}
	added = array_add(&l->lines);
	if (!added || hash_add(&l->by_place, hash, l->lines.nr - 1) < 0)
		return SIZE_MAX;
	added->node = node;
	added->line = line;
	for (size_t i = 0; i < 2 * l->nr_types; i++)
		if (!array_add(&l->values))
			return SIZE_MAX;
	return l->lines.nr - 1;
}

static void
add_values(int64_t *to, const int64_t *values, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		to[i] = profile_sum(to[i], values[i]);
}

/* Add path I of C: to its leaf, and once to each line. */
static int
add_lines_of(struct page_lines *l, const struct calls *c, size_t i, struct err *e)
{
	const struct calls_path *path = &c->paths.v[i];
	const int64_t *values = profile_values(c->p, path->sample);

	for (size_t k = path->first; k < path->first + path->nr; k++) {
		size_t at;
		int64_t *sums;

		if (!c->step_lines.v[k])
			continue;
		at = page_line_at(l, c->steps.v[k], c->step_lines.v[k]);
		if (at == SIZE_MAX)
			return page_data_no_memory(e);
		sums = &l->values.v[2 * l->nr_types * at];
		if (k + 1 == path->first + path->nr)
			add_values(sums, values, l->nr_types);
		if (l->lines.v[at].last_path_1 != i + 1)
			add_values(sums + l->nr_types, values, l->nr_types);
		l->lines.v[at].last_path_1 = i + 1;
	}
	return 0;
}

/* Print the values of all lines, for each type: OFFSET is 0 for flat. */
static void
put_line_values(const struct page_lines *l, const char *key, size_t offset, FILE *f)
{
	fprintf(f, ",\"%s\":[", key);
	for (size_t type = 0; type < l->nr_types; type++) {
		fputs(type ? ",[" : "[", f);
		for (size_t i = 0; i < l->lines.nr; i++)
			fprintf(f, "%s%" PRId64, i ? "," : "",
				l->values.v[2 * l->nr_types * i + offset + type]);
		putc(']', f);
	}
	putc(']', f);
}

/* Print a line of source with blanks for its tabs. */
static int
put_source(const char *text, FILE *f, struct err *e)
{
	auto_free char *blanks = malloc(strlen(text) * TAB_COLUMNS + 1);
	size_t len = 0;

	if (!blanks)
		return page_data_no_memory(e);
	for (; *text; text++) {
		const size_t end =
			*text == '\t' ? len / TAB_COLUMNS * TAB_COLUMNS + TAB_COLUMNS : len + 1;

		while (len < end)
			blanks[len++] = *text == '\t' ? ' ' : *text;
	}
	blanks[len] = '\0';
	return ui_json_put_string(blanks, f, e);
}

/* Print the texts of the lines of L, from files below the directory of V. */
static int
put_texts(const struct report_view *v, const struct page_lines *l, const struct calls *c, FILE *f,
	struct err *e)
{
	auto_source struct source_lines source = { .directory = v->source };

	fputs(",\"text\":[", f);
	for (size_t i = 0; i < l->lines.nr; i++) {
		const struct page_line *line = &l->lines.v[i];
		const char *text = source_line(&source, c->nodes.v[line->node].file, line->line);

		fputs(i ? "," : "", f);
		if (!text)
			fputs("null", f);
		else if (put_source(text, f, e) < 0)
			return -1;
	}
	putc(']', f);
	return 0;
}

static int
put_page_lines(const struct report_view *v, const struct calls *c, FILE *f, struct err *e)
{
	__attribute__((
		cleanup(page_lines_release))) struct page_lines l = { .nr_types = c->p->types.nr };

	for (size_t i = 0; i < c->paths.nr && c->options.by == CALLS_BY_FUNCTION; i++)
		if (add_lines_of(&l, c, i, e) < 0)
			return -1;
	if (!l.lines.nr) {
		fputs(",\n\"lines\":null", f);
		return 0;
	}
	fputs(",\n\"lines\":{\"node\":[", f);
	for (size_t i = 0; i < l.lines.nr; i++)
		fprintf(f, "%s%" PRIu32, i ? "," : "", l.lines.v[i].node);
	fputs("],\"line\":[", f);
	for (size_t i = 0; i < l.lines.nr; i++)
		fprintf(f, "%s%" PRIu32, i ? "," : "", l.lines.v[i].line);
	putc(']', f);
	put_line_values(&l, "flat", 0, f);
	put_line_values(&l, "cum", l.nr_types, f);
	if (v->source && put_texts(v, &l, c, f, e) < 0)
		return -1;
	putc('}', f);
	return 0;
}

/* ---- the whole ---- */

static int
put_page_facts(const struct report_view *v, FILE *f, struct err *e)
{
	const struct report_words *words = report_words_of(v);

	fprintf(f, ",\n\"by\":\"%s\",\"by_cum\":%s,\"base\":", calls_by_names[v->c->options.by],
		v->by_cum ? "true" : "false");
	if (v->base ? ui_json_put_string(v->base, f, e) < 0 : fputs("null", f) < 0)
		return -1;
	fprintf(f, ",\"words\":{\"frames\":\"%s\",\"stacks\":\"%s\",\"title\":\"%s\"}",
		words->frames, words->stacks, words->title);
	return 0;
}

int
page_data_put(const struct report_view *v, FILE *f, struct err *e)
{
	auto_calls struct calls c = { 0 };
	auto_tree struct tree t = { 0 };
	auto_free uint32_t *order = NULL;

	if (calls_make_whole(&c, v->c, e) < 0 || tree_make(&t, &c, e) < 0)
		return -1;
	order = order_paths(&c, &t);
	if (!order)
		return page_data_no_memory(e);
	putc('{', f);
	if (put_page_types(v, f, e) < 0 || put_page_facts(v, f, e) < 0 || put_nodes(&c, f, e) < 0)
		return -1;
	put_page_tree(&t, f);
	put_samples(&c, &t, order, f);
	if ((v->moments && put_moments(v, &c, order, f, e) < 0) || put_threads(v->p, f, e) < 0 ||
		put_page_lines(v, &c, f, e) < 0)
		return -1;
	fputs("}\n", f);
	return 0;
}

#include <config.h>

#include "view/diff.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "ui/json.h"
#include "ui/units.h"
#include "view/growth.h"

static const char *
when(json_t *document, char *buf, size_t size)
{
	const char *at = json_string_value(json_object_get(document, "generated_at"));

	return text_printable(at ? at : "?", buf, size);
}

/* Return the number BYTES of the sum NAME in "data" of DOCUMENT. */
static double
diff_bytes_of(json_t *document, const char *name)
{
	json_t *data = json_object_get(document, "data");

	return json_number_value(json_object_get(json_object_get(data, name), "bytes"));
}

/* Return which percentage of all bytes in use is unknown in DOCUMENT. */
static double
diff_unknown_share(json_t *document)
{
	const double all = diff_bytes_of(document, "in_use");

	return all > 0 ? 100 * diff_bytes_of(document, "unknown") / all : 0;
}

/* Print the unknown share of the types in both documents. */
static void
diff_print_unknown(FILE *f, const struct saved_pair *p)
{
	if (strcmp(p->what->command, "types") == 0)
		fprintf(f, "Unknown: %.1f%% of the bytes in use before, %.1f%% now\n",
			diff_unknown_share(p->was), diff_unknown_share(p->is));
}

/* Print how many rows of G are new, and how many are gone. */
static void
diff_print_states(FILE *f, const struct ui_options *ui, const struct growth *g)
{
	size_t nr[GROWTH_GONE + 1] = { 0 };
	uint64_t bytes[GROWTH_GONE + 1] = { 0 };

	for (size_t i = 0; i < g->nr; i++) {
		const enum growth_state state = growth_state(g, &g->v[i]);

		nr[state]++;
		bytes[state] += (uint64_t)(g->v[i].is[0] + g->v[i].was[0]);
	}
	if (nr[GROWTH_NEW] || nr[GROWTH_GONE])
		fprintf(f, "New: %zu, with %s; gone: %zu, with %s\n", nr[GROWTH_NEW],
			UI_SIZE(ui, bytes[GROWTH_NEW]), nr[GROWTH_GONE],
			UI_SIZE(ui, bytes[GROWTH_GONE]));
}

int
diff_show_text(struct ui_output *out, const struct ui_options *ui, const struct saved_pair *p,
	size_t limit, struct err *e)
{
	char target[96], was[32], is[32];

	fprintf(out->f, "%s  memdiag %s  %s to %s\n", saved_target(p->is, target, sizeof target),
		p->what->command, when(p->was, was, sizeof was), when(p->is, is, sizeof is));
	return diff_show_changes(out, ui, p, limit, e);
}

int
diff_show_changes(struct ui_output *out, const struct ui_options *ui, const struct saved_pair *p,
	size_t limit, struct err *e)
{
	const struct growth *g = p->growth;
	bool is_any = false, is_missing = false;

	diff_print_unknown(out->f, p);
	for (size_t i = 0; i < COMPARABLE_LISTS; i++) {
		if (!g[i].list)
			continue;
		if (growth_is_any(&g[i])) {
			is_any = true;
			fputc('\n', out->f);
			if (growth_print(&g[i], out, ui, limit, e) < 0)
				return -1;
			if (g[i].list->key)
				diff_print_states(out->f, ui, &g[i]);
		}
		is_missing |= growth_print_missing(&g[i], out->f);
	}
	if (!is_any)
		fputs(is_missing ? "Nothing else changed.\n" : "Nothing changed.\n", out->f);
	return 0;
}

void
diff_set_changes(json_t *data, const struct saved_pair *p)
{
	const struct growth *g = p->growth;
	json_t *changes = json_object();

	json_object_set(data, "since", json_object_get(p->was, "generated_at"));
	json_object_set_new(data, "changes", changes);
	for (size_t i = 0; i < COMPARABLE_LISTS; i++)
		if (g[i].list)
			json_object_set_new(changes, g[i].list->member, growth_to_json(&g[i]));
}

int
diff_show_json(struct ui_output *out, const struct saved_pair *p, struct err *e)
{
	json_auto_t *document = ui_json_new("diff", NULL);
	json_t *data = json_object_get(document, "data");

	json_object_set(document, "target", json_object_get(p->is, "target"));
	if (json_object_get(p->is, "process")) /* missing in memdiag 0.1 */
		json_object_set(document, "process", json_object_get(p->is, "process"));
	json_object_set_new(data, "compared", json_string(p->what->command));
	json_object_set(data, "until", json_object_get(p->is, "generated_at"));
	json_object_set_new(
		data, "same_process", json_boolean(saved_is_same_target(p->was, p->is)));
	diff_set_changes(data, p);
	warnings_to_json(&p->warnings, document);
	return ui_json_print(document, out, e);
}

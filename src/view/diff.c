#include <config.h>

#include "view/diff.h"

#include "base/text.h"
#include "ui/json.h"
#include "view/growth.h"

static const char *
when(json_t *document, char *buf, size_t size)
{
	const char *at = json_string_value(json_object_get(document, "generated_at"));

	return text_printable(at ? at : "?", buf, size);
}

int
diff_show_text(struct ui_output *out, const struct ui_options *ui, const struct saved_pair *p,
	size_t limit, struct err *e)
{
	const struct growth *g = p->growth;
	char target[96], was[32], is[32];
	bool is_any = false, is_missing = false;

	fprintf(out->f, "%s  memdiag %s  %s to %s\n", saved_target(p->is, target, sizeof target),
		p->what->command, when(p->was, was, sizeof was), when(p->is, is, sizeof is));
	for (size_t i = 0; i < COMPARABLE_LISTS; i++) {
		if (!g[i].list)
			continue;
		if (growth_is_any(&g[i])) {
			is_any = true;
			fputc('\n', out->f);
			if (growth_print(&g[i], out, ui, limit, e) < 0)
				return -1;
		}
		is_missing |= growth_print_missing(&g[i], out->f);
	}
	if (!is_any)
		fputs(is_missing ? "Nothing else changed.\n" : "Nothing changed.\n", out->f);
	return 0;
}

int
diff_show_json(struct ui_output *out, const struct saved_pair *p, struct err *e)
{
	const struct growth *g = p->growth;
	json_auto_t *document = ui_json_new("diff", NULL);
	json_t *data = json_object_get(document, "data"), *changes = json_object();

	json_object_set(document, "target", json_object_get(p->is, "target"));
	if (json_object_get(p->is, "process")) /* missing in memdiag 0.1 */
		json_object_set(document, "process", json_object_get(p->is, "process"));
	json_object_set_new(data, "compared", json_string(p->what->command));
	json_object_set(data, "since", json_object_get(p->was, "generated_at"));
	json_object_set(data, "until", json_object_get(p->is, "generated_at"));
	json_object_set_new(
		data, "same_process", json_boolean(saved_is_same_target(p->was, p->is)));
	json_object_set_new(data, "changes", changes);
	for (size_t i = 0; i < COMPARABLE_LISTS; i++)
		if (g[i].list)
			json_object_set_new(changes, g[i].list->member, growth_to_json(&g[i]));
	warnings_to_json(&p->warnings, document);
	return ui_json_print(document, out, e);
}

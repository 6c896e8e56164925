#include <config.h>

#include "view/verdicts.h"

#include "ui/output.h"

#include <string.h>

#define SHOWN 3
#define LEAD_COLUMNS 9 /* "VERDICT  " */

static const char *
colour_of(const struct verdict *v)
{
	if (strcmp(v->severity, "critical") == 0)
		return "\033[1;31m";
	return strcmp(v->severity, "warning") == 0 ? "\033[1;33m" : "\033[1m";
}

static void
print_lead(const struct ui_output *out, const char *colour)
{
	fprintf(out->f, "%sVERDICT%s  ", out->use_colour ? colour : "",
		out->use_colour ? "\033[0m" : "");
}

void
verdicts_print(const struct ui_output *out, const struct verdict *v, size_t nr)
{
	char text[sizeof v->text + 64];

	fputc('\n', out->f);
	if (!nr) {
		print_lead(out, "\033[1m");
		fputs("nothing to do\n", out->f);
	}
	for (size_t i = 0; i < nr && i < SHOWN; i++) {
		print_lead(out, colour_of(&v[i]));
		snprintf(text, sizeof text, "%s: %s", v[i].id, v[i].text);
		ui_wrap(out, LEAD_COLUMNS, text);
		for (size_t k = 0; k < VERDICT_ACTIONS && *v[i].action[k]; k++) {
			fputs(k ? "THEN     " : "NEXT     ", out->f);
			ui_wrap(out, LEAD_COLUMNS, v[i].action[k]);
		}
	}
}

json_t *
verdicts_to_json(const struct verdict *v, size_t nr)
{
	json_t *list = json_array();

	for (size_t i = 0; i < nr; i++) {
		json_t *actions = json_array();

		for (size_t k = 0; k < VERDICT_ACTIONS && *v[i].action[k]; k++)
			json_array_append_new(actions, json_string(v[i].action[k]));
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:I, s:s, s:o}", "id", v[i].id, "severity",
				v[i].severity, "bytes", (json_int_t)v[i].bytes, "text", v[i].text,
				"actions", actions));
	}
	return list;
}

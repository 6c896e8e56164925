#include <config.h>

#include "view/doctor.h"

#include <errno.h>

#include "ui/json.h"
#include "ui/output.h"

/* Width of the text before a finding: "  note resident pages ". */
#define LEAD_COLUMNS 22

static const char *const state_name[] = {
	[FINDING_YES] = "yes",
	[FINDING_NO] = "no",
	[FINDING_NOTE] = "note",
	[FINDING_UNKNOWN] = "?",
};

void
doctor_show_text(const struct findings *fs, const struct ui_output *out, const struct target *t)
{
	for (size_t i = 0; i < fs->nr; i++) {
		const struct finding *f = &fs->v[i];
		bool is_red = f->state == FINDING_NO && out->use_colour;

		if (i == 0)
			fputs("This machine\n", out->f);
		else if (!f->is_of_machine && fs->v[i - 1].is_of_machine)
			fprintf(out->f, "\nProcess %d (%s)\n", (int)t->pid, t->comm);
		fprintf(out->f, "  %s%-4s%s %-14s ", is_red ? "\033[1;31m" : "",
			state_name[f->state], is_red ? "\033[0m" : "", f->about);
		ui_wrap(out, LEAD_COLUMNS, f->text);
	}
}

int
doctor_show_json(
	const struct findings *fs, struct ui_output *out, const struct target *t, struct err *e)
{
	json_auto_t *document = ui_json_new("doctor", t);
	json_t *list = json_array();

	if (json_object_set_new(json_object_get(document, "data"), "findings", list) < 0)
		return err_set(e, ENOMEM, "cannot write JSON");
	for (size_t i = 0; i < fs->nr; i++) {
		const struct finding *f = &fs->v[i];

		json_array_append_new(list,
			json_pack("{s:s, s:s, s:s, s:o}", "of",
				f->is_of_machine ? "machine" : "process", "about", f->about,
				"state",
				f->state == FINDING_UNKNOWN ? "unknown" : state_name[f->state],
				"text", ui_json_text(f->text)));
		if (f->state == FINDING_NO)
			ui_json_warn(document, true, "%s: %s", f->about, f->text);
	}
	return ui_json_print(document, out, e);
}

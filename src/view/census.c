#include <config.h>

#include "view/census.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "ui/units.h"
#include "view/durations.h"

void
view_census_head(
	const struct ui_output *out, const struct ui_options *ui, const struct census_answer *s)
{
	char file[256];

	fprintf(out->f, "%s %d", s->target.comm, (int)s->target.pid);
	if (s->core)
		fprintf(out->f, "  core %s", text_printable(s->core, file, sizeof file));
	if (s->has_status)
		fprintf(out->f, "  RSS %s", UI_SIZE(ui, s->status.vm_rss_bytes));
	fprintf(out->f, "  in use %s in %" PRIu64 " blocks", UI_SIZE(ui, s->census.in_use.bytes),
		s->census.in_use.blocks);
}

json_t *
view_census_sum(const struct census_sum *s)
{
	return json_pack("{s:o, s:o}", "blocks", ui_json_number(s->blocks), "bytes",
		ui_json_number(s->bytes));
}

void
view_census_set_known(json_t *o, const struct census_known *k)
{
	json_object_set_new(o, "proven", view_census_sum(&k->proven));
	json_object_set_new(o, "inferred", view_census_sum(&k->inferred));
	json_object_set_new(o, "global", view_census_sum(&k->global));
	json_object_set_new(o, "unknown", view_census_sum(&k->unknown));
}

json_t *
view_census_document(
	const char *name, const struct census_answer *s, json_t **ret_data, struct err *e)
{
	json_auto_t *document = ui_json_new(name, &s->target);
	json_t *data = json_object_get(document, "data"), *stop = json_object();

	if (!data || !stop) {
		json_decref(stop);
		err_set(e, ENOMEM, "cannot write JSON");
		return NULL;
	}
	if (s->core)
		json_object_set_new(data, "core", ui_json_string(s->core));
	json_object_set_new(data, "in_use", view_census_sum(&s->census.in_use));
	view_json_set_stop(stop, s->heap.nr_stops, s->heap.stopped_ns, s->heap.longest_stop_ns);
	json_object_set_new(data, "stop", stop);
	if (s->copy_ns)
		json_object_set_new(data, "copy_ns", ui_json_number(s->copy_ns));
	*ret_data = data;
	return json_incref(document);
}

#include <config.h>

#include "view/borrow-report.h"

#include "inject/job.h"
#include "ui/units.h"
#include "view/durations.h"

const char *
borrow_report_text(const struct inject_report *r, char *buf, size_t size)
{
	char held[32];

	snprintf(buf, size, "thread %d was held for %s", (int)r->tid,
		ui_duration(r->held_ns, held, sizeof held));
	return buf;
}

json_t *
borrow_report_json(const struct inject_report *r)
{
	json_t *o;

	if (!r->tid)
		return json_null();
	o = json_pack("{s:s, s:i}", "mode", inject_mode_name[r->mode], "tid", (int)r->tid);
	view_json_set_duration(o, "held", r->held_ns);
	return o;
}

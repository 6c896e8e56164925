#include <config.h>

#include "view/durations.h"

#include "ui/json.h"

void
view_json_set_duration(json_t *o, const char *name, uint64_t ns)
{
	char key[64];

	snprintf(key, sizeof key, "%s_us", name);
	json_object_set_new(o, key, ui_json_number(ns / 1000));
	snprintf(key, sizeof key, "%s_ns", name);
	json_object_set_new(o, key, ui_json_number(ns));
}

void
view_json_set_stop(json_t *o, uint64_t nr_stops, uint64_t total_ns, uint64_t longest_ns)
{
	json_object_set_new(o, "count", ui_json_number(nr_stops));
	json_object_set_new(o, "total_ns", ui_json_number(total_ns));
	json_object_set_new(o, "longest_ns", ui_json_number(longest_ns));
}

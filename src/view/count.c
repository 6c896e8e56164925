#include <config.h>

#include "view/count.h"

#include <errno.h>

#include "ui/json.h"
#include "ui/units.h"
#include "view/borrow-report.h"
#include "view/counters.h"
#include "view/durations.h"
#include "wire/wire.h"

/* ---- text ---- */

static void
count_print_start(struct ui_output *out, const struct ui_options *ui, const struct target *t,
	const struct count_job *c)
{
	const struct stop_report *f = &c->hooked.stop;
	const size_t nr = c->hooked.nr_entries + c->hooked.nr_slots;
	char still[32];

	fprintf(out->f, "%s %d counts from now on\n", t->comm, (int)t->pid);
	fprintf(out->f, "%zu %s lead to the agent%s; %zu thread%s stood still for %s\n", nr,
		c->hooked.nr_slots ? "functions and pointers to them" : "functions",
		c->is_new ? ", which was loaded" : "", f->nr_threads, f->nr_threads == 1 ? "" : "s",
		ui_duration(f->longest_ns, still, sizeof still));
	if (c->has_no_before)
		fputs("in use so far: not known, as malloc is not glibc's; what comes and goes "
		      "from now on is counted\n",
			out->f);
	else
		fprintf(out->f, "in use so far: %s%s\n", c->nr_doubtful ? "~" : "",
			UI_SIZE(ui, c->before_bytes > 0 ? (uint64_t)c->before_bytes : 0));
	counters_print_legend(c->nr_doubtful, out->f);
	if (c->nr_children)
		fprintf(out->f,
			"%zu child%s forked while the agent was loaded (one is %d): a child that "
			"then calls dlopen() may wait forever for a lock of ld.so; restart it if "
			"it hangs\n",
			c->nr_children, c->nr_children == 1 ? " was" : "ren were", (int)c->child);
	fprintf(out->f, "\nNEXT     memdiag status -p %d\n         memdiag count stop -p %d\n",
		(int)t->pid, (int)t->pid);
}

void
count_show_text(struct ui_output *out, const struct ui_options *ui, const struct target *t,
	const struct count_job *c, bool is_stop)
{
	if (!is_stop && c->was_so)
		fprintf(out->f, "%s %d counts already, %s; nothing was changed\n", t->comm,
			(int)t->pid,
			c->way == WIRE_LOADED ? "since 'memdiag count start'"
					      : "since it was started");
	else if (!is_stop)
		count_print_start(out, ui, t, c);
	else if (c->was_so)
		fprintf(out->f, "%s %d does not count; nothing was changed\n", t->comm,
			(int)t->pid);
	else
		fprintf(out->f,
			"%s %d does not count any more: code restored, the agent stays loaded "
			"and idle\n",
			t->comm, (int)t->pid);
	if (c->hooked.nr_foreign)
		fprintf(out->f, "%zu places that another tool has changed since were left\n",
			c->hooked.nr_foreign);
}

/* ---- JSON ---- */

static json_t *
doubtful_json(const struct count_job *c)
{
	return c->has_no_before || c->nr_doubtful == UINT32_MAX ? json_null()
								: json_integer(c->nr_doubtful);
}

static json_t *
count_data_json(const struct count_job *c, bool is_stop)
{
	const struct stop_report *f = &c->hooked.stop;
	json_t *stop = json_object(),
	       *stopped = json_pack("{s:I}", "threads", (json_int_t)f->nr_threads);
	json_t *data = json_pack("{s:b, s:b, s:I, s:I, s:I, s:o, s:o}", "is_counting", !is_stop,
		"was_so_already", c->was_so, "entries", (json_int_t)c->hooked.nr_entries, "slots",
		(json_int_t)c->hooked.nr_slots, "foreign", (json_int_t)c->hooked.nr_foreign,
		"stopped", stopped, "stop", stop);

	view_json_set_duration(stopped, "longest", f->longest_ns);
	view_json_set_stop(stop, f->nr_threads ? 1 : 0, f->still_ns, f->longest_ns);
	json_object_set_new(stop, "threads", json_integer((json_int_t)f->nr_threads));
	if (is_stop || c->was_so)
		return data;
	json_object_set_new(data, "loaded", json_boolean(c->is_new));
	json_object_set_new(data, "children_forked", json_integer((json_int_t)c->nr_children));
	json_object_set_new(data, "before_bytes",
		c->has_no_before ? json_null() : json_integer((json_int_t)c->before_bytes));
	json_object_set_new(data, "doubtful_blocks", doubtful_json(c));
	json_object_set_new(data, "borrow", borrow_report_json(&c->borrowed));
	return data;
}

int
count_show_json(struct ui_output *out, const struct target *t, const struct count_job *c,
	bool is_stop, struct err *e)
{
	json_t *document = ui_json_new("count", t);
	int failed = json_object_set_new(document, "data", count_data_json(c, is_stop)) < 0
		? err_set(e, ENOMEM, "cannot write JSON")
		: ui_json_print(document, out, e);

	json_decref(document);
	return failed;
}

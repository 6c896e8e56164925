#include <config.h>

#include "cmd/batch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "os/os.h"
#include "os/target.h"
#include "ui/exit.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/progress.h"

/* ---- one after another ---- */

struct done {
	pid_t *v;
	size_t nr, room;
};

static bool
is_done(const struct done *done, pid_t pid)
{
	for (size_t i = 0; i < done->nr; i++)
		if (done->v[i] == pid)
			return true;
	return false;
}

/* Call FN for the process of thread PID, unless that was already done. */
static int
do_one(struct done *done, pid_t pid, batch_fn *fn, void *arg, struct err *e)
{
	auto_target struct target t = TARGET_NONE;
	pid_t *new;

	if (target_open(&t, pid, e) < 0)
		return -1;
	if (is_done(done, t.pid))
		return 0;
	if (fn(&t, arg, e) < 0)
		return -1;
	new = array_add(done);
	if (!new)
		return err_set(e, ENOMEM, "cannot keep the processes");
	*new = t.pid;
	return 0;
}

int
batch_each(const struct ui_processes *asked, batch_fn *fn, void *arg, struct warnings *w,
	struct err *e)
{
	struct done done = { 0 };
	bool failed = false;

	for (size_t i = 0; !failed && i < asked->nr; i++) {
		const pid_t pid = asked->v[i].pid;

		if (do_one(&done, pid, fn, arg, e) == 0)
			continue;
		failed = e->kind == ERR_USAGE || e->code == ENOMEM;
		warnings_add(w, true, "%d is left out: %s", (int)pid, e->msg);
	}
	free(done.v);
	return failed || !done.nr ? -1 : 0;
}

/* ---- documents ---- */

struct collector {
	const struct batch *what;
	json_t *documents;
	bool is_json;
};

/* Drop all lists but those by kind, for a table: it may have hundreds of processes. */
static void
drop_lists(json_t *data)
{
	const char *key;
	json_t *member;
	void *next;

	json_object_foreach_safe(data, next, key, member)
	{
		if (json_is_array(member) && !json_object_get(json_array_get(member, 0), "kind"))
			json_object_del(data, key);
	}
}

static int
add_document(const struct target *t, void *arg, struct err *e)
{
	struct collector *c = arg;
	json_t *document = c->what->to_json(t->pid, c->what->arg, e);

	if (!document)
		return -1;
	if (!c->is_json)
		drop_lists(json_object_get(document, "data"));
	if (json_array_append_new(c->documents, document) < 0)
		return err_set(e, ENOMEM, "cannot keep the processes");
	return 0;
}

/* ---- order ---- */

static json_int_t
batch_rss_of(json_t *document)
{
	return json_integer_value(
		json_object_get(json_object_get(document, "process"), "rss_bytes"));
}

static int
batch_by_rss(const void *a, const void *b)
{
	json_int_t x = batch_rss_of(*(json_t *const *)a), y = batch_rss_of(*(json_t *const *)b);

	return (x < y) - (x > y);
}

/* Sort DOCUMENTS by size, largest first; return NULL if memory is exhausted. */
static json_t *
batch_sorted(json_t *documents)
{
	const size_t nr = json_array_size(documents);
	auto_free json_t **v = malloc((nr + 1) * sizeof *v);
	json_t *ret = json_array();

	for (size_t i = 0; v && i < nr; i++)
		v[i] = json_array_get(documents, i);
	if (v)
		qsort(v, nr, sizeof *v, batch_by_rss);
	for (size_t i = 0; v && i < nr; i++)
		json_array_append(ret, v[i]);
	if (json_array_size(ret) == nr)
		return ret;
	json_decref(ret);
	return NULL;
}

/* ---- the command ---- */

/*
 * Print the warnings of each process.  A text that occurs several times is printed for the first
 * process only.
 */
static void
print_warnings(json_t *documents, const struct ui_options *ui, bool *ret_is_partial)
{
	json_auto_t *printed = json_object();
	json_t *document, *warning;
	size_t i, k;

	json_array_foreach(documents, i, document)
	{
		json_t *target = json_object_get(document, "target");

		*ret_is_partial |= json_is_true(json_object_get(document, "partial"));
		json_array_foreach(json_object_get(document, "warnings"), k, warning)
		{
			const char *text = json_string_value(warning);

			if (!text || json_object_get(printed, text))
				continue;
			json_object_set_new(printed, text, json_true());
			ui_note(ui, "%" JSON_INTEGER_FORMAT " (%s): %s",
				json_integer_value(json_object_get(target, "pid")),
				json_string_value(json_object_get(target, "comm")), text);
		}
	}
}

int
batch_run(const struct batch *what, struct ui_options *ui, struct err *e)
{
	auto_progress struct ui_progress *progress = ui_progress_begin(ui, what->progress);
	json_auto_t *documents = json_array(), *in_order = NULL;
	struct collector collector = { what, documents, ui->json };
	auto_warnings struct warnings w = { 0 };
	auto_output struct ui_output out = { 0 };
	bool is_partial;
	int failed;

	failed = ui_find_processes(ui, e) < 0 || ui_output_open(&out, ui, e) < 0 ||
		batch_each(&ui->asked, add_document, &collector, &w, e) < 0;
	free(ui->asked.v);
	ui->asked = (struct ui_processes){ 0 };
	ui_progress_end(take_ptr(&progress));
	if (failed)
		return -1;
	in_order = batch_sorted(documents);
	if (!in_order)
		return err_set(e, ENOMEM, "cannot sort the processes");
	if ((ui->json ? batch_print_json(&out, what->command, what->columns, in_order, &w, e)
		      : batch_print_text(&out, ui, what->columns, in_order, what->limit, e)) < 0)
		return -1;
	if (ui_output_close(&out, e) < 0)
		return -1;
	is_partial = w.is_partial;
	print_warnings(in_order, ui, &is_partial);
	warnings_print(&w, ui);
	return is_partial ? UI_PARTIAL : UI_DONE;
}

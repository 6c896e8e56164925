#include <config.h>

#include <errno.h>

#include "cmd/command.h"
#include "cmd/malloc-target.h"

enum { KEY_PAD = 0x3000 };

struct trim_options {
	struct ui_options ui;
	struct inject_options inject;
	uint64_t pad_bytes;
};

static const struct argp_option options[] = {
	{ "pad", KEY_PAD, "SIZE", 0, "leave this much free at the end of the main heap (0)", 1 },
	{ 0 },
};

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
	struct trim_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->ui;
		state->child_inputs[1] = &o->inject;
		return 0;
	case KEY_PAD:
		if (!ui_parse_size(arg, &o->pad_bytes))
			ui_refuse(state, arg, "is not a size: say 0, 512K or 64M");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.children = borrow_children,
	.args_doc = "[PID]",
	.doc = "Give back what malloc keeps: call malloc_trim() in the process.\n"
	       "One idle thread is borrowed for about a millisecond.  While an arena is trimmed, "
	       "threads that allocate from it wait; the more goes back, the longer.\v"
	       "Examples:\n"
	       "  memdiag trim --pid 1234\n"
	       "  memdiag trim --pid 1234 --pad 64M\n\n"
	       "That there was nothing to give back is no failure.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- before and after ---- */

struct moment {
	uint64_t rss_bytes, swap_bytes;
	bool has_arenas;
	uint64_t arenas_bytes;	/* resident in arenas */
};

struct trim {
	struct malloc_target mt;
	struct inject_report report;
	struct moment before, after;
	uint64_t released_bytes;
};

/* RSS is read last before the call and first after it. */
static int
look(struct moment *m, const struct malloc_target *mt, bool is_before, struct err *e)
{
	const struct space_options all = { .objects = &mt->objects, .arenas = &mt->arenas };
	const struct target *t = &mt->target;
	auto_space struct space s = { 0 };
	struct os_status status;

	if ((!is_before && os_status(t, 0, &status, e) < 0) || space_read(&s, t, &all, e) < 0 ||
		(is_before && os_status(t, 0, &status, e) < 0))
		return -1;
	m->rss_bytes = status.vm_rss_bytes;
	m->swap_bytes = status.vm_swap_bytes;
	m->has_arenas = s.rss_from != SPACE_RSS_NONE && !s.arenas_error.kind;
	m->arenas_bytes = space_arena_resident(&s, -1);
	return 0;
}

static int
trim(struct trim *t, const struct trim_options *opt, struct err *e)
{
	if (malloc_target_open(&t->mt, opt->ui.pid, e) < 0 ||
		look(&t->before, &t->mt, true, e) < 0 ||
		malloc_target_find_arenas(&t->mt, e) < 0 ||
		inject_malloc_trim(t->mt.inject, &t->mt.arenas, &opt->inject, opt->pad_bytes,
			&t->report, e) < 0)
		return -1;
	if (look(&t->after, &t->mt, false, e) < 0)
		return err_context(e, "malloc_trim was called, but");
	if (t->before.rss_bytes > t->after.rss_bytes)
		t->released_bytes = t->before.rss_bytes - t->after.rss_bytes;
	return 0;
}

/* ---- printing ---- */

static int
add_row(struct ui_table *table, const struct ui_options *opt, const char *name, uint64_t before,
	uint64_t after, struct err *e)
{
	char change[32];

	return ui_table_add(table, e, name, UI_SIZE(opt, before), UI_SIZE(opt, after),
		ui_size_change(opt, (int64_t)(after - before), change, sizeof change), NULL);
}

static int
print_table(const struct moment *before, const struct moment *after, const struct ui_options *opt,
	struct ui_output *out, struct err *e)
{
	auto_table struct ui_table *table = ui_table_new(out);

	if (!table)
		return err_set(e, ENOMEM, "cannot make a table");
	if (ui_table_column(table, "", false, e) < 0 ||
		ui_table_column(table, "BEFORE", true, e) < 0 ||
		ui_table_column(table, "AFTER", true, e) < 0 ||
		ui_table_column(table, "CHANGE", true, e) < 0 ||
		add_row(table, opt, "RSS", before->rss_bytes, after->rss_bytes, e) < 0 ||
		add_row(table, opt, "swap", before->swap_bytes, after->swap_bytes, e) < 0)
		return -1;
	if (before->has_arenas && after->has_arenas &&
		add_row(table, opt, "resident in arenas", before->arenas_bytes,
			after->arenas_bytes, e) < 0)
		return -1;
	return ui_table_print(table, e);
}

static int
print_text(const struct trim *t, const struct ui_options *opt, struct ui_output *out, struct err *e)
{
	char borrow[80], locked[32];

	fprintf(out->f, "%s %d, %zu arena%s\n", t->mt.target.comm, (int)t->mt.target.pid,
		t->mt.arenas.nr, t->mt.arenas.nr == 1 ? "" : "s");
	if (print_table(&t->before, &t->after, opt, out, e) < 0)
		return -1;
	fprintf(out->f, "released %s; %s, arenas were locked for %s at most\n",
		UI_SIZE(opt, t->released_bytes), borrow_text(&t->report, borrow, sizeof borrow),
		ui_duration(t->report.call_ns, locked, sizeof locked));
	return 0;
}

static json_t *
moment_json(const struct moment *m)
{
	json_t *o = json_pack("{s:I, s:I}", "rss_bytes", (json_int_t)m->rss_bytes, "swap_bytes",
		(json_int_t)m->swap_bytes);

	if (m->has_arenas)
		json_object_set_new(o, "arenas_resident_bytes",
			json_integer((json_int_t)m->arenas_bytes));
	return o;
}

static int
print_json(const struct trim *t, struct ui_output *out, struct err *e)
{
	json_t *document = ui_json_new("trim", &t->mt.target), *data;
	int r;

	data = json_pack("{s:I, s:o, s:o, s:I, s:I, s:I, s:o}", "arenas",
		(json_int_t)t->mt.arenas.nr, "before", moment_json(&t->before), "after",
		moment_json(&t->after), "released_bytes", (json_int_t)t->released_bytes, "held_us",
		(json_int_t)(t->report.held_ns / 1000), "locked_us",
		(json_int_t)(t->report.call_ns / 1000), "borrow", borrow_json(&t->report));
	if (json_object_set_new(document, "data", data) < 0)
		r = err_set(e, ENOMEM, "cannot write JSON");
	else
		r = ui_json_print(document, out, e);
	json_decref(document);
	return r;
}

static void
trim_release(struct trim *t)
{
	malloc_target_release(&t->mt);
}

static int
run(int argc, char **argv, struct err *e)
{
	struct trim_options opt = { 0 };
	__attribute__((cleanup(trim_release))) struct trim t = { .mt = MALLOC_TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	ui_parse(&argp, argc, argv, &opt);
	borrow_limit(&opt.inject, &opt.ui);
	if (ui_output_open(&out, &opt.ui, e) < 0 || trim(&t, &opt, e) < 0)
		return -1;
	if ((opt.ui.json ? print_json(&t, &out, e) : print_text(&t, &opt.ui, &out, e)) < 0)
		return -1;
	return ui_output_close(&out, e) < 0 ? -1 : UI_DONE;
}

const struct command cmd_trim = {
	.name = "trim",
	.summary = "give back what malloc keeps",
	.touch = CMD_CHANGES_TARGET,
	.run = run,
};

#include <config.h>

#include "cmd/command.h"
#include "cmd/deadline.h"
#include "cmd/trim.h"

/* Clients that give a server a second get through it, and gigabytes go back in that time. */
#define DEFAULT_MAX_LOCK_NS (UINT64_C(500) * 1000000)
#define DEFAULT_ROWS 16

/* ---- options ---- */

enum { KEY_PAD = 0x3000, KEY_MAX_LOCK, KEY_MAX_STOP, KEY_RECHECK, KEY_LINES,
	KEY_TOPS };

static const struct argp_option options[] = {
	{ "dry-run", 'n', NULL, 0, "change nothing: predict what would go back, and what it costs", 1 },
	{ "tops", KEY_TOPS, NULL, 0,
		"also give back the ends of thread arenas, which malloc_trim() leaves", 1 },
	{ "pad", KEY_PAD, "SIZE", 0, "leave this much free at the end of the main heap (0)", 1 },
	{ "max-lock", KEY_MAX_LOCK, "DURATION", 0,
		"do nothing if an arena would be locked for longer (500ms)", 1 },
	{ "recheck", KEY_RECHECK, "DURATION", 0,
		"look again so much later, and tell how much came back", 1 },
	{ "max-stop-ms", KEY_MAX_STOP, "N", 0,
		"for a prediction stop the process for at most N milliseconds at a time (200)", 1 },
	{ "lines", KEY_LINES, "N", 0, "with -n print at most N arenas; 0 is all of them (16)", 1 },
	{ 0 },
};

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
	static const char no_duration[] = "is not a duration: say 500ms, 10s or 2m";
	struct trim_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->ui;
		state->child_inputs[1] = &o->inject;
		return 0;
	case 'n':
		o->dry_run = true;
		return 0;
	case KEY_TOPS:
		o->tops = true;
		return 0;
	case KEY_PAD:
		if (!ui_parse_size(arg, &o->pad_bytes))
			ui_refuse(state, arg, "is not a size: say 0, 512K or 64M");
		return 0;
	case KEY_MAX_LOCK:
		if (!ui_parse_duration(arg, &o->max_lock_ns))
			ui_refuse(state, arg, no_duration);
		return 0;
	case KEY_RECHECK:
		if (!ui_parse_duration(arg, &o->recheck_ns))
			ui_refuse(state, arg, no_duration);
		return 0;
	case KEY_MAX_STOP:
		o->max_stop_ns = ui_parse_count(state, arg) * UINT64_C(1000000);
		return 0;
	case KEY_LINES:
		o->max_rows = ui_parse_count(state, arg);
		return 0;
	case ARGP_KEY_END:
		if (o->dry_run && o->recheck_ns)
			argp_error(state, "--dry-run changes nothing that --recheck could look at");
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
	       "  memdiag trim -n --pid 1234             what would it give back? changes nothing\n"
	       "  memdiag trim --pid 1234\n"
	       "  memdiag trim --pid 1234 --recheck 60   how much came back within a minute?\n"
	       "  memdiag trim --pid 1234 --tops         with the ends of thread arenas\n"
	       "  memdiag trim --pid 1234 --pad 64M\n"
	       "  memdiag trim --pid 1234 --max-lock 2s\n\n"
	       "That there was nothing to give back is no failure.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- before and after ---- */

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

static uint64_t
minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* The program goes on meanwhile, and may be gone. */
static void
look_later(struct trim *t, const struct trim_options *opt)
{
	const struct moment *after = &t->after, *later = &t->later;
	struct err why;

	os_sleep_ns(opt->recheck_ns);
	if (look(&t->later, &t->mt, false, &why) < 0) {
		warn(&t->warnings, true, "it could not be looked at again: %s", why.msg);
		return;
	}
	t->has_later = true;
	t->came_back_bytes = after->has_arenas && later->has_arenas
		? minus(later->arenas_bytes, after->arenas_bytes)
		: minus(later->rss_bytes, after->rss_bytes);
}

/* malloc_trim() went well; that the tops did not is no reason not to tell of it. */
static void
try_tops(struct trim *t, const struct trim_options *opt)
{
	struct err why;

	if (trim_tops(t, opt, &why) < 0)
		warn(&t->warnings, true, "not all tops of thread arenas were given back: %s", why.msg);
	else if (t->tops.nr_busy)
		warn(&t->warnings, true, "the tops of %zu arenas were left, as their locks were not "
			"to be had", t->tops.nr_busy);
}

static int
trim(struct trim *t, const struct trim_options *opt, struct err *e)
{
	const struct malloc_target *mt = &t->mt;

	if (look(&t->before, mt, true, e) < 0 || trim_allow(t, opt, e) < 0 ||
		malloc_target_find_arenas(&t->mt, e) < 0 ||
		(opt->tops && heap_layout_find(&t->layout, &mt->target, &mt->maps, &mt->objects,
				      &mt->arenas, e) < 0) ||
		inject_malloc_trim(mt->inject, &mt->arenas, &opt->inject, opt->pad_bytes,
			&t->report, e) < 0)
		return -1;
	if (opt->tops)
		try_tops(t, opt);
	if (look(&t->after, &t->mt, false, e) < 0)
		return err_context(e, "malloc_trim was called, but");
	t->released_bytes = minus(t->before.rss_bytes, t->after.rss_bytes);
	return 0;
}

static int
predict(struct trim *t, const struct trim_options *opt, struct err *e)
{
	struct os_status status;

	deadline_set(opt->ui.timeout_ns);
	if (trim_foresee(t, opt, e) < 0 || os_status(&t->mt.target, 0, &status, e) < 0)
		return -1;
	t->before.rss_bytes = status.vm_rss_bytes;
	t->before.swap_bytes = status.vm_swap_bytes;
	return 0;
}

/* ---- all of it ---- */

/* Who waits for the second look has the first meanwhile. */
static int
print(struct trim *t, const struct trim_options *opt, struct ui_output *out, struct err *e)
{
	if (!opt->ui.json && trim_print_text(t, opt, out, e) < 0)
		return -1;
	if (opt->recheck_ns) {
		fflush(out->f);
		look_later(t, opt);
	}
	if (opt->ui.json)
		return trim_print_json(t, opt, out, e);
	if (t->has_later)
		trim_print_later(t, opt, out);
	return 0;
}

static void
trim_release(struct trim *t)
{
	warnings_release(&t->warnings);
	heap_release(&t->forecast.heap);
	malloc_target_release(&t->mt);
}

static int
run(int argc, char **argv, struct err *e)
{
	struct trim_options opt = {
		.max_lock_ns = DEFAULT_MAX_LOCK_NS,
		.max_stop_ns = HEAP_DEFAULT_STOP_NS,
		.max_rows = DEFAULT_ROWS,
	};
	__attribute__((cleanup(trim_release))) struct trim t = { .mt = MALLOC_TARGET_NONE };
	auto_output struct ui_output out = { 0 };

	ui_parse(&argp, argc, argv, &opt);
	borrow_limit(&opt.inject, &opt.ui);
	if (ui_output_open(&out, &opt.ui, e) < 0 ||
		malloc_target_open(&t.mt, opt.ui.pid, e) < 0 ||
		(opt.dry_run ? predict(&t, &opt, e) : trim(&t, &opt, e)) < 0)
		return -1;
	if (print(&t, &opt, &out, e) < 0 || ui_output_close(&out, e) < 0)
		return -1;
	warnings_tell(&t.warnings, &opt.ui);
	return t.warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_trim = {
	.name = "trim",
	.summary = "give back what malloc keeps",
	.touch = CMD_CHANGES_TARGET,
	.run = run,
};

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/deadline.h"
#include "cmd/maps-rows.h"
#include "cmd/maps-show.h"
#include "ui/ui.h"

/* smaps of more than this makes the target's mmap() wait for tens of milliseconds. */
#define PSS_WARN_BYTES (UINT64_C(4) << 30)

struct options {
	struct ui_options ui;
	enum rows_by by;
	enum rows_sort sort;
	size_t limit;
	struct space_options space;
	struct user_classes classes;
	const char *diff;	/* file name */
	bool has_by, has_sort;
};

enum { KEY_BY = 1, KEY_SORT, KEY_PSS, KEY_DIFF, KEY_CLASS, KEY_RSS_FROM };

static const struct argp_option options[] = {
	{ "by", KEY_BY, "WHAT", 0, "add up by class, object, arena, thread or mapping (class)", 1 },
	{ "sort", KEY_SORT, "COLUMN", 0, "virt, rss, swap, hugetlb, count or name (rss)", 1 },
	{ "lines", 'n', "N", 0, "show the first N only", 1 },
	{ "class", KEY_CLASS, "NAME=GLOB", 0,
		"put mappings of files that match GLOB into a class of their own; may be repeated", 1 },
	{ "pss", KEY_PSS, NULL, 0,
		"PSS and USS too, as the kernel estimates them; the target's mmap() waits meanwhile", 1 },
	{ "rss-from", KEY_RSS_FROM, "SOURCE", 0,
		"auto, scan, pagemap, smaps or none: where the numbers of pages come from (auto)", 1 },
	{ "diff", KEY_DIFF, "FILE", 0, "what grew since FILE, a saved --json output", 1 },
	{ 0 },
};

/* The index of ARG in NAMES, of which there are NR; ends the program if it is none of them. */
static int
choose(struct argp_state *state, const char *arg, const char *const *names, int nr)
{
	for (int i = 0; i < nr; i++)
		if (strcmp(arg, names[i]) == 0)
			return i;
	ui_refuse(state, arg, "is not one of the words --help names");
	return 0;
}

static void
add_class(struct argp_state *state, struct user_classes *classes, char *arg)
{
	char *equals = strchr(arg, '=');
	struct user_class *c;

	if (!equals || equals == arg || !equals[1]) {
		ui_refuse(state, arg, "is not NAME=GLOB, as in mo='*.mo'");
		return;
	}
	*equals = '\0';
	for (int g = 0; g < NR_GROUPS; g++)
		if (strcmp(arg, group_name(g)) == 0)
			ui_refuse(state, arg, "is a class already");
	c = array_add(classes);
	if (!c) {
		argp_failure(state, UI_FAILED, ENOMEM, "cannot keep classes");
		return;
	}
	c->name = arg;
	c->glob = equals + 1;
}

static void
set_limit(struct argp_state *state, struct options *o, const char *arg)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (arg[0] < '0' || arg[0] > '9' || *end || !n)
		ui_refuse(state, arg, "is not a number of lines");
	o->limit = n;
}

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
	static const char *const sorts[] = { "rss", "virt", "swap", "hugetlb", "count",
		"name" };
	static const char *const sources[] = { "auto", "scan", "pagemap", "smaps", "none" };
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->ui;
		return 0;
	case KEY_BY:
		o->by = (enum rows_by)choose(state, arg, rows_by_names, NR_BY);
		o->has_by = true;
		return 0;
	case KEY_SORT:
		o->sort = (enum rows_sort)choose(state, arg, sorts, 6);
		o->has_sort = true;
		return 0;
	case 'n':
		set_limit(state, o, arg);
		return 0;
	case KEY_CLASS:
		add_class(state, &o->classes, arg);
		return 0;
	case KEY_PSS:
		o->space.want_pss = true;
		return 0;
	case KEY_RSS_FROM:
		o->space.rss_from = (enum space_rss)choose(state, arg, sources, 5);
		return 0;
	case KEY_DIFF:
		o->diff = arg;
		return 0;
	case ARGP_KEY_END:
		if (o->diff && o->has_by && o->by == BY_MAPPING)
			argp_error(state, "--diff matches names, and mappings have none of their own");
		if (!o->has_sort && o->by == BY_MAPPING)
			o->sort = SORT_ADDRESS;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "[PID]",
	.doc = "Break down the address space of a process: every byte of VIRT, RSS and swap is in "
	       "exactly one class.  The sums are compared with the kernel's own counters.\v"
	       "Nothing is stopped and nothing is changed in the process.\n\n"
	       "Examples:\n"
	       "  memdiag maps --pid 1234\n"
	       "  memdiag maps --pid 1234 --by=object --sort=virt -n 20\n"
	       "  memdiag maps --pid 1234 --class mo='*.mo' --class mu='*.mu'\n"
	       "  memdiag maps --pid 1234 --json -o then.json\n"
	       "  memdiag maps --pid 1234 --diff then.json\n\n" UI_EXIT_STATUS_HELP,
	.children = ui_options_children,
};

/* ---- comparing ---- */

/* The file may well be of another process; that is worth a word. */
static void
tell_other_target(const struct options *o, const struct target *t, json_t *old)
{
	json_auto_t *now = ui_json_new("maps", t);
	char name[96];

	if (!saved_is_same_target(old, now))
		ui_note(&o->ui, "%s is of another process: %s", o->diff,
			saved_target(old, name, sizeof name));
}

/* Read the saved output that is to be compared with, and add up by what it is added up by. */
static int
read_old(struct options *o, json_t **ret, struct err *e)
{
	json_auto_t *old = NULL;
	const char *by;
	enum rows_by was = 0;

	if (saved_read(&old, o->diff, e) < 0)
		return -1;
	by = json_string_value(json_object_get(json_object_get(old, "data"), "by"));
	if (strcmp(saved_command(old), "maps") != 0 || !by)
		return err_set(e, 0, "%s is not what 'memdiag maps --json' writes", o->diff);
	while (was < BY_MAPPING && strcmp(by, rows_by_names[was]) != 0)
		was++;
	if (was == BY_MAPPING)
		return err_set(e, 0, "%s is not by class, object, arena or thread", o->diff);
	if (o->has_by && was != o->by)
		return err_set_kind(e, ERR_USAGE, 0, "%s is by %s", o->diff, rows_by_names[was]);
	o->by = was;
	*ret = json_incref(old);
	return 0;
}

/* The column of maps_growth that a table is sorted by. */
static size_t
growth_column_of(enum rows_sort sort)
{
	static const size_t column[] = { [SORT_VIRT] = 0, [SORT_RSS] = 1, [SORT_SWAP] = 2,
		[SORT_HUGETLB] = 3, [SORT_COUNT] = 4, [SORT_NAME] = GROWTH_BY_NAME, [SORT_ADDRESS] = 0 };

	return column[sort];
}

/* Fill in what grew since OLD. */
static int
compare(struct maps_report *report, json_t *old, struct growth *growth, struct err *e)
{
	json_auto_t *now = rows_to_json(report->rows, report->order, report->s);
	json_t *then = json_object_get(json_object_get(old, "data"), "groups");

	if (growth_find(growth, &maps_growth, then, now, e) < 0)
		return err_context(e, "the saved output");
	growth_sort(growth, growth_column_of(report->sort));
	report->growth = growth;
	report->since = old;
	return 0;
}

/* ---- running ---- */

static void
tell_notes(const struct options *o, const struct space *s)
{
	if (s->rss_error.kind && s->rss_from == SPACE_RSS_NONE)
		ui_note(&o->ui, "pages were not counted: %s", s->rss_error.msg);
	else if (s->rss_error.kind)
		ui_note(&o->ui, "pages were counted by smaps: %s", s->rss_error.msg);
}

static int
print(const struct options *o, const struct maps_report *report, struct err *e)
{
	auto_output struct ui_output out = { 0 };

	if (ui_output_open(&out, &o->ui, e) < 0)
		return -1;
	if ((o->ui.json ? maps_show_json(&out, report, e)
			: maps_show_text(&out, &o->ui, report, e)) < 0)
		return -1;
	return ui_output_close(&out, e);
}

static int
report(const struct options *o, const struct target *t, const struct space *s, json_t *old,
	struct err *e)
{
	auto_rows struct rows rows = { 0 };
	auto_growth struct growth growth = { 0 };
	auto_free const struct row **order = NULL;
	auto_repeats struct repeats repeats = { 0 };
	struct maps_report report = {
		.t = t, .s = s, .by = o->by, .sort = o->sort, .limit = o->limit, .rows = &rows,
		.repeats = &repeats,
	};

	if (rows_make(&rows, s, t, o->by, &o->classes, e) < 0 ||
		rows_sort(&rows, o->sort, &order, e) < 0 || repeats_find(&repeats, s, e) < 0)
		return -1;
	report.order = order;
	if (old && compare(&report, old, &growth, e) < 0)
		return -1;
	tell_notes(o, s);
	if (print(o, &report, e) < 0)
		return -1;
	return s->rss_error.kind ? UI_PARTIAL : UI_DONE;
}

/*
 * We may not see the mappings, but everybody may read the totals.  WHY says what was in the way.
 */
static int
report_totals(const struct options *o, const struct target *t, const struct err *why,
	struct err *e)
{
	auto_output struct ui_output out = { 0 };
	struct os_status s;

	if (os_status(t, 0, &s, e) < 0)
		return -1;
	if (!s.has_memory)
		return err_set_kind(e, ERR_GONE, 0, "process %d ended while it was read", t->pid);
	if (ui_output_open(&out, &o->ui, e) < 0)
		return -1;
	ui_note(&o->ui, "only totals: %s", why->msg);
	if (!o->ui.json)
		maps_totals_text(&out, &o->ui, t, &s);
	else if (maps_totals_json(&out, t, &s, why, e) < 0)
		return -1;
	return ui_output_close(&out, e) < 0 ? -1 : UI_PARTIAL;
}

static void
warn_of_pss(const struct options *o, const struct target *t)
{
	struct os_status s;
	struct err e;

	if (o->space.want_pss && os_status(t, 0, &s, &e) == 0 && s.vm_rss_bytes > PSS_WARN_BYTES)
		ui_note(&o->ui, "--pss: mmap() and munmap() in %d wait while the kernel counts %" PRIu64
			" GiB", t->pid, s.vm_rss_bytes >> 30);
}

static int
look(struct options *o, struct err *e)
{
	auto_target struct target t = TARGET_NONE;
	auto_space struct space s = { 0 };
	json_auto_t *old = NULL;
	struct err why;

	if ((o->diff && read_old(o, &old, e) < 0) || target_open(&t, o->ui.pid, e) < 0)
		return -1;
	if (old)
		tell_other_target(o, &t, old);
	warn_of_pss(o, &t);
	if (space_read(&s, &t, &o->space, e) == 0)
		return report(o, &t, &s, old, e);
	if (e->kind != ERR_PERMISSION)
		return -1;
	os_diagnose_eperm(&t, "read its mappings", &why);
	return report_totals(o, &t, &why, e);
}

static int
run(int argc, char **argv, struct err *e)
{
	struct options o = { .space.want_unused = true };
	int status;

	ui_parse(&argp, argc, argv, &o);
	/* Nothing is stopped or changed by us, so we may leave at any point. */
	deadline_set(o.ui.timeout_ns);
	status = look(&o, e);
	free(o.classes.v);
	return status;
}

const struct command cmd_maps = {
	.name = "maps",
	.summary = "break down the address space: stack, heap, .so, anon ...",
	.touch = CMD_READS_TARGET,
	.run = run,
};

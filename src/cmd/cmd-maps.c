#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "account/growth.h"
#include "account/place.h"
#include "account/processes.h"
#include "account/rows.h"
#include "account/saved-maps.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cmd/batch.h"
#include "cmd/command.h"
#include "cmd/from-file.h"
#include "cmd/maps-drawing.h"
#include "cmd/profile-io.h"
#include "cmd/report-work.h"
#include "glibc/layout.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "maps/repeats.h"
#include "maps/space.h"
#include "os/diagnose.h"
#include "os/os.h"
#include "os/status.h"
#include "os/target.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/limits.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/progress.h"
#include "ui/ui.h"
#include "ui/warnings.h"
#include "view/maps-file.h"
#include "view/maps-json.h"
#include "view/maps-place.h"
#include "view/maps-processes.h"
#include "view/maps-text.h"
#include "view/maps.h"

/* Reading smaps of a larger process delays the target's mmap() by tens of milliseconds. */
#define PSS_WARN_BYTES (UINT64_C(4) << 30)

/* About 450,000 mappings; by default a process can have 65,530. */
#define OWN_WARN_BYTES (UINT64_C(64) << 20)

struct cmd_maps_options {
	struct ui_options ui;
	enum rows_by by;
	enum rows_sort sort;
	size_t limit;
	struct space_options space;
	struct selection selection;
	unsigned int extras; /* bits of enum extra */
	const char *diff;    /* file name */
	const char *from;    /* name of a saved map, read instead of a process */
	raddr at;
	struct profile_io_options io; /* its format is NULL for the views of maps itself */
	bool has_by, has_sort, has_several, has_at;
};

/* Define the class NAME with the pattern GLOB. */
static void
make_class(struct argp_state *state, struct selection *sel, char *name, const char *glob)
{
	struct user_class *c;

	if (!*name || !*glob)
		ui_refuse(state, name, "is not NAME=GLOB, as in mo='*.mo'");
	if (selection_knows_class(&(struct selection){ 0 }, name))
		ui_refuse(state, name, "is a class already");
	c = array_add(&sel->own);
	if (c)
		*c = (struct user_class){ name, glob };
	else
		argp_failure(state, UI_FAILED, ENOMEM, "cannot keep classes");
}

static void
cmd_maps_add_class(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct selection *sel = &((struct cmd_maps_options *)input)->selection;
	char *equals = strchr(arg, '=');
	const char **c;

	(void)row;
	if (equals) {
		*equals = '\0';
		make_class(state, sel, arg, equals + 1);
		return;
	}
	c = array_add(&sel->classes);
	if (c)
		*c = arg;
	else
		argp_failure(state, UI_FAILED, ENOMEM, "cannot keep classes");
}

/*
 * Check the chosen classes after all options: a class may be defined after the option that selects
 * it.
 */
static void
check_classes(struct argp_state *state, const struct selection *sel)
{
	char text[256] = "is not a class: there are";
	size_t len = strlen(text);

	for (int g = 0; g < NR_GROUPS; g++)
		len += (size_t)snprintf(text + len, sizeof text - len, "%s %s", g ? "," : "",
			group_name((enum group)g));
	snprintf(text + len, sizeof text - len, ", their parts, and those that NAME=GLOB makes");
	for (size_t i = 0; i < sel->classes.nr; i++)
		if (!selection_knows_class(sel, sel->classes.v[i]))
			ui_refuse(state, sel->classes.v[i], text);
}

static const char *
cmd_maps_column(size_t i)
{
	return i < NR_EXTRAS ? extra_columns[i].name : NULL;
}

/* Add the columns in ARG, such as "dirty,thp"; ARG is modified. */
static void
cmd_maps_add_columns(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct cmd_maps_options *o = input;
	char pss[] = "pss,uss", *list = arg ? arg : pss;

	for (char *name; (name = strsep(&list, ","));) {
		int x = 0;

		while (x < NR_EXTRAS && strcmp(name, extra_columns[x].name) != 0)
			x++;
		if (x == NR_EXTRAS) {
			ui_option_refuse(state, row, name);
			return;
		}
		o->extras |= 1U << x;
		o->space.want_pss |= extra_columns[x].is_of_smaps;
	}
}

static void
set_range(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct cmd_maps_options *o = input;
	struct selection *sel = &o->selection;
	const char *end;

	if (!ui_parse_address(arg, &sel->start.v, &end) || *end != '-' ||
		!ui_parse_address(end + 1, &sel->end.v, &end) || *end || sel->end.v <= sel->start.v)
		ui_option_refuse(state, row, arg);
	sel->start.v -= sel->start.v % page;
	/* subtract first: this may be the last address */
	sel->end.v -= 1 + (sel->end.v - 1) % page;
	sel->end.v += page;
	sel->has_range = true;
	o->space.cut[0] = sel->start;
	o->space.cut[1] = sel->end;
}

static const char *
cmd_maps_class(size_t i)
{
	return i < NR_GROUPS ? group_name((enum group)i) : NULL;
}

#define AT(member) UI_AT(struct cmd_maps_options, member)
#define GIVEN(member) UI_GIVEN(struct cmd_maps_options, member)

static const char unknown_word[] = "is not one of the words --help names";
static const char *const sort_names[] = { "rss", "virt", "swap", "hugetlb", "count", "name", "pss",
	"uss", "dirty", "locked", "thp", NULL };
static const char *const source_names[] = { "auto", "scan", "pagemap", "smaps", "none", NULL };

static const struct ui_option options[] = {
	{ "by", 0, "WHAT", 1, "add up by {words} (class)", UI_WORD, AT(by), GIVEN(has_by),
		.words = rows_by_names, .wrong = unknown_word },
	{ "sort", 0, "COLUMN", 1,
		"virt, rss, swap, hugetlb, count or name; pss, uss, dirty, locked or thp if "
		"--columns has it (rss)",
		UI_WORD, AT(sort), GIVEN(has_sort), .words = sort_names, .wrong = unknown_word },
	{ "lines", 'n', "N", 1, "at most N lines in each table; 0 is all of them (0)", UI_NUMBER,
		AT(limit), GIVEN(io.has_limit) },
	{ "at", 0, "ADDR", 1, "print only the class and the mapping at address ADDR (hexadecimal)",
		UI_ADDRESS, AT(at), GIVEN(has_at) },
	{ "class", 0, "CLASS|NAME=GLOB", 1,
		"print this class only (heap, 'thread stacks', ...); or put mappings of files that "
		"match GLOB into a class NAME; may be repeated",
		UI_STRING, .word = cmd_maps_class, .set = cmd_maps_add_class },
	{ "object", 0, "GLOB", 1,
		"print only objects whose name, with or without its directory, matches GLOB",
		UI_STRING, AT(selection.object) },
	{ "range", 0, "START-END", 1, "print these addresses only (hexadecimal)", UI_ADDRESS,
		.set = set_range, .wrong = "is not a range: say START-END, as in /proc/PID/maps" },
	{ "pss", 0, NULL, 1,
		"PSS and USS too, as the kernel estimates them; the target's mmap() waits "
		"meanwhile",
		UI_FLAG, .set = cmd_maps_add_columns },
	{ "columns", 0, "LIST", 1,
		"more columns: pss, uss, dirty, locked (by mlock()) and thp (on transparent huge "
		"pages); all but thp make the target's mmap() wait as --pss does, which is pss,uss",
		UI_WORD, .word = cmd_maps_column, .set = cmd_maps_add_columns,
		.wrong = "is not a column: there are pss, uss, dirty, locked and thp" },
	{ "rss-from", 0, "SOURCE", 1, "read the numbers of pages from {words} (auto)", UI_WORD,
		AT(space.rss_from), .words = source_names, .wrong = unknown_word },
	{ "format", 0, "FORMAT", 1,
		"write {words}: all but text and json draw the resident memory of one process as "
		"frames (text)",
		UI_WORD, offsetof(struct cmd_maps_options, io.format),
		.word = report_format_word_of_classes, .set = report_work_set_format,
		.wrong = "is not one of the formats --help names" },
	{ "diff", 0, "FILE", 1, "what grew since FILE, a saved --json output", UI_FILE, AT(diff) },
	{ "from", 0, "FILE", 1,
		"read FILE, a saved /proc/PID/smaps or maps, instead of a process; - is standard "
		"input",
		UI_FILE, AT(from) },
	{ 0 },
};

#define RULE(kind, a, b, why) UI_RULE(kind, struct cmd_maps_options, a, b, why)

static const struct ui_rule rules[] = {
	RULE(UI_EXCLUDES, from, ui.asked.nr, "a file or a process, not both"),
	RULE(UI_WANTS, from, ui.asked.nr, "which process? use --pid PID, or --from FILE"),
	RULE(UI_EXCLUDES, from, space.rss_from,
		"--rss-from is for a process: a file has what it has"),
	{ 0 },
};

/* Refuse what does not go with --format; text and json are the views of maps itself. */
static void
check_format(struct argp_state *state, struct cmd_maps_options *o)
{
	const struct report_format *format = o->io.format;

	if (!format)
		return;
	if (o->ui.json && format != &report_format_json)
		argp_error(state, "--json and --format: one format at a time");
	if (format->can & FORMAT_NEEDS_CALLS)
		argp_error(state,
			"--format=%s shows calls, which maps does not have: --help lists the other formats",
			format->name);
	if (format == &report_format_json || format == &report_format_text) {
		o->ui.json = format == &report_format_json;
		o->io.format = NULL;
		return;
	}
	if (o->has_several)
		argp_error(state, "--format=%s takes one process", format->name);
	if (o->has_at || o->has_by || o->has_sort || o->diff || o->extras || o->selection.own.nr ||
		!selection_is_all(&o->selection))
		argp_error(state,
			"--format=%s shows all of RSS by class: not with --at, --by, --sort, --class, --object, --range, --columns, --pss and --diff",
			format->name);
	if (o->space.rss_from == SPACE_RSS_NONE)
		argp_error(state, "--format=%s shows RSS, which --rss-from=none does not count",
			format->name);
}

static void
cmd_maps_check(struct argp_state *state, void *input)
{
	struct cmd_maps_options *o = input;
	const struct selection *sel = &o->selection;
	bool by_extra = o->has_sort && o->sort >= SORT_PSS && o->sort <= SORT_THP;

	o->has_several = ui_is_several(&o->ui);
	check_format(state, o);
	check_classes(state, sel);
	if (o->ui.max_memory_bytes && !o->diff && !o->from)
		argp_error(state, "--max-memory is for --diff and --from");
	if (o->from && o->by == BY_ARENA)
		argp_error(state,
			"a file does not show which arena a mapping is of: --by takes class, object, thread and mapping");
	if (o->has_several && (o->has_by || o->diff || o->has_at || sel->has_range))
		argp_error(state, "--at, --by, --diff and --range take one process");
	if (o->has_several && sel->own.nr && !sel->classes.nr)
		argp_error(state,
			"of several processes no class has a line: choose NAME of --class NAME=GLOB by --class NAME");
	if (o->has_at && (o->has_by || o->diff || sel->own.nr || !selection_is_all(sel)))
		argp_error(state,
			"--at looks at one address, --by, --class, --object, --range and --diff at several");
	if (by_extra && (!(o->extras & 1U << (o->sort - SORT_PSS)) || o->diff))
		argp_error(state,
			"what --columns adds is known with --columns (or --pss) only, and not compared by --diff");
	if (!o->has_sort && o->by == BY_MAPPING && !o->diff)
		o->sort = SORT_ADDRESS;
}

static const struct ui_child children[] = {
	{ &ui_several_syntax, offsetof(struct cmd_maps_options, ui) },
	{ &ui_memory_syntax, offsetof(struct cmd_maps_options, ui) },
	{ 0 },
};

static const struct ui_syntax cmd_maps_syntax = {
	.options = options,
	.rules = rules,
	.children = children,
	.check = cmd_maps_check,
	.args_doc = "[PID...]",
	.doc = "Break down the address space of a process: every byte of VIRT, RSS and swap is in "
	       "exactly one class.  The sums are compared with the kernel's own counters.\v"
	       "Nothing is stopped and nothing is changed in the process.\n\n"
	       "Examples:\n"
	       "  memdiag maps --pid 1234\n"
	       "  memdiag maps --pid 1234 --by=object --sort=virt -n 20\n"
	       "  memdiag maps --pid 1234 --class mo='*.mo' --class mu='*.mu'\n"
	       "  memdiag maps --pid 1234 --class heap --by=mapping\n"
	       "  memdiag maps --pid 1234 --object 'libc.so.*'\n"
	       "  memdiag maps --pid 1234 --at 0x7f31c2a04010\n"
	       "  memdiag maps --pid postgres --all --pss\n"
	       "  memdiag maps --pid 1234 --columns=dirty,locked,thp --sort=dirty\n"
	       "  memdiag maps --pid 1234 --json -o then.json\n"
	       "  memdiag maps --pid 1234 --format=pprof -o rss.pb.gz\n"
	       "  memdiag maps --pid 1234 --diff then.json\n"
	       "  memdiag maps --from smaps.txt --by=object\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- comparing ---- */

/* Warn if the saved file is from another process, which is allowed. */
static void
warn_of_other_target(const struct cmd_maps_options *o, const struct target *t, json_t *old)
{
	json_auto_t *now = ui_json_new("maps", t);
	char name[96];

	if (!saved_is_same_target(old, now))
		ui_note(&o->ui, "%s is of another process: %s", o->diff,
			saved_target(old, name, sizeof name));
}

/* Read the saved output to compare with, and choose the same grouping. */
static int
read_old(struct cmd_maps_options *o, json_t **ret, struct err *e)
{
	json_auto_t *filter = selection_to_json(&o->selection);

	return saved_maps_read(ret, &o->by, o->diff, o->has_by, filter, e);
}

/* ---- running ---- */

#define BY_MAPPINGS "classes go by mappings alone, without thread stacks and arenas: "

static bool
is_partial(const struct space *s)
{
	return s->rss_error.kind || s->memory_error.kind || (s->file && s->file->cut_line);
}

static void
print_notes(const struct cmd_maps_options *o, const struct space *s)
{
	uint64_t own = space_own_bytes(s);

	if (own > OWN_WARN_BYTES)
		ui_note(&o->ui,
			"memdiag needs %" PRIu64
			" MiB of memory for %zu mappings: do not run it in a small "
			"memory cgroup",
			own >> 20, s->process->maps.nr);
	if (s->file)
		return;
	if (o->extras & 1U << EXTRA_THP && !extra_is_known(s, EXTRA_THP) &&
		s->rss_from != SPACE_RSS_NONE)
		ui_note(&o->ui, "thp is unknown: pagemap does not show huge pages; add --pss");
	if (s->rss_error.kind && s->rss_from == SPACE_RSS_NONE)
		ui_note(&o->ui, "pages were not counted: %s", s->rss_error.msg);
	else if (s->rss_error.kind)
		ui_note(&o->ui, "pages were counted by smaps: %s", s->rss_error.msg);
	if (s->memory_error.kind)
		ui_note(&o->ui, BY_MAPPINGS "%s", s->memory_error.msg);
}

static int
cmd_maps_print(const struct cmd_maps_options *o, const struct maps_report *report, struct err *e)
{
	auto_output struct ui_output out = { 0 };

	if (ui_output_open(&out, &o->ui, e) < 0)
		return -1;
	if ((o->ui.json ? maps_show_json(&out, report, e)
			: maps_show_text(&out, &o->ui, report, e)) < 0)
		return -1;
	return ui_output_close(&out, e);
}

/* Fail if S has no mapping with the selected object or address; a class may be empty. */
static int
refuse_selection(const struct cmd_maps_options *o, const struct target *t, const struct space *s,
	struct err *e)
{
	const struct selection *sel = &o->selection;
	char object[96], where[64] = "", whose[256];

	if (sel->has_range)
		snprintf(where, sizeof where, " within %" PRIx64 "-%" PRIx64, sel->start.v,
			sel->end.v);
	if (t)
		snprintf(whose, sizeof whose, "%d", (int)t->pid);
	else
		snprintf(whose, sizeof whose, "%s", s->file->name);
	if (!sel->object)
		return err_set(e, 0, "nothing of %s is mapped%s", whose, where);
	return err_set(e, 0, "%s has no object called '%s'%s; --by=object lists them", whose,
		text_printable(sel->object, object, sizeof object), where);
}

/* Print the report on S.  T is NULL and W is set if S is from a saved map. */
static int
cmd_maps_report(const struct cmd_maps_options *o, const struct target *t, const struct space *s,
	json_t *old, const struct warnings *w, struct err *e)
{
	auto_rows struct rows rows = { 0 };
	auto_growth struct growth growth = { 0 };
	auto_free const struct row **order = NULL;
	auto_free uint32_t *leaves = NULL;
	auto_repeats struct repeats repeats = { 0 };
	struct maps_report report = {
		.t = t,
		.s = s,
		.by = o->by,
		.sort = o->sort,
		.limit = o->limit,
		.selection = &o->selection,
		.extras = o->extras,
		.rows = &rows,
		.repeats = &repeats,
		.warnings = w,
	};

	if (!o->selection.classes.nr && !selection_is_any(&o->selection, s))
		return refuse_selection(o, t, s, e);
	if (o->by == BY_MAPPING
			? leaves_sort(s, &o->selection, o->sort, &leaves, &report.nr_leaves, e) < 0
			: rows_make(&rows, s, t, o->by, &o->selection, e) < 0 ||
				rows_sort(&rows, o->sort, &order, e) < 0)
		return -1;
	if (repeats_find(&repeats, s, e) < 0)
		return -1;
	report.order = order;
	report.leaves = leaves;
	if (old && maps_compare(&report, old, &growth, e) < 0)
		return -1;
	print_notes(o, s);
	if (cmd_maps_print(o, &report, e) < 0)
		return -1;
	return is_partial(s) ? UI_PARTIAL : UI_DONE;
}

/* Report the use of one address; T and W as in cmd_maps_report(). */
static int
report_place(const struct cmd_maps_options *o, const struct target *t, const struct space *s,
	const struct warnings *w, struct err *e)
{
	auto_output struct ui_output out = { 0 };
	struct place place;

	if (place_find(&place, s, o->at, e) < 0 || ui_output_open(&out, &o->ui, e) < 0)
		return -1;
	print_notes(o, s);
	if (!o->ui.json)
		maps_place_text(&out, &o->ui, &place, s, t);
	else if (maps_place_json(&out, &place, s, t, w, e) < 0)
		return -1;
	if (ui_output_close(&out, e) < 0)
		return -1;
	return is_partial(s) ? UI_PARTIAL : UI_DONE;
}

/*
 * Report the totals, which all users may read, if the mappings are unreadable; WHY is the reason.
 */
static int
report_totals(const struct cmd_maps_options *o, const struct target *t, const struct err *why,
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
warn_of_pss(const struct cmd_maps_options *o, const struct target *t)
{
	struct os_status s;
	struct err e;

	if (o->space.want_pss && os_status(t, 0, &s, &e) == 0 && s.vm_rss_bytes > PSS_WARN_BYTES)
		ui_note(&o->ui,
			"smaps: mmap() and munmap() in %d wait while the kernel counts %" PRIu64
			" GiB",
			t->pid, s.vm_rss_bytes >> 30);
}

/* Report S as O wants it; T, OLD and W as in cmd_maps_report(). */
static int
report_space(struct cmd_maps_options *o, const struct target *t, const struct space *s, json_t *old,
	const struct warnings *w, struct err *e)
{
	if (o->has_at)
		return report_place(o, t, s, w, e);
	if (!o->io.format)
		return cmd_maps_report(o, t, s, old, w, e);
	print_notes(o, s);
	o->io.limit = o->limit;
	if (maps_draw(s, t, &o->io, &o->ui, w, e) < 0)
		return -1;
	return is_partial(s) ? UI_PARTIAL : UI_DONE;
}

static int
show_one(struct cmd_maps_options *o, struct err *e)
{
	auto_progress struct ui_progress *progress = NULL;
	auto_target struct target t = TARGET_NONE;
	auto_space struct space s = { 0 };
	json_auto_t *old = NULL;
	struct err why;

	if ((o->diff && read_old(o, &old, e) < 0) || target_open(&t, o->ui.pid, e) < 0)
		return -1;
	if (old)
		warn_of_other_target(o, &t, old);
	warn_of_pss(o, &t);
	progress = ui_progress_begin(&o->ui, "reading the address space");
	if (space_read(&s, &t, &o->space, e) == 0) {
		ui_progress_end(take_ptr(&progress));
		return report_space(o, &t, &s, old, NULL, e);
	}
	if (e->kind != ERR_PERMISSION || o->has_at || !selection_is_all(&o->selection))
		return -1;
	os_diagnose_eperm(&t, "read its mappings", &why);
	if (o->io.format) {
		*e = why;
		return -1;
	}
	return report_totals(o, &t, &why, e);
}

/* ---- a saved map ---- */

static int
show_file(struct cmd_maps_options *o, struct err *e)
{
	auto_from_file struct from_file file = { 0 };
	auto_map_file struct map_file map = { 0 };
	auto_space struct space s = { 0 };
	auto_warnings struct warnings warnings = { 0 };
	json_auto_t *old = NULL;
	int status;

	if ((o->diff && read_old(o, &old, e) < 0) || from_file_read(&file, o->from, e) < 0)
		return -1;
	if (map_file_parse(&map, file.name, file.text.v, file.text.len, e) < 0)
		return e->kind == ERR_UNSUPPORTED ? from_file_explain(&file, e) : -1;
	if (space_read_file(&s, &map, &o->space, e) < 0)
		return -1;
	maps_file_warn(&s, &warnings);
	status = report_space(o, NULL, &s, old, &warnings, e);
	if (status >= 0)
		warnings_print(&warnings, &o->ui);
	return status;
}

/* ---- several processes ---- */

/*
 * Read the address space of T into S.  If that is forbidden, S stays unread and W gets a warning.
 */
static int
read_space(struct space *s, bool *ret_is_read, struct os_status *ret,
	const struct cmd_maps_options *o, const struct target *t, struct warnings *w, struct err *e)
{
	warn_of_pss(o, t);
	*ret_is_read = space_read(s, t, &o->space, e) == 0;
	if (!*ret_is_read && (e->kind != ERR_PERMISSION || !selection_is_all(&o->selection)))
		return -1;
	if (!*ret_is_read)
		warnings_add(w, true, "%d (%s): only totals: %s", (int)t->pid, t->comm, e->msg);
	else if (s->rss_error.kind)
		warnings_add(w, true, "%d (%s): %s", (int)t->pid, t->comm, s->rss_error.msg);
	if (*ret_is_read && s->memory_error.kind)
		warnings_add(w, true, "%d (%s): " BY_MAPPINGS "%s", (int)t->pid, t->comm,
			s->memory_error.msg);
	if (!*ret_is_read)
		return os_status(t, 0, ret, e);
	*ret = s->after;
	return 0;
}

struct cmd_maps_adder {
	const struct cmd_maps_options *o;
	struct process_sums sums;
	struct warnings warnings;
};

/* Add the line of T.  Unreadable mappings cause a warning. */
static int
cmd_maps_add_process(const struct target *t, void *arg, struct err *e)
{
	struct cmd_maps_adder *a = arg;
	auto_space struct space s = { 0 };
	struct process_sum *sum;
	struct os_status status;
	bool is_read;

	if (read_space(&s, &is_read, &status, a->o, t, &a->warnings, e) < 0)
		return -1;
	sum = array_add(&a->sums);
	if (!sum)
		return err_set(e, ENOMEM, "cannot keep the processes");
	*sum = process_sum_of(t, is_read ? &s : NULL, &a->o->selection, &status);
	return 0;
}

static int
cmd_maps_print_all(const struct cmd_maps_options *o, const struct cmd_maps_adder *a, struct err *e)
{
	auto_output struct ui_output out = { 0 };

	if (ui_output_open(&out, &o->ui, e) < 0)
		return -1;
	if ((o->ui.json ? maps_processes_json(
				  &out, &a->sums, &o->selection, o->space.want_pss, &a->warnings, e)
			: maps_processes_text(&out, &o->ui, &a->sums, &o->selection, o->extras,
				  o->limit, e)) < 0)
		return -1;
	return ui_output_close(&out, e);
}

static int
show_several(const struct cmd_maps_options *o, struct err *e)
{
	struct ui_progress *progress = ui_progress_begin(&o->ui, "reading the address spaces");
	struct cmd_maps_adder a = { .o = o };
	int failed = batch_each(&o->ui.asked, cmd_maps_add_process, &a, &a.warnings, e), status;

	ui_progress_end(progress);
	process_sums_sort(&a.sums, o->sort);
	failed = failed || cmd_maps_print_all(o, &a, e) < 0;
	status = failed ? -1 : a.warnings.is_partial ? UI_PARTIAL : UI_DONE;
	if (!failed)
		warnings_print(&a.warnings, &o->ui);
	free(a.sums.v);
	warnings_release(&a.warnings);
	return status;
}

static int
cmd_maps_run(int argc, char **argv, struct err *e)
{
	struct cmd_maps_options o = { .ui.pid_optional = true,
		.space = { .want_unused = true, .count_mmapped = malloc_count_mmapped },
		/* Frames may have the name of a function that allocates. */
		.io.calls.has_allocators = true };
	int status;

	ui_parse(&cmd_maps_syntax, argc, argv, &o);
	/* memdiag stops no thread and changes nothing here, so it may exit at any point. */
	deadline_set(o.ui.timeout_ns);
	if (o.diff || o.from)
		limits_set_memory(&o.ui);
	if (o.from)
		status = show_file(&o, e);
	else if (ui_find_processes(&o.ui, e) < 0)
		status = -1;
	else
		status = o.has_several ? show_several(&o, e) : show_one(&o, e);
	free(o.ui.asked.v);
	selection_release(&o.selection);
	return status;
}

const struct command cmd_maps = {
	.name = "maps",
	.summary = "break down the address space: stack, heap, .so, anon ...",
	.touch = CMD_READS_TARGET,
	.syntax = &cmd_maps_syntax,
	.run = cmd_maps_run,
};

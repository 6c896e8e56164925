#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "capture/log-place.h"
#include "cmd/command.h"
#include "cmd/profile-io.h"
#include "cmd/timeline-follow.h"
#include "os/os.h"
#include "os/target.h"
#include "recording/parts.h"
#include "recording/profiles.h"
#include "recording/recording-open.h"
#include "report/json.h"
#include "report/report.h"
#include "report/timeline-dhat.h"
#include "report/timeline-massif.h"
#include "report/timeline-svg.h"
#include "report/timeline-text.h"
#include "report/timeline.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/limits.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/progress.h"
#include "ui/ui.h"
#include "ui/units.h"

#define DEFAULT_INTERVAL_NS ((uint64_t)100000000)
#define FOLLOW_INTERVAL_NS ((uint64_t)1000000000)
#define LEAST_INTERVAL_NS ((uint64_t)1000000)

/* A time given by the user. */
struct when {
	enum when_kind { WHEN_NOT, WHEN_TIME, WHEN_PEAK, WHEN_END } kind;
	uint64_t ns;
};

struct cmd_timeline_options {
	struct ui_options ui;
	struct profile_io_options io;
	const char *file, *format;
	uint64_t interval_ns;	 /* 0: not given */
	unsigned int nr_threads; /* 0: not given */
	struct when at, from, to;
	bool follows;
	const struct plot_format *plot; /* NULL: a report's format, for moments */
	bool is_mapped;			/* of moments: show mapped memory instead of live blocks */
	bool has_value, has_interval;
};

/* ---- options ---- */

/* Words of --value; a moment has types for both. */
static const char *const value_names[] = { "in-use", "mapped", NULL };
static const char *const time_names[] = { "peak", "end", NULL };

/* Parse ARG into the struct when of ROW. */
static void
cmd_timeline_set_time(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	static const enum when_kind moments[] = { WHEN_PEAK, WHEN_END };
	struct when *when = (void *)((char *)input + row->at);
	const int word = ui_option_find_word(row, arg);

	*when = (struct when){ .kind = word < 0 ? WHEN_TIME : moments[word] };
	if (word < 0 && !ui_parse_duration(arg, &when->ns))
		ui_option_refuse(state, row, arg);
}

static const char *cmd_timeline_format(size_t i);

#define AT(member) UI_AT(struct cmd_timeline_options, member)
#define GIVEN(member) UI_GIVEN(struct cmd_timeline_options, member)
#define TIME(member)                                                                               \
	UI_DURATION, offsetof(struct cmd_timeline_options, member),                                \
		.words = time_names, .set = cmd_timeline_set_time,                                 \
		.wrong = "is not a time as 305ms or 1.5s, peak or end"

static const struct ui_option options[] = {
	{ "program", 0, "BIN", 1, "the program that was recorded, if it was moved", UI_FILE,
		AT(io.symbols.program) },
	{ "interval", 0, "TIME", 1,
		"show the local maximum of each TIME: 10ms, 1s; longer for a long recording "
		"(100ms)",
		UI_DURATION, AT(interval_ns), GIVEN(has_interval) },
	{ "threads", 0, "N", 1,
		"read N files of a log in parallel (the number of files, at most one for each "
		"processor)",
		UI_NUMBER, AT(nr_threads) },
	{ "follow", 0, NULL, 1,
		"show a log as it grows, until it ends: on a terminal the plot, else a line for "
		"each interval (1s); text, csv or json",
		UI_FLAG, AT(follows) },
	{ "at", 0, "TIME", 1,
		"report what was live at the local maximum of the interval that contains TIME: "
		"305ms, 1.5s, peak or end",
		TIME(at) },
	{ "peak", 0, NULL, 1, "the same as --at=peak", UI_VALUE, AT(at.kind), .value = WHEN_PEAK },
	{ "from", 0, "TIME", 1, "report what grew since TIME", TIME(from) },
	{ "to", 0, "TIME", 1, "report what grew up to TIME (end); without --from as --at does",
		TIME(to) },
	{ "format", 0, "FORMAT", 2,
		"write {words}; with --at, --peak, --from and --to the formats of report: {also}",
		UI_STRING, AT(format), .word = cmd_timeline_format, .also = report_format_word },
	{ "value", 0, "VALUE", 2,
		"with --at, --peak, --from and --to: add up in-use memory of malloc, or mapped "
		"memory of the program's own mmap (in-use)",
		UI_WORD, AT(is_mapped), GIVEN(has_value), .words = value_names },
	{ 0 },
};

static bool
has_moments(const struct cmd_timeline_options *o)
{
	return o->at.kind || o->from.kind || o->to.kind;
}

/* Parse a number as a process.  Another word may be a process name if no file has that name. */
static error_t
cmd_timeline_parse_word(struct argp_state *state, void *input, char *arg)
{
	struct cmd_timeline_options *o = input;

	if (isdigit((unsigned char)*arg) && !arg[strspn(arg, "0123456789")])
		return ARGP_ERR_UNKNOWN;
	if (o->file)
		argp_error(state, "two recordings: one at a time");
	o->file = arg;
	return 0;
}

#define RULE(kind, a, b, why) UI_RULE(kind, struct cmd_timeline_options, a, b, why)
#define ONE_OR_TWO "--at and --peak are one moment, --from and --to are two"
#define NOT_OF_MOMENTS "--follow is for the whole timeline, not for a moment"

static const struct ui_rule rules[] = {
	RULE(UI_WANTS, file, ui.asked.nr,
		"which recording? say FILE, the directory of a log, or --pid PID"),
	RULE(UI_EXCLUDES, file, ui.asked.nr, "a file and a process: one at a time"),
	RULE(UI_EXCLUDES, at.kind, from.kind, ONE_OR_TWO),
	RULE(UI_EXCLUDES, at.kind, to.kind, ONE_OR_TWO),
	RULE(UI_EXCLUDES, follows, at.kind, NOT_OF_MOMENTS),
	RULE(UI_EXCLUDES, follows, from.kind, NOT_OF_MOMENTS),
	RULE(UI_EXCLUDES, follows, to.kind, NOT_OF_MOMENTS),
	{ 0 },
};

static void
cmd_timeline_check(struct argp_state *state, void *input)
{
	struct cmd_timeline_options *o = input;

	if (o->has_interval && o->interval_ns < LEAST_INTERVAL_NS)
		argp_error(state, "--interval is 1ms at least");
	if (o->has_value && !has_moments(o))
		argp_error(state, "--value is for --at, --peak, --from and --to");
	if (!o->has_interval)
		o->interval_ns = o->follows ? FOLLOW_INTERVAL_NS : DEFAULT_INTERVAL_NS;
}

static const struct ui_child children[] = {
	{ &ui_options_syntax, offsetof(struct cmd_timeline_options, ui) },
	{ &ui_memory_syntax, offsetof(struct cmd_timeline_options, ui) },
	{ &profile_io_syntax, offsetof(struct cmd_timeline_options, io) },
	{ 0 },
};

static const struct ui_syntax cmd_timeline_syntax = {
	.options = options,
	.rules = rules,
	.children = children,
	.argument = cmd_timeline_parse_word,
	.check = cmd_timeline_check,
	.args_doc = "FILE|DIR\nPID",
	.doc = "How the memory of a program grew, and which code had it at each moment, from a "
	       "recording of all allocations: a log of memdiag, or a file of heaptrack. With --pid it "
	       "reads the log of that process, which may still be written.\v"
	       "Examples:\n"
	       "  memdiag timeline /var/tmp/log\n"
	       "  memdiag timeline --pid 1234\n"
	       "  memdiag timeline --pid 1234 --follow\n"
	       "  memdiag timeline app.zst\n"
	       "  memdiag timeline app.zst --interval=10ms --format=html -o app.html\n"
	       "  memdiag timeline app.zst --peak\n"
	       "  memdiag timeline app.zst --at=305ms --format=tree\n"
	       "  memdiag timeline app.zst --from=10s --to=60s\n"
	       "  memdiag timeline /var/tmp/log --from=10s --value=mapped\n"
	       "  memdiag timeline app.zst --format=massif -o massif.out && ms_print massif.out\n\n"
	       "A local maximum is the most that was live within an "
	       "interval.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- reading ---- */

struct input {
	struct target target; /* empty for a file */
	struct log_state log; /* for a process */
	struct text text;     /* for standard input */
	struct recording *r;
};

static void
input_release(struct input *in)
{
	recording_free(in->r);
	text_release(&in->text);
	target_release(&in->target);
}

static int
open_process(struct input *in, struct cmd_timeline_options *o, struct err *e)
{
	struct target *t = &in->target;
	struct recording_log which;

	deadline_set(o->ui.timeout_ns);
	if (ui_find_process(&o->ui, e) < 0)
		return -1;
	if (target_open(t, o->ui.pid, e) < 0)
		return e->kind != ERR_GONE
			? -1
			: err_hint(e, "'memdiag timeline DIR' reads the log that it left in DIR");
	if (log_place_find(&in->log, t, e) < 0)
		return -1;
	which = (struct recording_log){ in->log.said.realtime_ns, in->log.said.opened_ns };
	/* Files take longer to read, and do not need the process. */
	deadline_set(o->ui.files_timeout_ns);
	o->file = in->log.said.dir;
	return recording_open_log(&in->r, o->file, &which, e);
}

static int
cmd_timeline_open_file(struct input *in, const char *path, struct err *e)
{
	const char *name;
	int is_pipe = profile_io_read_pipe(&in->text, &name, path, e), found;

	if (is_pipe < 0)
		return -1;
	if (!is_pipe && access(path, R_OK) < 0)
		return err_set(e, errno, "cannot read '%s'", path);
	found = is_pipe ? recording_parse(&in->r, name, in->text.v, in->text.len, e)
			: recording_open(&in->r, path, e);
	if (found)
		return found < 0 ? -1 : 0;
	return err_set(e, 0,
		"cannot read '%s': it is not a recording of every allocation; "
		"a profile has no times, see memdiag report",
		path);
}

/* Take a word that does not name a file as the name of a process. */
static int
take_name(struct cmd_timeline_options *o, struct err *e)
{
	struct ui_process *asked;

	if (!o->file || strchr(o->file, '/') || strcmp(o->file, "-") == 0 ||
		access(o->file, F_OK) == 0 || errno != ENOENT)
		return 0;
	asked = array_add(&o->ui.asked);
	if (!asked)
		return err_set(e, ENOMEM, "cannot look for a process");
	*asked = (struct ui_process){ .name = o->file };
	return 0;
}

static int
input_open(struct input *in, struct cmd_timeline_options *o, struct err *e)
{
	if (take_name(o, e) < 0)
		return -1;
	if (!o->ui.asked.nr)
		return cmd_timeline_open_file(in, o->file, e);
	if (open_process(in, o, e) == 0)
		return 0;
	return o->file && e->kind == ERR_GONE && !o->ui.pid
		? err_hint(e, "Nor is there a file of that name")
		: -1;
}

/* Warn if intervals are longer than requested. */
static void
warn_of_length(const struct history *h, const struct cmd_timeline_options *o, struct warnings *w)
{
	char asked[32], length[32];

	if (h->interval_ns != o->interval_ns)
		warnings_add(w, false,
			"the intervals are %s: of %s there would be too many (more than %zu)",
			ui_duration(h->interval_ns, length, sizeof length),
			ui_duration(o->interval_ns, asked, sizeof asked), HISTORY_MAX_INTERVALS);
}

static int
read_history(struct history *h, struct recording *r, const struct history_moments *moments,
	const struct ui_options *ui, struct err *e)
{
	auto_progress struct ui_progress *progress = ui_progress_begin(ui, "reading the recording");

	(void)progress;
	return history_read(h, r, moments, e);
}

/* ---- moments ---- */

/* Find the interval of H that contains W, unless W is the end. */
static int
find_interval(const struct cmd_timeline_options *o, const struct history *h, struct when w,
	size_t *ret, struct err *e)
{
	char asked[32], end[32];

	*ret = w.kind == WHEN_PEAK ? timeline_peak(h) : (size_t)(w.ns / h->interval_ns);
	if (w.kind == WHEN_TIME && w.ns / h->interval_ns >= h->intervals.nr)
		return err_set_kind(e, ERR_USAGE, 0, "'%s' ends at %s, before %s", o->file,
			timeline_time(h->end_ns, TIMELINE_MOMENT_NS, end, sizeof end),
			timeline_time(w.ns, TIMELINE_MOMENT_NS, asked, sizeof asked));
	return 0;
}

/* The requested moments, in the order in which they are read. */
struct cmd_timeline_taken {
	struct history_moment v[2];
	size_t nr;
};

static void
cmd_timeline_taken_release(struct cmd_timeline_taken *t)
{
	for (size_t i = 0; i < t->nr; i++)
		history_moment_release(&t->v[i]);
}

static int
cmd_timeline_take(void *arg, struct history_moment *m, struct err *e)
{
	struct cmd_timeline_taken *t = arg;

	(void)e;
	t->v[t->nr++] = *m;
	*m = (struct history_moment){ 0 };
	return 0;
}

/* The answer to print: a history, and one moment in it or the growth between two moments. */
struct answer {
	const struct history *h;
	struct recording *r;
	const struct history_moment *from, *to; /* from: NULL for one moment */
};

/* Return a name such as "FILE at 1.2 s". */
static char *
name_moment(const struct cmd_timeline_options *o, const struct history_moment *m)
{
	char time[32], *name;

	return asprintf(&name, "%s at %s", o->file,
		       timeline_time(m->max.at_ns, TIMELINE_MOMENT_NS, time, sizeof time)) < 0
		? NULL
		: name;
}

static int
cmd_timeline_write_json(const struct cmd_timeline_options *o, const struct answer *a,
	struct report_view *report, const struct warnings *w, struct ui_output *out, struct err *e)
{
	const struct timeline_view v = { a->h, a->r, o->file, &o->ui };
	json_auto_t *document = ui_json_new("timeline", NULL);
	json_t *data = json_object_get(document, "data");
	auto_calls struct calls c = { 0 };

	timeline_to_json(&v, a->from, a->to, data);
	if (report) {
		if (calls_make(&c, report->p, &o->io.calls, e) < 0)
			return -1;
		report->c = &c;
		report->limit = o->io.limit;
		report->by_cum = o->io.by_cum;
		json_object_set_new(data, "report", json_object());
		if (report_to_json(report, json_object_get(data, "report"), e) < 0)
			return -1;
	}
	warnings_to_json(w, document);
	return a->to ? ui_json_print(document, out, e) : timeline_print_json(&v, document, out, e);
}

static int
write_moments(struct cmd_timeline_options *o, const struct answer *a, struct warnings *w,
	struct ui_output *out, struct err *e)
{
	auto_profile struct profile *p = NULL;
	auto_free char *to = name_moment(o, a->to),
		       *from = a->from ? name_moment(o, a->from) : NULL;
	struct report_view v = { .file = to, .base = from, .ui = &o->ui };

	if (!to || (a->from && !from))
		return err_set(e, ENOMEM, "cannot write the report");
	if (o->is_mapped && !a->r->has_mappings)
		return err_set_kind(e, ERR_USAGE, 0, "'%s' has no mappings", o->file);
	if (history_moment_profile(&p, a->from, a->to, a->r, e) < 0 ||
		symbols_find(p, &o->io.symbols, e) < 0)
		return -1;
	profile_io_warn(w, p);
	o->io.calls.type = (o->is_mapped ? 2 : 0) + (o->io.objects ? 0 : 1);
	v.p = p;
	return o->io.format == &report_format_json ? cmd_timeline_write_json(o, a, &v, w, out, e)
						   : profile_io_write(&v, &o->io, w, out, e);
}

/* Read the moments FROM, if IS_GROWTH, and TO from R, whose history is ALL, into TAKEN. */
static int
take_moments(const struct cmd_timeline_options *o, struct recording *r, const struct history *all,
	const struct when *from, struct when to, struct cmd_timeline_taken *taken, struct err *e)
{
	auto_history struct history h = { .interval_ns = all->interval_ns,
		.nr_threads = o->nr_threads };
	struct history_moments moments = { .take = cmd_timeline_take, .arg = taken };
	size_t first = 0, last = 0, intervals[2];

	if (find_interval(o, all, to, &last, e) < 0 ||
		(from && find_interval(o, all, *from, &first, e) < 0))
		return -1;
	if (from && (from->kind == WHEN_END || (to.kind != WHEN_END && first >= last)))
		return err_set_kind(e, ERR_USAGE, 0, "--from is not an interval before --to");
	if (from)
		intervals[moments.nr++] = first;
	if (to.kind != WHEN_END)
		intervals[moments.nr++] = last;
	moments.intervals = intervals;
	if (moments.nr && read_history(&h, r, &moments, &o->ui, e) < 0)
		return -1;
	if (taken->nr < moments.nr)
		return err_set(e, 0, "cannot read '%s' again: it has changed", o->file);
	return to.kind == WHEN_END ? history_end_moment(&taken->v[taken->nr++], all, e) : 0;
}

static int
report_moments(struct cmd_timeline_options *o, struct recording *r, struct warnings *w,
	struct ui_output *out, struct err *e)
{
	auto_history struct history all = { .interval_ns = o->interval_ns,
		.nr_threads = o->nr_threads };
	__attribute__((
		cleanup(cmd_timeline_taken_release))) struct cmd_timeline_taken taken = { 0 };
	const struct when end = { .kind = WHEN_END };
	bool is_growth = o->from.kind;

	if (read_history(&all, r, NULL, &o->ui, e) < 0 ||
		take_moments(o, r, &all, is_growth ? &o->from : NULL,
			o->at.kind	     ? o->at
				: o->to.kind ? o->to
					     : end,
			&taken, e) < 0)
		return -1;
	warn_of_length(&all, o, w);
	return write_moments(o,
		&(struct answer){ &all, r, is_growth ? &taken.v[0] : NULL, &taken.v[taken.nr - 1] },
		w, out, e);
}

/* ---- the timeline ---- */

/* A timeline to write. */
struct plot_work {
	const struct timeline_view *v;
	struct recording *r;
	struct cmd_timeline_options *o;
	const struct warnings *w;
};

static int
cmd_timeline_plot_text(const struct plot_work *p, struct ui_output *out, struct err *e)
{
	return timeline_print_text(p->v, out, e);
}

static int
cmd_timeline_plot_csv(const struct plot_work *p, struct ui_output *out, struct err *e)
{
	(void)e;
	timeline_print_csv(p->v, out->f);
	return 0;
}

static int
cmd_timeline_plot_svg(const struct plot_work *p, struct ui_output *out, struct err *e)
{
	(void)e;
	timeline_print_svg(p->v, out);
	return 0;
}

static int
cmd_timeline_plot_json(const struct plot_work *p, struct ui_output *out, struct err *e)
{
	return cmd_timeline_write_json(
		p->o, &(struct answer){ p->v->h, p->r, NULL, NULL }, NULL, p->w, out, e);
}

static int
cmd_timeline_plot_massif(const struct plot_work *p, struct ui_output *out, struct err *e)
{
	const struct history *h = p->v->h;
	auto_history struct history again = { .interval_ns = h->interval_ns,
		.nr_threads = p->o->nr_threads };
	auto_free size_t *intervals = NULL;
	struct timeline_massif m = {
		.v = p->v, .r = p->r, .symbols = &p->o->io.symbols, .f = out->f
	};
	struct history_moments moments = { .take = timeline_massif_take, .arg = &m };

	if (timeline_massif_choose(h, &intervals, &moments.nr, e) < 0)
		return -1;
	moments.intervals = intervals;
	if (read_history(&again, p->r, &moments, &p->o->ui, e) < 0)
		return -1;
	timeline_massif_end(&m);
	return 0;
}

static int
cmd_timeline_plot_dhat(const struct plot_work *p, struct ui_output *out, struct err *e)
{
	auto_profile struct profile *profile = NULL;

	return history_profile(&profile, p->v->h, p->r, e) < 0 ||
			symbols_find(profile, &p->o->io.symbols, e) < 0 ||
			timeline_print_dhat(p->v, profile, out, e) < 0
		? -1
		: 0;
}

/* The most moments of a page: some for each pixel, so that an interval that is drawn has many. */
#define PAGE_MOMENTS 2000

static int
cmd_timeline_plot_html(const struct plot_work *p, struct ui_output *out, struct err *e)
{
	struct profile_io_options *how = &p->o->io;
	auto_profile struct profile *profile = NULL;
	auto_calls struct calls c = { 0 };
	auto_changes struct history_changes changes = { .steps = { .nr = 0 } };
	auto_free uint32_t *samples = NULL;
	int type;

	if (history_changes_read(&changes, p->v->h, p->r, PAGE_MOMENTS, e) < 0 ||
		history_profile_by_site(&profile, &samples, p->v->h, p->r, e) < 0 ||
		symbols_find(profile, &how->symbols, e) < 0)
		return -1;
	type = profile_find_type(profile, how->objects ? "peak_objects" : "peak_space");
	how->calls.type = type < 0 ? 0 : (size_t)type;
	if (calls_make(&c, profile, &how->calls, e) < 0)
		return -1;
	return timeline_print_html(p->v,
		&(struct report_view){
			.p = profile,
			.c = &c,
			.ui = &p->o->ui,
			.file = p->v->file,
			.moments = &(struct report_moments){ &changes, samples },
			.by_cum = how->by_cum,
			.source = how->source,
		},
		out, e);
}

/* Formats of the timeline; moments are written in the formats of reports. */
static const struct plot_format {
	const char *name;
	int (*write)(const struct plot_work *p, struct ui_output *out, struct err *e);
	bool keeps_lives; /* the history must keep the lifetimes of blocks */
	bool follows;	  /* --follow can write it, as FOLLOW */
	enum follow_format follow;
} plot_formats[] = {
	{ "text", cmd_timeline_plot_text, false, true, FOLLOW_FORMAT_TEXT },
	{ "json", cmd_timeline_plot_json, false, true, FOLLOW_FORMAT_JSON },
	{ "html", cmd_timeline_plot_html },
	{ "csv", cmd_timeline_plot_csv, false, true, FOLLOW_FORMAT_CSV },
	{ "svg", cmd_timeline_plot_svg },
	{ "massif", cmd_timeline_plot_massif },
	{ "dhat", cmd_timeline_plot_dhat, .keeps_lives = true },
};

static const char *
cmd_timeline_format(size_t i)
{
	return i < sizeof plot_formats / sizeof *plot_formats ? plot_formats[i].name : NULL;
}

static const struct plot_format *
cmd_timeline_find_format(const char *name)
{
	for (size_t i = 0; cmd_timeline_format(i); i++)
		if (strcmp(plot_formats[i].name, name) == 0)
			return &plot_formats[i];
	return NULL;
}

/* Set the format of a timeline or of a report, which have different lists. */
static int
cmd_timeline_set_format(struct cmd_timeline_options *o, struct err *e)
{
	const char *name = o->format ? o->format : o->ui.json ? "json" : "text";
	const struct plot_format *plot = cmd_timeline_find_format(name);
	const struct report_format *report = report_format_find(name);
	const bool is_report = has_moments(o);
	char shown[64];

	if (is_report ? !report : !plot)
		return err_set_kind(e, ERR_USAGE, 0, "'%s' is not a format%s",
			text_printable(name, shown, sizeof shown),
			!plot && !report    ? ""
				: is_report ? " of a report, but of the whole timeline"
					    : " of the timeline, but with --at, --peak, --from and "
					      "--to");
	if (o->follows && !plot->follows)
		return err_set_kind(
			e, ERR_USAGE, 0, "--follow writes text, csv or json, not %s", plot->name);
	o->plot = is_report ? NULL : plot;
	/* The options of a page go with that of a timeline, too. */
	if (o->plot && strcmp(name, report_format_html.name) == 0)
		o->io.format = &report_format_html;
	if (is_report)
		o->io.format = report;
	return 0;
}

static int
show_timeline(struct cmd_timeline_options *o, struct recording *r, struct warnings *w,
	struct ui_output *out, struct err *e)
{
	auto_history struct history h = { .interval_ns = o->interval_ns,
		.nr_threads = o->nr_threads,
		.keeps_lives = o->plot->keeps_lives };
	const struct timeline_view v = { .h = &h, .r = r, .file = o->file, .ui = &o->ui };

	if (read_history(&h, r, NULL, &o->ui, e) < 0)
		return -1;
	profile_io_warn(w, r->facts);
	warn_of_length(&h, o, w);
	return o->plot->write(&(struct plot_work){ &v, r, o, w }, out, e);
}

static int
cmd_timeline_show(struct cmd_timeline_options *o, struct input *in, struct warnings *w,
	struct ui_output *out, struct err *e)
{
	if (o->follows) {
		const struct timeline_follow what = { .recording = in->r,
			.target = in->target.pid ? &in->target : NULL,
			.file = o->file,
			.ui = &o->ui,
			.interval_ns = o->interval_ns,
			.format = o->plot->follow };

		deadline_set(DEADLINE_NEVER_NS);
		return timeline_follow(&what, out, w, e);
	}
	return (has_moments(o) ? report_moments : show_timeline)(o, in->r, w, out, e);
}

static int
cmd_timeline_run(int argc, char **argv, struct err *e)
{
	struct cmd_timeline_options o = { .ui = { .pid_optional = true }, .io = PROFILE_IO_BEGIN };
	__attribute__((cleanup(input_release))) struct input in = { .target = TARGET_NONE };
	auto_warnings struct warnings w = { 0 };
	auto_output struct ui_output out = { 0 };

	ui_parse(&cmd_timeline_syntax, argc, argv, &o);
	limits_set(&o.ui);
	if (cmd_timeline_set_format(&o, e) < 0 || profile_io_begin(&o.io, &o.ui, e) < 0 ||
		input_open(&in, &o, e) < 0 || ui_output_open(&out, &o.ui, e) < 0)
		return -1;
	if (cmd_timeline_show(&o, &in, &w, &out, e) < 0 || ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&w, &o.ui);
	return w.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_timeline = {
	.name = "timeline",
	.summary = "how the memory of a recorded program grew, and by which code",
	.touch = CMD_READS_TARGET,
	.syntax = &cmd_timeline_syntax,
	.run = cmd_timeline_run,
};

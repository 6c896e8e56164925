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
#include "cmd/reporting.h"
#include "cmd/timeline-follow.h"
#include "os/os.h"
#include "recording/parts.h"
#include "recording/profiles.h"
#include "recording/recording-open.h"
#include "report/timeline.h"
#include "ui/deadline.h"
#include "ui/limits.h"

#define DEFAULT_INTERVAL_NS ((uint64_t)100000000)
#define FOLLOW_INTERVAL_NS ((uint64_t)1000000000)
#define LEAST_INTERVAL_NS ((uint64_t)1000000)

/* How the timeline is written; other formats are those of reports, which --at and its like make. */
enum plot_format { PLOT_TEXT, PLOT_JSON, PLOT_HTML, PLOT_CSV, PLOT_SVG, PLOT_MASSIF, PLOT_DHAT };

static const char *const plot_format_names[] = { "text", "json", "html", "csv", "svg", "massif",
	"dhat", NULL };

/* A time that was asked for. */
struct when {
	enum when_kind { WHEN_NOT, WHEN_TIME, WHEN_PEAK, WHEN_END } kind;
	uint64_t ns;
};

struct cmd_timeline_options {
	struct ui_options ui;
	struct reporting reporting;
	const char *file, *format;
	uint64_t interval_ns;	 /* 0: not given */
	unsigned int nr_threads; /* 0: not given */
	struct when at, from, to;
	bool follows;
	int plot;	/* enum plot_format */
	bool is_mapped; /* of moments: what was mapped, not what was live */
	bool has_value;
};

/* ---- options ---- */

enum {
	KEY_FORMAT = 0x2000,
	KEY_INTERVAL,
	KEY_AT,
	KEY_PEAK,
	KEY_FROM,
	KEY_TO,
	KEY_PROGRAM,
	KEY_THREADS,
	KEY_VALUE,
	KEY_FOLLOW,
};

/* The words for --value. */
static const char *const value_names[] = { "in-use", "mapped", NULL };

static const struct argp_option options[] = {
	{ "program", KEY_PROGRAM, "BIN", 0, "the program that was recorded, if it is elsewhere now",
		1 },
	{ "interval", KEY_INTERVAL, "TIME", 0,
		"the local maximum of each TIME, as 10ms or 1s (100ms); longer if there are too "
		"many",
		1 },
	{ "threads", KEY_THREADS, "N", 0,
		"read N files of a log at once (as many as there are, at most the processors)", 1 },
	{ "follow", KEY_FOLLOW, NULL, 0,
		"show a log as it grows, until it ends: on a terminal the plot, else a line for "
		"each interval (1s); as text, csv or json",
		1 },
	{ "at", KEY_AT, "TIME", 0,
		"report what was live at the local maximum of the interval that TIME is in, as "
		"305ms, "
		"1.5s, peak or end",
		1 },
	{ "peak", KEY_PEAK, NULL, 0, "the same as --at=peak", 1 },
	{ "from", KEY_FROM, "TIME", 0, "report what grew since TIME", 1 },
	{ "to", KEY_TO, "TIME", 0, "report what grew up to TIME (end); without --from as --at does",
		1 },
	{ "format", KEY_FORMAT, "FORMAT", 0,
		"write text, json, html, csv, svg, massif or dhat; with --at, --peak, --from and "
		"--to "
		"the formats of report: text, tree, flame, html, graph, dot, json, pprof, heap or "
		"folded",
		2 },
	{ "value", KEY_VALUE, "VALUE", 0,
		"with --at, --peak, --from and --to: add up in-use memory of malloc, or mapped "
		"memory of the program's own mmap (in-use)",
		2 },
	{ 0 },
};

static struct when
parse_time(struct argp_state *state, const char *arg)
{
	struct when when = { .kind = WHEN_TIME };

	if (strcmp(arg, "peak") == 0)
		when.kind = WHEN_PEAK;
	else if (strcmp(arg, "end") == 0)
		when.kind = WHEN_END;
	else if (!ui_parse_duration(arg, &when.ns))
		ui_refuse(state, arg, "is not a time as 305ms or 1.5s, peak or end");
	return when;
}

static bool
has_moments(const struct cmd_timeline_options *o)
{
	return o->at.kind || o->from.kind || o->to.kind;
}

/* A number is a process.  Another word may be the name of one, where no file is called so. */
static error_t
cmd_timeline_parse_word(struct argp_state *state, struct cmd_timeline_options *o, const char *arg)
{
	if (isdigit((unsigned char)*arg) && !arg[strspn(arg, "0123456789")])
		return ARGP_ERR_UNKNOWN;
	if (o->file)
		argp_error(state, "two recordings: one at a time");
	o->file = arg;
	return 0;
}

static void
cmd_timeline_check_options(struct argp_state *state, struct cmd_timeline_options *o)
{
	if (!o->file && !o->ui.asked.nr)
		argp_error(
			state, "which recording? say FILE, the directory of a log, or --pid PID");
	if (o->file && o->ui.asked.nr)
		argp_error(state, "a file and a process: one at a time");
	if (o->at.kind && (o->from.kind || o->to.kind))
		argp_error(state, "--at and --peak are one moment, --from and --to are two");
	if (o->has_value && !has_moments(o))
		argp_error(state, "--value is for --at, --peak, --from and --to");
	if (o->follows && has_moments(o))
		argp_error(state, "--follow is for the whole timeline, not for a moment");
	if (!o->interval_ns)
		o->interval_ns = o->follows ? FOLLOW_INTERVAL_NS : DEFAULT_INTERVAL_NS;
}

static error_t
cmd_timeline_parse_option(int key, char *arg, struct argp_state *state)
{
	struct cmd_timeline_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->ui;
		state->child_inputs[1] = &o->ui;
		state->child_inputs[2] = &o->reporting;
		return 0;
	case ARGP_KEY_ARG:
		return cmd_timeline_parse_word(state, o, arg);
	case KEY_PROGRAM:
		o->reporting.symbols.program = arg;
		return 0;
	case KEY_INTERVAL:
		o->interval_ns = ui_duration_option(state, arg);
		if (o->interval_ns < LEAST_INTERVAL_NS)
			argp_error(state, "--interval is 1ms at least");
		return 0;
	case KEY_THREADS:
		o->nr_threads = (unsigned int)ui_parse_count(state, arg);
		return 0;
	case KEY_FOLLOW:
		o->follows = true;
		return 0;
	case KEY_AT:
		o->at = parse_time(state, arg);
		return 0;
	case KEY_PEAK:
		o->at.kind = WHEN_PEAK;
		return 0;
	case KEY_FROM:
		o->from = parse_time(state, arg);
		return 0;
	case KEY_TO:
		o->to = parse_time(state, arg);
		return 0;
	case KEY_FORMAT:
		o->format = arg;
		return 0;
	case KEY_VALUE:
		o->has_value = true;
		o->is_mapped =
			ui_word_option(state, arg, value_names, "is not in-use or mapped") > 0;
		return 0;
	case ARGP_KEY_END:
		cmd_timeline_check_options(state, o);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {
	{ &ui_options_argp, 0, NULL, 0 },
	{ &ui_memory_argp, 0, NULL, 0 },
	{ &reporting_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = cmd_timeline_parse_option,
	.children = children,
	.args_doc = "FILE|DIR\nPID",
	.doc = "When a program needed how much memory, and who had it then, by a recording of all "
	       "that it allocated: a log of memdiag, or a file of heaptrack.  With --pid it "
	       "is the log of that process, which may be written just now.\v"
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

static int
cmd_timeline_find_word(const char *word, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(word, names[i]) == 0)
			return i;
	return -1;
}

/* Which of the formats it is: those of a report differ from those of the timeline. */
static int
find_format(struct cmd_timeline_options *o, struct err *e)
{
	bool is_report = has_moments(o);
	const char *const *names = is_report ? report_format_names : plot_format_names;
	const char *const *others = is_report ? plot_format_names : report_format_names;
	int format = o->ui.json ? (is_report ? (int)FORMAT_JSON : (int)PLOT_JSON) : 0;
	char shown[64];

	if (o->format)
		format = cmd_timeline_find_word(o->format, names);
	if (format < 0)
		return err_set_kind(e, ERR_USAGE, 0, "'%s' is not a format%s",
			text_printable(o->format, shown, sizeof shown),
			cmd_timeline_find_word(o->format, others) < 0 ? ""
				: is_report ? " of a report, but of the whole timeline"
					    : " of the timeline, but with --at, --peak, --from and "
					      "--to");
	if (o->follows && format != PLOT_TEXT && format != PLOT_JSON && format != PLOT_CSV)
		return err_set_kind(e, ERR_USAGE, 0, "--follow writes text, csv or json, not %s",
			plot_format_names[format]);
	o->plot = format;
	if (is_report)
		o->reporting.format = format;
	return 0;
}

/* ---- reading ---- */

struct input {
	struct target target; /* none of a file */
	struct logged log;    /* of a process */
	struct text text;     /* of standard input */
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
	/* The process is not needed for the files, which take longer. */
	deadline_set(o->ui.files_timeout_ns);
	o->file = in->log.said.dir;
	return recording_open_log(&in->r, o->file, &which, e);
}

static int
cmd_timeline_open_file(struct input *in, const char *path, struct err *e)
{
	const char *name;
	int is_pipe = reporting_read_pipe(&in->text, &name, path, e), found;

	if (is_pipe < 0)
		return -1;
	if (!is_pipe && access(path, R_OK) < 0)
		return err_set(e, errno, "cannot read '%s'", path);
	found = is_pipe ? recording_parse(&in->r, name, in->text.v, in->text.len, e)
			: recording_open(&in->r, path, e);
	if (found)
		return found < 0 ? -1 : 0;
	return err_set(e, 0,
		"cannot read '%s': it is no recording of every allocation; a profile has no times, "
		"see memdiag report",
		path);
}

/* A word that is no file's name: the name of a process. */
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

/* Warn of intervals that have become longer than it was asked for. */
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

/* The interval of H that W is in, if that is not the end. */
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

/* The moments that are wanted, as they come. */
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

/* The answer to print: a history, and one moment of it, or the growth between two. */
struct answer {
	const struct history *h;
	struct recording *r;
	const struct history_moment *from, *to; /* from: NULL for one moment */
};

/* "FILE at 1.2 s" */
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
		if (calls_make(&c, report->p, &o->reporting.calls, e) < 0)
			return -1;
		report->c = &c;
		report->limit = o->reporting.limit;
		report->by_cum = o->reporting.by_cum;
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
		symbols_find(p, &o->reporting.symbols, e) < 0)
		return -1;
	reporting_warn(w, p);
	o->reporting.calls.type = (o->is_mapped ? 2 : 0) + (o->reporting.objects ? 0 : 1);
	v.p = p;
	return o->reporting.format == FORMAT_JSON ? cmd_timeline_write_json(o, a, &v, w, out, e)
						  : reporting_write(&v, &o->reporting, w, out, e);
}

/* Take the moments FROM, if IS_GROWTH, and TO out of R, whose history is ALL, into TAKEN. */
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

static int
write_massif(const struct timeline_view *v, struct recording *r,
	const struct cmd_timeline_options *o, struct ui_output *out, struct err *e)
{
	auto_history struct history again = { .interval_ns = v->h->interval_ns,
		.nr_threads = o->nr_threads };
	auto_free size_t *intervals = NULL;
	struct timeline_massif m = {
		.v = v, .r = r, .symbols = &o->reporting.symbols, .f = out->f
	};
	struct history_moments moments = { .take = timeline_massif_take, .arg = &m };

	if (timeline_massif_choose(v->h, &intervals, &moments.nr, e) < 0)
		return -1;
	moments.intervals = intervals;
	if (read_history(&again, r, &moments, &o->ui, e) < 0)
		return -1;
	timeline_massif_end(&m);
	return 0;
}

static int
write_dhat(const struct timeline_view *v, struct recording *r, const struct cmd_timeline_options *o,
	struct ui_output *out, struct err *e)
{
	auto_profile struct profile *p = NULL;

	return history_profile(&p, v->h, r, e) < 0 ||
			symbols_find(p, &o->reporting.symbols, e) < 0 ||
			timeline_print_dhat(v, p, out, e) < 0
		? -1
		: 0;
}

static int
write_html(const struct timeline_view *v, struct recording *r, struct cmd_timeline_options *o,
	struct ui_output *out, struct err *e)
{
	auto_profile struct profile *p = NULL;
	auto_calls struct calls c = { 0 };
	auto_free char *name = NULL;
	char time[32];
	struct report_view peak = { .c = &c, .ui = &o->ui, .by_cum = o->reporting.by_cum };

	timeline_time(v->h->peak.at_ns, TIMELINE_MOMENT_NS, time, sizeof time);
	if (asprintf(&name, "The peak, at %s", time) < 0) {
		name = NULL;
		return err_set(e, ENOMEM, "cannot write the page");
	}
	o->reporting.calls.type = o->reporting.objects ? 0 : 1;
	if (history_peak_profile(&p, v->h, r, e) < 0 ||
		symbols_find(p, &o->reporting.symbols, e) < 0 ||
		calls_make(&c, p, &o->reporting.calls, e) < 0)
		return -1;
	peak.p = p;
	peak.file = name;
	peak.limit = o->reporting.limit;
	return timeline_print_html(v, &peak, out, e);
}

static int
show_timeline(struct cmd_timeline_options *o, struct recording *r, struct warnings *w,
	struct ui_output *out, struct err *e)
{
	auto_history struct history h = { .interval_ns = o->interval_ns,
		.nr_threads = o->nr_threads,
		.keeps_lives = o->plot == PLOT_DHAT };
	struct timeline_view v = { .h = &h, .r = r, .file = o->file, .ui = &o->ui };

	if (read_history(&h, r, NULL, &o->ui, e) < 0)
		return -1;
	reporting_warn(w, r->facts);
	warn_of_length(&h, o, w);
	switch (o->plot) {
	case PLOT_JSON:
		return cmd_timeline_write_json(
			o, &(struct answer){ &h, r, NULL, NULL }, NULL, w, out, e);
	case PLOT_HTML:
		return write_html(&v, r, o, out, e);
	case PLOT_CSV:
		timeline_print_csv(&v, out->f);
		return 0;
	case PLOT_SVG:
		timeline_print_svg(&v, out);
		return 0;
	case PLOT_MASSIF:
		return write_massif(&v, r, o, out, e);
	case PLOT_DHAT:
		return write_dhat(&v, r, o, out, e);
	default:
		return timeline_print_text(&v, out, e);
	}
}

/* Longer than any process runs. */
#define NO_DEADLINE_NS (UINT64_C(1) << 61)

static int
cmd_timeline_follow(const struct cmd_timeline_options *o, struct input *in, struct warnings *w,
	struct ui_output *out, struct err *e)
{
	const struct timeline_follow what = { .recording = in->r,
		.target = in->target.pid ? &in->target : NULL,
		.file = o->file,
		.ui = &o->ui,
		.interval_ns = o->interval_ns,
		.format = o->plot == PLOT_CSV  ? FOLLOW_FORMAT_CSV
			: o->plot == PLOT_JSON ? FOLLOW_FORMAT_JSON
					       : FOLLOW_FORMAT_TEXT };

	deadline_set(NO_DEADLINE_NS);
	return timeline_follow(&what, out, w, e);
}

static int
cmd_timeline_show(struct cmd_timeline_options *o, struct input *in, struct warnings *w,
	struct ui_output *out, struct err *e)
{
	if (o->follows)
		return cmd_timeline_follow(o, in, w, out, e);
	return (has_moments(o) ? report_moments : show_timeline)(o, in->r, w, out, e);
}

static int
cmd_timeline_run(int argc, char **argv, struct err *e)
{
	struct cmd_timeline_options o = { .ui = { .pid_optional = true },
		.reporting = REPORTING_BEGIN };
	__attribute__((cleanup(input_release))) struct input in = { .target = TARGET_NONE };
	auto_warnings struct warnings w = { 0 };
	auto_output struct ui_output out = { 0 };

	ui_parse(&argp, argc, argv, &o);
	limits_set(&o.ui);
	if (find_format(&o, e) < 0 || reporting_begin(&o.reporting, &o.ui, e) < 0 ||
		input_open(&in, &o, e) < 0 || ui_output_open(&out, &o.ui, e) < 0)
		return -1;
	if (cmd_timeline_show(&o, &in, &w, &out, e) < 0 || ui_output_close(&out, e) < 0)
		return -1;
	warnings_print(&w, &o.ui);
	return w.is_partial ? UI_PARTIAL : UI_DONE;
}

const struct command cmd_timeline = {
	.name = "timeline",
	.summary = "when a recorded program had how much memory, and who",
	.touch = CMD_READS_TARGET,
	.run = cmd_timeline_run,
};

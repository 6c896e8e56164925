#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/wait.h"
#include "cmd/command.h"
#include "cmd/profile-io.h"
#include "cmd/workload.h"
#include "os/child.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/perf.h"
#include "os/target.h"
#include "report/report.h"
#include "trace/trace.h"
#include "trace/values.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/limits.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/ui.h"
#include "ui/units.h"
#include "ui/warnings.h"
#include "view/trace-calls.h"
#include "view/trace.h"

/*
 * Page faults are frequent, so a sample shows who causes them.  No program has a stride of this
 * length.
 */
#define DEFAULT_PERIOD 61
#define DEFAULT_STACK_BYTES (16 << 10)
/*
 * The buffers of all CPUs; each must hold the events that arrive while memdiag reads the symbols of
 * a large file.
 */
#define DEFAULT_BUFFERS_BYTES (64 << 20)
#define LEAST_RING_BYTES (8 << 20)
#define MOST_RING_BYTES (32 << 20)

/* ---- options ---- */

struct cmd_trace_options {
	struct ui_options ui;
	struct trace_options trace;
	struct profile_io_options io;
	const char *value; /* NULL: "left" or "touched" */
	const char *calls; /* file for calls; NULL: not written */
	bool has_calls, has_min, has_period;
};

static void
cmd_trace_choose_calls(
	struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct cmd_trace_options *o = input;
	char *rest = NULL;
	int call;

	memset(o->trace.call, 0, sizeof o->trace.call);
	o->has_calls = false;
	for (char *word = strtok_r(arg, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		call = ui_option_find_word(row, word);
		if (call < 0)
			ui_option_refuse(state, row, word);
		else
			o->trace.call[call] = o->has_calls = true;
	}
	if (!o->has_calls)
		argp_error(state, "which calls? say --syscalls=mmap");
}

static void
cmd_trace_set_format(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct cmd_trace_options *o = input;

	o->io.format = report_format_find(arg);
	if (!o->io.format)
		ui_option_refuse(state, row, arg);
}

/* Words of --value, and the profile types they select. */
static const struct {
	const char *what, *type;
	bool faults, calls;
} values[] = {
	{ "left", "mapped_space", false, true },
	{ "mapped", "mapped_alloc_space", false, true },
	{ "calls", "mapped_alloc_objects", false, true },
	{ "touched", "touched_space", true, false },
	{ "faults", "faults", true, false },
	{ "major", "major_faults", true, false },
	{ "resident", "resident_space", true, true },
};

static const char *
cmd_trace_value(size_t i)
{
	return i < sizeof values / sizeof *values ? values[i].what : NULL;
}

#define AT(member) UI_AT(struct cmd_trace_options, member)
#define GIVEN(member) UI_GIVEN(struct cmd_trace_options, member)
#define SOME_NUMBER UI_NUMBER, .least = 1, .beyond = "must be at least 1"
#define BOUNDED_SIZE(a, b)                                                                         \
	UI_SIZE, .least = a, .most = b, .beyond = "is too small or too large a size"

static const struct ui_option options[] = {
	{ "syscalls", 0, "NAME[,NAME...]", 1,
		"only these: mmap, munmap, mremap, brk, madvise, shmat, shmdt (all)", UI_WORD,
		.words = trace_call_names, .set = cmd_trace_choose_calls,
		.wrong =
			"is not a call that memdiag traces: mmap, munmap, mremap, brk, madvise, shmat and shmdt" },
	{ "min-size", 0, "SIZE", 1, "only calls of SIZE or more, which the kernel checks", UI_SIZE,
		AT(trace.min_bytes), GIVEN(has_min) },
	{ "duration", 'd', "DURATION", 1, "end after DURATION (with Ctrl-C)", UI_DURATION,
		AT(trace.duration_ns) },
	{ "events", 0, "N", 1, "end after N calls or page faults", SOME_NUMBER,
		AT(trace.max_events) },
	{ "follow-children", 0, NULL, 1, "also trace processes that this one forks from now on",
		UI_FLAG, AT(trace.follow_children) },
	{ "rss", 0, NULL, 1, "trace page faults instead of calls: which code makes RSS grow",
		UI_FLAG, AT(trace.faults) },
	{ "period", 0, "N", 1, "with --rss: one minor page fault in N (61)", SOME_NUMBER,
		AT(trace.period), GIVEN(has_period) },
	{ "format", 0, "FORMAT", 2, "write {words} (text)", UI_WORD,
		.word = report_format_word_of_bytes, .set = cmd_trace_set_format,
		.wrong = "is not one of the formats --help names" },
	{ "value", 0, "WHAT", 2,
		"in formats with one value: left, mapped, calls, resident; with --rss touched, "
		"faults, major, resident (left, touched)",
		UI_STRING, AT(value), .word = cmd_trace_value },
	{ "calls", 0, "FILE", 2,
		"write each call to FILE as a line of JSON, instead of lines of text; - is "
		"standard output, and then the sums are printed only with --output",
		UI_FILE, AT(calls) },
	{ "mount-tracefs", 0, NULL, 3,
		"if tracefs is not mounted, make a detached mount for memdiag alone", UI_FLAG,
		AT(trace.may_mount) },
	{ "stack-size", 0, "SIZE", 3, "copy at most SIZE of a stack, up to 64K (16K)",
		BOUNDED_SIZE(512, 64 << 10), AT(trace.stack_bytes) },
	{ "buffer", 0, "SIZE", 3,
		"size of the kernel's buffer of each CPU (64M for all, 8M to 32M for each)",
		BOUNDED_SIZE(4096, 1 << 30), AT(trace.ring_bytes) },
	{ 0 },
};

static bool
is_stdout(const char *output)
{
	return !output || strcmp(output, "-") == 0;
}

static void
cmd_trace_check_calls(struct argp_state *state, const struct cmd_trace_options *o)
{
	if (!o->calls)
		return;
	if (o->trace.faults)
		argp_error(state, "--calls is for calls, and --rss traces page faults");
	if (is_stdout(o->calls) && is_stdout(o->ui.output) &&
		(o->ui.json || o->io.format || o->ui.output))
		argp_error(state, "standard output is for --calls: say --output=FILE for the rest");
	if (o->ui.output && !is_stdout(o->calls) && strcmp(o->calls, o->ui.output) == 0)
		argp_error(state, "--calls and --output: a file for each");
}

static void
cmd_trace_check(struct argp_state *state, void *input)
{
	const struct cmd_trace_options *o = input;
	const struct report_format *format = o->io.format;

	cmd_trace_check_calls(state, o);
	if (o->trace.faults && (o->has_calls || o->has_min))
		argp_error(
			state, "--rss traces page faults: --syscalls and --min-size are for calls");
	if (o->has_period && !o->trace.faults)
		argp_error(state, "--period is for --rss");
	if (o->ui.json && format && format != &report_format_json)
		argp_error(state, "--json and --format: one format at a time");
	if (format && format->can & FORMAT_NEEDS_BLOCKS)
		argp_error(state,
			"a .heap file has blocks, which a trace does not: use --format=pprof");
}

static const struct ui_child children[] = {
	{ &ui_options_syntax, offsetof(struct cmd_trace_options, ui) },
	{ &ui_memory_syntax, offsetof(struct cmd_trace_options, ui) },
	{ &profile_io_syntax, offsetof(struct cmd_trace_options, io) },
	{ 0 },
};

static const struct ui_syntax cmd_trace_syntax = {
	.options = options,
	.children = children,
	.conclude = cmd_trace_check,
	.args_doc = "[PID]\n-- PROGRAM [ARGUMENT...]",
	.doc = "Which code maps memory and gives it back, or with --rss touches it: the system "
	       "calls or page faults of a process with their stacks, while they happen, and at "
	       "the end, by stack, what was mapped, what was freed, and what is left and resident "
	       "now.\n"
	       "The process is not stopped, and nothing in it is changed: the kernel copies "
	       "stacks (perf events), for a few microseconds each, and memdiag unwinds them "
	       "later. It needs root, or CAP_PERFMON.\n"
	       "After -- it starts a program and traces it from its first instruction to its end. "
	       "What memdiag prints goes to standard error then, and it exits as the program "
	       "does.\vExamples:\n"
	       "  memdiag trace --pid 1234 --min-size 60M\n"
	       "  memdiag trace --pid 1234 --syscalls=mmap,munmap -d 30\n"
	       "  memdiag trace --pid 1234 -d 60 --format=html -o trace.html\n"
	       "  memdiag trace --pid 1234 --rss -d 30\n"
	       "  memdiag trace --min-size 1M -- ./observer -f observer.ini\n\n"
	       "Lines of calls are printed with --format=text only.  [malloc] marks memory that "
	       "malloc itself asked for.\n\n" UI_EXIT_STATUS_HELP "\n"
	       "With a program: its exit status; 125 memdiag failed, 126 the program cannot be "
	       "run, 127 it was not found.",
};

/* ---- lines during the trace ---- */

struct cmd_trace_work {
	const struct cmd_trace_options *options;
	struct workload workload;
	struct target target;
	struct trace trace;
	struct warnings warnings;
	struct ui_output *out;
	struct ui_output *lines; /* output for lines of calls: OUT, or the file of --calls */
	FILE *f;		 /* writes to TEXT; NULL: not open */
	char *text;		 /* to be written */
	size_t len, nr_written;
	bool has_head, is_full;
};

static void
drop_text(struct cmd_trace_work *w)
{
	if (w->f)
		fclose(w->f);
	free(w->text);
	w->f = NULL;
	w->text = NULL;
	w->nr_written = 0;
}

static void
cmd_trace_work_release(struct cmd_trace_work *w)
{
	drop_text(w);
	warnings_release(&w->warnings);
	trace_release(&w->trace);
	target_release(&w->target);
	workload_release(&w->workload);
}

/* Open the buffer for lines to be written. */
static int
open_text(struct cmd_trace_work *w, struct err *e)
{
	if (!w->f)
		w->f = open_memstream(&w->text, &w->len);
	return w->f ? 0 : err_set(e, ENOMEM, "cannot print calls");
}

static int
begun(void *arg, struct err *e)
{
	struct cmd_trace_work *w = arg;

	if (w->workload.argv && workload_go(&w->workload, &w->target, e) < 0)
		return -1;
	if (w->options->calls &&
		(open_text(w, e) < 0 || trace_calls_begin(&w->target, w->f, e) < 0))
		return -1;
	if (w->workload.argv)
		return 0;
	ui_note(&w->options->ui, "tracing %d (%s); Ctrl-C ends it", (int)w->target.pid,
		w->target.comm);
	return 0;
}

static int
cmd_trace_show(const struct trace_event *event, void *arg, struct err *e)
{
	struct cmd_trace_work *w = arg;

	if (open_text(w, e) < 0)
		return -1;
	if (w->options->calls)
		return trace_calls_event(event, w->f, e);
	if (event->nr_lost)
		return 0;
	if (!w->has_head)
		trace_print_head(w->f);
	w->has_head = true;
	trace_print_event(event, &w->options->ui, w->out, w->f);
	return 0;
}

/*
 * Write the lines.  Return 1 if the reader has closed the pipe, or if memdiag must end while the
 * reader of a pipe is slow; then the rest is kept for flush_rest().
 */
static int
cmd_trace_flush(void *arg, struct err *e)
{
	struct cmd_trace_work *w = arg;

	if (w->is_full || !capture_has_reader(w->lines->f))
		return 1;
	if (!w->f)
		return 0;
	if (fflush(w->f) != 0)
		return err_set(e, ENOMEM, "cannot print calls");
	w->nr_written +=
		capture_write(w->lines->f, w->text + w->nr_written, w->len - w->nr_written);
	w->is_full = w->nr_written < w->len;
	if (w->is_full)
		return 1;
	drop_text(w);
	return 0;
}

/*
 * Write the remaining lines.  If a signal has ended the trace, the next signal ends memdiag at
 * once, even if the reader of a pipe is stuck.
 */
static void
flush_rest(struct cmd_trace_work *w)
{
	if (w->trace.why == TRACE_ASKED && !w->workload.is_running)
		capture_release_signals();
	if (w->f && fflush(w->f) == 0)
		fwrite(w->text + w->nr_written, 1, w->len - w->nr_written, w->lines->f);
	drop_text(w);
}

/* Complete the file of --calls and close it.  Returns 0, or -1 with E. */
static int
close_calls(struct cmd_trace_work *w, struct err *e)
{
	if (!w->options->calls)
		return 0;
	return trace_calls_end(&w->trace, w->lines->f, e) < 0 || ui_output_close(w->lines, e) < 0
		? -1
		: 0;
}

/* ---- the end ---- */

static void
cmd_trace_warn(struct cmd_trace_work *w)
{
	const struct trace *t = &w->trace;
	struct warnings *to = &w->warnings;

	if (t->nr_lost)
		warnings_add(to, true,
			"%" PRIu64 " records were lost, of this process or others: the buffers "
			"were full; %s",
			t->nr_lost,
			w->options->trace.faults ? "--buffer or a larger --period helps"
						 : "--buffer, --min-size or --syscalls helps");
	if (t->nr_lost_threads)
		warnings_add(to, true,
			"%" PRIu64 " new threads may not have been traced for a moment: the kernel "
			"did not number them in turn",
			t->nr_lost_threads);
	if (t->nr_unpaired)
		warnings_add(
			to, true, "of %" PRIu64 " calls the return was not seen", t->nr_unpaired);
	if (t->nr_cut)
		warnings_add(to, false,
			"%" PRIu64
			" stacks are cut: they are larger than the copy; --stack-size=64K "
			"copies more",
			t->nr_cut);
	if (t->nr_broken)
		warnings_add(to, false,
			"%" PRIu64 " stacks end early: neither unwind tables nor the frame pointer "
			"lead to the caller",
			t->nr_broken);
	if (t->nr_unknown)
		warnings_add(to, false,
			"%" PRIu64
			" stacks are unknown: the process had ended, or could not be read",
			t->nr_unknown);
	for (size_t i = 0; i < t->programs.nr; i++)
		for (size_t k = 0; k < t->programs.v[i]->profile->warnings.nr; k++)
			warnings_add(to, false, "%s", t->programs.v[i]->profile->warnings.v[k]);
}

/* Return the type for the word given with --value, or the default. */
static const char *
type_of(const struct cmd_trace_options *o, struct err *e)
{
	const char *what = o->value ? o->value : o->trace.faults ? "touched" : "left";

	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		if (strcmp(values[i].what, what) == 0 &&
			(o->trace.faults ? values[i].faults : values[i].calls))
			return values[i].type;
	(void)err_set_kind(e, ERR_USAGE, 0, "--value: a trace of %s has %s",
		o->trace.faults ? "page faults" : "calls",
		o->trace.faults ? "touched, faults, major and resident"
				: "left, mapped, calls and resident");
	return NULL;
}

static int
print_report(struct cmd_trace_work *w, const struct cmd_trace_options *o, struct err *e)
{
	auto_profile struct profile *p = NULL;
	auto_calls struct calls c = { 0 };
	struct report_view view = { .file = w->target.comm, .ui = &o->ui };
	struct profile_io_options how = o->io;
	const char *type = type_of(o, e);

	if (!type || trace_profile(&p, &w->trace, o->trace.faults, e) < 0)
		return -1;
	how.calls.type = (size_t)profile_find_type(p, type);
	p->default_type = how.calls.type;
	if (calls_make(&c, p, &how.calls, e) < 0)
		return -1;
	view.p = p;
	view.c = &c;
	return profile_io_write(&view, &how, &w->warnings, w->out, e);
}

static int
cmd_trace_print_text(struct cmd_trace_work *w, const struct trace_view *view, struct ui_output *out,
	struct err *e)
{
	if (w->has_head)
		fputc('\n', out->f);
	return trace_print(view, out, e);
}

static int
cmd_trace_print_json(struct cmd_trace_work *w, const struct trace_view *view, struct ui_output *out,
	struct err *e)
{
	json_auto_t *document = ui_json_new("trace", &w->target);

	warnings_to_json(&w->warnings, document);
	return trace_print_json(view, document, out, e);
}

/* Formats in which a trace is written differently from its profile. */
static const struct {
	const struct report_format *format;
	int (*write)(struct cmd_trace_work *w, const struct trace_view *view, struct ui_output *out,
		struct err *e);
} forms[] = {
	{ &report_format_text, cmd_trace_print_text },
	{ &report_format_json, cmd_trace_print_json },
};

static int
cmd_trace_print(struct cmd_trace_work *w, const struct cmd_trace_options *o, struct err *e)
{
	const struct trace_view view = { .trace = &w->trace,
		.target = &w->target,
		.ui = &o->ui,
		.faults = o->trace.faults,
		.min_bytes = o->trace.min_bytes,
		.period = o->trace.period,
		.limit = o->io.limit };

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		if (o->io.format == forms[i].format)
			return forms[i].write(w, &view, w->out, e);
	return print_report(w, o, e);
}

/*
 * Open the process and begin the trace. --timeout applies to this part only: the trace lasts as
 * long as requested.
 */
static int
cmd_trace_begin(struct cmd_trace_work *w, struct cmd_trace_options *o, struct err *e)
{
	if (target_open(&w->target, o->ui.pid, e) < 0 || os_check_memory(&w->target, e) < 0)
		return -1;
	limits_set_memory(&o->ui);
	deadline_set(DEADLINE_NEVER_NS);
	o->trace.has_files = o->calls != NULL;
	if (o->calls || o->io.format == &report_format_text) {
		o->trace.show = cmd_trace_show;
		o->trace.flush = cmd_trace_flush;
	}
	o->trace.begun = begun;
	o->trace.starts_program = w->workload.argv != NULL;
	o->trace.arg = w;
	return trace_run(&w->trace, &w->target, &o->trace, e);
}

static size_t
default_ring_bytes(void)
{
	const long nr = sysconf(_SC_NPROCESSORS_ONLN);
	const size_t bytes = DEFAULT_BUFFERS_BYTES / (nr > 0 ? (size_t)nr : 1);

	return bytes < LEAST_RING_BYTES	  ? LEAST_RING_BYTES
		: bytes > MOST_RING_BYTES ? MOST_RING_BYTES
					  : bytes;
}

/* Open the process, or start it. */
static int
cmd_trace_take_process(struct cmd_trace_work *w, struct cmd_trace_options *o, struct err *e)
{
	if (!w->workload.argv) {
		os_take_sigint();
		return ui_find_process(&o->ui, e);
	}
	if (o->ui.asked.nr)
		return err_set_kind(e, ERR_USAGE, 0, "a process and a program: one of them");
	if (o->calls && is_stdout(o->calls))
		return err_set_kind(
			e, ERR_USAGE, 0, "standard output is the program's: say --calls=FILE");
	if (workload_prepare(&w->workload, e) < 0)
		return -1;
	o->ui.pid = os_child_pid(w->workload.child);
	return 0;
}

static int
cmd_trace_open_output(
	const struct cmd_trace_work *w, const struct cmd_trace_options *o, struct err *e)
{
	const struct ui_options *ui = &o->ui;
	struct ui_options calls = *ui;

	calls.output = o->calls;
	if (o->calls && ui_output_open(w->lines, &calls, e) < 0)
		return -1;
	return w->workload.argv ? ui_output_open_beside(w->out, ui, e)
				: ui_output_open(w->out, ui, e);
}

/* True if a report is printed; standard output cannot hold both calls and sums. */
static bool
has_report(const struct cmd_trace_options *o)
{
	return !o->calls || !is_stdout(o->calls) || !is_stdout(o->ui.output);
}

static int
trace_and_print(struct cmd_trace_work *w, struct cmd_trace_options *o, struct err *e)
{
	if (profile_io_begin(&o->io, &o->ui, e) < 0 || (o->value && !type_of(o, e)) ||
		cmd_trace_take_process(w, o, e) < 0)
		return -1;
	os_ignore_failed_writes();
	os_die_first();
	deadline_set(o->ui.timeout_ns);
	if (cmd_trace_open_output(w, o, e) < 0 || cmd_trace_begin(w, o, e) < 0)
		return -1;
	flush_rest(w);
	cmd_trace_warn(w);
	if (close_calls(w, e) < 0 || (has_report(o) && cmd_trace_print(w, o, e) < 0) ||
		ui_output_close(w->out, e) < 0)
		return -1;
	warnings_print(&w->warnings, &o->ui);
	if (w->workload.argv)
		return workload_end(&w->workload);
	return w->warnings.is_partial ? UI_PARTIAL : UI_DONE;
}

static int
cmd_trace_run(int argc, char **argv, struct err *e)
{
	struct cmd_trace_options o = { .io = PROFILE_IO_BEGIN };
	__attribute__((cleanup(
		cmd_trace_work_release))) struct cmd_trace_work w = { .target = TARGET_NONE };
	auto_output struct ui_output out = UI_OUTPUT_NONE, calls = UI_OUTPUT_NONE;
	int status = workload_take(&w.workload, &argc, argv, e);

	if (w.workload.argv)
		argp_err_exit_status = UI_NOT_RUN; /* differs from the statuses of programs */
	o.trace.period = DEFAULT_PERIOD;
	o.trace.stack_bytes = DEFAULT_STACK_BYTES;
	o.trace.ring_bytes = default_ring_bytes();
	memset(o.trace.call, 1, sizeof o.trace.call);
	o.ui.pid_optional = w.workload.argv != NULL;
	w.options = &o;
	w.out = &out;
	if (status == 0) {
		ui_parse(&cmd_trace_syntax, argc, argv, &o);
		if (o.trace.stack_bytes > PERF_MAX_STACK_BYTES)
			o.trace.stack_bytes = PERF_MAX_STACK_BYTES;
		o.trace.stack_bytes -= o.trace.stack_bytes % 8;
		w.lines = o.calls ? &calls : &out;
		status = trace_and_print(&w, &o, e);
	}
	if (status < 0 && w.workload.argv && e->kind != ERR_NOT_FOUND &&
		e->kind != ERR_NOT_EXECUTABLE)
		e->kind = ERR_NOT_RUN;
	return status;
}

const struct command cmd_trace = {
	.name = "trace",
	.summary = "which code maps, frees and touches memory, while it happens",
	.touch = CMD_MAY_START_PROGRAM,
	.syntax = &cmd_trace_syntax,
	.run = cmd_trace_run,
};

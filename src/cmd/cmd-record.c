#include <config.h>

#include <string.h>

#include "capture/capture.h"
#include "capture/log-place.h"
#include "cmd/borrow.h"
#include "cmd/capture-work.h"
#include "cmd/command.h"
#include "cmd/overhead.h"
#include "cmd/record-report.h"
#include "inject/malloc.h"
#include "os/os.h"
#include "os/target.h"
#include "recording/recording-open.h"
#include "ui/options.h"
#include "ui/processes.h"
#include "ui/ui.h"

/* ---- options ---- */

/* --mode: the former name of --thread here, which still accepts its words. */
static void
cmd_record_set_mode(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct capture_options *o = input;
	const struct ui_option *thread = ui_option_find(&borrow_syntax, "--mode");
	const int word = ui_option_find_word(thread, arg);

	if (record_mode_parse(arg, &o->overhead, &o->mode))
		o->has_mode = true;
	else if (word >= 0)
		o->inject.mode = (enum inject_mode)word;
	else
		ui_option_refuse(state, row, arg);
}

static const struct ui_option options[] = {
	{ "mode", 0, "MODE", 1,
		"mem-fast: sums by site, in memory (default); log-fast: and each event in files in "
		"the directory --output; mem-record and log-record: the same with --live-set "
		"table; closed: nothing",
		UI_WORD, .words = record_mode_names, .wrong = "is not a mode: say ",
		.set = cmd_record_set_mode },
	{ "files", 0, "NUMBER", 1,
		"files of the log that stay, of 100 MB each (10); with status fewer of them, while "
		"it is written",
		UI_NUMBER, UI_AT(struct capture_options, files), .least = 1, .most = 1000000,
		.wrong = "is not a number of files" },
	{ 0 },
};

static void
cmd_record_check(struct argp_state *state, void *input)
{
	const struct capture_options *o = input;
	const bool begins = o->verb == CAPTURE_START || o->verb == CAPTURE_ONE_SHOT;

	if (o->has_mode && !begins)
		argp_error(state, "--mode is for a record that begins, or for start while it runs");
	if (o->mode == RECORD_CLOSED && o->verb == CAPTURE_ONE_SHOT)
		argp_error(state, "--mode closed ends a record: say start --mode closed, or stop");
	if (o->ui.output && o->verb == CAPTURE_START && o->mode != RECORD_LOG_FAST)
		argp_error(state,
			"start writes a file only with --mode log-fast or log-record: say --output with dump, stop or --seconds");
	if (o->files && o->verb != CAPTURE_STATUS && !(begins && o->mode == RECORD_LOG_FAST))
		argp_error(state, "--files is for --mode log-fast, and for status");
}

static const struct ui_child children[] = {
	{ &capture_work_syntax, 0 },
	{ &ui_options_syntax, offsetof(struct capture_options, ui) },
	{ &borrow_syntax, offsetof(struct capture_options, inject) },
	{ &overhead_syntax, offsetof(struct capture_options, overhead) },
	{ 0 },
};

static const struct ui_syntax cmd_record_syntax = {
	.options = options,
	.children = children,
	.conclude = cmd_record_check,
	.args_doc = "start|stop|dump|status [PID]\n[PID] --seconds DURATION\nreport PID|FILE",
	.doc = "Record every allocation of a process, from now on, with the stack that made it.\n"
	       "As 'memdiag profile', but with every block instead of samples, so all numbers are "
	       "exact: a pair of malloc() and free() takes some tens of nanoseconds more.  Earlier "
	       "blocks are not part of the record.  The file is named "
	       "PREFIX.PID.SEQ.KINDn.TIME.heap (--output PREFIX, default 'memdiag'), and 'memdiag "
	       "report' reads it.  'memdiag record report' shows how much memory each line of "
	       "code has now, and what has grown since its last call; see 'memdiag record report "
	       "--help'.  "
	       "'memdiag run --record' records a program from its first call on.\n"
	       "With --mode log-fast each event is also written to files in the directory "
	       "--output, by a process in the background or, with --seconds, by this one: "
	       "'memdiag timeline DIR' shows when memory grew, and in which code.\v"
	       "Examples:\n"
	       "  memdiag record --pid 1234 --seconds 60\n"
	       "  memdiag record start --pid 1234\n"
	       "  memdiag record report --pid 1234 --save before.heap\n"
	       "  memdiag record report --pid 1234 --since before.heap\n"
	       "  memdiag record stop --pid 1234\n"
	       "  memdiag record start --pid 1234 --mode log-fast -o logs\n"
	       "  memdiag record status --pid 1234 --files 20\n\n"
	       "Starting or stopping twice prints a note and changes "
	       "nothing.\n\n" UI_EXIT_STATUS_HELP,
};

/* Open the log of the process in UI. */
static int
cmd_record_open_log(
	struct recording **ret, struct ui_options *ui, char *name, size_t size, struct err *e)
{
	auto_target struct target t = TARGET_NONE;
	struct log_state log;
	struct recording_log which;

	if ((!ui->pid && ui_find_process(ui, e) < 0) || target_open(&t, ui->pid, e) < 0 ||
		log_place_find(&log, &t, e) < 0)
		return -1;
	snprintf(name, size, "%s %d", t.comm, (int)t.pid);
	which = (struct recording_log){ log.said.realtime_ns, log.said.opened_ns };
	return recording_open_log(ret, log.said.dir, &which, e);
}

static int
cmd_record_run(int argc, char **argv, struct err *e)
{
	struct capture_options opt = { .capture = WIRE_RECORD };
	const int report_at = record_report_at(argc, argv);

	if (report_at) {
		memmove(&argv[report_at], &argv[report_at + 1],
			(size_t)(argc - report_at) * sizeof *argv);
		return record_report_run(argc - 1, argv, cmd_record_open_log, e);
	}
	ui_parse(&cmd_record_syntax, argc, argv, &opt);
	return capture_work_run(&opt, NULL, e);
}

const struct command cmd_record = {
	.name = "record",
	.summary = "record every allocation of a running process exactly",
	.touch = CMD_CHANGES_TARGET,
	.syntax = &cmd_record_syntax,
	.verb = "report",
	.verb_syntax = &record_report_syntax,
	.run = cmd_record_run,
};

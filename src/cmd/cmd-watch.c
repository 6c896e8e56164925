#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "capture/wait.h"
#include "cmd/command.h"
#include "cmd/watch-terminal.h"
#include "cmd/watch-work.h"
#include "os/clock.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/limits.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/units.h"
#include "watch/lines.h"
#include "watch/terminfo.h"

/* ---- options ---- */

/* The intervals if none is given. */
#define LIVE_NS UINT64_C(2000000000)
#define REPLAY_NS UINT64_C(200000000)

#define AT(member) UI_AT(struct watch_options, member)

static const char *
cmd_watch_view(size_t i)
{
	return i < NR_WATCH_VIEWS ? watch_views[i].name : NULL;
}

static const struct ui_option options[] = {
	{ "interval", 'i', "DURATION", 1,
		"take a sample every DURATION, 50ms or more (2s; with --replay show one, 200ms)",
		UI_DURATION, AT(interval_ns), .least = WATCH_LEAST_NS, .most = WATCH_MOST_NS },
	{ "view", 0, "TABLE", 1, "begin with this table: {words} (classes)", UI_WORD, AT(view),
		.word = cmd_watch_view },
	{ "sort", 's', "ORDER", 1,
		"sort by the first, second or third number, growth or name (first)", UI_WORD,
		AT(order), .words = watch_order_names },
	{ "batch", 0, NULL, 2, "print each sample below the one before, without a terminal",
		UI_FLAG, AT(is_batch) },
	{ "samples", 'n', "N", 2, "end after N samples", UI_NUMBER, AT(max_samples), .least = 1 },
	{ "save", 0, "FILE", 3, "write each sample to FILE, as a line of JSON", UI_FILE, AT(save) },
	{ "replay", 0, "FILE", 3, "show the samples of a saved FILE in place of a process", UI_FILE,
		AT(replay) },
	{ "max-stop", 0, "DURATION", 4,
		"stop the process for at most DURATION at each sample, for exact numbers of the free "
		"heap; without it only the key S stops it",
		UI_DURATION, AT(max_stop_ns) },
	{ 0 },
};

static const struct ui_rule rules[] = {
	UI_RULE(UI_EXCLUDES, struct watch_options, replay, save, "--save is of a running process"),
	UI_RULE(UI_EXCLUDES, struct watch_options, replay, ui.json,
		"--replay shows a file that is JSON already"),
	UI_RULE(UI_EXCLUDES, struct watch_options, replay, max_stop_ns,
		"--max-stop is of a running process"),
	{ 0 },
};

static void
cmd_watch_check(struct argp_state *state, void *input)
{
	struct watch_options *o = input;

	if (!o->replay && !o->ui.asked.nr)
		argp_error(state, "which process? use --pid PID, or --replay FILE");
	if (o->replay && o->ui.asked.nr)
		argp_error(state, "--replay shows a file, not a process");
	if (!o->interval_ns)
		o->interval_ns = o->replay ? REPLAY_NS : LIVE_NS;
}

static const struct ui_child children[] = {
	{ &ui_options_syntax, offsetof(struct watch_options, ui) },
	{ 0 },
};

static const struct ui_syntax cmd_watch_syntax = {
	.options = options,
	.rules = rules,
	.children = children,
	.check = cmd_watch_check,
	.args_doc = "[PID]\n--replay FILE",
	.doc = "Watch the memory of a process: RSS and its classes, arenas, stacks, objects, the "
	       "sites of a running profile and the free heap of malloc, with their growth per minute "
	       "and a graph. On a terminal keys choose what is shown; ? lists them. Without one, "
	       "with --batch or with TERM=dumb each sample is printed below the one before; with "
	       "--json as a line. It only reads: the process is stopped only by the key S or with "
	       "--max-stop.\vExamples:\n"
	       "  memdiag watch --pid mysqld\n"
	       "  memdiag watch -p 1234 --view arenas --sort growth\n"
	       "  memdiag watch -p 1234 --save day.jsonl --batch -q -i 10s > /dev/null\n"
	       "  memdiag watch --replay day.jsonl\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- without a terminal ---- */

/* Print the last sample of W to OUT. */
static int
cmd_watch_print(struct watch_work *w, struct ui_output *out, struct err *e)
{
	auto_watch_lines struct watch_lines lines = { .columns = out->columns > 0 ? out->columns
										  : 80 };
	auto_free char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int failed = 0;

	if (!f)
		return err_set(e, ENOMEM, "cannot print a sample");
	if (w->o->ui.json) {
		json_auto_t *document =
			watch_sample_json(watch_history_last(&w->history), &w->reader.target);

		failed = !document || json_dumpf(document, f, JSON_COMPACT) < 0;
		fputc('\n', f);
	} else {
		failed = watch_page_draw(&lines, &w->page, &w->history, 0, &w->o->ui, e) < 0;
		for (size_t i = 0; i < lines.nr; i++)
			fprintf(f, "%s\n", lines.v[i].text);
		fputc('\n', f);
	}
	if (fclose(f) != 0 || failed)
		return err_set(e, ENOMEM, "cannot print a sample");
	capture_write(out->f, text, len);
	return 0;
}

/*
 * Wait until the next sample is due after one that was begun at BEGAN_NS.  False if memdiag was
 * asked to end, or the reader of OUT has gone.
 */
static bool
cmd_watch_wait(struct watch_work *w, const struct ui_output *out, uint64_t began_ns)
{
	const uint64_t now_ns = os_now_ns(), due_ns = watch_work_due_ns(w, began_ns, now_ns);

	return !ferror(out->f) && capture_has_reader(out->f) &&
		capture_wait(NULL, w->o->replay ? 0 : due_ns - now_ns) != CAPTURE_WAIT_ASKED;
}

static int
cmd_watch_lines(struct watch_work *w, struct err *e)
{
	auto_output struct ui_output out = { 0 };
	char every[32], state[64];
	uint64_t began_ns;

	if (ui_output_open(&out, &w->o->ui, e) < 0)
		return -1;
	capture_hold_signals();
	snprintf(state, sizeof state, "every %s", ui_duration(w->interval_ns, every, sizeof every));
	w->page.state = w->o->replay ? "saved" : state;
	do {
		const uint64_t before = w->history.nr_samples;

		began_ns = os_now_ns();
		if (watch_work_step(w, e) < 0)
			return -1;
		if (w->history.nr_samples > before && cmd_watch_print(w, &out, e) < 0)
			return -1;
	} while (!w->has_ended &&
		(!w->o->max_samples || w->history.nr_samples < w->o->max_samples) &&
		cmd_watch_wait(w, &out, began_ns));
	if (w->has_ended && !w->o->replay)
		ui_note(&w->o->ui, "process %d has ended", (int)w->o->ui.pid);
	return ui_output_close(&out, e);
}

/* ---- the command ---- */

static int
cmd_watch_run(int argc, char **argv, struct err *e)
{
	struct watch_options o = { .ui = { .pid_optional = true } };
	auto_watch_work struct watch_work w = { .reader = { .target = TARGET_NONE },
		.save = UI_OUTPUT_NONE };
	int status;

	ui_parse(&cmd_watch_syntax, argc, argv, &o);
	limits_set_memory(&o.ui);
	deadline_set(o.replay ? DEADLINE_NEVER_NS : o.ui.timeout_ns);
	if (ui_find_process(&o.ui, e) < 0 || watch_work_open(&w, &o, e) < 0)
		return -1;
	if (w.tape.is_cut)
		ui_note(&o.ui, "%s ends in the middle of a sample, which is left out", o.replay);
	status = !o.is_batch && !o.ui.json && !o.ui.output && watch_terminal_is_usable()
		? watch_on_terminal(&w, e)
		: cmd_watch_lines(&w, e);
	return status < 0 ? -1 : UI_DONE;
}

const struct command cmd_watch = {
	.name = "watch",
	.summary = "watch the memory of a process, as top watches processes",
	.touch = CMD_READS_TARGET,
	.syntax = &cmd_watch_syntax,
	.run = cmd_watch_run,
};

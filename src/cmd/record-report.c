#include <config.h>

#include "cmd/record-report.h"

#include <ctype.h>
#include <string.h>

#include "cmd/report-work.h"

/* ---- options ---- */

enum {
	KEY_SINCE = 0x2300,
	KEY_SAVE,
	KEY_OLDER,
	KEY_MIN_SIZE,
	KEY_MAX_SIZE,
	KEY_EVERY,
	KEY_COUNT,
	KEY_ADDRESSES
};

static const struct argp_option options[] = {
	{ "since", KEY_SINCE, "LAST", 0,
		"show what has grown since LAST, a file that --save or 'memdiag record dump' wrote",
		1 },
	{ "save", KEY_SAVE, "FILE", 0,
		"write what was read to FILE as well, for --since; FILE may be LAST, which it "
		"replaces",
		1 },
	{ "older", KEY_OLDER, "DURATION", 0,
		"only blocks that have been in use for longer than DURATION: 60s, 10m, 1h; needs a "
		"log (--mode log-fast)",
		1 },
	{ "min-size", KEY_MIN_SIZE, "SIZE", 0, "only blocks of SIZE or more; of a process or a log",
		1 },
	{ "max-size", KEY_MAX_SIZE, "SIZE", 0, "only blocks of at most SIZE; of a process or a log",
		1 },
	{ "addresses", KEY_ADDRESSES, "N", 0,
		"list the N largest blocks of a process as well, with address, size, thread and "
		"stack; --focus chooses stacks",
		1 },
	{ "every", KEY_EVERY, "DURATION", 0,
		"with --pid: report again every DURATION, until Ctrl-C: 500ms, 10s, 1m; with "
		"--json "
		"a document on each line",
		1 },
	{ "count", KEY_COUNT, "N", 0, "with --every: end after N reports", 1 },
	{ "seconds", 's', "DURATION", 0, "with --every: end after DURATION", 1 },
	{ 0 },
};

static uint64_t
some_duration(struct argp_state *state, const char *arg)
{
	const uint64_t ns = ui_duration_option(state, arg);

	if (!ns)
		ui_refuse(state, arg, "is no time at all: say 60s, 10m or 1h");
	return ns;
}

static uint64_t
some_size(struct argp_state *state, const char *arg)
{
	const uint64_t bytes = ui_size_option(state, arg);

	if (!bytes)
		ui_refuse(state, arg, "is no size of a block: say 1K or 64M");
	return bytes;
}

/* A report takes some milliseconds. */
#define LEAST_INTERVAL_NS UINT64_C(100000000)

static uint64_t
interval(struct argp_state *state, const char *arg)
{
	const uint64_t ns = ui_duration_option(state, arg);

	if (ns < LEAST_INTERVAL_NS)
		ui_refuse(state, arg, "is too short: at least 100ms");
	return ns;
}

static uint64_t
some_reports(struct argp_state *state, const char *arg)
{
	const unsigned long n = ui_parse_count(state, arg);

	if (!n)
		ui_refuse(state, arg, "must be at least 1");
	return n;
}

static void
check_every(struct argp_state *state, const struct report_work *w)
{
	if (!w->every_ns && (w->nr_reports || w->duration_ns))
		argp_error(state, "--count and --seconds are for --every");
	if (w->every_ns && w->file)
		argp_error(state, "--every is for a process, and a file stays as it is: say --pid");
	if (w->every_ns && w->save)
		argp_error(state, "--save keeps one report, and --every makes several");
}

static void
check_addresses(struct argp_state *state, const struct report_work *w)
{
	if (w->nr_addresses && w->file)
		argp_error(state, "--addresses are in the memory of a process: say --pid");
	if (w->nr_addresses && w->choice.has_age)
		argp_error(state,
			"--older reads a log, which has no addresses: without --addresses, or "
			"without --older");
}

static void
check_choice(struct argp_state *state, const struct report_work *w)
{
	if (!w->has_choice)
		return;
	if (w->choice.min_bytes > w->choice.max_bytes)
		argp_error(state, "--min-size is larger than --max-size: no block has both");
	if (w->base || w->save)
		argp_error(state,
			"--since and --save are for all blocks, and --older, --min-size and "
			"--max-size choose some");
}

/* A number is a process; all else is left to --pid, as it may be the name of a file. */
static error_t
record_report_parse_word(struct report_work *w, char *arg, struct argp_state *state)
{
	if (isdigit((unsigned char)*arg) && !arg[strspn(arg, "0123456789")])
		return ARGP_ERR_UNKNOWN;
	if (w->file)
		argp_error(state, "two files: one at a time; --since subtracts another");
	w->file = arg;
	return 0;
}

static error_t
record_report_parse_option(int key, char *arg, struct argp_state *state)
{
	struct report_work *w = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &w->ui;
		state->child_inputs[2] = w;
		w->choice.max_bytes = UINT64_MAX;
		return 0;
	case KEY_SINCE:
		w->base = arg;
		return 0;
	case KEY_SAVE:
		w->save = arg;
		return 0;
	case KEY_OLDER:
		w->choice.age_ns = some_duration(state, arg);
		w->choice.has_age = w->has_choice = true;
		return 0;
	case KEY_MIN_SIZE:
		w->choice.min_bytes = some_size(state, arg);
		w->has_choice = true;
		return 0;
	case KEY_MAX_SIZE:
		w->choice.max_bytes = some_size(state, arg);
		w->has_choice = true;
		return 0;
	case KEY_EVERY:
		w->every_ns = interval(state, arg);
		return 0;
	case KEY_ADDRESSES:
		w->nr_addresses = some_reports(state, arg);
		return 0;
	case KEY_COUNT:
		w->nr_reports = some_reports(state, arg);
		return 0;
	case 's':
		w->duration_ns = some_duration(state, arg);
		return 0;
	case ARGP_KEY_ARG:
		return record_report_parse_word(w, arg, state);
	case ARGP_KEY_END:
		if (!w->file && !w->ui.asked.nr)
			argp_error(state, "which record? say --pid PID, FILE or DIRECTORY");
		if (w->file && w->ui.asked.nr)
			argp_error(state, "a file and a process: one at a time");
		check_choice(state, w);
		check_every(state, w);
		check_addresses(state, w);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {
	{ &ui_options_argp, 0, NULL, 0 },
	{ &ui_memory_argp, 0, NULL, 0 },
	{ &report_work_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = record_report_parse_option,
	.children = children,
	.args_doc = "PID\nFILE\nDIRECTORY",
	.doc = "Which lines of code have how much memory now, of what was recorded: bytes and "
	       "blocks that are in use, the largest first.  Nothing in the process is stopped.\v"
	       "Examples:\n"
	       "  memdiag record report --pid 1234 --save before.heap\n"
	       "  memdiag record report --pid 1234 --since before.heap\n"
	       "  memdiag record report --pid 1234 --format=tree\n"
	       "  memdiag record report after.heap --since before.heap\n"
	       "  memdiag record report --pid 1234 --older 60s --min-size 4K\n"
	       "  memdiag record report --pid 1234 --every 10s -n 5\n\n"
	       "FLAT and BLOCKS are what a line allocated itself, CUM with what it called; SUM% "
	       "adds up FLAT%.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- the command ---- */

/* Whether OPTION, which all commands have and which may stand before the verb, has an argument. */
static bool
takes_argument(const char *option)
{
	static const char *const names[] = { "-p", "--pid", "-o", "--output", "--timeout",
		"--max-memory" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(option, names[i]) == 0)
			return true;
	return false;
}

int
record_report_at(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (*argv[i] != '-')
			return strcmp(argv[i], "report") == 0 ? i : 0;
		i += takes_argument(argv[i]);
	}
	return 0;
}

int
record_report_run(int argc, char **argv,
	int (*open_log)(struct recording **ret, struct ui_options *ui, char *name, size_t size,
		struct err *e),
	struct err *e)
{
	static char name[] = "memdiag record report";
	struct report_work w = {
		.ui = { .pid_optional = true },
		.reporting = REPORTING_BEGIN,
		.is_record = true,
		.open_log = open_log,
	};

	argv[0] = name; /* for argp's messages */
	w.reporting.calls.by = CALLS_BY_LINE;
	w.reporting.with_blocks = true;
	ui_parse(&argp, argc, argv, &w);
	return report_work_run(&w, e);
}

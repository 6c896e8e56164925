#include <config.h>

#include "cmd/record-report.h"

#include <ctype.h>
#include <string.h>

#include "cmd/report-work.h"
#include "ui/options.h"
#include "ui/ui.h"
#include "ui/units.h"

/* ---- options ---- */

#define AT(member) UI_AT(struct report_work, member)
#define GIVEN(member) UI_GIVEN(struct report_work, member)
/* A report takes several milliseconds. */
#define LEAST_INTERVAL_NS UINT64_C(100000000)
#define SOME_DURATION UI_DURATION, .least = 1, .beyond = "is too short: say 60s, 10m or 1h"
#define SOME_SIZE UI_SIZE, .least = 1, .beyond = "is not the size of a block: say 1K or 64M"
#define SOME_NUMBER UI_NUMBER, .least = 1, .beyond = "must be at least 1"

static const struct ui_option options[] = {
	{ "since", 0, "LAST", 1,
		"show what has grown since LAST, a file that --save or 'memdiag record dump' wrote",
		UI_FILE, AT(base) },
	{ "save", 0, "FILE", 1,
		"also write the data to FILE, for --since; FILE may be LAST, which it replaces",
		UI_FILE, AT(save) },
	{ "older", 0, "DURATION", 1,
		"only blocks that have been in use for longer than DURATION: 60s, 10m, 1h; needs a "
		"log (--mode log-fast)",
		SOME_DURATION, AT(choice.age_ns), GIVEN(choice.has_age) },
	{ "min-size", 0, "SIZE", 1, "only blocks of SIZE or more; of a process or a log", SOME_SIZE,
		AT(choice.min_bytes), GIVEN(has_choice) },
	{ "max-size", 0, "SIZE", 1, "only blocks of at most SIZE; of a process or a log", SOME_SIZE,
		AT(choice.max_bytes), GIVEN(has_choice), .preset = UINT64_MAX },
	{ "addresses", 0, "N", 1,
		"list the N largest blocks of a process as well, with address, size, thread and "
		"stack; --focus chooses stacks",
		SOME_NUMBER, AT(nr_addresses) },
	{ "every", 0, "DURATION", 1,
		"with --pid: report again every DURATION, until Ctrl-C: 500ms, 10s, 1m; with "
		"--json a document on each line",
		UI_DURATION, AT(every_ns), .least = LEAST_INTERVAL_NS,
		.beyond = "is too short: at least 100ms" },
	{ "count", 0, "N", 1, "with --every: end after N reports", SOME_NUMBER, AT(nr_reports) },
	{ "seconds", 's', "DURATION", 1, "with --every: end after DURATION", SOME_DURATION,
		AT(duration_ns) },
	{ 0 },
};

#define RULE(kind, a, b, why) UI_RULE(kind, struct report_work, a, b, why)
#define CHOOSE                                                                                     \
	"--since and --save are for all blocks, and --older, --min-size and --max-size choose "    \
	"some"

static const struct ui_rule rules[] = {
	RULE(UI_WANTS, file, ui.asked.nr, "which record? say --pid PID, FILE or DIRECTORY"),
	RULE(UI_EXCLUDES, file, ui.asked.nr, "a file and a process: one at a time"),
	RULE(UI_EXCLUDES, choice.has_age, base, CHOOSE),
	RULE(UI_EXCLUDES, choice.has_age, save, CHOOSE),
	RULE(UI_EXCLUDES, has_choice, base, CHOOSE),
	RULE(UI_EXCLUDES, has_choice, save, CHOOSE),
	RULE(UI_NEEDS, nr_reports, every_ns, "--count and --seconds are for --every"),
	RULE(UI_NEEDS, duration_ns, every_ns, "--count and --seconds are for --every"),
	RULE(UI_EXCLUDES, every_ns, file,
		"--every is for a process, and a file stays as it is: say --pid"),
	RULE(UI_EXCLUDES, every_ns, save, "--save keeps one report, and --every makes several"),
	RULE(UI_EXCLUDES, nr_addresses, file,
		"--addresses are in the memory of a process: say --pid"),
	RULE(UI_EXCLUDES, nr_addresses, choice.has_age,
		"--older reads a log, which has no addresses: without --addresses, or "
		"without --older"),
	{ 0 },
};

static void
record_report_check(struct argp_state *state, void *input)
{
	struct report_work *w = input;

	w->has_choice |= w->choice.has_age;
	if (w->choice.min_bytes > w->choice.max_bytes)
		argp_error(state, "--min-size is larger than --max-size: no block has both");
}

/* Parse a number as a process.  Leave other words to --pid, as they may name a file. */
static error_t
record_report_parse_word(struct argp_state *state, void *input, char *arg)
{
	struct report_work *w = input;

	if (isdigit((unsigned char)*arg) && !arg[strspn(arg, "0123456789")])
		return ARGP_ERR_UNKNOWN;
	if (w->file)
		argp_error(state, "two files: one at a time; --since subtracts another");
	w->file = arg;
	return 0;
}

static const struct ui_child children[] = {
	{ &ui_options_syntax, offsetof(struct report_work, ui) },
	{ &ui_memory_syntax, offsetof(struct report_work, ui) },
	{ &report_work_syntax, 0 },
	{ 0 },
};

const struct ui_syntax record_report_syntax = {
	.options = options,
	.rules = rules,
	.children = children,
	.argument = record_report_parse_word,
	.check = record_report_check,
	.args_doc = "PID\nFILE\nDIRECTORY",
	.doc = "How much of the recorded memory each line of code has now: bytes and blocks in "
	       "use, the largest first. Nothing in the process is stopped.\v"
	       "Examples:\n"
	       "  memdiag record report --pid 1234 --save before.heap\n"
	       "  memdiag record report --pid 1234 --since before.heap\n"
	       "  memdiag record report --pid 1234 --format=tree\n"
	       "  memdiag record report after.heap --since before.heap\n"
	       "  memdiag record report --pid 1234 --older 60s --min-size 4K\n"
	       "  memdiag record report --pid 1234 --every 10s -n 5\n\n"
	       "FLAT and BLOCKS are what a line allocated itself, CUM includes the functions that "
	       "it called; SUM% adds up FLAT%.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- the command ---- */

/* True if OPTION takes an argument.  All commands have OPTION, and it may come before the verb. */
static bool
takes_argument(const char *option)
{
	const struct ui_option *o = ui_option_find(&ui_options_syntax, option);

	if (!o)
		o = ui_option_find(&ui_memory_syntax, option);
	return o && o->arg;
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
		.io = PROFILE_IO_BEGIN,
		.is_record = true,
		.open_log = open_log,
	};

	argv[0] = name; /* for argp's messages */
	w.io.calls.by = CALLS_BY_LINE;
	w.io.with_blocks = true;
	ui_parse(&record_report_syntax, argc, argv, &w);
	return report_work_run(&w, e);
}

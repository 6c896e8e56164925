#include <config.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agentctl/family.h"
#include "agentctl/launch.h"
#include "base/cleanup.h"
#include "cmd/command.h"
#include "cmd/run-capture.h"
#include "os/child.h"
#include "ui/exit.h"
#include "ui/json.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/ui.h"
#include "ui/units.h"
#include "view/run.h"
#include "wire/settings.h"
#include "wire/totals.h"
#include "wire/wire.h"

struct cmd_run_options {
	struct ui_options ui;
	uint64_t limit_bytes; /* 0: unlimited */
	uint64_t total_bytes; /* limit for the sum of all processes; 0: unlimited */
	enum wire_on_limit on_limit;
	bool has_on_limit;
	enum wire_account account;
	uint64_t interval_ns; /* 0: no lines */
	bool follows;
	struct run_capture_options profile;
};

/* The program to run. */
struct cmd_run_work {
	const struct cmd_run_options *opt;
	struct launch launch;
	struct run_capture profile;
	struct os_end end;
};

/* ---- options ---- */

/*
 * Parse the interval in milliseconds if ARG has no unit, as MT_PRINT_INTERVAL_MS does; other
 * options take seconds.
 */
static void
cmd_run_set_interval(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct cmd_run_options *o = input;

	if (!arg[strspn(arg, "0123456789.")])
		ui_refuse(state, arg, "has no unit: say 1000ms or 1s");
	if (!ui_parse_duration(arg, &o->interval_ns))
		ui_option_refuse(state, row, arg);
	if (o->interval_ns < 1000000)
		ui_refuse(state, arg, "is too short: at least 1ms");
}

#define AT(member) UI_AT(struct cmd_run_options, member)
#define GIVEN(member) UI_GIVEN(struct cmd_run_options, member)
#define LIMIT UI_SIZE, .least = 1, .beyond = "is no limit: say 512K, 64M or 2G"

static const struct ui_option options[] = {
	{ "limit", 0, "SIZE", 1, "limit the memory of the program: 512M, 2G (no limit)", LIMIT,
		AT(limit_bytes) },
	{ "limit-total", 0, "SIZE", 1,
		"limit the memory of the program and all processes that it starts together; "
		"implies --follow-children (no limit)",
		LIMIT, AT(total_bytes), GIVEN(follows) },
	{ "on-limit", 0, "ACTION", 1,
		"exit: print a line and exit with 255 (default); enomem: the call fails; abort: "
		"dump core; signal: SIGTERM, and the call fails; report: print a line and "
		"continue",
		UI_WORD, AT(on_limit), GIVEN(has_on_limit), .words = wire_on_limit_names,
		.wrong = "is not an action: say " },
	{ "print-interval", 0, "DURATION", 1,
		"print a line with the numbers on standard error now and every DURATION: 500ms, 5s",
		UI_DURATION, .set = cmd_run_set_interval },
	{ "follow-children", 0, NULL, 1,
		"count the processes that it starts as well; --limit is for each of them", UI_FLAG,
		AT(follows) },
	{ "account", 0, "BYTES", 1,
		"count usable bytes: the size that malloc gives (default); or requested bytes: "
		"the size in the call, which takes 8 bytes more for each block",
		UI_WORD, AT(account), .words = wire_account_names,
		.wrong = "is no way to count: say " },
	{ 0 },
};

static const struct ui_child children[] = {
	{ &ui_output_syntax, offsetof(struct cmd_run_options, ui) },
	{ &run_capture_syntax, offsetof(struct cmd_run_options, profile) },
	{ 0 },
};

static const struct ui_syntax cmd_run_syntax = {
	.options = options,
	.children = children,
	.args_doc = "[--] PROGRAM [ARGUMENT...]",
	.doc = "Run a program with the agent, which intercepts malloc: every block and mapping is "
	       "counted, and a limit is held to the byte. When the program has ended, a line with the "
	       "numbers is written to standard error.\vWith --quiet and without --output memdiag "
	       "executes the program directly: the program has memdiag's process ID, and no "
	       "report is printed.\n\n"
	       "Examples:\n"
	       "  memdiag run -- ./observer -f observer.ini\n"
	       "  memdiag run --limit 2G -- ./observer\n"
	       "  memdiag run --limit 64M --follow-children -- make check\n"
	       "  memdiag run --limit-total 1G --on-limit=enomem -- make -j8 check\n"
	       "  memdiag run --print-interval 1s -q -- ./observer\n"
	       "  memdiag run --json -o counted.json -- ./observer\n"
	       "  memdiag run --profile -o observer -- ./observer\n"
	       "  memdiag run --leak-check=1M -- ./observer\n\n"
	       "While it runs, 'memdiag status --pid PID' shows more. A program that the agent "
	       "cannot be preloaded into (static, setuid, built with a sanitizer, of a libc other "
	       "than glibc and musl) is not started.\n\n"
	       "Exit status: 0 done, or any other that the program ends with; 255 at the limit; "
	       "23 with --leak-check; 125 memdiag failed, 126 the program cannot be run, 127 it "
	       "was not found.",
};

/* ---- starting ---- */

/*
 * True if memdiag must report after the program ends. memdiag is then the program's parent and the
 * shell waits for it: a separate process would print after the prompt.  Without a report the
 * program replaces memdiag, as with env(1).
 */
static bool
wants_report(const struct cmd_run_options *o)
{
	return !o->ui.quiet || o->ui.output || o->ui.json;
}

/*
 * Return the limit that each process gets in its environment: the limit of all if no other is
 * given.  A process that cannot open the shared file, because its /proc is missing or another one,
 * applies it to itself.
 */
static int64_t
limit_of_each(const struct cmd_run_options *o)
{
	const int64_t own = o->limit_bytes ? wire_limit(o->limit_bytes) : INT64_MAX;
	const int64_t total = o->total_bytes ? wire_limit(o->total_bytes) : INT64_MAX;

	return own < total ? own : total;
}

/* Become the program of ARG, a struct cmd_run_work.  Returns only on failure. */
static int
cmd_run_become(void *arg, struct err *e)
{
	const struct cmd_run_work *r = arg;
	const struct cmd_run_options *o = r->opt;
	struct wire_settings settings = {
		.limit_bytes = limit_of_each(o),
		.interval_ms = o->interval_ns / 1000000,
		.account = o->account,
		.on_limit = o->on_limit,
		.prints = o->interval_ns,
		.follows = o->follows,
		.counts = wants_report(o),
	};

	run_capture_set(&r->profile, &settings);
	return launch_become(&r->launch, &settings, e);
}

/* ---- after its end ---- */

static int
cmd_run_print_json(const struct cmd_run_work *r, const struct run_report *report,
	struct ui_output *out, struct err *e)
{
	json_auto_t *document = run_to_json(report, e);

	if (!document || run_capture_to_json(&r->profile, json_object_get(document, "data"), e) < 0)
		return -1;
	return ui_json_print(document, out, e);
}

static int
cmd_run_report(const struct cmd_run_work *r, struct ui_output *out, struct err *e)
{
	const struct ui_options *opt = &r->opt->ui;
	const bool is_followed = r->launch.family_fd >= 0;
	/* Children that outlive the program may still write to it. */
	auto_free struct wire_segment *copy = malloc(WIRE_WHOLE_BYTES);
	auto_family struct family family = { 0 };
	struct run_report report = {
		.program = r->launch.argv[0],
		.end = &r->end,
		.family = is_followed ? &family : NULL,
		.has_limit_for_all = r->opt->total_bytes,
		.limit_bytes = limit_of_each(r->opt),
	};

	if (copy && launch_read(&r->launch, r->end.pid, copy)) {
		wire_add_up(copy, copy->nr_threads, &report.sum);
		report.segment = copy;
	}
	if (is_followed && family_read(&family, r->launch.family_fd, e) < 0)
		return -1;
	if ((opt->json ? cmd_run_print_json(r, &report, out, e)
		       : run_print_text(&report, opt, out, e)) < 0)
		return -1;
	return ui_output_close(out, e);
}

/* ---- both ways ---- */

/* Return the stream that lists the files written for a profile; NULL if they are not listed. */
static FILE *
profile_lines(const struct ui_options *opt)
{
	return opt->quiet || opt->json ? NULL : stderr;
}

static void
run_release(struct cmd_run_work *r)
{
	run_capture_release(&r->profile);
	launch_release(&r->launch);
}

static int
start_program(struct cmd_run_work *r, struct err *e)
{
	const uint64_t every_ns = run_capture_tick_ns(&r->profile);

	return every_ns ? os_run_child_ticking(cmd_run_become, r, run_capture_tick, &r->profile,
				  every_ns, &r->end, e)
			: os_run_child(cmd_run_become, r, &r->end, e);
}

/* Create the file for the counters of all processes if children are followed. */
static int
make_family(struct cmd_run_work *r, struct err *e)
{
	const struct cmd_run_options *o = r->opt;

	return o->follows ? launch_make_family(&r->launch,
				    o->total_bytes ? (int64_t)o->total_bytes : INT64_MAX, e)
			  : 0;
}

static int
run_and_report(struct cmd_run_work *r, struct err *e)
{
	auto_output struct ui_output out = { 0 };
	const struct ui_options *opt = &r->opt->ui;
	struct err failure;
	bool failed, unwritten;

	if (ui_output_open_beside(&out, opt, e) < 0 || launch_make_segment(&r->launch, e) < 0 ||
		make_family(r, e) < 0 || run_capture_begin(&r->profile, e) < 0 ||
		start_program(r, e) < 0)
		return -1;
	/* Exit as the program did even if memdiag's reader has closed the pipe. */
	signal(SIGPIPE, SIG_IGN);
	/* Write everything possible, then report what failed. */
	unwritten = run_capture_write(&r->profile, r->end.pid, e) < 0;
	failed = wants_report(r->opt) && cmd_run_report(r, &out, &failure) < 0 &&
		(opt->output || opt->json);
	if (profile_lines(opt))
		run_capture_print(&r->profile, profile_lines(opt));
	if (unwritten)
		return -1;
	if (failed) {
		*e = failure;
		return -1;
	}
	return run_capture_leaks(&r->profile) && r->end.status == 0 ? RUN_LEAKS
								    : os_end_as(r->end.status);
}

/* Warn of MemTracer's variables, which the agent ignores if memdiag sets its own settings. */
static void
warn_of_variables(const struct cmd_run_work *r)
{
	static const struct {
		const char *name, *option;
	} variables[] = {
		{ "MT_MEMORY_LIMIT", "--limit" },
		{ "MT_PRINT_INTERVAL_MS", "--print-interval" },
	};

	for (size_t v = 0; v < sizeof variables / sizeof *variables; v++)
		if (launch_has_variable(&r->launch, variables[v].name))
			ui_note(&r->opt->ui, "%s has no effect under 'memdiag run'; use %s",
				variables[v].name, variables[v].option);
}

static int
run_program(struct cmd_run_work *r, struct err *e)
{
	if (!*r->launch.argv)
		return err_set(
			e, 0, "which program? say it after the options. Try 'memdiag run --help'");
	if (r->opt->has_on_limit && !r->opt->limit_bytes && !r->opt->total_bytes)
		return err_set(e, 0,
			"--on-limit says what happens at the limit: --limit or --limit-total is missing");
	if (launch_find(&r->launch, e) < 0)
		return -1;
	warn_of_variables(r);
	/* memdiag must stay if it holds the file with the table of processes. */
	return wants_report(r->opt) || r->opt->total_bytes || r->opt->profile.is_wanted
		? run_and_report(r, e)
		: cmd_run_become(r, e);
}

static int
cmd_run_program(int argc, char **argv, struct err *e)
{
	struct cmd_run_options opt = { 0 };
	__attribute__((cleanup(run_release))) struct cmd_run_work r = {
		.opt = &opt, .launch = LAUNCH_NONE, .profile = { .opt = &opt.profile, .fd = -1 }
	};
	int status = launch_keep_environment(&r.launch, e);

	/* memdiag's own exit status must differ from the statuses of programs. */
	argp_err_exit_status = UI_NOT_RUN;
	if (status == 0) {
		r.launch.argv = argv + ui_parse_until_word(&cmd_run_syntax, argc, argv, &opt);
		run_capture_conclude(&opt.profile);
		if (opt.profile.is_wanted) { /* the numbers go to standard error */
			opt.profile.prefix = opt.ui.output;
			opt.ui.output = NULL;
		}
		r.profile.ui = opt.ui;
		r.profile.ui.quiet |= opt.ui.json; /* it goes to standard error */
		status = run_program(&r, e);
	}
	if (status < 0 && e->kind != ERR_NOT_FOUND && e->kind != ERR_NOT_EXECUTABLE)
		e->kind = ERR_NOT_RUN;
	return status;
}

const struct command cmd_run = {
	.name = "run",
	.summary = "run a program, count every byte, hold a limit",
	.touch = CMD_STARTS_PROGRAM,
	.syntax = &cmd_run_syntax,
	.run = cmd_run_program,
};

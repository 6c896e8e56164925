#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cmd/command.h"
#include "diagnose/check.h"
#include "diagnose/conditions.h"
#include "heap/heap.h"
#include "ui/deadline.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/ui.h"
#include "view/check.h"

/* ---- options ---- */

struct cmd_check_options {
	struct check_question ask;
	/* as given; parsed later, so that an error is a line of the plugin */
	struct {
		struct cmd_check_text {
			const char *text;
			bool is_critical;
		} * v;
		size_t nr, room;
	} text;
};

static void
cmd_check_add(struct argp_state *state, const struct ui_option *row, void *input, char *arg)
{
	struct cmd_check_options *o = input;
	struct cmd_check_text *text = array_add(&o->text);

	if (text)
		*text = (struct cmd_check_text){ arg, row->letter == 'c' };
	else
		argp_failure(state, CHECK_UNKNOWN, ENOMEM, "cannot keep conditions");
}

static const char *
cmd_check_metric(size_t i)
{
	return i < NR_METRICS ? metric_name((enum metric)i) : NULL;
}

static const struct ui_option options[] = {
	{ "warning", 'w', "CONDITION", 1,
		"warn if CONDITION holds: METRIC, then >, >=, < or <=, then a size, a count, or "
		"N%limit, N%rss or N%ram; may be repeated",
		UI_STRING, .word = cmd_check_metric, .set = cmd_check_add },
	{ "critical", 'c', "CONDITION", 1, "be critical if CONDITION holds; may be repeated",
		UI_STRING, .word = cmd_check_metric, .set = cmd_check_add },
	{ "max-stop", 0, "DURATION", 1,
		"stop the process for at most DURATION at a time, for trimmable, stranded, tops "
		"and in-use (200ms)",
		UI_DURATION, UI_AT(struct cmd_check_options, ask.max_stop_ns) },
	{ 0 },
};

static void
cmd_check_check(struct argp_state *state, void *input)
{
	const struct cmd_check_options *o = input;

	if (o->ask.ui.json)
		argp_error(state, "--json: check prints one line, as monitoring plugins do");
}

static const struct ui_child children[] = {
	{ &ui_several_syntax, offsetof(struct cmd_check_options, ask.ui) },
	{ 0 },
};

static const struct ui_syntax cmd_check_syntax = {
	.options = options,
	.check = cmd_check_check,
	.children = children,
	.args_doc = "[PID...]",
	.doc = "Compare the memory of processes with limits, for Nagios, Icinga and others: prints "
	       "one line, with performance data, and exits as a monitoring plugin does.\n"
	       "Metrics: rss, swap, virt and threads of the kernel; stack, heap, exe, .so, file, "
	       "shm, anon and arenas as maps has them; trimmable, stranded, tops and in-use of "
	       "glibc's heaps. For the last four all threads of the process are stopped, for at most 200 ms "
	       "at a time (--max-stop); otherwise nothing is stopped.\v"
	       "Examples:\n"
	       "  memdiag check --pid mysqld -w 'rss>70%limit' -c 'rss>90%limit'\n"
	       "  memdiag check --pid mysqld -w 'trimmable>1G' -c 'trimmable>20%ram'\n"
	       "  memdiag check --pid postgres --all -w 'rss>2G' -w 'swap>0'\n"
	       "  memdiag check --pid 1234 -w 'threads>500' -c 'threads<2'\n\n"
	       "Of several processes each is compared, and the line is about the worst.\n\n"
	       "Exit status: 0 OK, 1 warning, 2 critical, 3 unknown, also for usage.",
};

/* ---- the command ---- */

static int
cmd_check_parse(struct cmd_check_options *o, struct err *e)
{
	for (size_t i = 0; i < o->text.nr; i++) {
		struct condition *c = array_add(&o->ask.condition);

		if (!c)
			return err_set(e, ENOMEM, "cannot keep conditions");
		if (condition_parse(c, o->text.v[i].text, e) < 0)
			return -1;
		c->is_critical = o->text.v[i].is_critical;
	}
	return o->text.nr ? 0
			  : err_set_kind(e, ERR_USAGE, 0,
				    "what is to be compared? use -w CONDITION or -c CONDITION");
}

/* Compare, and print the line.  Returns the exit status, or -1 with E. */
static int
cmd_check_show(struct cmd_check_options *o, struct err *e)
{
	auto_check_answer struct check_answer a = { 0 };
	auto_output struct ui_output out = { 0 };

	if (cmd_check_parse(o, e) < 0 || ui_find_processes(&o->ask.ui, e) < 0 ||
		check_ask(&a, &o->ask, e) < 0 || ui_output_open(&out, &o->ask.ui, e) < 0)
		return -1;
	check_print(out.f, &a, &o->ask);
	return ui_output_close(&out, e) < 0 ? -1 : (int)a.state;
}

/* Print E as the line of the plugin; without a file to write it to, on standard output. */
static int
cmd_check_fail(const struct err *e)
{
	check_print_unknown(stdout, e->msg);
	fflush(stdout);
	return CHECK_UNKNOWN;
}

static int
cmd_check_run(int argc, char **argv, struct err *e)
{
	struct cmd_check_options o = { .ask.max_stop_ns = HEAP_DEFAULT_STOP_NS };
	int status;

	argp_err_exit_status = CHECK_UNKNOWN;
	ui_parse(&cmd_check_syntax, argc, argv, &o);
	deadline_end_with(
		STDOUT_FILENO, "MEMDIAG UNKNOWN - gave up, --timeout has passed\n", CHECK_UNKNOWN);
	deadline_set(o.ask.ui.timeout_ns);
	status = cmd_check_show(&o, e);
	if (status < 0)
		status = cmd_check_fail(e);
	free(o.text.v);
	free(o.ask.condition.v);
	free(o.ask.ui.asked.v);
	return status;
}

const struct command cmd_check = {
	.name = "check",
	.summary = "compare memory with limits, as a plugin for Nagios and Icinga",
	.touch = CMD_STOPS_TARGET,
	.syntax = &cmd_check_syntax,
	.run = cmd_check_run,
};

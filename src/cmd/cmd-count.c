#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "cmd/agent-file.h"
#include "cmd/command.h"
#include "cmd/malloc-target.h"
#include "heap/heap.h"
#include "profile/profile.h"

struct count_options {
	struct ui_options ui;
	struct inject_options inject;
	bool is_stop, has_verb;
	uint64_t max_stop_ns;
};

/* ---- options ---- */

enum { KEY_MAX_STOP = 0x3000 };

static const struct argp_option options[] = {
	{ "max-stop-ms", KEY_MAX_STOP, "N", 0,
		"to see what is in use stop the process for at most N milliseconds at a time (200)", 1 },
	{ 0 },
};

static error_t
parse_verb(struct argp_state *state, struct count_options *o, const char *arg)
{
	if (o->has_verb)
		return ARGP_ERR_UNKNOWN;	/* a process, then */
	o->is_stop = strcmp(arg, "stop") == 0;
	if (!o->is_stop && strcmp(arg, "start") != 0)
		ui_refuse(state, arg, "is neither start nor stop");
	o->has_verb = true;
	return 0;
}

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
	struct count_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->ui;
		state->child_inputs[1] = &o->inject;
		return 0;
	case KEY_MAX_STOP:
		o->max_stop_ns = ui_parse_count(state, arg) * UINT64_C(1000000);
		return 0;
	case ARGP_KEY_ARG:
		return parse_verb(state, o, arg);
	case ARGP_KEY_END:
		if (!o->has_verb)
			argp_error(state, "what is to be done? say start or stop");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.children = borrow_children,
	.args_doc = "start|stop [PID]",
	.doc = "Count, from now on, what a process that runs allocates.\n"
	       "The agent is loaded into it, and malloc and its kin lead to the agent for every caller.  "
	       "All threads stand still for some microseconds each for that, and once more while "
	       "it is seen what is in use already.  'memdiag status' tells the numbers at any time and "
	       "stops nobody.  'stop' puts back every byte that was changed; the agent stays loaded and "
	       "costs nothing then.\v"
	       "Examples:\n"
	       "  memdiag count start --pid 1234\n"
	       "  memdiag status --pid 1234\n"
	       "  memdiag count stop --pid 1234\n\n"
	       "Starting twice, stopping twice, stopping without a start: each is said, and changes "
	       "nothing.\n\n" UI_EXIT_STATUS_HELP,
};

/* ---- text ---- */

static void
print_already(const struct target *t, const struct counting *c, struct ui_output *out)
{
	fprintf(out->f, "%s %d counts already, %s; nothing was changed\n", t->comm, (int)t->pid,
		c->way == WIRE_LOADED ? "since 'memdiag count start'" : "since it was started");
}

static void
print_start(const struct target *t, const struct counting *c, const struct count_options *opt,
	struct ui_output *out)
{
	const struct inject_freeze *f = &c->hooked.freeze;
	const size_t nr = c->hooked.nr_entries + c->hooked.nr_slots;
	char still[32];

	fprintf(out->f, "%s %d counts from now on\n", t->comm, (int)t->pid);
	fprintf(out->f, "%zu %s lead to the agent%s; %zu thread%s stood still for %s\n", nr,
		c->hooked.nr_slots ? "functions and pointers to them" : "functions",
		c->is_new ? ", which was loaded" : "", f->nr_threads, f->nr_threads == 1 ? "" : "s",
		ui_duration(f->longest_ns, still, sizeof still));
	fprintf(out->f, "in use so far: %s%s", c->nr_doubtful ? "~" : "",
		UI_SIZE(&opt->ui, c->before_bytes > 0 ? (uint64_t)c->before_bytes : 0));
	if (c->nr_doubtful && c->nr_doubtful != UINT32_MAX)
		fprintf(out->f, ", give or take %" PRIu32 " block%s that threads were at work on",
			c->nr_doubtful, c->nr_doubtful == 1 ? "" : "s");
	fprintf(out->f, "\n\nNEXT     memdiag status -p %d\n         memdiag count stop -p %d\n",
		(int)t->pid, (int)t->pid);
}

static int
print_text(const struct target *t, const struct counting *c, const struct count_options *opt,
	struct ui_output *out)
{
	if (!opt->is_stop && c->was_so)
		print_already(t, c, out);
	else if (!opt->is_stop)
		print_start(t, c, opt, out);
	else if (c->was_so)
		fprintf(out->f, "%s %d does not count; nothing was changed\n", t->comm, (int)t->pid);
	else
		fprintf(out->f, "%s %d counts no more: what was changed in it is as it was\n", t->comm,
			(int)t->pid);
	if (c->hooked.nr_foreign)
		fprintf(out->f, "%zu places that somebody else has changed since were left\n",
			c->hooked.nr_foreign);
	return 0;
}

/* ---- JSON ---- */

static json_t *
doubtful_json(uint32_t nr)
{
	return nr == UINT32_MAX ? json_null() : json_integer(nr);
}

static json_t *
data_json(const struct counting *c, const struct count_options *opt)
{
	const struct inject_freeze *f = &c->hooked.freeze;
	json_t *data = json_pack("{s:b, s:b, s:I, s:I, s:I, s:{s:I, s:I}}", "is_counting",
		!opt->is_stop, "was_so_already", c->was_so, "entries",
		(json_int_t)c->hooked.nr_entries, "slots", (json_int_t)c->hooked.nr_slots, "foreign",
		(json_int_t)c->hooked.nr_foreign, "stopped", "threads", (json_int_t)f->nr_threads,
		"longest_us", (json_int_t)(f->longest_ns / 1000));

	if (opt->is_stop || c->was_so)
		return data;
	json_object_set_new(data, "loaded", json_boolean(c->is_new));
	json_object_set_new(data, "before_bytes", json_integer((json_int_t)c->before_bytes));
	json_object_set_new(data, "doubtful_blocks", doubtful_json(c->nr_doubtful));
	json_object_set_new(data, "borrow", borrow_json(&c->borrowed));
	return data;
}

static int
print_json(const struct target *t, const struct counting *c, const struct count_options *opt,
	struct ui_output *out, struct err *e)
{
	json_t *document = ui_json_new("count", t);
	int failed = json_object_set_new(document, "data", data_json(c, opt)) < 0
		? err_set(e, ENOMEM, "cannot write JSON") : ui_json_print(document, out, e);

	json_decref(document);
	return failed;
}

/* ---- all of it ---- */

static int
run(int argc, char **argv, struct err *e)
{
	struct count_options opt = { .max_stop_ns = HEAP_DEFAULT_STOP_NS };
	auto_target struct target t = TARGET_NONE;
	auto_output struct ui_output out = { 0 };
	struct counting c;
	char agent[PATH_MAX];

	ui_parse(&argp, argc, argv, &opt);
	borrow_limit(&opt.inject, &opt.ui);
	if (ui_output_open(&out, &opt.ui, e) < 0 || agent_file_find(agent, sizeof agent, e) < 0 ||
		target_open(&t, opt.ui.pid, e) < 0)
		return -1;
	if ((opt.is_stop ? counting_stop(&t, &opt.inject, &c, e)
			 : counting_start(&t, &opt.inject, opt.max_stop_ns, agent, &c, e)) < 0)
		return -1;
	if ((opt.ui.json ? print_json(&t, &c, &opt, &out, e) : print_text(&t, &c, &opt, &out)) < 0 ||
		ui_output_close(&out, e) < 0)
		return -1;
	return UI_DONE;
}

const struct command cmd_count = {
	.name = "count",
	.summary = "count what a running process allocates, for every caller",
	.touch = CMD_CHANGES_TARGET,
	.run = run,
};

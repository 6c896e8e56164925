#include <config.h>

#include "cmd/capture-work.h"

#include <limits.h>
#include <string.h>

#include "agentctl/run-sites.h"
#include "agentdata/agent-segment.h"
#include "agentdata/sampler-memory.h"
#include "agentdata/sites.h"
#include "base/cleanup.h"
#include "capture/jemalloc-process.h"
#include "capture/log-record.h"
#include "capture/profile-file.h"
#include "capture/profile-jemalloc.h"
#include "capture/profile-watch.h"
#include "capture/wait.h"
#include "cmd/borrow.h"
#include "cmd/push-work.h"
#include "os/claim.h"
#include "os/clock.h"
#include "os/installed.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/target.h"
#include "ui/claim.h"
#include "ui/deadline.h"
#include "ui/exit.h"
#include "ui/output.h"
#include "ui/processes.h"
#include "ui/progress.h"
#include "ui/ui.h"
#include "view/capture-result.h"
#include "view/log-state.h"

/* ---- options ---- */

#define AT(member) UI_AT(struct capture_options, member)

static const struct ui_option options[] = {
	{ "seconds", 's', "DURATION", 1,
		"begin, run for DURATION, end, and write the file (seconds, or 1m, 2h ...)",
		UI_DURATION, AT(seconds_ns), .least = 1, .beyond = "is not a DURATION to run for" },
	{ "symbols-inside", 0, NULL, 1,
		"write the names of functions into the file, so that it can be read elsewhere",
		UI_FLAG, AT(symbols_inside) },
	{ "at-exit", 0, NULL, 1,
		"run until the process ends, or for --seconds, then write the file", UI_FLAG,
		AT(at_exit) },
	{ 0 },
};

/* Longer than the lifetime of any process. */
#define UNTIL_EXIT_NS (UINT64_C(1) << 61)

static error_t
capture_work_parse_verb(struct argp_state *state, void *input, char *arg)
{
	static const char *const names[] = { "start", "stop", "dump", "status" };
	struct capture_options *o = input;

	(void)state;
	if (o->has_verb)
		return ARGP_ERR_UNKNOWN; /* it is a process */
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(arg, names[i]) == 0) {
			o->verb = (enum capture_verb)(CAPTURE_START + i);
			o->has_verb = true;
			return 0;
		}
	return ARGP_ERR_UNKNOWN;
}

static void
capture_work_check(struct argp_state *state, void *input)
{
	struct capture_options *o = input;

	if ((o->at_exit || o->is_endless) && !o->seconds_ns && !o->has_verb)
		o->seconds_ns = UNTIL_EXIT_NS;
	if (o->verb == CAPTURE_ONE_SHOT && !o->seconds_ns)
		argp_error(state,
			"what is to be done? say start, stop, dump, status, --seconds or --at-exit");
	if (o->verb != CAPTURE_ONE_SHOT && o->seconds_ns)
		argp_error(state, "--seconds does all by itself, without start and stop");
	if (o->verb != CAPTURE_ONE_SHOT && o->verb != CAPTURE_START && o->overhead.is_any)
		argp_error(state, "--max-overhead and --live-set are for a record that begins");
	if (o->verb != CAPTURE_ONE_SHOT && o->at_exit)
		argp_error(state,
			"the file is written while memdiag waits: --at-exit does all by itself, without start and stop");
}

const struct ui_syntax capture_work_syntax = {
	.options = options,
	.argument = capture_work_parse_verb,
	.check = capture_work_check,
};

/* Return the name of the command that begins CAPTURE. */
static const char *
capture_work_name(enum wire_capture capture)
{
	return capture == WIRE_RECORD ? "record" : "profile";
}

/* ---- the file ---- */

/* Write the samples C of the process P to a file, and report the file in RET. */
static int
capture_work_write_file(const struct capture_options *opt, const struct sites_copy *c,
	const struct process *p, enum profile_kind kind, struct capture_result *ret, struct err *e)
{
	const struct profile_file file = {
		.prefix = opt->prefix,
		.pid = opt->ui.pid,
		.number = c->head.nr_dumps,
		.kind = kind,
		.nr_of_kind = kind == PROFILE_LAST ? 0 : c->head.nr_dumps,
		.symbols_inside = opt->symbols_inside,
	};

	if (profile_file_write(&file, c, p, &opt->ui, ret->path, sizeof ret->path, e) < 0)
		return target_is_alive(p->target)
			? err_hint(e,
				  "What was noted is kept until the next start: 'memdiag %s dump -p %d -o PREFIX' writes it",
				  capture_work_name(opt->capture), (int)opt->ui.pid)
			: -1;
	ret->head = c->head;
	ret->sum = sites_add_up(c);
	return 0;
}

/* ---- start, stop and dump ---- */

static int
capture_work_start(struct target *t, const struct capture_options *opt, struct capture_result *ret,
	int *ret_fd, struct err *e)
{
	const struct sampler_wanted wanted = { .capture = opt->capture,
		.period_bytes = opt->period_bytes,
		.triggers = opt->triggers.wanted,
		.max_bytes = opt->overhead.max_bytes,
		.live_set = opt->overhead.live_set };
	char agent[PATH_MAX];

	return os_find_installed(agent, sizeof agent, OS_AGENT_FILE, e) < 0
		? -1
		: sampler_job_start(t, &opt->inject, &wanted, agent, &ret->job, ret_fd, e);
}

/* Write the file for the profile of T, which may be running. */
static int
capture_work_dump(const struct target *t, const struct capture_options *opt, enum profile_kind kind,
	struct capture_result *ret, struct err *e)
{
	auto_process struct process p = { .target = t };
	auto_sites struct sites_copy c = { .nr_nodes = 0 };

	if (process_read(&p, t, e) < 0 || sites_read_process(&c, &p, e) < 0)
		return -1;
	if (wire_capture_of(c.head.period_bytes) != opt->capture) {
		const char *name = capture_work_name(wire_capture_of(c.head.period_bytes));

		err_set_kind(e, ERR_UNSUPPORTED, 0, "what was noted last in %d (%s) is a %s",
			t->pid, t->comm, name);
		return err_hint(e, "'memdiag %s dump -p %d' writes it", name, t->pid);
	}
	return capture_work_write_file(opt, &c, &p, kind, ret, e) < 0
		? -1
		: sampler_job_count_dump(&c, t, e);
}

static int
capture_work_look(const struct target *t, const struct capture_options *opt,
	struct capture_result *ret, struct err *e)
{
	auto_process struct process p = { .target = t };
	auto_agent_segment struct agent_segment agent = { 0 };
	auto_sites struct sites_copy c = { .nr_nodes = 0 };
	struct sampler_memory memory;

	if (process_read(&p, t, e) < 0 || agent_segment_read(&agent, &p, e) < 0)
		return -1;
	if (!agent.sites_at.v || agent.is_parents)
		return 0;
	if (sites_read_process(&c, &p, e) < 0 || sampler_memory_read(&memory, &p, &agent, e) < 0)
		return -1;
	if (wire_capture_of(c.head.period_bytes) != opt->capture) {
		ret->is_otherwise = agent.segment->noting;
		return 0;
	}
	ret->head = c.head;
	ret->sum = sites_add_up(&c);
	ret->is_sampling = agent.segment->noting;
	ret->taken_bytes = memory.total_bytes;
	if (opt->files && log_record_set_files(t, &c, opt, e) < 0)
		return -1;
	if (opt->capture == WIRE_RECORD)
		log_record_look(t, c.at, &ret->log);
	return 0;
}

/*
 * Stop the log.  A log's files contain the record, so another file is written only if its name is
 * given.
 */
static int
stop_log(const struct target *t, const struct capture_options *opt, struct capture_result *ret,
	struct err *e)
{
	auto_process struct process p = { .target = t };
	auto_sites struct sites_copy c = { .nr_nodes = 0 };

	if (process_read(&p, t, e) < 0 || sites_read_process(&c, &p, e) < 0)
		return -1;
	ret->head = c.head;
	ret->sum = sites_add_up(&c);
	return log_record_stop(t, &c, opt, &ret->log, e);
}

static int
run_stop(const struct target *t, const struct capture_options *opt, struct capture_result *ret,
	struct err *e)
{
	if (sampler_job_stop(t, &opt->inject, opt->capture, &ret->job, e) < 0)
		return -1;
	target_unclaim(t);
	if (ret->job.was_so)
		return 0;
	if (opt->capture == WIRE_RECORD && stop_log(t, opt, ret, e) < 0)
		return -1;
	return ret->log.is_there && !opt->prefix ? 0
						 : capture_work_dump(t, opt, PROFILE_LAST, ret, e);
}

/* Start recording in memory if the log fails; the record works without a log. */
static int
run_start_in_memory(struct target *t, const struct capture_options *opt, struct capture_result *ret,
	struct err *e)
{
	auto_fd int fd = -1;

	if (capture_work_start(t, opt, ret, &fd, e) < 0)
		return -1;
	return ret->job.was_so && opt->has_mode ? stop_log(t, opt, ret, e) : 0;
}

/* ---- start, wait and stop ---- */

/*
 * Read the final mappings into P, which has the earlier ones.  Return false if nothing is left to
 * end: a process that now runs another program has other mappings, and its profile may belong to
 * another memdiag.
 */
static bool
look_again(const struct target *t, int fd, struct process *p, struct capture_result *ret)
{
	struct process now;
	struct err gone;

	if (!target_is_alive(t) || process_read(&now, t, &gone) < 0)
		return true;
	if (capture_maps_file(&now, fd)) {
		process_release(p);
		*p = now;
		return true;
	}
	process_release(&now);
	os_thread_name(t, t->pid, ret->became, sizeof ret->became);
	ret->has_ended = true;
	return false;
}

/* End the profile of T, whose samples are in FD, unless T has ended or runs another program. */
static int
capture_work_end(const struct target *t, const struct capture_options *opt, int fd,
	struct process *p, struct capture_result *ret, struct err *e)
{
	struct sampler_job stopped;
	struct err gone;

	if (!look_again(t, fd, p, ret))
		return 0;
	if (ui_claim(t, &opt->ui, &gone) == 0 &&
		sampler_job_stop(t, &opt->inject, opt->capture, &stopped, &gone) == 0) {
		target_unclaim(t);
		ret->has_ended = stopped.was_so;
		ret->job.keeps_memory = stopped.keeps_memory;
		return 0;
	}
	target_unclaim(t);
	if (!look_again(t, fd, p, ret))
		return 0;
	ret->has_ended = !target_is_alive(t);
	if (ret->has_ended)
		return 0;
	*e = gone;
	return -1;
}

/* Wait until the profile must end, and write the files requested meanwhile. */
static enum capture_wait
wait_and_watch(struct target *t, const struct capture_options *opt, const struct process *p,
	struct push_work *push, int fd)
{
	const uint64_t end_ns = os_now_ns() + opt->seconds_ns;
	struct profile_watch w = {
		.fd = fd,
		.file = { .prefix = opt->prefix,
			.pid = opt->ui.pid,
			.symbols_inside = opt->symbols_inside },
		.ui = &opt->ui,
	};
	enum capture_wait why = CAPTURE_WAIT_OVER;
	bool has_failed = false;
	struct err e;

	if (!opt->triggers.is_any && !push->push)
		return capture_wait(t, opt->seconds_ns);
	if (opt->triggers.is_any)
		w.head = run_sites_map_at(fd, 0);
	while (why == CAPTURE_WAIT_OVER && os_now_ns() < end_ns) {
		why = capture_wait(t, PROFILE_WATCH_NS);
		push_work_look(push, t, fd);
		if (!w.head || profile_watch_look(&w, p, &e) == 0 || has_failed)
			continue;
		/* Report a failure once; the target and the profile continue. */
		has_failed = true;
		ui_progress_clear();
		fprintf(stderr, "memdiag profile: %s\n", e.msg);
	}
	if (w.head)
		run_sites_unmap(w.head);
	return why;
}

/* Write C, the last samples, to a file, unless they are only pushed, and push them. */
static int
write_last(const struct capture_options *opt, const struct sites_copy *c, const struct process *p,
	struct push_work *push, struct capture_result *ret, struct err *e)
{
	const bool has_ended = !target_is_alive(p->target) || *ret->became;
	const int failed = push->push && !opt->prefix
		? 0
		: capture_work_write_file(opt, c, p, PROFILE_LAST, ret, e);

	ret->head = c->head;
	ret->sum = sites_add_up(c);
	deadline_set(opt->ui.files_timeout_ns);
	push_work_end(push, c, p, has_ended, &ret->pushes);
	return failed;
}

static int
capture_work_run_once(struct target *t, const struct capture_options *opt, struct push_work *push,
	struct capture_result *ret, struct err *e)
{
	auto_progress struct ui_progress *progress = NULL;
	auto_process struct process p = { .target = t };
	auto_sites struct sites_copy c = { .nr_nodes = 0 };
	auto_fd int fd = -1;
	struct target nameless;
	struct err failure;
	int failed;

	capture_hold_signals();
	if (capture_work_start(t, opt, ret, &fd, e) < 0)
		return -1;
	target_unclaim(t);
	if (ret->job.was_so)
		return 0;
	progress = ui_progress_begin(
		&opt->ui, opt->capture == WIRE_RECORD ? "recording" : "taking samples");
	process_read(&p, t, &failure);
	ret->wait = wait_and_watch(t, opt, &p, push, fd);
	ui_progress_end(take_ptr(&progress));
	deadline_set(2 * opt->ui.timeout_ns + 1000000000);
	failed = capture_work_end(t, opt, fd, &p, ret, &failure);
	if (*ret->became) {
		/* The names of its threads belong to another program. */
		nameless = *t;
		nameless.task_fd = -1;
		p.target = &nameless;
	}
	if (sites_read_file(&c, fd, e) < 0 || write_last(opt, &c, &p, push, ret, e) < 0)
		return -1;
	if (failed)
		*e = failure;
	return failed ? err_context(e, "%s was written, but the agent continues",
				*ret->path ? ret->path : "no file")
		      : 0;
}

/* ---- the command ---- */

static int
capture_work_act(struct target *t, const struct capture_options *opt, struct push_work *push,
	struct capture_result *ret, struct err *e)
{
	auto_jemalloc_process struct jemalloc_process other = { .inject = NULL };
	int is_other = opt->capture == WIRE_PROFILE && !opt->by_agent
		? jemalloc_process_open(&other, t, opt->malloc, e)
		: 0;

	if (is_other)
		return is_other < 0 ? -1 : profile_jemalloc(t, &other, opt, ret, e);
	switch (opt->verb) {
	case CAPTURE_ONE_SHOT:
		return opt->mode == RECORD_LOG_FAST ? log_record_once(t, opt, ret, e)
						    : capture_work_run_once(t, opt, push, ret, e);
	case CAPTURE_START:
		return opt->mode == RECORD_LOG_FAST ? log_record_start(t, opt, ret, e)
						    : run_start_in_memory(t, opt, ret, e);
	case CAPTURE_STOP:
		return run_stop(t, opt, ret, e);
	case CAPTURE_DUMP:
		return capture_work_dump(t, opt, PROFILE_BY_HAND, ret, e);
	case CAPTURE_STATUS:
		return capture_work_look(t, opt, ret, e);
	}
	return -1;
}

static int
capture_work_print(struct capture_result *done, const struct target *t,
	const struct ui_options *opt, struct ui_output *out, struct err *e)
{
	log_state_warn(&done->log, &done->warnings);
	if ((opt->json ? capture_result_print_json(done, t, out, e)
		       : capture_result_print(done, t, opt, out->f)) < 0 ||
		ui_output_close(out, e) < 0)
		return -1;
	warnings_print(&done->warnings, opt);
	return 0;
}

int
capture_work_run(
	struct capture_options *opt, const struct push_work_options *push_to, struct err *e)
{
	struct capture_result done = { .is_record = opt->capture == WIRE_RECORD };
	auto_target struct target t = TARGET_NONE;
	auto_output struct ui_output out = { 0 };
	auto_push_work struct push_work push = { .push = NULL };
	int failed;

	if (opt->mode == RECORD_CLOSED)
		opt->verb = CAPTURE_STOP;
	done.verb = opt->verb;
	opt->prefix = opt->ui.output;
	opt->ui.output = NULL;
	borrow_limit(&opt->inject, &opt->ui);
	deadline_set(opt->seconds_ns + 2 * opt->ui.timeout_ns + 1000000000);
	if (ui_find_process(&opt->ui, e) < 0 || ui_output_open(&out, &opt->ui, e) < 0 ||
		target_open(&t, opt->ui.pid, e) < 0)
		return -1;
	if (opt->verb != CAPTURE_START && opt->verb != CAPTURE_STATUS &&
		opt->mode != RECORD_LOG_FAST && !(push_to && push_to->url && !opt->prefix) &&
		profile_file_check(opt->prefix, e) < 0)
		return -1;
	if (push_to && push_work_begin(&push, push_to, &t, e) < 0)
		return -1;
	if (opt->verb != CAPTURE_DUMP && opt->verb != CAPTURE_STATUS &&
		(ui_claim(&t, &opt->ui, e) < 0 || os_check_memory(&t, e) < 0))
		return -1;
	failed = capture_work_act(&t, opt, &push, &done, e);
	target_unclaim(&t);
	if (!failed)
		failed = capture_work_print(&done, &t, &opt->ui, &out, e);
	warnings_release(&done.warnings);
	if (failed)
		return -1;
	return done.has_ended || done.log.is_cut || done.pushes.nr_refused || done.pushes.nr_dropped
		? UI_PARTIAL
		: UI_DONE;
}

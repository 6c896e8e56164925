#include <config.h>

#include "capture/log-record.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentdata/sites.h"
#include "base/cleanup.h"
#include "capture/wait.h"
#include "os/background.h"
#include "os/child.h"
#include "os/claim.h"
#include "os/clock.h"
#include "os/installed.h"
#include "os/life.h"
#include "os/place.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/target.h"
#include "recording/log-session.h"
#include "ui/claim.h"
#include "ui/deadline.h"
#include "ui/progress.h"

/* Room for the events of threads while memdiag gets no time to read them. */
#define LOG_BYTES (UINT64_C(64) << 20)

/* A record with a log, and its writer. */
struct log_record_job {
	struct target *t;
	const struct capture_options *opt;
	struct capture_result *ret;
	char dir[PATH_MAX];
	int claim_fd; /* keeps other memdiags from writing */
	int fd;	      /* contains the sites and the log */
	struct log_session *session;
	struct os_stat stat; /* state at the beginning */
	enum capture_wait wait;
	bool has_become; /* executed another program */
};

static void
job_release(struct log_record_job *j)
{
	struct err ignored;

	if (j->session)
		log_session_close(j->session, &ignored);
	cleanup_fd(&j->claim_fd);
	cleanup_fd(&j->fd);
}
#define auto_job __attribute__((cleanup(job_release)))

#define DEFAULT_FILES 10

static uint32_t
nr_files(const struct capture_options *opt)
{
	return opt->files ? opt->files : DEFAULT_FILES;
}

/* ---- beginning and ending ---- */

int
log_record_make_dir(const char *name, char ret[PATH_MAX], struct err *e)
{
	const char *dir = name ? name : ".";
	auto_place struct os_place place = OS_PLACE_NONE;
	auto_fd int fd = -1;

	if (os_place_find(&place, dir, e) < 0)
		return e->code == ELOOP
			? -1
			: err_set(e, e->code, "cannot make the directory %s for the log", dir);
	fd = os_place_open_dir(&place, true);
	/* Take the path of the open directory: the name may lead elsewhere by now. */
	if (fd < 0 || os_path_of(fd, ret, PATH_MAX) < 0)
		return err_set(e, errno, "cannot write the log into %s", dir);
	if (strlen(ret) >= sizeof((struct wire_log_writer *)0)->dir)
		return err_set(e, ENAMETOOLONG, "cannot write the log into %s", dir);
	return access(ret, W_OK | X_OK) == 0
		? 0
		: err_set(e, errno, "cannot write the log into %s", dir);
}

static int
end_record(const struct log_record_job *j, struct sampler_job *ret, struct err *e)
{
	return sampler_job_stop(j->t, &j->opt->inject, WIRE_RECORD, ret, e);
}

static int
start_record(struct log_record_job *j, struct err *e)
{
	const struct sampler_wanted wanted = { .capture = WIRE_RECORD,
		.log_bytes = LOG_BYTES,
		.max_bytes = j->opt->overhead.max_bytes,
		.live_set = j->opt->overhead.live_set,
		.opens_log = true };
	char agent[PATH_MAX];

	return os_find_installed(agent, sizeof agent, OS_AGENT_FILE, e) < 0
		? -1
		: sampler_job_start(j->t, &j->opt->inject, &wanted, agent, &j->ret->job, &j->fd, e);
}

/*
 * Begin the record.  A running one is started again: its earlier part would be missing in the log.
 */
static int
log_record_begin(struct log_record_job *j, struct err *e)
{
	struct sampler_job ended;

	if (log_record_make_dir(j->opt->prefix, j->dir, e) < 0 ||
		target_claim_log(j->t, &j->claim_fd, e) < 0 || os_stat(j->t, &j->stat, e) < 0 ||
		start_record(j, e) < 0)
		return -1;
	if (!j->ret->job.was_so)
		return 0;
	j->ret->job.was_so = false;
	return end_record(j, &ended, e) < 0 ? -1 : start_record(j, e);
}

static int
open_session(struct log_record_job *j, struct err *e)
{
	const struct log_session_settings settings = {
		.source = { .fd = j->fd },
		.target = j->t,
		.dir = j->dir,
		.pid = j->opt->ui.pid,
		.max_files = nr_files(j->opt),
	};

	return log_session_open(&j->session, &settings, e);
}

/* Copy DIR to W, which is zero; log_record_make_dir() has checked the length. */
static void
name_dir(struct wire_log_writer *w, const char *dir)
{
	memcpy(w->dir, dir, strnlen(dir, sizeof w->dir - 1));
}

void
log_record_keep_sum(const struct log_session *session, const char *dir, uint32_t max_files,
	struct log_state *ret)
{
	const struct log_session_sum sum = log_session_sum(session);

	*ret = (struct log_state){ .is_there = true };
	ret->said = (struct wire_log_writer){
		.pid = (uint32_t)getpid(),
		.max_files = max_files ? max_files : DEFAULT_FILES,
		.nr_files = sum.written.nr_files,
		.nr_removed = sum.written.nr_removed,
		.nr_damaged = (uint32_t)sum.drained.nr_damaged,
		.nr_events = sum.written.nr_events,
		.nr_lost = sum.written.nr_lost,
		.nr_unmatched = sum.written.nr_unmatched,
		.raw_bytes = sum.written.raw_bytes,
		.file_bytes = sum.written.file_bytes,
	};
	name_dir(&ret->said, dir);
	ret->nr_dropped = sum.drained.nr_dropped;
	ret->dropped_bytes = sum.drained.dropped_bytes;
}

/* ---- rounds ---- */

/*
 * Return whether the process executed another program.  Each program has its stack and heap
 * elsewhere, so the mappings are seldom read.
 */
static bool
has_become_other(const struct log_record_job *j)
{
	auto_process struct process now = { .target = j->t };
	struct os_stat stat;
	struct err ignored;

	if (os_stat(j->t, &stat, &ignored) < 0 ||
		(stat.start_stack.v == j->stat.start_stack.v &&
			stat.start_brk.v == j->stat.start_brk.v &&
			!log_session_nr_leaving(j->session)))
		return false;
	return target_is_alive(j->t) && process_read(&now, j->t, &ignored) == 0 &&
		!capture_maps_file(&now, j->fd);
}

/* Write until the record should end.  0, or -1 with E: the log can no longer be read. */
static int
write_rounds(struct log_record_job *j, uint64_t ns, struct err *e)
{
	const uint64_t end_ns = os_now_ns() + ns;

	do {
		j->wait = capture_wait(j->t, LOG_ROUND_NS);
		if (log_session_round(j->session, false, e) < 0)
			return -1;
		j->has_become = has_become_other(j);
	} while (j->wait == CAPTURE_WAIT_OVER && !j->has_become &&
		!log_session_is_over(j->session) && os_now_ns() < end_ns);
	return 0;
}

/* By then, threads in the middle of an event have appended it. */
#define SETTLE_NS UINT64_C(10000000)

/* Write the rest of the log, to which nothing is appended any more. */
static int
log_record_write_last(struct log_record_job *j, struct err *e)
{
	struct log_session *s = j->session;

	os_sleep_ns(SETTLE_NS);
	if (log_session_round(s, true, e) < 0)
		return -1;
	log_record_keep_sum(s, j->dir, j->opt->files, &j->ret->log);
	*e = log_session_sum(s).failure;
	j->session = NULL;
	if (log_session_close(s, e) < 0)
		return -1;
	return j->ret->log.said.nr_lost
		? err_context(
			  e, "%" PRIu64 " events are missing in the log", j->ret->log.said.nr_lost)
		: 0;
}

/* ---- one shot ---- */

/* End the record, unless it has ended already. */
static int
log_record_end(struct log_record_job *j, struct err *e)
{
	const struct log_source source = { .fd = j->fd };
	struct sampler_job ended;
	struct err gone;
	int failed;

	if (!target_is_alive(j->t) || j->has_become || log_session_is_over(j->session)) {
		j->ret->has_ended = true;
		return 0;
	}
	failed = ui_claim(j->t, &j->opt->ui, e) < 0 || end_record(j, &ended, e) < 0;
	target_unclaim(j->t);
	log_head_close(&source, &gone);
	if (failed && target_is_alive(j->t))
		return -1;
	j->ret->has_ended = failed || ended.was_so;
	j->ret->job.keeps_memory = !failed && ended.keeps_memory;
	return 0;
}

static int
log_record_write_all(struct log_record_job *j, struct err *e)
{
	auto_progress struct ui_progress *progress = ui_progress_begin(&j->opt->ui, "recording");
	struct err failure;
	int unwritten, unended;

	unwritten = write_rounds(j, j->opt->seconds_ns, e);
	ui_progress_end(take_ptr(&progress));
	deadline_set(2 * j->opt->ui.timeout_ns + 1000000000);
	unended = log_record_end(j, &failure);
	if (unwritten < 0)
		return err_context(e, "the log ends early");
	if (log_record_write_last(j, e) < 0)
		return -1;
	if (unended < 0)
		*e = failure;
	return unended < 0 ? err_context(e, "the log is written, but the agent continues") : 0;
}

int
log_record_once(struct target *t, const struct capture_options *opt, struct capture_result *ret,
	struct err *e)
{
	auto_job struct log_record_job j = {
		.t = t, .opt = opt, .ret = ret, .claim_fd = -1, .fd = -1
	};
	auto_sites struct sites_copy c = { .nr_nodes = 0 };
	struct sampler_job ended;
	struct err ignored;

	capture_hold_signals();
	if (log_record_begin(&j, e) < 0)
		return -1;
	if (open_session(&j, e) < 0) {
		end_record(&j, &ended, &ignored);
		return -1;
	}
	target_unclaim(t);
	if (log_record_write_all(&j, e) < 0)
		return -1;
	ret->wait = j.wait;
	if (j.has_become)
		os_thread_name(t, t->pid, ret->became, sizeof ret->became);
	if (sites_read_file(&c, j.fd, e) < 0)
		return -1;
	ret->head = c.head;
	ret->sum = sites_add_up(&c);
	return 0;
}

/* ---- in the background ---- */

static void
write_in_background(void *arg, int ready)
{
	struct log_record_job *j = arg;
	const struct log_source source = { .fd = j->fd };
	struct target t = *j->t;
	struct err e;
	bool failed;

	/* First: the starter may be killed, and its claim would last as long as this process. */
	if (target_reopen(&t, &e) < 0) {
		os_background_ready(ready, &e);
		return;
	}
	j->t = &t;
	os_die_first();
	if (open_session(j, &e) < 0) {
		os_background_ready(ready, &e);
		return;
	}
	os_background_ready(ready, NULL);
	malloc_trim(0);
	/* The head of the log contains the error, and the last file has no end. */
	failed = write_rounds(j, UINT64_MAX / 2, &e) < 0;
	/* No process would read further events. */
	log_head_close(&source, &e);
	if (!failed)
		log_record_write_last(j, &e);
}

int
log_record_start(struct target *t, const struct capture_options *opt, struct capture_result *ret,
	struct err *e)
{
	auto_job struct log_record_job j = {
		.t = t, .opt = opt, .ret = ret, .claim_fd = -1, .fd = -1
	};
	struct sampler_job ended;
	struct err ignored;
	pid_t writer;

	capture_hold_signals();
	if (log_record_begin(&j, e) < 0)
		return -1;
	if (os_background(write_in_background, &j, &writer, e) < 0) {
		end_record(&j, &ended, &ignored);
		return -1;
	}
	ret->log = (struct log_state){ .is_there = true, .is_open = true, .is_written = true };
	ret->log.said.pid = (uint32_t)writer;
	ret->log.said.max_files = nr_files(opt);
	name_dir(&ret->log.said, j.dir);
	return 0;
}

/* ---- the log of another memdiag ---- */

static struct log_source
log_record_source_of(const struct target *t, const struct sites_copy *c)
{
	return (struct log_source){
		.target = t, .at = c->at, .size_bytes = c->head.size_bytes, .fd = -1
	};
}

/* A writer makes a round each LOG_ROUND_NS, unless the machine is very busy. */
#define STALE_NS UINT64_C(2000000000)

/*
 * Return whether the writer of L continues although its claim is not visible: 'memdiag run' has no
 * claim, and only a process's user may query it.
 */
static bool
log_record_goes_on(const struct log_state *l)
{
	return l->has_rounds && l->round_age_ns < STALE_NS && !l->said.has_ended &&
		l->said.pid <= INT32_MAX && os_life_start((pid_t)l->said.pid);
}

void
log_record_look(const struct target *t, raddr sites_at, struct log_state *ret)
{
	const struct log_source s = { .target = t, .at = sites_at, .fd = -1 };
	struct wire_log l;
	struct err ignored;
	uint64_t now_ns;

	/* Before the head: a writer that is ended closes the log first. */
	*ret = (struct log_state){ .is_written = target_log_is_claimed(t) };
	/* Without a writer the record has room for a log, but no log. */
	if (log_head_read(&l, &s, &ignored) < 0 || !l.writer.pid)
		return;
	ret->is_there = true;
	ret->is_open = l.is_open;
	ret->said = l.writer;
	now_ns = os_now_ns();
	ret->has_rounds = ret->said.round_ns && ret->said.round_ns <= now_ns;
	ret->round_age_ns = ret->has_rounds ? now_ns - ret->said.round_ns : 0;
	ret->is_written |= log_record_goes_on(ret);
	ret->nr_dropped = l.nr_dropped;
	ret->dropped_bytes = l.dropped_bytes;
}

#define LOOK_NS UINT64_C(5000000)

/* Return how many events of C are neither in files nor counted otherwise. */
static uint64_t
nr_missing(const struct sites_copy *c, const struct log_state *l)
{
	const struct sites_sum sum = sites_add_up(c);
	const struct wire_log_writer *w = &l->said;
	const uint64_t known = w->nr_events + w->nr_lost + w->nr_unmatched + l->nr_dropped;
	uint64_t nr = wire_objects(sum.allocated) + wire_objects(sum.freed);

	/* In a record only sites of mappings have these counts, one for each event. */
	for (uint32_t i = 1; i < c->nr_sites; i++)
		nr += c->site[i].nr_allocated + c->site[i].nr_freed;
	return nr > known ? nr - known : 0;
}

int
log_record_stop(const struct target *t, const struct sites_copy *c,
	const struct capture_options *opt, struct log_state *ret, struct err *e)
{
	const uint64_t end_ns = os_now_ns() + opt->ui.timeout_ns / 2;
	const struct log_source s = log_record_source_of(t, c);
	bool is_left;

	log_record_look(t, c->at, ret);
	if (!ret->is_there)
		return 0;
	is_left = ret->is_open && !ret->is_written;
	if (log_head_close(&s, e) < 0)
		return -1;
	while (target_log_is_claimed(t) && os_now_ns() < end_ns)
		os_sleep_ns(LOOK_NS);
	log_record_look(t, c->at, ret);
	ret->is_cut = is_left || !ret->said.has_ended;
	if (ret->is_cut)
		ret->nr_missing = nr_missing(c, ret);
	return 0;
}

int
log_record_set_files(const struct target *t, const struct sites_copy *c,
	const struct capture_options *opt, struct err *e)
{
	const struct log_source s = log_record_source_of(t, c);

	return log_head_set_files(&s, opt->files, e);
}

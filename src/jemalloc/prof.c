/* Control jemalloc's own profiler from outside. */
#include <config.h>

#include "jemalloc/prof.h"

#include "glibc/arenas.h"
#include "inject/job.h"
#include "inject/load-call.h"
#include "inject/load-filters.h"
#include "jemalloc/jemalloc-priv.h"
#include "os/descriptors.h"
#include "os/os.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- settings ---- */

enum {
	PROF_VERSION,
	BUILT_IN,
	ENABLED,
	ACTIVE,
	THREAD_ACTIVE_INIT,
	ACCUM,
	GDUMP,
	FINAL,
	LEAK,
	LG_SAMPLE,
	INTERVAL,
	PREFIX,
	NR_PROF
};

static int
read_prof(const struct ctls *in, struct jemalloc_prof *p, struct err *e)
{
	struct ctl v[NR_PROF] = {
		[PROF_VERSION] = CTL_ASK("version", 8),
		[BUILT_IN] = CTL_ASK("config.prof", 1),
		[ENABLED] = CTL_ASK("opt.prof", 1),
		[ACTIVE] = CTL_ASK("prof.active", 1),
		[THREAD_ACTIVE_INIT] = CTL_ASK("prof.thread_active_init", 1),
		[ACCUM] = CTL_ASK("opt.prof_accum", 1),
		[GDUMP] = CTL_ASK("prof.gdump", 1),
		[FINAL] = CTL_ASK("opt.prof_final", 1),
		[LEAK] = CTL_ASK("opt.prof_leak", 1),
		[LG_SAMPLE] = CTL_ASK("prof.lg_sample", 8),
		[INTERVAL] = CTL_ASK("prof.interval", 8),
		[PREFIX] = CTL_ASK("opt.prof_prefix", 8),
	};

	if (ctl_make(in, v, NR_PROF, e) < 0)
		return -1;
	*p = (struct jemalloc_prof){ .is_built_in = v[BUILT_IN].value == 1,
		.is_enabled = v[ENABLED].value == 1,
		.is_active = v[ACTIVE].value == 1,
		.skips_new_threads = v[THREAD_ACTIVE_INIT].value == 0,
		.accumulates = v[ACCUM].value == 1,
		.dumps_at_peak = v[GDUMP].value == 1,
		.dumps_at_exit = v[FINAL].value == 1,
		.reports_leaks = v[LEAK].value == 1,
		.period_bytes = v[LG_SAMPLE].value < 64 ? UINT64_C(1) << v[LG_SAMPLE].value : 0,
		.interval_bytes = v[INTERVAL].is_known ? v[INTERVAL].value : 0 };
	ctl_string(in, &v[PROF_VERSION], p->version, sizeof p->version);
	ctl_string(in, &v[PREFIX], p->prefix, sizeof p->prefix);
	return 0;
}

/*
 * Return the name of the variable that jemalloc reads at the start: with its functions' prefix, in
 * upper case.
 */
static const char *
variable(const struct jemalloc *j, char *buf, size_t size)
{
	size_t i;

	for (i = 0; j->prefix[i] && i + 1 < size; i++)
		buf[i] = (char)toupper((unsigned char)j->prefix[i]);
	snprintf(buf + i, size - i, "MALLOC_CONF");
	return buf;
}

static int
check_prof(const struct jemalloc *j, const struct jemalloc_prof *p, const struct target *t,
	struct err *e)
{
	char name[32];

	variable(j, name, sizeof name);
	if (p->is_enabled)
		return 0;
	if (!p->is_built_in) {
		err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the jemalloc of %d (%s), %s, was built without profiling (config.prof is false)",
			t->pid, t->comm, j->path);
		return err_hint(e,
			"With --sampler=agent memdiag's agent takes the samples; "
			"or start it with one that was configured with --enable-prof, and with %s=prof:true,prof_active:false",
			name);
	}
	err_set_kind(e, ERR_UNSUPPORTED, 0,
		"the jemalloc of %d (%s) can take samples only in a program that was started so (opt.prof is false)",
		t->pid, t->comm);
	return err_hint(e,
		"With --sampler=agent memdiag's agent takes the samples; "
		"or start it with %s=prof:true,prof_active:false, which costs next to nothing until 'memdiag profile start'",
		name);
}

struct proffing {
	const struct jemalloc *j;
	enum jemalloc_prof_verb verb;
	uint64_t lg_period;
	struct jemalloc_prof *before;
};

static int
set_active(const struct ctls *in, bool is_active, struct err *e)
{
	struct ctl v[2] = {
		{ .name = "prof.active", .new_bytes = 1, .new = is_active },
		CTL_ASK("prof.active", 1),
	};

	if (ctl_make(in, v, 2, e) < 0)
		return -1;
	return v[1].value == is_active
		? 0
		: err_set(e, 0, "jemalloc did not %s taking samples", is_active ? "begin" : "end");
}

/*
 * The new statistics begin with the first sample after prof.reset, so prof.reset is the last call
 * but one.
 */
static int
prof_start(const struct ctls *in, const struct proffing *p, struct err *e)
{
	struct ctl v[2] = {
		{ .name = "prof.reset" },
		CTL_ASK("prof.lg_sample", 8),
	};

	if (p->lg_period != JEMALLOC_UNKNOWN) {
		v[0].new_bytes = 8;
		v[0].new = p->lg_period;
	}
	if (ctl_make(in, v, 2, e) < 0)
		return -1;
	if (p->lg_period != JEMALLOC_UNKNOWN && v[1].value != p->lg_period)
		return err_set(e, 0, "jemalloc did not take the rate of 2^%" PRIu64 " bytes",
			p->lg_period);
	return set_active(in, true, e);
}

static int
prof_act(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	const struct proffing *p = job->arg;
	const struct ctls in = { p->j, job, c, ws };

	if (read_prof(&in, p->before, e) < 0)
		return -1;
	if (p->verb == JEMALLOC_PROF_READ)
		return 0;
	if (check_prof(p->j, p->before, c->callee->target, e) < 0)
		return -1;
	if (p->verb == JEMALLOC_PROF_CHECK)
		return 0;
	if (p->before->is_active == (p->verb == JEMALLOC_PROF_START))
		return 0;
	return p->verb == JEMALLOC_PROF_START ? prof_start(&in, p, e) : set_active(&in, false, e);
}

int
jemalloc_prof_do(const struct jemalloc *j, struct inject_target *callee,
	const struct inject_options *opt, enum jemalloc_prof_verb verb, uint64_t lg_period,
	struct jemalloc_prof *before, struct inject_report *report, struct err *e)
{
	struct proffing proffing = { j, verb, lg_period, before };
	static const struct arenas none;
	struct job job = { .callee = callee,
		.opt = opt,
		.report = report,
		.run = prof_act,
		.arg = &proffing,
		.buffer_bytes = CTL_BUFFER_BYTES };

	return job_run(&job, &none, e);
}

/* ---- a dump ---- */

/*
 * The file name refers to a descriptor of memdiag's in the target: so it does not depend on the
 * files that the target sees or may write, and no file remains. prof_dump_open_file() calls creat()
 * (its prof_sys.c, 5.3; prof.c before).
 */
struct dump {
	char control[16];
	char path[48];
	uint64_t path_at;
	int64_t fd;
};

static void
lay_dump(struct library_call *call, raddr at)
{
	struct dump *d = call->block;
	const uint64_t arg[] = { at.v + offsetof(struct dump, control), 0, 0,
		at.v + offsetof(struct dump, path_at), sizeof d->path_at };

	snprintf(d->control, sizeof d->control, "prof.dump");
	os_fd_path_inside((int)d->fd, d->path, sizeof d->path);
	d->path_at = at.v + offsetof(struct dump, path);
	memcpy(call->arg, arg, sizeof arg);
	call->nr_args = sizeof arg / sizeof *arg;
}

/* A profile takes a few hundred bytes for each sampled stack. */
#define DUMP_MAX_BYTES (1 << 30)

/* Return 0 if data was written to FD, which does not change any more. */
static int
check_dump(const struct target *t, int fd, struct err *e)
{
	struct stat st;

	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "cannot examine the profile of %d (%s)", t->pid, t->comm);
	if (st.st_size > DUMP_MAX_BYTES)
		return err_set(e, EFBIG, "cannot read the profile of %d (%s)", t->pid, t->comm);
	if (st.st_size > 0)
		return 0;
	err_set_kind(e, ERR_FAILED, 0, "jemalloc wrote no profile in %d (%s)", t->pid, t->comm);
	return err_hint(e,
		"It was given a file by its descriptor, for which the proc file system must be mounted where the process runs");
}

int
jemalloc_prof_dump(const struct jemalloc *j, struct inject_target *callee,
	const struct inject_options *opt, int *ret_fd, struct inject_report *report, struct err *e)
{
	static const struct arenas none;
	struct dump dump = { .fd = -1 };
	struct library_call call = { .name = "prof.dump",
		.fn = j->mallctl,
		.block = &dump,
		.block_bytes = sizeof dump,
		.file_name = "memdiag-profile",
		.fd_there = &dump.fd,
		.ret_fd = ret_fd,
		.prepare = lay_dump,
		.may_be_borrowed = true };

	if (load_refuse_filters(callee->target, e) < 0 ||
		load_call(callee, &none, opt, &call, report, e) < 0)
		return -1;
	if (check_dump(callee->target, *ret_fd, e) == 0)
		return 0;
	close(*ret_fd);
	*ret_fd = -1;
	return -1;
}

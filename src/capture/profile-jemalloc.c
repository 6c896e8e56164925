/* 'memdiag profile' of a process whose malloc is jemalloc's, by jemalloc's own profiler. */
#include <config.h>

#include "capture/profile-jemalloc.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "capture/profile-file.h"
#include "capture/wait.h"
#include "jemalloc/jemalloc.h"
#include "jemalloc/prof.h"
#include "os/claim.h"
#include "os/os.h"
#include "os/target.h"
#include "ui/claim.h"
#include "ui/deadline.h"
#include "ui/output.h"
#include "ui/progress.h"
#include "ui/ui.h"

static int
profile_jemalloc_check_options(
	const struct capture_options *opt, uint64_t *ret_lg_period, struct err *e)
{
	*ret_lg_period = JEMALLOC_UNKNOWN;
	if (opt->symbols_inside)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"--symbols-inside: the file is jemalloc's own, which has no names");
	if (opt->at_exit || opt->triggers.is_any) {
		err_set_kind(e, ERR_UNSUPPORTED, 0,
			"jemalloc writes files by itself while the program runs, and at its end");
		return err_hint(e,
			"Start it with MALLOC_CONF=prof:true,lg_prof_interval:30 or prof_gdump:true or prof_final:true");
	}
	if (opt->at_exit || opt->triggers.is_any)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"jemalloc writes files by itself, if the program was started so: MALLOC_CONF=prof:true with prof_final:true, prof_gdump:true or lg_prof_interval:N");
	return opt->has_period ? jemalloc_process_rate(opt->period_bytes, ret_lg_period, e) : 0;
}

static int
profile_jemalloc_copy(int from, FILE *to, struct err *e)
{
	char piece[16384];
	off_t at = 0;
	ssize_t n;

	/* The target shares the file position. */
	for (; (n = pread(from, piece, sizeof piece, at)) > 0; at += n)
		if (fwrite(piece, 1, (size_t)n, to) != (size_t)n)
			return err_set(e, errno, "cannot write the profile");
	return n < 0 ? err_set(e, errno, "cannot read the profile") : 0;
}

static int
profile_jemalloc_dump(struct jemalloc_process *p, const struct capture_options *opt,
	enum profile_kind kind, struct capture_result *ret, struct err *e)
{
	const struct profile_file file = {
		.prefix = opt->prefix, .pid = opt->ui.pid, .kind = kind
	};
	auto_profile_name struct profile_name name = { .path = "" };
	auto_output struct ui_output out = { 0 };
	struct ui_options to = opt->ui;
	auto_fd int fd = -1;

	if (jemalloc_prof_dump(&p->jemalloc, p->inject, &opt->inject, &fd, &ret->job.borrowed, e) <
		0)
		return -1;
	target_unclaim(p->process.target);
	if (profile_name_take(&name, &file, e) < 0)
		return -1;
	snprintf(ret->path, sizeof ret->path, "%s", name.path);
	to.output = ret->path;
	return ui_output_open(&out, &to, e) < 0 || profile_jemalloc_copy(fd, out.f, e) < 0
		? -1
		: ui_output_close(&out, e);
}

static int
do_it(struct jemalloc_process *p, const struct capture_options *opt, enum jemalloc_prof_verb verb,
	uint64_t lg_period, struct capture_result *ret, struct err *e)
{
	if (jemalloc_prof_do(&p->jemalloc, p->inject, &opt->inject, verb, lg_period, &ret->prof,
		    &ret->job.borrowed, e) < 0)
		return -1;
	ret->job.period_bytes = ret->prof.period_bytes;
	if (verb == JEMALLOC_PROF_START && lg_period != JEMALLOC_UNKNOWN && !ret->prof.is_active)
		ret->job.period_bytes = UINT64_C(1) << lg_period;
	return 0;
}

static int
profile_jemalloc_stop(struct jemalloc_process *p, const struct capture_options *opt,
	struct capture_result *ret, struct err *e)
{
	if (do_it(p, opt, JEMALLOC_PROF_STOP, JEMALLOC_UNKNOWN, ret, e) < 0)
		return -1;
	ret->job.was_so = !ret->prof.is_active;
	return ret->job.was_so ? 0 : profile_jemalloc_dump(p, opt, PROFILE_LAST, ret, e);
}

/* Stop, and write the profile.  It is only in the process, and lost if the process has ended. */
static int
stop_later(const struct target *t, const struct capture_options *opt, struct capture_result *ret,
	struct err *e)
{
	auto_jemalloc_process struct jemalloc_process now = { .inject = NULL };
	struct err why;

	if (ui_claim(t, &opt->ui, &why) == 0 &&
		jemalloc_process_open(&now, t, opt->malloc, &why) > 0 &&
		profile_jemalloc_stop(&now, opt, ret, &why) == 0) {
		if (!ret->job.was_so)
			return 0;
		/* Another process has stopped it meanwhile: its data is still there. */
		ret->job.was_so = false;
		return profile_jemalloc_dump(&now, opt, PROFILE_LAST, ret, e);
	}
	if (!target_is_alive(t) || why.kind == ERR_GONE)
		return err_set_kind(e, ERR_GONE, 0,
			"%d (%s), or the program in it, ended before its profile was written: what jemalloc had noted ended with it",
			(int)t->pid, t->comm);
	*e = why;
	return -1;
}

static int
profile_jemalloc_run_once(struct target *t, struct jemalloc_process *p,
	const struct capture_options *opt, uint64_t lg_period, struct capture_result *ret,
	struct err *e)
{
	auto_progress struct ui_progress *progress = NULL;

	capture_hold_signals();
	if (do_it(p, opt, JEMALLOC_PROF_START, lg_period, ret, e) < 0)
		return -1;
	ret->job.was_so = ret->prof.is_active;
	target_unclaim(t);
	if (ret->job.was_so)
		return 0;
	progress = ui_progress_begin(&opt->ui, "jemalloc takes samples");
	ret->wait = capture_wait(t, opt->seconds_ns);
	ui_progress_end(take_ptr(&progress));
	deadline_set(2 * opt->ui.timeout_ns + 1000000000);
	return stop_later(t, opt, ret, e);
}

int
profile_jemalloc(struct target *t, struct jemalloc_process *p, const struct capture_options *opt,
	struct capture_result *ret, struct err *e)
{
	uint64_t lg_period;

	ret->is_jemalloc = true;
	if (profile_jemalloc_check_options(opt, &lg_period, e) < 0 || ui_claim(t, &opt->ui, e) < 0)
		return -1;
	switch (opt->verb) {
	case CAPTURE_ONE_SHOT:
		return profile_jemalloc_run_once(t, p, opt, lg_period, ret, e);
	case CAPTURE_START:
		if (do_it(p, opt, JEMALLOC_PROF_START, lg_period, ret, e) < 0)
			return -1;
		ret->job.was_so = ret->prof.is_active;
		return 0;
	case CAPTURE_STOP:
		return profile_jemalloc_stop(p, opt, ret, e);
	case CAPTURE_DUMP:
		if (do_it(p, opt, JEMALLOC_PROF_CHECK, JEMALLOC_UNKNOWN, ret, e) < 0)
			return -1;
		return profile_jemalloc_dump(p, opt, PROFILE_BY_HAND, ret, e);
	case CAPTURE_STATUS:
		if (do_it(p, opt, JEMALLOC_PROF_READ, JEMALLOC_UNKNOWN, ret, e) < 0)
			return -1;
		ret->is_sampling = ret->prof.is_active;
		return 0;
	}
	return -1;
}

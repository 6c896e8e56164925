/* Check that the seccomp filters of a target allow what is done in it. */
#include <config.h>

#include "inject/load-filters.h"

#include "base/cleanup.h"
#include "inject/needs.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/seccomp.h"
#include "os/status.h"
#include "stop/stop.h"

#include <errno.h>

#define MAX_STOP_NS 200000000

/* ---- copying them ---- */

struct filters {
	const struct target *target;
	struct os_filters found;
};

/* Copy the filters of all threads, as a thread may have its own. */
static int
load_filters_copy(uint64_t deadline_ns, void *arg, struct err *e)
{
	struct filters *fs = arg;
	auto_free pid_t *tids = NULL;
	size_t nr = 0;

	if (os_threads(fs->target, SIZE_MAX, &tids, &nr, e) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		if (os_now_ns() > deadline_ns)
			return err_set(e, ETIMEDOUT,
				"there are too many threads to read the seccomp filters of");
		if (os_filters_add(&fs->found, fs->target, tids[i], e) < 0)
			return -1;
	}
	return 0;
}

/* Return 1 if a thread of T has a filter, 0 if not, -1 with E. */
static int
has_filters(const struct target *t, struct err *e)
{
	auto_free pid_t *tids = NULL;
	size_t nr = 0;

	if (os_threads(t, SIZE_MAX, &tids, &nr, e) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		struct os_status s;
		struct err gone;

		if (os_status(t, tids[i], &s, &gone) == 0 && s.seccomp)
			return 1;
	}
	return 0;
}

/* ---- judging them ---- */

static int
load_filters_judge(const struct filters *fs, struct err *e)
{
	const struct os_call *refused = needs_refused(NEEDS_LOAD | NEEDS_AGENT, "", &fs->found);
	const struct os_filter *harms = refused ? os_filters_harm(&fs->found, refused) : NULL;

	return !refused
		? 0
		: err_set_kind(e, ERR_UNSUPPORTED, 0,
			  "a seccomp filter of %d (%s), on thread %d, would end it for %s(), which a library that is loaded into it may call",
			  fs->target->pid, fs->target->comm, harms ? (int)harms->tid : 0,
			  refused->name);
}

int
load_refuse_filters(const struct target *t, struct err *e)
{
	struct filters fs = { .target = t };
	struct stop_report report;
	int failed = has_filters(t, e);

	if (failed <= 0)
		return failed;
	failed = stop_threads(t, MAX_STOP_NS, load_filters_copy, &fs, &report, e) < 0
		? -1
		: load_filters_judge(&fs, e);
	os_filters_release(&fs.found);
	return failed;
}

/*
 * freeze PID [HOLD_US [TIMES [MAX_MS]]]: stop all threads of PID for HOLD_US at a time, TIMES
 * times, or for ever if that is 0.  Says "still" the first time that they stand, then for each time
 * how many threads stood, and the longest stop of one of them in microseconds; exits as memdiag
 * does.  No test by itself: live tests call it.
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/target.h"
#include "stop/stop.h"
#include "ui/exit.h"

struct look {
	const struct target *target;
	uint64_t hold_ns;
	bool has_said;
};

/* Whether each thread of the target is stopped by a tracer, or has ended. */
static int
check_still(const struct target *t, struct err *e)
{
	auto_free pid_t *tids = NULL;
	size_t nr;

	if (os_threads(t, SIZE_MAX, &tids, &nr, e) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		struct os_status s;

		if (os_status(t, tids[i], &s, e) < 0)
			return -1;
		if (!strchr("tZX", s.state))
			return err_set_kind(e, ERR_FAILED, 0, "thread %d is not stopped: state %c",
				tids[i], s.state);
	}
	return 0;
}

static int
look(uint64_t deadline_ns, void *arg, struct err *e)
{
	struct look *l = arg;
	uint64_t end_ns = os_now_ns() + l->hold_ns;

	if (!l->has_said && check_still(l->target, e) < 0)
		return -1;
	if (!l->has_said) {
		puts("still");
		fflush(stdout);
		l->has_said = true;
	}
	while (os_now_ns() < end_ns && os_now_ns() < deadline_ns && !os_is_asked_to_end())
		os_sleep_ns(50000);
	return 0;
}

static uint64_t
number(int argc, char **argv, int at, uint64_t otherwise)
{
	return at < argc ? strtoull(argv[at], NULL, 0) : otherwise;
}

int
main(int argc, char **argv)
{
	uint64_t times = number(argc, argv, 3, 1), max_ns = number(argc, argv, 4, 200) * 1000000;
	auto_target struct target t = TARGET_NONE;
	struct look l = { &t, number(argc, argv, 2, 0) * 1000, false };
	struct err e = { 0 };

	if (argc < 2 || target_open(&t, (pid_t)number(argc, argv, 1, 0), &e) < 0)
		goto fail;
	for (uint64_t i = 0; !times || i < times; i++) {
		struct stop_report report;

		if (stop_threads(&t, max_ns, look, &l, &report, &e) < 0)
			goto fail;
		printf("%zu %" PRIu64 " %" PRIu64 "\n", report.nr_threads, report.longest_ns / 1000,
			report.still_ns / 1000);
	}
	return 0;
fail:
	fprintf(stderr, "freeze: %s\n", e.msg);
	return (int)ui_exit_of(&e);
}

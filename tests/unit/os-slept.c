/*
 * Whether a thread has slept until it was asked to stop, from files that are made up: what the
 * kernel shows of it after each thing that can have happened in between.
 */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "os/os.h"
#include "os/sched.h"
#include "tap.h"

#define TID 4711
#define MS UINT64_C(1000000)
#define SINCE_NS (1000 * MS) /* the beginning of the sleep, of our clock */
#define ASKED_NS (1500 * MS)

/* What /proc/TID/sched and /proc/TID/stat show. */
static struct shown {
	uint64_t at_ns, run_ns, nr_voluntary, nr_preempted;
	int cpu;
	bool is_gone;
} shown;

int __wrap_os_proc_read(
	const struct target *t, pid_t tid, const char *name, struct text *ret_text, struct err *e);
int __wrap_os_stat_field(const struct target *t, pid_t tid, int nr, uint64_t *ret, struct err *e);

int
__wrap_os_proc_read(
	const struct target *t, pid_t tid, const char *name, struct text *ret_text, struct err *e)
{
	(void)t;
	if (shown.is_gone || tid != TID || strcmp(name, "sched") != 0)
		return err_set(e, 0, "no such file");
	ret_text->len = (size_t)asprintf(&ret_text->v,
		"notices (4711, #threads: 1)\n"
		"se.exec_start                                :     %12" PRIu64 ".%06" PRIu64 "\n"
		"se.sum_exec_runtime                          :     %12" PRIu64 ".%06" PRIu64 "\n"
		"nr_switches                                  :     %12" PRIu64 "\n"
		"nr_voluntary_switches                        :     %12" PRIu64 "\n"
		"nr_involuntary_switches                      :     %12" PRIu64 "\n",
		shown.at_ns / MS, shown.at_ns % MS, shown.run_ns / MS, shown.run_ns % MS,
		shown.nr_voluntary + shown.nr_preempted, shown.nr_voluntary, shown.nr_preempted);
	return 0;
}

int
__wrap_os_stat_field(const struct target *t, pid_t tid, int nr, uint64_t *ret, struct err *e)
{
	(void)t;
	if (shown.is_gone || tid != TID || nr != 39)
		return err_set(e, 0, "no such field");
	*ret = (uint64_t)shown.cpu;
	return 0;
}

/* Its processor's clock shows 300 s where ours shows SINCE_NS. */
static const struct os_asleep asleep = { .since_ns = SINCE_NS,
	.nr_sleeps = 8,
	.nr_preempted = 3,
	.run_ns = 70 * MS,
	.at_ns = 300000 * MS,
	.cpu = 1 };

/* It was stopped WOKEN_MS after ASLEEP, after it had run for RAN_NS. */
static struct shown
stopped(uint64_t woken_ms, uint64_t ran_ns)
{
	return (struct shown){ .at_ns = asleep.at_ns + woken_ms * MS + ran_ns,
		.run_ns = asleep.run_ns + ran_ns,
		.nr_voluntary = asleep.nr_sleeps + 1,
		.nr_preempted = asleep.nr_preempted,
		.cpu = asleep.cpu };
}

static bool
has_slept(struct shown s, const struct os_asleep *a)
{
	static const struct target t = TARGET_NONE;

	shown = s;
	return os_thread_has_slept(&t, TID, a, ASKED_NS);
}

int
main(void)
{
	struct shown s = stopped(500, 20000);
	struct os_asleep unknown = asleep;

	ok(has_slept(s, &asleep), "it was woken up when it was asked to stop");
	ok(has_slept(stopped(500, 0), &asleep), "it had no time to run");
	ok(has_slept(stopped(900, 20000), &asleep), "it was woken up later");
	ok(!has_slept(stopped(499, 20000), &asleep), "it was woken up 1 ms before");
	/* its timeout ends, it takes a turn of its loop, and makes the same call again */
	ok(!has_slept(stopped(495, 5 * MS), &asleep), "it woke up before, and ran until then");
	ok(!has_slept(stopped(495, 50 * MS), &asleep), "it woke up before, and ran for long");

	s.nr_voluntary++;
	ok(!has_slept(s, &asleep), "it has slept twice");
	s.nr_voluntary -= 2;
	ok(!has_slept(s, &asleep), "it has not gone to sleep since: it is not stopped");
	s = stopped(500, 20000);
	s.nr_preempted++;
	ok(!has_slept(s, &asleep), "it was preempted: when it woke up is not known");
	s = stopped(500, 20000);
	s.cpu = 0;
	ok(!has_slept(s, &asleep), "it was moved to a processor with another clock");
	unknown.at_ns = 0;
	ok(!has_slept(stopped(500, 20000), &unknown), "the beginning of its sleep is not known");
	s = stopped(500, 20000);
	s.is_gone = true;
	ok(!has_slept(s, &asleep), "it has ended");
	return tap_end();
}

/*
 * The time at which a thread fell asleep.  The kernel stores when it last charged CPU time to a
 * thread (se.exec_start; kernel/sched/fair.c, update_curr()), which is when the thread went to
 * sleep.
 */
#include <config.h>

#include "os/sched.h"

#include "base/array.h"
#include "os/clock.h"
#include "os/core-proc-priv.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/status.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Maximum number of processors in the set of sched_setaffinity(). */
#define MAX_CPUS 8192
#define NR_SETS (MAX_CPUS / CPU_SETSIZE)

#define NR_SAMPLES 3

/* ---- /proc/TID/sched ---- */

struct charge {
	uint64_t at_ns; /* on the clock of the thread's processor */
	/* when its load was last updated, on about the same clock; 0: not shown */
	uint64_t load_at_ns;
	uint64_t nr_voluntary; /* switches so far */
	uint64_t nr_preempted; /* involuntary switches so far */
	uint64_t run_ns;       /* time on a processor so far */
};

/* Read the value of line KEY, which is "milliseconds.6 digits" or an integer, as one number. */
static int
field_of(const char *text, const char *key, uint64_t *ret)
{
	const char *line = strstr(text, key), *colon = line ? strchr(line, ':') : NULL;
	char *end;
	uint64_t whole;

	if (!colon)
		return -1;
	whole = strtoull(colon + 1, &end, 10);
	if (end == colon + 1)
		return -1;
	*ret = *end == '.' ? whole * 1000000 + strtoull(end + 1, NULL, 10) : whole;
	return 0;
}

static int
take_charge(const char *text, struct charge *ret, struct err *e)
{
	if (field_of(text, "se.exec_start", &ret->at_ns) < 0 ||
		field_of(text, "se.sum_exec_runtime", &ret->run_ns) < 0 ||
		field_of(text, "nr_involuntary_switches", &ret->nr_preempted) < 0 ||
		field_of(text, "nr_voluntary_switches", &ret->nr_voluntary) < 0)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"/proc/PID/sched does not show since when a thread sleeps");
	if (field_of(text, "se.avg.last_update_time", &ret->load_at_ns) < 0)
		ret->load_at_ns = 0;
	return 0;
}

static int
charge_of(const struct target *t, pid_t tid, struct charge *ret, struct err *e)
{
	auto_text struct text text = { 0 };

	if (os_proc_read(t, tid, "sched", &text, e) < 0)
		return -1;
	return take_charge(text.v, ret, e);
}

static int
charge_of_ours(struct charge *ret, struct err *e)
{
	char text[4096];
	FILE *f = fopen("/proc/thread-self/sched", "re");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return take_charge(text, ret, e);
}

/* Get the processor on which the thread ran last. */
static int
processor_of(const struct target *t, pid_t tid, int *ret, struct err *e)
{
	uint64_t cpu;

	if (os_stat_field(t, tid, 39, &cpu, e) < 0)
		return -1;
	*ret = (int)cpu;
	return 0;
}

/* ---- the clocks of processors ---- */

/*
 * Each processor has its own clock for this (rq_clock_task()), which stands still while the
 * processor serves interrupts, and in a guest while the host runs another guest: two such clocks
 * can be minutes apart.  So it is compared with our clock on that processor.  It falls behind: if
 * it is compared before a sleep began, the start seems too early; compared afterwards, too late,
 * which is the smaller error.
 */
struct cpu_clock {
	int cpu;
	uint64_t learnt_ns;
	uint64_t behind_ns; /* os_now_ns() less this clock, modulo 2^64 */
};

static struct {
	struct cpu_clock *v;
	size_t nr, room;
} clocks;

/*
 * A thread that wakes up is charged from then on, so its clock can be read right after.  The
 * smallest difference is the best: any delay between the two reads makes it larger.
 */
static int
sample_clock(uint64_t *ret, struct err *e)
{
	uint64_t best = 0;

	for (int i = 0; i < NR_SAMPLES; i++) {
		struct charge ours;
		uint64_t behind;

		os_sleep_ns(1);
		if (charge_of_ours(&ours, e) < 0)
			return -1;
		behind = os_now_ns() - ours.at_ns;
		if (!i || (int64_t)(behind - best) < 0)
			best = behind;
	}
	*ret = best;
	return 0;
}

static int
sample_clock_of(int cpu, uint64_t *ret, struct err *e)
{
	cpu_set_t before[NR_SETS], there[NR_SETS];
	int failed;

	memset(there, 0, sizeof there);
	CPU_SET_S((size_t)cpu, sizeof there, there);
	if (sched_getaffinity(0, sizeof before, before) < 0 ||
		sched_setaffinity(0, sizeof there, there) < 0)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"memdiag may not run on processor %d, so its clock cannot be read", cpu);
	failed = sample_clock(ret, e);
	sched_setaffinity(0, sizeof before, before);
	return failed;
}

static struct cpu_clock *
clock_entry(int cpu)
{
	struct cpu_clock *c;

	for (size_t i = 0; i < clocks.nr; i++)
		if (clocks.v[i].cpu == cpu)
			return &clocks.v[i];
	c = array_add(&clocks);
	if (c)
		*c = (struct cpu_clock){ .cpu = cpu };
	return c;
}

/* Convert AT_NS of CPU's clock to our clock. */
static int
by_our_clock(int cpu, uint64_t at_ns, uint64_t *ret_ns, struct err *e)
{
	struct cpu_clock *c = cpu >= 0 && cpu < MAX_CPUS ? clock_entry(cpu) : NULL;
	uint64_t now_ns;

	if (!c)
		return err_set(e, 0, "no memory for the clock of processor %d", cpu);
	if (!c->learnt_ns || at_ns + c->behind_ns >= c->learnt_ns) {
		now_ns = os_now_ns();
		if (sample_clock_of(cpu, &c->behind_ns, e) < 0)
			return -1;
		c->learnt_ns = now_ns;
	}
	*ret_ns = at_ns + c->behind_ns;
	return 0;
}

/* ---- asleep ---- */

/*
 * Both times are stored when a thread goes to sleep.  But a sleeping thread may still be moved to
 * another processor (since 6.12, sched_delayed), and at_ns keeps the time of the old one.
 */
#define SAME_CLOCK_NS 2000000
/*
 * Maximum number of processors whose clocks are read, if the thread may have slept on any of them.
 */
#define MAX_ASKED 64

static bool
was_moved(const struct charge *c)
{
	const int64_t apart_ns = (int64_t)(c->at_ns - c->load_at_ns);

	return apart_ns > SAME_CLOCK_NS || apart_ns < -SAME_CLOCK_NS;
}

/* Return the latest time that AT_NS can mean, over the clocks of all processors. */
static int
by_latest_clock(uint64_t at_ns, uint64_t *ret_ns, struct err *e)
{
	const long nr = sysconf(_SC_NPROCESSORS_CONF);
	const uint64_t now_ns = os_now_ns();
	uint64_t ns, latest_ns = 0;

	for (int cpu = 0; cpu < nr && cpu < MAX_ASKED; cpu++)
		if (by_our_clock(cpu, at_ns, &ns, e) == 0 && ns < now_ns && ns > latest_ns)
			latest_ns = ns;
	if (!latest_ns || nr > MAX_ASKED)
		return err_set_kind(
			e, ERR_UNSUPPORTED, 0, "a thread was moved among %ld processors", nr);
	*ret_ns = latest_ns;
	return 0;
}

int
os_thread_asleep(const struct target *t, pid_t tid, struct os_asleep *ret, struct err *e)
{
	struct charge charge;
	uint64_t since_ns = 0, now_ns;
	int cpu = -1;

	if (t->core)
		return core_refuse(t, "ask since when a thread sleeps", e);
	/*
	 * If the thread wakes up and moves after the first read, the number of its sleeps shows
	 * that later.
	 */
	if (charge_of(t, tid, &charge, e) < 0 || processor_of(t, tid, &cpu, e) < 0 ||
		(was_moved(&charge) ? by_latest_clock(charge.at_ns, &since_ns, e)
				    : by_our_clock(cpu, charge.at_ns, &since_ns, e)) < 0)
		return -1;
	now_ns = os_now_ns();
	if ((int64_t)(now_ns - since_ns) < 0) /* within the error of the clock */
		since_ns = now_ns;
	*ret = (struct os_asleep){ .since_ns = since_ns,
		.nr_sleeps = charge.nr_voluntary,
		.nr_preempted = charge.nr_preempted,
		.run_ns = charge.run_ns,
		.at_ns = was_moved(&charge) ? 0 : charge.at_ns,
		.cpu = cpu };
	return 0;
}

/*
 * The clock of the processor stands still during interrupts, so the computed wakeup may be too
 * early, never too late.  If the thread was preempted or moved, its wakeup time is unknown.
 */
bool
os_thread_has_slept(const struct target *t, pid_t tid, const struct os_asleep *a, uint64_t until_ns)
{
	struct charge now;
	uint64_t woken_ns;
	struct err e;
	int cpu;

	if (charge_of(t, tid, &now, &e) < 0 || processor_of(t, tid, &cpu, &e) < 0)
		return false;
	woken_ns = a->since_ns + (now.at_ns - a->at_ns) - (now.run_ns - a->run_ns);
	return a->at_ns && cpu == a->cpu && now.nr_voluntary == a->nr_sleeps + 1 &&
		now.nr_preempted == a->nr_preempted && woken_ns >= until_ns;
}

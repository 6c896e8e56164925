/*
 * Registers are set only in the stop in which they were read; and the numbers of stops, against a
 * plain list.
 */
#include <config.h>

#include <stdlib.h>

#include "child.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/stops-priv.h"
#include "os/stops.h"
#include "stop/registers.h"

/* ---- one thread ---- */

static const struct target *t;
static struct err err;

static bool
stop_it(void)
{
	struct os_stop stop = { .kind = OS_STOP_TIMEOUT };

	return os_interrupt(t->pid, &err) == 0 &&
		os_wait(t->pid, os_now_ns() + UINT64_C(300000000000), &stop, &err) == 0 &&
		stop.kind == OS_STOP_EVENT;
}

static void
test_stops(void *arg)
{
	struct arch_thread saved = { 0 };
	struct arch_regs now;
	struct err e = { 0 };
	uint64_t first;

	(void)arg;
	is_u64(os_stop_nr(t->pid), 0, "a thread that is not traced stands in no stop");
	ok(os_seize(t, t->pid, &err) == 0 && stop_it() && arch_save(t->pid, &saved, &err) == 0,
		"a thread is stopped and its registers are read %s", err.msg);
	first = saved.regs.stop_nr;
	ok(first && first == os_stop_nr(t->pid), "they carry the number of that stop");
	ok(registers_set(t->pid, &saved.regs, &e) == 0 &&
			registers_set_ext(t->pid, &saved, &e) == 0 &&
			registers_set_mask(t->pid, &saved, saved.sigmask, &e) == 0,
		"all are set in the same stop %s", e.msg);

	os_resume(t->pid, OS_RESUME_FREE, 0, &err);
	is_u64(os_stop_nr(t->pid), 0, "a thread that runs stands in no stop");
	ok(registers_set(t->pid, &saved.regs, &e) < 0, "nothing is set while it runs");
	ok(stop_it() && os_stop_nr(t->pid) && os_stop_nr(t->pid) != first,
		"a later stop has another number %s", err.msg);
	ok(registers_set(t->pid, &saved.regs, &e) < 0, "registers of an earlier stop are refused");
	ok(registers_set_ext(t->pid, &saved, &e) < 0, "a state of an earlier stop is refused");
	ok(registers_set_mask(t->pid, &saved, ~UINT64_C(0), &e) < 0,
		"a mask of an earlier stop is refused");
	ok(arch_get_regs(t->pid, &now, &e) == 0 && registers_set(t->pid, &now, &e) == 0,
		"those of this stop are set %s", e.msg);
	registers_carry(t->pid, &saved.regs);
	ok(registers_set_mask(t->pid, &saved, saved.sigmask, &e) == 0,
		"those that were carried into this stop are set %s", e.msg);
	os_detach(t->pid, 0, &err);
	ok(registers_set(t->pid, &saved.regs, &e) < 0, "nothing is set once it was let go");
}

static void
be_child(void *arg)
{
	(void)arg;
	child_ready();
}

/* ---- many ---- */

#define NR_TIDS 3000
#define NR_ROUNDS 30000

/* Begin and end stops of random threads; the list has each one's number. */
static void
test_numbers(unsigned int seed)
{
	static uint64_t number[NR_TIDS];
	uint64_t last = 0;
	size_t nr_wrong = 0;

	srand(seed);
	memset(number, 0, sizeof number);
	for (size_t i = 0; i < NR_ROUNDS; i++) {
		const pid_t tid = 1 + rand() % NR_TIDS;

		if (rand() % 3) {
			os_stops_begin(tid);
			number[tid - 1] = os_stop_nr(tid);
			nr_wrong += number[tid - 1] <= last;
			last = number[tid - 1];
		} else {
			os_stops_end(tid);
			number[tid - 1] = 0;
		}
	}
	for (pid_t tid = 1; tid <= NR_TIDS; tid++)
		nr_wrong += os_stop_nr(tid) != number[tid - 1];
	ok(!nr_wrong, "seed %u: each of %d threads has the number of its last stop", seed, NR_TIDS);
	os_stops_forget();
	nr_wrong = 0;
	for (pid_t tid = 1; tid <= NR_TIDS; tid++)
		nr_wrong += os_stop_nr(tid) != 0;
	ok(!nr_wrong, "seed %u: all are forgotten", seed);
}

int
main(void)
{
	struct child c;
	struct view v;

	for (unsigned int seed = 1; seed <= 4; seed++)
		test_numbers(seed);
	if (skip_if_sanitized("stops a child"))
		return tap_end();
	c = child_start(be_child, NULL);
	if (!ok(c.is_ready, "a child is ready") || !view_take(&v, c.pid))
		return tap_end();
	t = &v.t;
	ok(os_trace(test_stops, NULL, &err) == 0, "it is traced %s", err.msg);
	ok(child_end(&c), "the child lives on");
	view_release(&v);
	return tap_end();
}

#include <config.h>

#include "inject/sleep.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject/needs.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/seccomp.h"

/*
 * Length of the sleep if no memdiag stops it: a helper delays no thread, and a memdiag without a
 * processor is late.  A borrowed thread has work to do.
 */
#define HELPER_SLEEP_MS 2000
#define BORROWED_SLEEP_MS 500

static uint64_t
length_ms(const struct worker *c)
{
	return c->is_helper ? HELPER_SLEEP_MS : BORROWED_SLEEP_MS;
}

/* Placeholders for arguments of a sleep that vary: the address of its length, its parts. */
enum { AT = -1, LENGTH_S = -2, LENGTH_MS = -3 };

/*
 * System calls that do nothing but sleep: a filter may allow only those of them that the program
 * makes.  FUTEX_WAIT waits for a change of the first word of its own timeout.  The length of poll()
 * is in a register, and cannot be changed once it is laid.
 */
static const struct sleep_kind {
	long nr;
	int64_t arg[5];
	size_t nr_args;
} kinds[] = {
	{ SYS_futex, { AT, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, LENGTH_S, AT }, 4 },
	{ SYS_ppoll, { 0, 0, AT, 0, 8 }, 5 },
	{ SYS_nanosleep, { AT, 0 }, 2 },
	{ SYS_clock_nanosleep, { CLOCK_MONOTONIC, 0, AT, 0 }, 4 },
#ifdef SYS_poll
	{ SYS_poll, { 0, 0, LENGTH_MS }, 3 },
#endif
};

#define NR_KINDS (sizeof kinds / sizeof *kinds)

/*
 * Return the I-th sleep to try.  A program with several threads may install a filter on all of them
 * (SECCOMP_FILTER_FLAG_TSYNC) during the call before the sleep: so futex() comes first, which no
 * such program can do without.  In a program with one thread it comes last.
 */
static const struct sleep_kind *
nth_kind(const struct worker *c, size_t i)
{
	const bool has_threads = c->is_helper || c->callee->needs & NEEDS_LOCKS;

	return &kinds[(i + !has_threads) % NR_KINDS];
}

static uint64_t
argument(int64_t arg, const struct sleep *s, const struct worker *c)
{
	switch (arg) {
	case AT:
		return s->at.v;
	case LENGTH_S:
		return length_ms(c) / 1000;
	case LENGTH_MS:
		return length_ms(c);
	default:
		return (uint64_t)arg;
	}
}

static void
inject_sleep_choose(struct sleep *ret, const struct worker *c, const struct sleep_kind *k)
{
	ret->nr = k->nr;
	ret->fn = c->callee->fn.syscall;
	ret->arg[0] = (uint64_t)k->nr;
	ret->nr_args = k->nr_args + 1;
	for (size_t i = 0; i < k->nr_args; i++)
		ret->arg[i + 1] = argument(k->arg[i], ret, c);
}

bool
sleep_choose(struct sleep *ret, const struct worker *c, raddr at)
{
	auto_filters struct os_filters filters = { 0 };
	struct err e;

	*ret = (struct sleep){ .at = at };
	if (!c->callee->fn.syscall.v || os_filters_add(&filters, c->callee->target, c->tid, &e) < 0)
		return false;
	for (size_t i = 0; i < NR_KINDS; i++) {
		const struct sleep_kind *k = nth_kind(c, i);
		struct os_call call = { .nr = k->nr };

		inject_sleep_choose(ret, c, k);
		memcpy(call.arg, ret->arg + 1, k->nr_args * sizeof *call.arg);
		if (os_filters_allow(&filters, &call))
			return true;
	}
	*ret = (struct sleep){ .at = { 0 } };
	return false;
}

/*
 * Write the length, also for a second sleep: the kernel may have stored the remaining time there.
 */
static int
write_length(const struct sleep *s, struct worker *c, uint64_t ms, struct err *e)
{
	const struct timespec length = { (time_t)(ms / 1000), (long)(ms % 1000 * 1000000) };

	return worker_write(c, s->at, &length, sizeof length, e);
}

int
sleep_lay(const struct sleep *s, struct worker *c, struct err *e)
{
	return write_length(s, c, length_ms(c), e) < 0
		? -1
		: worker_undo(c, s->fn, s->arg, s->nr_args, e);
}

/*
 * A stop of the whole process interrupts the sleep, and some sleeps are continued as
 * restart_syscall(), with their arguments.
 */
bool
sleep_is_under_way(const struct sleep *s, const struct worker *c)
{
	struct os_syscall now;
	struct err e;

	return os_thread_syscall(c->callee->target, c->tid, &now, &e) == 0 && !now.is_running &&
		(now.nr == s->nr || now.nr == SYS_restart_syscall) &&
		memcmp(now.arg, s->arg + 1, (s->nr_args - 1) * sizeof *now.arg) == 0 &&
		raddr_in(now.sp, c->ground.start, c->ground.end) && worker_has_workspace(c);
}

int
sleep_again(const struct sleep *s, struct worker *c, int sig, struct err *e)
{
	return write_length(s, c, length_ms(c), e) < 0
		? -1
		: worker_relaunch(c, s->fn, s->arg, s->nr_args, sig, e);
}

void
sleep_forgo(const struct sleep *s, struct worker *c)
{
	struct err e;

	if ((c->stop == OS_STOP_TIMEOUT && worker_stop(c, &e) < 0) ||
		worker_prove_in_call(c, &e) < 0)
		return;
	if (sleep_is_under_way(s, c))
		worker_turn_back(c, &e);
	else
		write_length(s, c, 0, &e);
}

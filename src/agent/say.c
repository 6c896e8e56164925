#include <config.h>

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"
#include "agent/sys.h"

#define ROOM 512

struct line {
	char text[ROOM];
	size_t len;
};

static void
add(struct line *l, char c)
{
	if (l->len < ROOM - 1)
		l->text[l->len++] = c;
}

static void
add_number(struct line *l, uint64_t n)
{
	char digits[20];
	size_t nr = 0;

	do
		digits[nr++] = (char)('0' + n % 10);
	while (n /= 10);
	while (nr)
		add(l, digits[--nr]);
}

#define BIT(sig) (UINT64_C(1) << ((sig) - 1))
/* What a write may bring: nobody reads; the file is as large as may be; the terminal is others'. */
#define OF_WRITING (BIT(SIGPIPE) | BIT(SIGXFSZ) | BIT(SIGTTOU))

/*
 * A reader that is slow has a second.  One that does not read at all would keep the program waiting
 * for ever, where without us it would go on, or at its limit, end.
 */
static bool
is_read(void)
{
	struct pollfd p = { .fd = 2, .events = POLLOUT };
	struct timespec patience = { .tv_sec = 1 };
	const uint64_t all = UINT64_MAX;

	return sys_call(SYS_ppoll, &p, 1, &patience, &all, sizeof all) != 0;
}

/*
 * In one call, so that lines of several processes do not mix.  A line that cannot be written is lost;
 * the signal that tells so would end the program, and is taken away.  One that was there before is
 * not ours.
 */
static void
end(struct line *l)
{
	const struct timespec at_once = { 0 };
	const uint64_t blocked = OF_WRITING;
	uint64_t was = 0, before = 0, ours;

	l->text[l->len++] = '\n';
	sys_call(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, &was, sizeof was);
	sys_call(SYS_rt_sigpending, &before, sizeof before);
	ours = OF_WRITING & ~before;
	if (is_read() && sys_failed(sys_call(SYS_write, 2, l->text, l->len)))
		sys_call(SYS_rt_sigtimedwait, &ours, NULL, &at_once, sizeof ours);
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &was, NULL, sizeof was);
}

void
say(const char *fmt, const uint64_t *numbers)
{
	struct line l = { .len = 0 };

	for (; *fmt; fmt++) {
		if (fmt[0] == '%' && fmt[1] == 'u') {
			add_number(&l, *numbers++);
			fmt++;
		} else {
			add(&l, *fmt);
		}
	}
	end(&l);
}

void
say_string(const char *before, const char *string)
{
	struct line l = { .len = 0 };

	for (; *before; before++)
		add(&l, *before);
	for (; *string; string++)
		add(&l, (unsigned char)*string < ' ' || *string == 0x7f ? '?' : *string);
	end(&l);
}

/* ---- the line that comes again and again ---- */

static void
say_counted(void)
{
	struct wire_totals sum;

	wire_add_up(segment, segment->nr_threads, &sum);
	if (settings.is_memtracer)
		SAY("[MEMTRACER] allocated memory: %u, metadata memory: %u",
			sum.live_bytes + (uint64_t)segment->base_bytes,
			sum.nr_live * sizeof(uint64_t));
	else
		SAY("memdiag: %u has %u bytes, of them %u mapped, in %u blocks; peak %u",
			segment->pid, sum.live_bytes, sum.mapped_bytes, sum.nr_live, sum.peak_bytes);
}

static uint64_t
now_ms(void)
{
	struct timespec t = { 0 };

	sys_call(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/*
 * False while the first thread has a list of robust mutexes, which libc gives it (2.36, __tls_init_tp)
 * and the kernel takes away when it ends (futex_cleanup in kernel/futex/core.c).  That can be asked
 * without a descriptor: the program might not find one where it was to be, as after close(0).
 */
static bool
may_have_ended(void)
{
	void *list = NULL;
	size_t size;

	return sys_failed(sys_call(SYS_get_robust_list, sys_call(SYS_getpid, 0), &list, &size)) ||
		!list;
}

/*
 * Whether all of the program's threads have ended.  Without ours the last one would have ended the
 * process (start_thread in nptl/pthread_create.c).
 */
static bool
is_left_alone(void)
{
	char state[2], nr_threads[8];

	if (!may_have_ended())
		return false;
	status_value("State", state, sizeof state);
	if (*state != 'Z')	/* the first thread */
		return false;
	status_value("Threads", nr_threads, sizeof nr_threads);
	return strcmp(nr_threads, "2") == 0;
}

/* As MemTracer, looks at the clock ten times a second. */
static void *
print_for_ever(void *arg)
{
	const struct timespec tenth = { .tv_nsec = 100000000 };
	uint64_t last = now_ms(), now;

	for (;;) {
		sys_call(SYS_nanosleep, &tenth, NULL);
		if (is_left_alone())
			exit(0);
		now = now_ms();
		if (now - last >= settings.interval_ms) {
			last = now;
			say_counted();
		}
	}
	return arg;
}

void
say_periodically(void)
{
	const uint64_t all = UINT64_MAX;
	uint64_t was = 0;
	unsigned long thread[1];

	say_counted();
	/* Before 2.34 it is in another library, which a program of one thread does not have. */
	if (!real.pthread_create)
		return;
	/* The program's signals are for its own threads. */
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &was, sizeof all);
	real.pthread_create(thread, NULL, print_for_ever, NULL);
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &was, NULL, sizeof was);
}

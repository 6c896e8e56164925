/*
 * Timeouts of calls that a stop interrupts.  Many calls take a timeout relative to their start, and
 * a repeated call would start it again.  So the rest is written into the call:
 *
 *	in a register		poll, epoll_wait
 *	in memdiag's memory	nanosleep, sigtimedwait ...: the caller's own timeout may be a
 *				constant
 *	by the kernel		select, ppoll: it updates the caller's timeout whenever such a call
 *				ends
 *
 * The timeout of a socket (SO_RCVTIMEO) is not an argument of the call, so it starts again.  For
 * recv(), however, the time when the call must end is kept in memdiag's memory, and memdiag ends
 * the call when it stops the thread after that time.
 *
 * The start of the call is read before the stop (os_thread_asleep()).
 */
#include <config.h>

#include "stop/timeout.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/debug.h"
#include "os/clock.h"
#include "os/descriptors.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/part.h"
#include "os/ptrace.h"
#include "os/status.h"

#define SECOND_NS UINT64_C(1000000000)
/*
 * A thread that has waited for its timeout plus this does something else: the clock must be wrong.
 */
#define IMPLAUSIBLE_NS UINT64_C(1000000000)
/* The rest is rounded up to milliseconds, and read with a delay of some microseconds. */
#define ROUNDED_NS UINT64_C(3000000)

/* ---- calls with a timeout ---- */

#define NO_ARG (-1)

/*
 * The argument with the timeout, its form, and the argument that receives the rest from the kernel.
 */
static const struct timed_call {
	long nr;
	int arg;
	enum timeout_form form;
	int rest_arg;
} timed_call[] = {
#ifdef SYS_poll /* missing on newer architectures */
	{ SYS_poll, 2, TIMEOUT_MS, NO_ARG },
	{ SYS_epoll_wait, 3, TIMEOUT_MS, NO_ARG },
	{ SYS_select, 4, TIMEOUT_TIMEVAL, 4 },
#endif
	{ SYS_epoll_pwait, 3, TIMEOUT_MS, NO_ARG },
	{ SYS_ppoll, 2, TIMEOUT_TIMESPEC, 2 },
	{ SYS_pselect6, 4, TIMEOUT_TIMESPEC, 4 },
	{ SYS_nanosleep, 0, TIMEOUT_TIMESPEC, 1 },
	{ SYS_clock_nanosleep, 2, TIMEOUT_TIMESPEC, 3 },
	{ SYS_futex, 3, TIMEOUT_TIMESPEC, NO_ARG },
	{ SYS_rt_sigtimedwait, 2, TIMEOUT_TIMESPEC, NO_ARG },
	{ SYS_semtimedop, 3, TIMEOUT_TIMESPEC, NO_ARG },
	{ SYS_io_getevents, 4, TIMEOUT_TIMESPEC, NO_ARG },
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, 3, TIMEOUT_TIMESPEC, NO_ARG },
#endif
};

static const struct timed_call *
call_of(long nr)
{
	for (size_t i = 0; i < sizeof timed_call / sizeof *timed_call; i++)
		if (timed_call[i].nr == nr)
			return &timed_call[i];
	return NULL;
}

/* True if the kernel updates the caller's timeout itself (fs/select.c, poll_select_finish()). */
static bool
is_updated(const struct timed_call *c)
{
	return c->rest_arg == c->arg;
}

/* True for an absolute time, which stays right when the call is repeated. */
static bool
is_absolute(const struct os_syscall *s)
{
	if (s->nr == SYS_clock_nanosleep)
		return s->arg[1] & TIMER_ABSTIME;
	return s->nr == SYS_futex && ((int)s->arg[1] & FUTEX_CMD_MASK) != FUTEX_WAIT;
}

bool
timeout_is_finite(const struct os_syscall *s)
{
	const struct timed_call *c = call_of(s->nr);

	if (!c || is_absolute(s))
		/* usually; its original value is not visible */
		return s->nr == SYS_restart_syscall;
	return c->form == TIMEOUT_MS ? (int32_t)s->arg[c->arg] >= 0 : s->arg[c->arg] != 0;
}

/* True for clocks that stop while the thread sleeps, or while the process does (CPU time). */
static bool
has_other_clock(const struct os_syscall *s)
{
	return s->nr == SYS_clock_nanosleep && (int)s->arg[0] != CLOCK_REALTIME &&
		(int)s->arg[0] != CLOCK_MONOTONIC && (int)s->arg[0] != CLOCK_BOOTTIME;
}

/*
 * Read a time.  Do not wait for a missing page, of a constant in a file, as other threads may be
 * stopped.  The kernel has read it, so it is missing only if memory is short.
 */
static int
timeout_read_time(const struct target *t, raddr at, enum timeout_form form, uint64_t *ret_ns)
{
	int64_t part[2]; /* struct timespec, struct timeval */
	struct err e;

	if (os_read_present(t, at, part, sizeof part, &e) < 0 || part[0] < 0 || part[1] < 0)
		return -1;
	*ret_ns = (uint64_t)part[0] * SECOND_NS +
		(uint64_t)part[1] * (form == TIMEOUT_TIMEVAL ? 1000 : 1);
	return 0;
}

static int
read_timeout(const struct target *t, const struct os_syscall *s, uint64_t *ret_ns)
{
	const struct timed_call *c = call_of(s->nr);

	if (c->form != TIMEOUT_MS)
		return timeout_read_time(t, (raddr){ s->arg[c->arg] }, c->form, ret_ns);
	*ret_ns = (uint64_t)(uint32_t)s->arg[c->arg] * 1000000;
	return 0;
}

/* ---- before the stop ---- */

/*
 * True for a poll() without a timeout that was stopped before, by any tracer: the kernel continues
 * it as restart_syscall, with the first arguments still in the registers. poll() is one of several
 * such calls; without a timeout it can be made again.
 */
static bool
is_endless_poll(const struct target *t, pid_t tid, const struct os_syscall *s)
{
	auto_text struct text where = { 0 };
	struct err e;

	return (int32_t)s->arg[2] < 0 && os_proc_read(t, tid, "wchan", &where, &e) == 0 &&
		strstr(where.v, "poll");
}

/*
 * Return the socket option that is the timeout of call NR; with such a timeout, any stop makes the
 * call fail with EINTR (net/core/sock.h, sock_intr_errno()). 0: no option.
 */
static int
option_of(long nr)
{
	static const long receives[] = { SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg,
		SYS_recvmmsg, SYS_accept, SYS_accept4 };
	static const long sends[] = { SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg,
		SYS_sendmmsg };

	for (size_t i = 0; i < sizeof receives / sizeof *receives; i++)
		if (receives[i] == nr)
			return SO_RCVTIMEO;
	for (size_t i = 0; i < sizeof sends / sizeof *sends; i++)
		if (sends[i] == nr)
			return SO_SNDTIMEO;
	return 0;
}

/*
 * Return a copy of the socket with descriptor NR, or -1.  Another thread may have replaced it by
 * any file, which then has no socket options.
 */
static int
copy_socket(const struct target *t, int nr)
{
	char name[32], link[64];
	struct err e;

	snprintf(name, sizeof name, "fd/%d", nr);
	if (os_proc_link(t, name, link, sizeof link, &e) < 0 || strncmp(link, "socket:", 7) != 0)
		return -1;
	return os_copy_fd(t, 0, nr, &e);
}

/* Return the timeout of the socket that S waits on, 0 if unset or unknown. */
static uint64_t
socket_timeout(const struct target *t, const struct os_syscall *s)
{
	const int option = option_of(s->nr);
	auto_fd int fd = option ? copy_socket(t, (int)s->arg[0]) : -1;
	struct timeval limit = { 0 };
	socklen_t size = sizeof limit;

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, option, &limit, &size) < 0)
		return 0;
	return (uint64_t)limit.tv_sec * SECOND_NS + (uint64_t)limit.tv_usec * 1000;
}

/* True if a receive from the socket with descriptor NR would wait; false if unknown. */
static bool
is_empty(const struct target *t, int nr)
{
	auto_fd int fd = copy_socket(t, nr);
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLRDHUP };

	return fd >= 0 && poll(&p, 1, 0) == 0;
}

void
timeout_look(struct timeout *w, const struct target *t, pid_t tid)
{
	const struct os_syscall *s = &w->seen;
	struct os_asleep asleep;
	struct err e;

	*w = (struct timeout){ .seen.is_running = true };
	if (os_thread_syscall(t, tid, &w->seen, &e) < 0 || s->is_running)
		return;
	if (s->nr == SYS_restart_syscall) {
		w->is_endless_poll = is_endless_poll(t, tid, s);
		w->is_lost = !w->is_endless_poll;
		return;
	}
	w->is_of_socket = socket_timeout(t, s) != 0;
	if (!w->is_of_socket && !timeout_is_finite(s))
		return;
	if (os_thread_asleep(t, tid, &asleep, &e) < 0 ||
		(!w->is_of_socket && read_timeout(t, s, &w->whole_ns) < 0)) {
		w->is_lost = true;
		return;
	}
	w->asleep = asleep;
}

/* ---- after the stop ---- */

/*
 * True if the thread has been in the same call since before timeout_look(): it slept in it until it
 * was asked to stop.  False if unknown: each turn of an event loop makes the same call.
 */
static bool
is_same_call(
	const struct timeout *w, const struct target *t, pid_t tid, const struct os_syscall *now)
{
	return w->asleep.since_ns && w->seen.nr == now->nr && w->seen.sp.v == now->sp.v &&
		memcmp(w->seen.arg, now->arg, sizeof now->arg) == 0 &&
		os_thread_has_slept(t, tid, &w->asleep, w->asked_ns);
}

/* Return the address of memory for a rest that fits into no argument: {0} if not available. */
static raddr
timeout_place_of(const struct target *t, pid_t tid, const struct arch_regs *r)
{
	const raddr tp = arch_thread_pointer(r);
	uint64_t block[ARCH_BLOCK_WORDS];
	struct err e;
	raddr head;

	if (!arch_spare.bytes)
		return (raddr){ (arch_sp(r).v - arch_red_zone_bytes - sizeof(struct timespec)) &
			~UINT64_C(15) };
	if (os_robust_list(t, tid, &head) < 0 || head.v != tp.v + arch_spare.head ||
		os_read(t, tp, block, sizeof block, &e) < 0 || !arch_is_control_block(block, tp))
		return (raddr){ 0 };
	return raddr_add(tp, arch_spare.timeout);
}

/*
 * The record of a repeated call: the time when it must end, and the number of times the thread had
 * slept by then.  If it has slept once more, it is still in that call; or in the next one, if the
 * repeated call did not sleep.  So the timeout must match what was written, too: the same address,
 * or a number of milliseconds that differs from the caller's own.
 */
struct timeout_record {
	uint64_t deadline_ns, nr_sleeps;
};

struct spare {
	int64_t time[2]; /* struct timespec; or milliseconds and the stack pointer */
	struct timeout_record record;
};

_Static_assert(sizeof(struct spare) == ARCH_SPARE_TIMEOUT_BYTES, "it has the place that there is");

static int
write_spare(const struct timeout *w, const struct target *t, raddr to, const void *from,
	size_t size, struct err *e)
{
	const struct os_part spare = { "the unused words of a control block", w->spare,
		sizeof(struct spare) };

	return os_part_write(t, &spare, to, from, size, e);
}

static raddr
timeout_record_of(const struct timeout *w)
{
	return raddr_add(w->spare, offsetof(struct spare, record));
}

static bool
timeout_is_ours(const struct timeout *w, const struct os_syscall *s, const struct spare *spare)
{
	const struct timed_call *c = call_of(s->nr);

	if (c->form != TIMEOUT_MS)
		return s->arg[c->arg] == w->spare.v;
	return spare->time[0] == (int64_t)s->arg[c->arg] && (uint64_t)spare->time[1] == s->sp.v;
}

/*
 * Return the recorded end of a repeated call.  This is better than adding up, as the clocks of
 * processors stop while the host of a virtual machine runs something else.
 */
static bool
is_recorded(const struct timeout *w, const struct target *t, const struct os_syscall *s,
	uint64_t whole_ns, uint64_t *ret_ns)
{
	const uint64_t about_ns = w->asleep.since_ns + whole_ns;
	struct spare spare;
	struct err e;

	if (!arch_spare.bytes || !w->spare.v ||
		os_read(t, w->spare, &spare, sizeof spare, &e) < 0 ||
		!timeout_is_ours(w, s, &spare) ||
		spare.record.nr_sleeps + 1 != w->asleep.nr_sleeps ||
		spare.record.deadline_ns > about_ns + ROUNDED_NS ||
		spare.record.deadline_ns + IMPLAUSIBLE_NS < about_ns)
		return false;
	*ret_ns = spare.record.deadline_ns;
	return true;
}

void
timeout_record(const struct timeout *w, const struct target *t, pid_t tid)
{
	struct timeout_record r = { .deadline_ns = w->deadline_ns };
	struct os_status s;
	struct err e;

	if ((w->kind != TIMEOUT_KNOWN && w->kind != TIMEOUT_OF_SOCKET) || !arch_spare.bytes ||
		!w->spare.v || os_status(t, tid, &s, &e) < 0)
		return;
	r.nr_sleeps = s.voluntary_switches;
	if (write_spare(w, t, timeout_record_of(w), &r, sizeof r, &e) < 0)
		debug("thread %d: %s", tid, e.msg);
}

/*
 * Return when the call must end; 0 if unknown.  A call that the thread was not seen in before has
 * started since, or was about to end: if the kernel keeps the rest, its value is better.
 */
static uint64_t
deadline_of(const struct timeout *w, const struct target *t, pid_t tid, const struct os_syscall *s,
	enum arch_restart restart)
{
	const struct timed_call *c = call_of(s->nr);
	const uint64_t now = os_now_ns();
	uint64_t ns = w->whole_ns, deadline_ns;

	/* The kernel wrote the rest here when it interrupted the call. */
	if (restart != ARCH_FAILED_EINTR && c->rest_arg != NO_ARG && s->arg[c->rest_arg])
		return timeout_read_time(t, (raddr){ s->arg[c->rest_arg] }, c->form, &ns) < 0
			? 0
			: now + ns;
	if (w->is_lost || has_other_clock(s))
		return 0;
	if (!is_same_call(w, t, tid, s)) {
		if (restart == ARCH_RESTARTS_FROM_BLOCK)
			return 0;
		return read_timeout(t, s, &ns) < 0 ? 0 : now + ns;
	}
	if (is_recorded(w, t, s, ns, &deadline_ns))
		return deadline_ns;
	return now > w->asleep.since_ns + ns + IMPLAUSIBLE_NS ? 0 : w->asleep.since_ns + ns;
}

static bool
learn_deadline(struct timeout *w, const struct target *t, pid_t tid, const struct os_syscall *s,
	enum arch_restart restart)
{
	const struct timed_call *c = call_of(s->nr);

	w->deadline_ns = deadline_of(w, t, tid, s, restart);
	w->arg = c->arg;
	w->form = c->form;
	w->caller_ms = (uint32_t)s->arg[c->arg];
	if (c->form != TIMEOUT_MS)
		w->at = is_updated(c) && restart != ARCH_FAILED_EINTR ? (raddr){ s->arg[c->arg] }
								      : w->spare;
	return w->deadline_ns && (c->form == TIMEOUT_MS || w->at.v);
}

/*
 * Settle a call on a socket.  A recv() gets the address of the record as its last argument, which
 * the kernel ignores, as no address is requested (net/socket.c, __sys_recvfrom()), and which libc
 * sets to NULL: this identifies another call.
 */
static void
settle_socket(struct timeout *w, const struct target *t, pid_t tid, const struct os_syscall *s,
	uint64_t whole_ns, struct arch_regs *r)
{
	struct timeout_record record;
	struct err e;

	arch_rewind(r, s->nr);
	if (s->nr != SYS_recvfrom || s->arg[4] || !arch_spare.bytes || !w->spare.v ||
		!is_same_call(w, t, tid, s) ||
		os_read(t, timeout_record_of(w), &record, sizeof record, &e) < 0)
		return;
	w->kind = TIMEOUT_OF_SOCKET;
	w->deadline_ns = w->asleep.since_ns + whole_ns;
	if (s->arg[5] == timeout_record_of(w).v && record.nr_sleeps + 1 == w->asleep.nr_sleeps)
		w->deadline_ns = record.deadline_ns;
	arch_set_arg(r, 5, timeout_record_of(w).v);
}

static struct os_syscall
call_in(const struct arch_regs *r)
{
	struct os_syscall s = { .nr = arch_syscall_nr(r), .sp = arch_sp(r), .pc = arch_pc(r) };

	for (int i = 0; i < 6; i++)
		s.arg[i] = arch_arg(r, i);
	return s;
}

/*
 * Calls that fail with EINTR only if no data was transferred and no operation started.  Those on
 * sockets do so if the socket has a timeout (SO_RCVTIMEO, SO_SNDTIMEO); not connect(), which
 * continues in the background.
 */
/* clang-format off */
static const long repeatable[] = {
	SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_accept, SYS_accept4,
	SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_io_getevents,
	SYS_epoll_pwait, SYS_semop, SYS_semtimedop, SYS_rt_sigtimedwait,
#ifdef SYS_epoll_wait	/* missing on newer architectures */
	SYS_epoll_wait,
#endif
#ifdef SYS_io_uring_enter	/* unknown to some libcs */
	SYS_io_uring_enter,
#endif
#ifdef SYS_epoll_pwait2
	SYS_epoll_pwait2,
#endif
};
/* clang-format on */

bool
timeout_is_repeatable(long nr)
{
	for (size_t i = 0; i < sizeof repeatable / sizeof *repeatable; i++)
		if (repeatable[i] == nr)
			return true;
	return false;
}

/*
 * True if call NR may be repeated even though memdiag could not update its timeout: it has no other
 * effect.
 */
static bool
is_repeatable(long nr)
{
	const struct timed_call *c = call_of(nr);

	return timeout_is_repeatable(nr) || (c && is_updated(c));
}

/* Settle a call that only the kernel could continue. */
static void
settle_restarted(struct timeout *w, struct arch_regs *r)
{
#ifdef SYS_poll
	if (w->is_endless_poll && (int32_t)arch_arg(r, 2) < 0) {
		arch_rewind(r, SYS_poll);
		return;
	}
#endif
	w->kind = TIMEOUT_UNKNOWN;
	(void)r;
}

void
timeout_settle(struct timeout *w, const struct target *t, pid_t tid, struct arch_regs *r)
{
	const enum arch_restart restart = arch_restart(r);
	const struct os_syscall s = call_in(r);
	uint64_t whole_ns;
	bool has_failed;

	w->kind = TIMEOUT_NONE;
	if (restart == ARCH_NO_RESTART || (restart == ARCH_FAILED_EINTR && !is_repeatable(s.nr)))
		return;
	if (s.nr == SYS_restart_syscall) {
		settle_restarted(w, r);
		return;
	}
	has_failed = restart == ARCH_FAILED_EINTR;
	whole_ns = has_failed ? socket_timeout(t, &s) : 0;
	if (whole_ns || timeout_is_finite(&s))
		w->spare = timeout_place_of(t, tid, r);
	if (whole_ns) {
		settle_socket(w, t, tid, &s, whole_ns, r);
		timeout_renew(w, t, r);
		timeout_record(w, t, tid);
		return;
	}
	if (timeout_is_finite(&s))
		w->kind = learn_deadline(w, t, tid, &s, restart) ? TIMEOUT_KNOWN : TIMEOUT_UNKNOWN;
	else if (restart == ARCH_RESTARTS_FROM_BLOCK && !call_of(s.nr))
		w->kind = TIMEOUT_UNKNOWN;
	/* The kernel knows the rest, which is unknown here, unless the call has already failed. */
	if (has_failed || (restart == ARCH_RESTARTS_FROM_BLOCK && w->kind != TIMEOUT_UNKNOWN))
		arch_rewind(r, s.nr);
	timeout_renew(w, t, r);
	timeout_record(w, t, tid);
}

/*
 * Write the milliseconds to the argument and the record, so that timeout_is_ours() finds them
 * equal.
 */
static void
renew_ms(const struct timeout *w, const struct target *t, uint64_t left_ns, struct arch_regs *r)
{
	const uint64_t ms = (left_ns + 999999) / 1000000;
	const int64_t beside[2] = { ms == w->caller_ms ? -1 : (int64_t)ms, (int64_t)arch_sp(r).v };
	struct err e;

	if (arch_spare.bytes && w->spare.v)
		write_spare(w, t, w->spare, beside, sizeof beside, &e);
	arch_set_arg(r, w->arg, ms);
}

static void
renew_time(const struct timeout *w, const struct target *t, uint64_t left_ns, struct arch_regs *r)
{
	int64_t part[2] = { (int64_t)(left_ns / SECOND_NS), (int64_t)(left_ns % SECOND_NS) };
	struct err e;

	if (w->form == TIMEOUT_TIMEVAL)
		part[1] /= 1000;
	if (os_part_write(t, &(struct os_part){ "a timeout", w->at, sizeof part }, w->at, part,
		    sizeof part, &e) < 0)
		debug("timeout: %s", e.msg);
	else
		arch_set_arg(r, w->arg, w->at.v);
}

void
timeout_renew(const struct timeout *w, const struct target *t, struct arch_regs *r)
{
	const uint64_t now = os_now_ns();
	uint64_t left_ns = w->deadline_ns > now ? w->deadline_ns - now : 0;

	if (w->kind == TIMEOUT_OF_SOCKET) {
		/* Repeat the call if data arrived before the end of the timeout, to receive it. */
		if (!left_ns && is_empty(t, (int)arch_arg(r, 0)))
			arch_set_result(r, -EAGAIN);
		else
			arch_rewind(r, arch_syscall_nr(r));
	}
	if (w->kind != TIMEOUT_KNOWN)
		return;
	if (w->form == TIMEOUT_MS)
		renew_ms(w, t, left_ns, r);
	else
		renew_time(w, t, left_ns + (w->form == TIMEOUT_TIMEVAL ? 999 : 0), r);
}

#include "notices.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441 /* Linux 5.11, glibc 2.33 */
#endif

#define SECOND_NS (1000 * MS_NS)
#define MASK_BYTES 8	      /* of the kernel's signal sets */
#define UNWRITTEN 0x5555      /* revents that the kernel must overwrite */
#define TIMER_SLACK_NS MS_NS  /* part of the rest: prctl(2), PR_SET_TIMERSLACK */
#define JIFFY_NS (10 * MS_NS) /* the longest one */

/* ---- shared by several kinds ---------------------------------------------------------------- */

/* Set the call and all argument registers, also those that it does not use. */
void
set_call(struct waiter *w, long nr, int nr_args, const uint64_t *args)
{
	w->before.gpr[RAX] = (uint64_t)nr;
	for (int i = 0; i < 6; i++)
		w->before.gpr[RDI + i] = i < nr_args ? args[i]
			: w->has_same_arguments	     ? tag_of(w, 0, (unsigned int)(RDI + i))
						     : tag_of(w, w->nr, (unsigned int)(RDI + i));
}

static uint64_t
address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static uint64_t
milliseconds(const struct waiter *w)
{
	return w->timeout_ns == NO_TIMEOUT ? (uint64_t)(uint32_t)-1 : w->timeout_ns / MS_NS;
}

static struct timespec
timespec_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS) };
}

/* The timeout in memory; NULL for an endless wait. */
struct timespec *
slot_time(struct waiter *w)
{
	if (w->timeout_ns == NO_TIMEOUT)
		return NULL;
	w->slot->time = timespec_of(w->timeout_ns);
	return &w->slot->time;
}

/* The time at which the timeout ends. */
static struct timespec *
slot_deadline(struct waiter *w)
{
	if (w->timeout_ns == NO_TIMEOUT)
		return NULL;
	w->slot->time = timespec_of(w->start_ns + w->timeout_ns);
	return &w->slot->time;
}

/* A signal mask for the wait itself, or NULL; it lets our handlers run. */
static uint64_t *
slot_mask(struct waiter *w)
{
	if (w->has_same_arguments || draw(w, 2))
		return NULL;
	w->slot->mask = w->mask ^ UINT64_C(0xff) << (SIGRTMIN + 10);
	return &w->slot->mask;
}

static int
nr_readable(const struct waiter *w, int at)
{
	int nr = 0;

	if (ioctl(w->channel[at][0], FIONREAD, &nr) != 0)
		tracee_fail("FIONREAD");
	return nr;
}

/* Whether channel AT, which a wait reports as readable, is the one that the peer wrote to. */
bool
channel_is_true(struct waiter *w, int at, const char *what)
{
	uint32_t state = __atomic_load_n(&w->order->state, __ATOMIC_ACQUIRE);
	int nr = nr_readable(w, at);

	if (at == w->at && w->is_ordered && state >= ORDER_BEGUN && nr > 0)
		return true;
	fault(w, FAULT_RESULT, "channel %d was %s: %d bytes are there, %s was ordered", at, what,
		nr,
		!w->is_ordered	      ? "nothing"
			: at == w->at ? "it"
				      : "another");
	return false;
}

/* Check the rest that select() and ppoll() write to the timeout, with a second word in UNIT_NS. */
static void
judge_left(struct waiter *w, uint64_t unit_ns)
{
	uint64_t left_ns = (uint64_t)w->slot->time.tv_sec * SECOND_NS +
		(uint64_t)w->slot->time.tv_nsec * unit_ns;
	uint64_t took_ns = w->end_ns - w->start_ns;

	if (w->timeout_ns == NO_TIMEOUT)
		return;
	if (left_ns > w->timeout_ns || left_ns + took_ns + MS_NS < w->timeout_ns)
		fault(w, FAULT_RESULT, "%lu ns left of %lu after %lu", left_ns, w->timeout_ns,
			took_ns);
	w->want->time = w->slot->time;
}

/* ---- poll, ppoll ----------------------------------------------------------------------------- */

static struct pollfd *
polled(struct waiter *w)
{
	struct pollfd *fds = w->many ? w->many : w->slot->fds;

	for (int i = 0; i < NR_CHANNELS; i++)
		fds[i] = (struct pollfd){ w->channel[i][0], POLLIN, UNWRITTEN };
	return fds;
}

static size_t
nr_polled(const struct waiter *w)
{
	return w->many ? nr_many : NR_CHANNELS;
}

static void
prepare_poll(struct waiter *w)
{
	set_call(w, SYS_poll, 3, (uint64_t[]){ address(polled(w)), nr_polled(w), milliseconds(w) });
}

static void
judge_revents(struct waiter *w, struct pollfd *p, size_t i, enum outcome how)
{
	int fd = w->channel[i < NR_CHANNELS ? i : QUIET][0];

	if (p->fd != fd || p->events != POLLIN)
		fault(w, FAULT_MEMORY, "descriptor %d of poll() is %d", fd, p->fd);
	if (p->revents && i >= NR_CHANNELS)
		fault(w, FAULT_RESULT, "revents of the quiet one are %#x", p->revents);
	else if (p->revents == POLLIN)
		channel_is_true(w, (int)i, "POLLIN");
	else if (p->revents && (p->revents != UNWRITTEN || how != INTERRUPTED))
		fault(w, FAULT_RESULT, "revents are %#x", p->revents);
}

static void
judge_poll(struct waiter *w, long result, enum outcome how)
{
	struct pollfd *fds = w->many ? w->many : w->slot->fds;
	long nr = 0;

	for (size_t i = 0; i < nr_polled(w); i++) {
		judge_revents(w, &fds[i], i, how);
		nr += fds[i].revents != 0;
		if (!w->many)
			w->want->fds[i].revents = fds[i].revents;
	}
	if (how != INTERRUPTED && nr != result)
		fault(w, FAULT_RESULT, "poll() returned %ld with %ld ready", result, nr);
	if (w->kind->prepare != prepare_poll)
		judge_left(w, 1);
}

static void
prepare_ppoll(struct waiter *w)
{
	struct pollfd *fds = polled(w);

	set_call(w, SYS_ppoll, 5,
		(uint64_t[]){ address(fds), nr_polled(w), address(slot_time(w)),
			address(slot_mask(w)), MASK_BYTES });
}

/* ---- select, pselect6 ------------------------------------------------------------------------ */

static int
fill_set(struct waiter *w)
{
	int greatest = 0;

	FD_ZERO(&w->slot->set);
	for (int i = 0; i < NR_CHANNELS; i++) {
		FD_SET(w->channel[i][0], &w->slot->set);
		if (w->channel[i][0] > greatest)
			greatest = w->channel[i][0];
	}
	return greatest + 1;
}

static void
prepare_select(struct waiter *w)
{
	struct timespec *t = slot_time(w);

	if (t)
		t->tv_nsec /= 1000;
	set_call(w, SYS_select, 5,
		(uint64_t[]){ (uint64_t)fill_set(w), address(&w->slot->set), 0, 0, address(t) });
}

static void
prepare_pselect(struct waiter *w)
{
	w->slot->pselect[0] = address(slot_mask(w));
	w->slot->pselect[1] = MASK_BYTES;
	set_call(w, SYS_pselect6, 6,
		(uint64_t[]){ (uint64_t)fill_set(w), address(&w->slot->set), 0, 0,
			address(slot_time(w)), address(w->slot->pselect) });
}

static void
judge_select(struct waiter *w, long result, enum outcome how)
{
	long nr = 0;

	judge_left(w, w->kind->prepare == prepare_select ? 1000 : 1);
	if (how == INTERRUPTED)
		return;
	FD_ZERO(&w->want->set);
	for (int i = 0; i < NR_CHANNELS; i++) {
		if (!FD_ISSET(w->channel[i][0], &w->slot->set))
			continue;
		nr++;
		FD_SET(w->channel[i][0], &w->want->set);
		channel_is_true(w, i, "in the set");
	}
	if (nr != result)
		fault(w, FAULT_RESULT, "select() returned %ld with %ld bits", result, nr);
}

/* ---- epoll_wait, epoll_pwait, epoll_pwait2 --------------------------------------------------- */

/* Give the events of this wait its number. */
static int
watch_channels(struct waiter *w)
{
	int epoll = w->epoll[w->at_epoll];

	for (int i = 0; i < NR_CHANNELS; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.u64 = w->nr << 8 | (uint64_t)i };

		if (epoll_ctl(epoll, EPOLL_CTL_MOD, w->channel[i][0], &e) != 0)
			tracee_fail("epoll_ctl");
	}
	return epoll;
}

static void
prepare_epoll(struct waiter *w)
{
	set_call(w, SYS_epoll_wait, 4,
		(uint64_t[]){ (uint64_t)watch_channels(w), address(w->slot->events), NR_CHANNELS,
			milliseconds(w) });
}

static void
prepare_epoll_pwait(struct waiter *w)
{
	set_call(w, SYS_epoll_pwait, 6,
		(uint64_t[]){ (uint64_t)watch_channels(w), address(w->slot->events), NR_CHANNELS,
			milliseconds(w), address(slot_mask(w)), MASK_BYTES });
}

static void
prepare_epoll_pwait2(struct waiter *w)
{
	set_call(w, SYS_epoll_pwait2, 6,
		(uint64_t[]){ (uint64_t)watch_channels(w), address(w->slot->events), NR_CHANNELS,
			address(slot_time(w)), address(slot_mask(w)), MASK_BYTES });
}

static bool
epoll_pwait2_is_here(void)
{
	return syscall(SYS_epoll_pwait2, -1, NULL, 1L, NULL, NULL, 8L) != -1 || errno != ENOSYS;
}

static void
judge_epoll(struct waiter *w, long result, enum outcome how)
{
	if (how != EVENT_CAME)
		return;
	if (result != 1) {
		fault(w, FAULT_RESULT, "%ld events", result);
		return;
	}
	w->want->events[0] = w->slot->events[0];
	if (w->slot->events[0].data.u64 != (w->nr << 8 | (uint64_t)w->at) ||
		w->slot->events[0].events != EPOLLIN)
		fault(w, FAULT_RESULT, "an event of wait %lu, channel %lu",
			w->slot->events[0].data.u64 >> 8, w->slot->events[0].data.u64 & 255);
	else
		channel_is_true(w, w->at, "in an event");
}

/* ---- nanosleep, clock_nanosleep -------------------------------------------------------------- */

static uint64_t
rest_or_null(struct waiter *w)
{
	return w->has_same_arguments || draw(w, 2) ? 0 : address(w->slot->pselect);
}

static void
prepare_nanosleep(struct waiter *w)
{
	set_call(w, SYS_nanosleep, 2, (uint64_t[]){ address(slot_time(w)), rest_or_null(w) });
}

static void
prepare_clock(struct waiter *w)
{
	set_call(w, SYS_clock_nanosleep, 4,
		(uint64_t[]){ CLOCK_MONOTONIC, 0, address(slot_time(w)), rest_or_null(w) });
}

static void
prepare_clock_until(struct waiter *w)
{
	set_call(w, SYS_clock_nanosleep, 4,
		(uint64_t[]){ CLOCK_MONOTONIC, TIMER_ABSTIME, address(slot_deadline(w)), 0 });
}

/*
 * The kernel writes the rest at each interruption, also if it continues the call by itself
 * (nanosleep_copyout() of kernel/time/hrtimer.c).
 */
static void
judge_sleep(struct waiter *w, long result, enum outcome how)
{
	const uint64_t *left = w->slot->pselect, *was = w->want->pselect;

	if (how == EVENT_CAME)
		fault(w, FAULT_RESULT, "result %ld", result);
	if (memcmp(left, was, sizeof w->slot->pselect) == 0)
		return;
	if (left[0] * SECOND_NS + left[1] > w->timeout_ns + TIMER_SLACK_NS)
		fault(w, FAULT_RESULT, "%lu.%09lu s left of %lu ns", left[0], left[1],
			w->timeout_ns);
	if (w->before.gpr[w->kind->rest_at] == address(left))
		memcpy(w->want->pselect, left, sizeof w->slot->pselect);
}

/* ---- futex ----------------------------------------------------------------------------------- */

static uint32_t
fill_word(struct waiter *w)
{
	w->order->word = w->has_same_arguments ? 0 : (uint32_t)w->nr * 2;
	w->order->value = w->order->word + 1;
	return w->order->word;
}

static void
prepare_futex(struct waiter *w)
{
	set_call(w, SYS_futex, 4,
		(uint64_t[]){ address(&w->order->word), FUTEX_WAIT, fill_word(w),
			address(slot_time(w)) });
}

static void
prepare_futex_until(struct waiter *w)
{
	set_call(w, SYS_futex, 6,
		(uint64_t[]){ address(&w->order->word), FUTEX_WAIT_BITSET, fill_word(w),
			address(slot_deadline(w)), 0, UINT32_MAX });
}

static void
judge_futex(struct waiter *w, long result, enum outcome how)
{
	uint32_t word = __atomic_load_n(&w->order->word, __ATOMIC_ACQUIRE);

	if (how == EVENT_CAME && ((result != 0 && result != -EAGAIN) || word != w->order->value))
		fault(w, FAULT_RESULT, "futex() returned %ld and the word is %u, not %u", result,
			word, w->order->value);
}

/* ---- signals --------------------------------------------------------------------------------- */

static void
prepare_sigtimedwait(struct waiter *w)
{
	w->slot->mask = UINT64_C(1) << (SIGNAL_TAKEN - 1);
	w->order->value = (uint32_t)w->nr;
	set_call(w, SYS_rt_sigtimedwait, 4,
		(uint64_t[]){ address(&w->slot->mask), address(&w->slot->info),
			address(slot_time(w)), MASK_BYTES });
}

static void
judge_sigtimedwait(struct waiter *w, long result, enum outcome how)
{
	if (how != EVENT_CAME)
		return;
	w->nr_taken = 1;
	w->want->info = w->slot->info;
	if (result != SIGNAL_TAKEN || w->slot->info.si_signo != SIGNAL_TAKEN ||
		w->slot->info.si_value.sival_int != (int)w->nr)
		fault(w, FAULT_RESULT, "result %ld, signal %d of wait %d", result,
			w->slot->info.si_signo, w->slot->info.si_value.sival_int);
}

/* Take the signal that came too late for its wait. */
static void
finish_sigtimedwait(struct waiter *w)
{
	struct timespec now = { 0, 0 };
	siginfo_t info;
	sigset_t set;

	if (w->order->state != ORDER_DONE || w->nr_taken)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGNAL_TAKEN);
	if (sigtimedwait(&set, &info, &now) != SIGNAL_TAKEN ||
		info.si_value.sival_int != (int)w->nr)
		fault(w, FAULT_RESULT, "its signal was lost");
}

static void
prepare_sigsuspend(struct waiter *w)
{
	w->slot->mask = w->mask & ~(UINT64_C(1) << (SIGNAL_HANDLED - 1));
	set_call(w, SYS_rt_sigsuspend, 2, (uint64_t[]){ address(&w->slot->mask), MASK_BYTES });
}

static void
judge_sigsuspend(struct waiter *w, long result, enum outcome how)
{
	if (how != INTERRUPTED)
		fault(w, FAULT_RESULT, "result %ld", result);
}

/* ---- read, recv ------------------------------------------------------------------------------ */

static void
set_receive_timeout(struct waiter *w)
{
	uint64_t ns = w->timeout_ns == NO_TIMEOUT ? 0 : w->timeout_ns;
	struct timeval t = { (time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS / 1000) };

	if (setsockopt(w->channel[SOCKET][0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) != 0)
		tracee_fail("SO_RCVTIMEO");
}

static void
prepare_read(struct waiter *w)
{
	if (w->at == SOCKET)
		set_receive_timeout(w);
	set_call(w, SYS_read, 3,
		(uint64_t[]){ (uint64_t)w->channel[w->at][0], address(w->slot->data),
			sizeof w->slot->data });
}

static void
prepare_recv(struct waiter *w)
{
	set_receive_timeout(w);
	set_call(w, SYS_recvfrom, 6,
		(uint64_t[]){ (uint64_t)w->channel[SOCKET][0], address(w->slot->data),
			sizeof w->slot->data, 0, 0, 0 });
}

static void
judge_read(struct waiter *w, long result, enum outcome how)
{
	if (how != EVENT_CAME)
		return;
	if (!w->is_ordered || result != (long)w->order->nr_bytes) {
		fault(w, FAULT_RESULT, "result %ld, %u bytes were ordered", result,
			w->is_ordered ? w->order->nr_bytes : 0);
		return;
	}
	w->nr_taken = (uint32_t)result;
	for (uint32_t i = 0; i < w->nr_taken; i++) {
		w->want->data[i] = (unsigned char)(w->order->value + i * 7);
		if (w->slot->data[i] != w->want->data[i]) {
			fault(w, FAULT_RESULT, "byte %u is %#x, not %#x", i, w->slot->data[i],
				w->want->data[i]);
			return;
		}
	}
}

static void
prepare_timer(struct waiter *w)
{
	struct itimerspec t = { .it_value = timespec_of(w->timeout_ns) };

	timerfd_settime(w->timer, 0, &t, NULL);
	set_call(w, SYS_read, 3, (uint64_t[]){ (uint64_t)w->timer, address(w->slot->data), 8 });
}

static void
judge_timer(struct waiter *w, long result, enum outcome how)
{
	static const unsigned char once[8] = { 1 };

	if (how == EVENT_CAME)
		fault(w, FAULT_RESULT, "result %ld", result);
	if (how != TIMED_OUT)
		return;
	memcpy(w->want->data, w->slot->data, 8);
	if (memcmp(w->slot->data, once, 8) != 0)
		fault(w, FAULT_RESULT, "the timer has passed %d times", w->slot->data[0]);
}

static void
finish_timer(struct waiter *w)
{
	timerfd_settime(w->timer, 0, &(struct itimerspec){ 0 }, NULL);
}

/* ---- all ------------------------------------------------------------------------------------- */

#define EVENTS .has_order = true, .has_timeout = true, .may_lack_timeout = true

const struct kind kinds[] = {
	{ "poll", prepare_poll, judge_poll, EVENTS, .is_whole_ms = true, .timeout_at = RDX },
	{ "ppoll", prepare_ppoll, judge_poll, EVENTS },
	{ "select", prepare_select, judge_select, EVENTS },
	{ "pselect", prepare_pselect, judge_select, EVENTS },
	{ "epoll", prepare_epoll, judge_epoll, EVENTS, .is_whole_ms = true, .timeout_at = R10 },
	{ "epoll_pwait", prepare_epoll_pwait, judge_epoll, EVENTS, .is_whole_ms = true,
		.timeout_at = R10 },
	{ "epoll_pwait2", prepare_epoll_pwait2, judge_epoll, NULL, epoll_pwait2_is_here, EVENTS,
		.timeout_at = R10 },
	{ "io_uring", prepare_ring, judge_ring, finish_ring, ring_is_here, EVENTS,
		.timed_out = -ETIME },
	{ "nanosleep", prepare_nanosleep, judge_sleep, .has_timeout = true, .timeout_at = RDI,
		.rest_at = RSI },
	{ "clock_nanosleep", prepare_clock, judge_sleep, .has_timeout = true, .timeout_at = RDX,
		.rest_at = R10 },
	{ "clock_nanosleep-until", prepare_clock_until, judge_sleep, .has_timeout = true },
	{ "futex", prepare_futex, judge_futex, EVENTS, .what = ORDER_WAKE, .timed_out = -ETIMEDOUT,
		.timeout_at = R10 },
	{ "futex-until", prepare_futex_until, judge_futex, EVENTS, .what = ORDER_WAKE,
		.timed_out = -ETIMEDOUT },
	{ "sigtimedwait", prepare_sigtimedwait, judge_sigtimedwait, finish_sigtimedwait, EVENTS,
		.what = ORDER_TAKEN_SIGNAL, .timed_out = -EAGAIN, .timeout_at = RDX },
	{ "sigsuspend", prepare_sigsuspend, judge_sigsuspend, .has_order = true,
		.what = ORDER_SIGNAL },
	{ "read", prepare_read, judge_read, .has_order = true },
	{ "read-timeout", prepare_read, judge_read, EVENTS, .only_at = SOCKET, .timed_out = -EAGAIN,
		.granularity_ns = JIFFY_NS },
	{ "recv-timeout", prepare_recv, judge_read, EVENTS, .only_at = SOCKET, .timed_out = -EAGAIN,
		.timeout_at = R9, .granularity_ns = JIFFY_NS },
	{ "timer", prepare_timer, judge_timer, finish_timer, .has_timeout = true, .timed_out = 8 },
};
const size_t nr_kinds = sizeof kinds / sizeof *kinds;

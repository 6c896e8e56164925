#include "notices.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LOOK_NS (200 * MS_NS)	  /* period of the search for waits that hang */
#define NR_LOOKS 3		  /* equal results before a wait is interrupted */
#define OVERDUE_NS (2000 * MS_NS) /* a wait may end this late */

static long
futex(uint32_t *word, int operation, uint32_t value, const struct timespec *t)
{
	return syscall(SYS_futex, word, operation, value, t, NULL, 0);
}

/* ---- the program's side ---------------------------------------------------------------------- */

/* Order the event of the wait that begins now, after DELAY_NS. */
void
order_post(struct waiter *w, uint64_t delay_ns)
{
	struct order *o = w->order;

	o->done_ns = 0;
	o->due_ns = tracee_now_ns() + delay_ns;
	__atomic_store_n(&o->state, ORDER_POSTED, __ATOMIC_RELEASE);
	__atomic_add_fetch(&shared->bell, 1, __ATOMIC_RELEASE);
	futex(&shared->bell, FUTEX_WAKE, 1, NULL);
}

/* Withdraw the order, or wait until it is done; returns which. */
enum order_state
order_end(struct waiter *w)
{
	uint32_t posted = ORDER_POSTED;

	if (__atomic_compare_exchange_n(&w->order->state, &posted, ORDER_NONE, false,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return ORDER_NONE;
	while (__atomic_load_n(&w->order->state, __ATOMIC_ACQUIRE) == ORDER_BEGUN)
		sched_yield();
	return (enum order_state)w->order->state;
}

/* ---- the peer's ------------------------------------------------------------------------------ */

static pid_t program, peer;

/* Write bytes that differ from each other and from those of other orders. */
static void
act_write(const struct order *o)
{
	unsigned char data[64];

	for (uint32_t i = 0; i < o->nr_bytes; i++)
		data[i] = (unsigned char)(o->value + i * 7);
	if (write(o->fd, data, o->nr_bytes) != (ssize_t)o->nr_bytes)
		tracee_fail("the peer's write");
}

static void
act(struct order *o)
{
	siginfo_t info = { .si_signo = SIGNAL_TAKEN, .si_code = SI_QUEUE };

	switch (o->what) {
	case ORDER_WRITE:
		act_write(o);
		break;
	case ORDER_WAKE:
		__atomic_store_n(&o->word, o->value, __ATOMIC_RELEASE);
		futex(&o->word, FUTEX_WAKE, INT_MAX, NULL);
		break;
	case ORDER_SIGNAL:
		syscall(SYS_tgkill, program, o->tid, SIGNAL_HANDLED);
		break;
	case ORDER_TAKEN_SIGNAL:
		info.si_value.sival_int = (int)o->value;
		syscall(SYS_rt_tgsigqueueinfo, program, o->tid, SIGNAL_TAKEN, &info);
		break;
	}
}

/* Carry out the orders that are due; returns when the next one is. */
static uint64_t
act_all(uint64_t now_ns)
{
	uint64_t next_ns = now_ns + LOOK_NS;

	for (int i = 0; i < shared->nr_waiters; i++) {
		struct order *o = &shared->order[i];
		uint32_t posted = ORDER_POSTED;

		if (__atomic_load_n(&o->state, __ATOMIC_ACQUIRE) != ORDER_POSTED)
			continue;
		if (o->due_ns > now_ns) {
			next_ns = o->due_ns < next_ns ? o->due_ns : next_ns;
			continue;
		}
		if (!__atomic_compare_exchange_n(&o->state, &posted, ORDER_BEGUN, false,
			    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			continue;
		act(o);
		o->done_ns = tracee_now_ns();
		__atomic_store_n(&o->state, ORDER_DONE, __ATOMIC_RELEASE);
	}
	return next_ns;
}

/* The number of sleeps of a thread that sleeps and is not traced, else 0. */
static unsigned long
sleeps_of(pid_t tid)
{
	char name[64], text[4096], *at;
	unsigned long nr = 0;
	ssize_t n = -1;
	int fd;

	snprintf(name, sizeof name, "/proc/%d/task/%d/status", program, tid);
	fd = open(name, O_RDONLY);
	if (fd >= 0) {
		n = read(fd, text, sizeof text - 1);
		close(fd);
	}
	if (n <= 0)
		return 0;
	text[n] = '\0';
	if (!strstr(text, "\nState:\tS") || !strstr(text, "\nTracerPid:\t0\n"))
		return 0;
	at = strstr(text, "\nvoluntary_ctxt_switches:");
	if (at)
		sscanf(at, "\nvoluntary_ctxt_switches: %lu", &nr);
	return nr;
}

/*
 * Interrupt a wait that should have ended long ago, if its thread sleeps without ever waking up.
 * However busy the machine is, a thread whose wait has ended would be ready to run.
 */
static void
rescue(uint64_t now_ns)
{
	static struct {
		uint64_t wait_nr;
		unsigned long nr_sleeps;
		int nr_looks;
	} seen[MAX_WAITERS];

	for (int i = 0; i < shared->nr_waiters; i++) {
		struct order *o = &shared->order[i];
		uint64_t done_ns = o->state == ORDER_DONE ? o->done_ns : NO_TIMEOUT;
		uint64_t end_ns = done_ns < o->end_ns ? done_ns : o->end_ns;
		unsigned long nr_sleeps = 0;

		if (__atomic_load_n(&o->is_waiting, __ATOMIC_ACQUIRE) && now_ns > OVERDUE_NS &&
			now_ns - OVERDUE_NS > end_ns)
			nr_sleeps = sleeps_of(o->tid);
		if (!nr_sleeps || nr_sleeps != seen[i].nr_sleeps || o->wait_nr != seen[i].wait_nr)
			seen[i].nr_looks = 0;
		seen[i].nr_sleeps = nr_sleeps;
		seen[i].wait_nr = o->wait_nr;
		if (!nr_sleeps || ++seen[i].nr_looks < NR_LOOKS)
			continue;
		seen[i].nr_looks = 0;
		o->is_rescued = 1;
		syscall(SYS_tgkill, program, o->tid, SIGNAL_RESCUE);
	}
}

/* Send a signal to a random thread. */
static void
storm(void)
{
	static struct waiter us = { .random = 1 };

	syscall(SYS_tgkill, program, shared->order[draw(&us, (uint64_t)shared->nr_waiters)].tid,
		SIGNAL_HANDLED);
}

static void
peer_run(void)
{
	uint64_t look_ns = 0, storm_ns = 0;

	for (;;) {
		uint32_t bell = __atomic_load_n(&shared->bell, __ATOMIC_ACQUIRE);
		uint64_t now_ns = tracee_now_ns(), next_ns = act_all(now_ns), wait_ns;
		struct timespec t;

		if (now_ns > look_ns) {
			rescue(now_ns);
			look_ns = now_ns + LOOK_NS;
		}
		if (shared->is_storm && now_ns > storm_ns) {
			storm();
			storm_ns = now_ns + MS_NS;
		}
		if (shared->is_storm && storm_ns < next_ns)
			next_ns = storm_ns;
		now_ns = tracee_now_ns();
		wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
		t = (struct timespec){ 0, (long)wait_ns };
		if (wait_ns)
			futex(&shared->bell, FUTEX_WAIT, bell, &t);
	}
}

/* Start the peer; called when the descriptors of all waiters are open. */
void
peer_start(void)
{
	program = getpid();
	peer = fork();
	if (peer < 0)
		tracee_fail("fork");
	if (peer > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "notices-peer");
	close(0); /* else the program would not see the end of its stdin */
	close(1);
	if (getppid() == program)
		peer_run();
	_exit(0);
}

void
peer_end(void)
{
	kill(peer, SIGKILL);
	while (waitpid(peer, NULL, 0) < 0 && errno == EINTR)
		;
}

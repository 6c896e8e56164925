/*
 * notices SEED [threads=N] [kinds=NAME,...] [coroutines=N] [fds=N] [arenas=N,MIB] [monotonous=1]
 * [storm=1]: wait again and again, each time in another way, and check after each wait that
 * nothing has changed but what the wait itself may change.
 *
 * Every wait has its own values in all registers, arguments, timeouts, the signal mask and errno.
 * All waits of a thread are made from the same place with the same stack pointer, as in an event
 * loop; in half of the stretches the arguments stay the same.  A second process, the peer, ends
 * the waits by a write, a wake-up or a signal, and records that in shared memory.  So each result
 * is compared with the truth: no timeout before its time, EINTR only if a handler has run, and
 * only descriptors ready that were written to.
 *
 *	threads=N	number of threads that wait (1)
 *	kinds=NAME,...	kinds of waits (all); "notices" without arguments lists them
 *	coroutines=N	each thread has N stacks made by the program, and also waits on these
 *	fds=N		number of descriptors of poll() and ppoll() (4)
 *	arenas=N,MIB	N more threads, each with an arena whose top has MIB resident
 *	monotonous=1	arguments stay the same in each stretch, and waits with a timeout time out
 *	storm=1		a signal with a handler for a random thread, about every millisecond
 *
 *	check		compare all memory, descriptors, mappings and timers, and answer "waits N
 *			documented N late N faults N", and each kind of fault with its number
 *	check agent	the same after an agent was loaded, whose mappings stay
 *
 * The program prints the same line at the end, and a line for each fault on stderr.  "documented"
 * counts changes that doc/internals/inject.md describes, "late" timeouts that are late by over two
 * seconds.
 */
#include "notices.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#define LATE_NS (2000 * MS_NS)
/* The difference of clocks and the rounding of timers in the kernel. */
#define SLACK_NS 100000
#define MAX_PRINTED 100 /* faults that have a line */
#define ALTSTACK_BYTES 65536
#define ARCH_GET_FS 0x1003

static const char *const fault_names[NR_FAULTS] = { "registers", "vector", "result", "early",
	"missed", "EINTR", "hung", "memory", "stack", "errno", "mask", "thread", "descriptors",
	"mappings", "timer" };

struct shared *shared;
size_t nr_many;
bool has_avx, has_ring;

static struct waiter waiters[MAX_WAITERS];
static bool is_wanted[64];
static uint64_t seed;
static long nr_coroutines;
static bool is_monotonous;
static unsigned long nr_waits, nr_documented, nr_late, nr_faults, nr_of[NR_FAULTS];
static uint32_t nr_checks_asked;
static __thread struct waiter *self;
static __thread uint64_t canary[32];

/* ---- random numbers, faults and counts ------------------------------------------------------- */

/* SplitMix64. */
uint64_t
draw(struct waiter *w, uint64_t below)
{
	uint64_t z = w->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % below;
}

/* The value for place AT of wait NR: its digits are thread, wait and place. */
uint64_t
tag_of(const struct waiter *w, uint64_t nr, unsigned int at)
{
	return UINT64_C(0xa) << 60 | (uint64_t)w->index << 52 | (nr & 0xffffffffff) << 8 | at;
}

/* W is NULL if the fault belongs to no wait. */
void
fault(struct waiter *w, enum fault f, const char *fmt, ...)
{
	char text[320], where[160] = "the process";
	va_list ap;

	__atomic_add_fetch(&nr_of[f], 1, __ATOMIC_RELAXED);
	if (__atomic_add_fetch(&nr_faults, 1, __ATOMIC_RELAXED) > MAX_PRINTED)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (w && w->kind)
		snprintf(where, sizeof where, "wait %#lx of thread %d, %s%s, %ld of %ld us", w->nr,
			w->index, w->kind->name, w->on ? " in a coroutine" : "",
			(long)(w->end_ns - w->start_ns) / 1000,
			w->timeout_ns == NO_TIMEOUT ? -1 : (long)w->timeout_ns / 1000);
	dprintf(2, "%s: %s: %s\n", fault_names[f], where, text);
}

void
documented(void)
{
	__atomic_add_fetch(&nr_documented, 1, __ATOMIC_RELAXED);
}

static void
say_counts(void)
{
	char text[400];
	int n = 0;

	text[0] = '\0';
	for (int i = 0; i < NR_FAULTS; i++)
		if (nr_of[i])
			n += snprintf(text + n, sizeof text - (size_t)n, " %s %lu", fault_names[i],
				nr_of[i]);
	tracee_say("waits %lu documented %lu late %lu faults %lu%s", nr_waits, nr_documented,
		nr_late, nr_faults, text);
}

static void
handle(int sig)
{
	(void)sig;
	if (self)
		self->nr_handled++;
}

/* ---- one wait -------------------------------------------------------------------------------- */

static void
choose_kind(struct waiter *w)
{
	uint64_t at;

	do
		at = draw(w, nr_kinds);
	while (!is_wanted[at]);
	w->kind = &kinds[at];
	w->at = w->kind->only_at ? w->kind->only_at : 1 + (int)draw(w, NR_CHANNELS - 1);
	w->at_epoll = (int)draw(w, NR_EPOLLS);
	w->slot = &w->slots[draw(w, NR_SLOTS)];
}

/* Short timeouts pass, unless the peer comes first; long ones never do. */
static uint64_t
choose_timeout(struct waiter *w)
{
	bool is_short = !w->is_ordered || draw(w, 4) == 0;
	uint64_t ns;

	if (!w->kind->has_timeout || (w->kind->may_lack_timeout && !is_short && draw(w, 3) == 0))
		return NO_TIMEOUT;
	if (!is_short)
		return (1000 + draw(w, 60000)) * MS_NS;
	ns = w->kind->is_whole_ms ? (1 + draw(w, 8)) * MS_NS : (200 + draw(w, 8000)) * 1000;
	return ns + w->kind->granularity_ns;
}

static void
choose_wait(struct waiter *w)
{
	choose_kind(w);
	w->is_ordered = w->kind->has_order && (!w->kind->has_timeout || draw(w, 3) != 0);
	if (is_monotonous && w->kind->has_timeout)
		w->is_ordered = false;
	w->timeout_ns = choose_timeout(w);
}

static void
choose(struct waiter *w)
{
	w->nr++;
	if (w->nr_left == 0) {
		w->nr_left = 1 + (uint32_t)draw(w, 200);
		w->has_same_arguments = is_monotonous || draw(w, 2);
		choose_wait(w);
	} else if (!w->has_same_arguments) {
		choose_wait(w);
	}
	w->nr_left--;
	w->nr_taken = 0;
	w->mask = UINT64_C(1) << (SIGNAL_TAKEN - 1) | draw(w, 1 << 8) << (SIGRTMIN + 10);
	if (w->kind->what == ORDER_SIGNAL)
		w->mask |= UINT64_C(1) << (SIGNAL_HANDLED - 1);
}

static void
set_mask(struct waiter *w, uint64_t *ret_was)
{
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &w->mask, ret_was, 8L) != 0)
		tracee_fail("rt_sigprocmask");
}

/* Fill all arguments in memory, so that every later change shows. */
static void
fill_slot(struct waiter *w)
{
	uint64_t *words = (uint64_t *)(void *)w->slot;

	for (size_t i = 0; i < sizeof *w->slot / 8; i++)
		words[i] = tag_of(w, w->nr, (unsigned int)i);
	w->want = &w->expected[w->slot - w->slots];
}

static void
place_order(struct waiter *w)
{
	struct order *o = w->order;

	o->what = w->kind->what;
	o->fd = w->channel[w->at][1];
	o->nr_bytes = 1 + (uint32_t)draw(w, 60);
	if (o->what == ORDER_WRITE)
		o->value = (uint32_t)w->nr;
	order_post(w, draw(w, 8) ? draw(w, 3000) * 1000 : 0);
}

static void
set_altstack(const struct waiter *w)
{
	static __thread char *memory;
	stack_t s = { .ss_size = ALTSTACK_BYTES - 16 * (w->nr % 1000) };

	if (!memory)
		memory = malloc(ALTSTACK_BYTES);
	s.ss_sp = memory;
	if (sigaltstack(&s, NULL) != 0)
		tracee_fail("sigaltstack");
}

static void
prepare(struct waiter *w)
{
	uint64_t was;

	choose(w);
	set_mask(w, &was);
	set_altstack(w);
	fill_slot(w);
	for (size_t i = 0; i < sizeof canary / sizeof *canary; i++)
		canary[i] = tag_of(w, w->nr, (unsigned int)i);
	w->order->tid = (pid_t)syscall(SYS_gettid);
	w->order->wait_nr = w->nr;
	w->order->is_rescued = 0;
	w->order->state = ORDER_NONE;
	w->start_ns = tracee_now_ns();
	w->kind->prepare(w);
	memcpy(w->want, w->slot, sizeof *w->slot);
	registers_fill(w);
	if (w->is_ordered)
		place_order(w);
	w->order->end_ns = w->timeout_ns == NO_TIMEOUT ? NO_TIMEOUT : w->start_ns + w->timeout_ns;
	w->nr_handled_before = w->nr_handled;
	__atomic_store_n(&w->order->is_waiting, 1, __ATOMIC_RELEASE);
	errno = (int)(1000 + w->nr % 1000);
}

static void
judge_thread(struct waiter *w)
{
	uint64_t mask, fs, robust;
	size_t size;
	stack_t s;

	if (errno != (int)(1000 + w->nr % 1000))
		fault(w, FAULT_ERRNO, "errno was %ld and is %d", 1000 + (long)(w->nr % 1000),
			errno);
	set_mask(w, &mask);
	if (mask != w->mask)
		fault(w, FAULT_MASK, "the mask was %#lx and is %#lx", w->mask, mask);
	sigaltstack(NULL, &s);
	if (s.ss_size != ALTSTACK_BYTES - 16 * (w->nr % 1000) || s.ss_flags)
		fault(w, FAULT_THREAD, "the alternate stack has %zu bytes and flags %d", s.ss_size,
			s.ss_flags);
	syscall(SYS_arch_prctl, ARCH_GET_FS, &fs);
	syscall(SYS_get_robust_list, 0L, &robust, &size);
	if (fs != w->fs_base || robust != w->robust_list)
		fault(w, FAULT_THREAD, "FS base %#lx, robust list %#lx", fs, robust);
	for (size_t i = 0; i < sizeof canary / sizeof *canary; i++)
		if (canary[i] != tag_of(w, w->nr, (unsigned int)i))
			fault(w, FAULT_THREAD, "a thread-local variable is %#lx", canary[i]);
}

static void
judge_timeout(struct waiter *w)
{
	uint64_t took_ns = w->end_ns - w->start_ns, done_ns = w->order->done_ns;

	if (w->timeout_ns == NO_TIMEOUT)
		fault(w, FAULT_RESULT, "a timeout of a wait that has none");
	else if (took_ns + SLACK_NS + w->kind->granularity_ns < w->timeout_ns)
		fault(w, FAULT_EARLY, "%lu ns of %lu", took_ns, w->timeout_ns);
	else if (w->is_ordered && w->order->state == ORDER_DONE &&
		done_ns < w->start_ns + w->timeout_ns - w->kind->granularity_ns)
		fault(w, FAULT_MISSED, "what was ordered was done %lu ns after the beginning",
			done_ns - w->start_ns);
	else if (took_ns > w->timeout_ns + LATE_NS)
		__atomic_add_fetch(&nr_late, 1, __ATOMIC_RELAXED);
}

static void
judge_result(struct waiter *w)
{
	long result = (long)w->after.gpr[RAX];
	enum outcome how = EVENT_CAME;

	if (w->order->is_rescued) {
		fault(w, FAULT_HUNG, "it did not end%s", w->is_ordered ? " after its event" : "");
		return;
	}
	if (result == -EINTR) {
		how = INTERRUPTED;
		if (w->nr_handled == w->nr_handled_before)
			fault(w, FAULT_EINTR, "no handler has run");
	} else if (w->kind->has_timeout && result == w->kind->timed_out) {
		how = TIMED_OUT;
		judge_timeout(w);
	}
	w->kind->judge(w, result, how);
	if (memcmp(w->slot, w->want, sizeof *w->slot) != 0)
		fault(w, FAULT_MEMORY, "arguments that the call does not write to have changed");
}

/* Read the rest of the peer's bytes; no channel may have others. */
static void
drain(struct waiter *w, bool is_done)
{
	uint32_t wanted =
		is_done && w->kind->what == ORDER_WRITE ? w->order->nr_bytes - w->nr_taken : 0;

	for (int i = 0; i < NR_CHANNELS; i++) {
		unsigned char data[4096];
		struct pollfd p = { w->channel[i][0], POLLIN, 0 };
		ssize_t n = poll(&p, 1, 0) == 1 ? read(p.fd, data, sizeof data) : 0;

		if (n != (i == w->at ? (ssize_t)wanted : 0))
			fault(w, FAULT_RESULT, "%zd bytes are left in channel %d, not %u", n, i,
				i == w->at ? wanted : 0);
	}
}

static void __attribute__((noinline)) wait_once(struct waiter *w)
{
	prepare(w);
	notices_call(&w->before, &w->after);
	__atomic_store_n(&w->order->is_waiting, 0, __ATOMIC_RELEASE);
	w->end_ns = tracee_now_ns();
	judge_thread(w);
	registers_compare(w);
	judge_result(w);
	drain(w, w->is_ordered && order_end(w) == ORDER_DONE);
	if (w->kind->finish)
		w->kind->finish(w);
	memcpy(w->want, w->slot, sizeof *w->slot);
	waiter_memory_turn(w);
	__atomic_add_fetch(&nr_waits, 1, __ATOMIC_RELAXED);
}

/* ---- threads and coroutines ------------------------------------------------------------------ */

static void
coroutine_run(unsigned int index, unsigned int at)
{
	struct waiter *w = &waiters[index];

	for (;;) {
		wait_once(w);
		swapcontext(&w->coroutine[at].context, &w->outside);
	}
}

static void
coroutine_open(struct waiter *w, unsigned int at)
{
	struct coroutine *c = &w->coroutine[at];
	uint64_t *words;

	c->guard = malloc(COROUTINE_GUARD_BYTES + COROUTINE_BYTES);
	if (!c->guard || getcontext(&c->context) != 0)
		tracee_fail("coroutines");
	words = (uint64_t *)(void *)c->guard;
	for (size_t i = 0; i < COROUTINE_GUARD_BYTES / 8; i++)
		words[i] = (uint64_t)(uintptr_t)&words[i];
	c->context.uc_stack.ss_sp = c->guard + COROUTINE_GUARD_BYTES;
	c->context.uc_stack.ss_size = COROUTINE_BYTES;
	c->context.uc_link = &w->outside;
	makecontext(&c->context, (void (*)(void))coroutine_run, 2, (unsigned int)w->index, at);
}

static void
open_channels(struct waiter *w)
{
	for (int i = 0; i < NR_CHANNELS; i++)
		if ((i == SOCKET ? socketpair(AF_UNIX, SOCK_STREAM, 0, w->channel[i])
				 : pipe(w->channel[i])) != 0)
			tracee_fail("pipe");
	for (int e = 0; e < NR_EPOLLS; e++) {
		w->epoll[e] = epoll_create1(0);
		for (int i = 0; i < NR_CHANNELS; i++)
			if (epoll_ctl(w->epoll[e], EPOLL_CTL_ADD, w->channel[i][0],
				    &(struct epoll_event){ .events = EPOLLIN }) != 0)
				tracee_fail("epoll_ctl");
	}
	w->timer = timerfd_create(CLOCK_MONOTONIC, 0);
	has_ring = ring_open(&w->ring);
}

static void
open_waiter(int index)
{
	struct waiter *w = &waiters[index];

	w->index = index;
	w->random = seed * 1000003 + (uint64_t)index;
	w->order = &shared->order[index];
	open_channels(w);
	for (size_t i = 0; i < nr_many; i++) {
		if (i == 0)
			w->many = calloc(nr_many, sizeof *w->many);
		w->many[i] = (struct pollfd){ w->channel[QUIET][0], POLLIN, 0 };
	}
}

/* Called in the thread itself, so that its memory comes from its own arena. */
static void
begin(struct waiter *w)
{
	size_t size;

	self = w;
	syscall(SYS_arch_prctl, ARCH_GET_FS, &w->fs_base);
	syscall(SYS_get_robust_list, 0L, &w->robust_list, &size);
	waiter_memory_open(w);
	set_altstack(w);
	w->order->tid = (pid_t)syscall(SYS_gettid);
	for (long i = 0; i < nr_coroutines; i++)
		coroutine_open(w, (unsigned int)i);
}

static void
turn(struct waiter *w)
{
	uint64_t at = nr_coroutines ? draw(w, (uint64_t)nr_coroutines + 1) : 0;

	if (at) {
		w->on = &w->coroutine[at - 1];
		swapcontext(&w->outside, &w->on->context);
		w->on = NULL;
	} else {
		wait_once(w);
	}
	if (w->nr_checks_done == __atomic_load_n(&nr_checks_asked, __ATOMIC_ACQUIRE))
		return;
	waiter_memory_check(w);
	__atomic_store_n(&w->nr_checks_done, nr_checks_asked, __ATOMIC_RELEASE);
}

static pthread_barrier_t all_have_begun;

static void *
run_thread(void *arg)
{
	struct waiter *w = arg;

	begin(w);
	pthread_barrier_wait(&all_have_begun);
	for (;;)
		turn(w);
	return NULL;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void
check(const char *line)
{
	__atomic_add_fetch(&nr_checks_asked, 1, __ATOMIC_RELEASE);
	waiter_memory_check(&waiters[0]);
	for (int i = 1; i < shared->nr_waiters; i++)
		while (__atomic_load_n(&waiters[i].nr_checks_done, __ATOMIC_ACQUIRE) !=
			nr_checks_asked)
			usleep(1000);
	waiters[0].nr_checks_done = nr_checks_asked;
	memory_check();
	process_check(strstr(line, "agent"));
	timers_check();
	say_counts();
}

/* Obey a command if stdin has one; false at its end.  Handlers may interrupt. */
static bool
obey(void)
{
	struct pollfd p = { 0, POLLIN, 0 };
	char line[64];
	ssize_t n;

	if (poll(&p, 1, 0) != 1)
		return true;
	n = read(0, line, sizeof line - 1);
	if (n <= 0)
		return n < 0 && errno == EINTR;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "check", 5) == 0)
		check(line);
	else
		tracee_say("what is '%s'?", line);
	return true;
}

static void
want_kinds(const char *names)
{
	size_t nr = 0;

	for (size_t i = 0; i < nr_kinds; i++) {
		const char *at = names;
		size_t n = strlen(kinds[i].name);

		while (at && (strncmp(at, kinds[i].name, n) != 0 || (at[n] && at[n] != ',')))
			at = (at = strchr(at, ',')) ? at + 1 : NULL;
		is_wanted[i] = (!names || at) && (!kinds[i].is_here || kinds[i].is_here());
		nr += is_wanted[i];
	}
	if (!nr)
		tracee_fail("no such kind of wait");
}

static void
list_kinds(void)
{
	for (size_t i = 0; i < nr_kinds; i++)
		tracee_say("%s", kinds[i].name);
}

static const char *
option(int argc, char **argv, const char *name)
{
	size_t n = strlen(name);

	for (int i = 2; i < argc; i++)
		if (strncmp(argv[i], name, n) == 0 && argv[i][n] == '=')
			return argv[i] + n + 1;
	return NULL;
}

static long
option_number(int argc, char **argv, const char *name, long otherwise)
{
	const char *value = option(argc, argv, name);

	return value ? strtol(value, NULL, 0) : otherwise;
}

static void
set_handlers(void)
{
	struct sigaction a = { .sa_handler = handle, .sa_flags = SA_ONSTACK };

	sigaction(SIGNAL_RESCUE, &a, NULL);
	a.sa_flags |= seed % 2 ? SA_RESTART : 0;
	sigaction(SIGNAL_HANDLED, &a, NULL);
}

/* poll() refuses more descriptors than the process may open. */
static size_t
set_nr_many(size_t nr)
{
	struct rlimit files;

	if (nr == 0 || getrlimit(RLIMIT_NOFILE, &files) != 0)
		return 0;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	return nr < files.rlim_cur ? nr : files.rlim_cur;
}

static int
read_options(int argc, char **argv)
{
	long nr_threads = option_number(argc, argv, "threads", 1);

	seed = (uint64_t)tracee_number(argc, argv, 1, 1);
	nr_many = set_nr_many((size_t)option_number(argc, argv, "fds", 0));
	nr_coroutines = option_number(argc, argv, "coroutines", 0);
	is_monotonous = option_number(argc, argv, "monotonous", 0);
	has_avx = __builtin_cpu_supports("avx");
	if (nr_threads > MAX_WAITERS || nr_coroutines > MAX_COROUTINES)
		tracee_fail("too many");
	return (int)nr_threads;
}

static void
start_threads(int nr)
{
	pthread_barrier_init(&all_have_begun, NULL, (unsigned int)nr);
	begin(&waiters[0]);
	for (int i = 1; i < nr; i++)
		tracee_thread(run_thread, &waiters[i]);
	pthread_barrier_wait(&all_have_begun);
}

/* The peer comes before the memory, so that it shares little of it. */
static void
set_up(int argc, char **argv)
{
	const char *arenas = option(argc, argv, "arenas");
	int nr_threads = read_options(argc, argv);

	memory_set_limits();
	shared = mmap(
		NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		tracee_fail("mmap");
	shared->is_storm = (uint32_t)option_number(argc, argv, "storm", 0);
	shared->nr_waiters = nr_threads;
	for (int i = 0; i < nr_threads; i++)
		open_waiter(i);
	want_kinds(option(argc, argv, "kinds"));
	set_handlers();
	peer_start();
	if (arenas)
		arenas_open(strtol(arenas, NULL, 0), strtol(strchr(arenas, ',') + 1, NULL, 0));
	memory_open(seed);
	timers_open();
	start_threads(nr_threads);
	process_remember();
}

int
main(int argc, char **argv)
{
	if (argc < 2) {
		list_kinds();
		return 0;
	}
	set_up(argc, argv);
	tracee_ready();
	for (unsigned long i = 0; obey(); i++) {
		turn(&waiters[0]);
		if (i % 64 == 0) {
			memory_turn();
			timers_check();
		}
	}
	check("");
	peer_end();
	return tracee_end();
}

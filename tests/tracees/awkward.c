/*
 * awkward [SEED] [KEY=VALUE...]: a process that is hard to call into, and knows what it must have
 * kept.  SEED chooses all of these at random; a KEY sets one:
 *	threads N	that sleep, besides main
 *	sleep KIND	how (a name of the table below), "mixed" for all kinds in turn
 *	stack KIB	RLIMIT_STACK, by which libc sizes its stacks; 0: as it is
 *	lock 0|1|2|3	mlockall(): nothing, MCL_CURRENT, MCL_FUTURE, both
 *	mask HEX	signals that the threads block, bit N-1 for signal N
 *	room KIB	RLIMIT_AS, so much above what it has; 0: no limit
 *
 *	what		-> the settings
 *	check KIB LOCKED	-> "kept", or what is not as it was: number of threads, signal
 *				masks, sleeps that
 *			ended; address space that grew by more than KIB, locked memory by more than
 *			LOCKED
 */
#include "tracee.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>

enum { THREADS, SLEEP, STACK, LOCK, MASK, ROOM, NR_KEYS };
static const char *const key_name[NR_KEYS] = { "threads", "sleep", "stack", "lock", "mask",
	"room" };
static unsigned long value[NR_KEYS];

static atomic_int nr_woken, nr_asleep;
static atomic_int last_kind; /* of the sleep that ended */

/* ---- the sleeps, which nothing of the program ends ---- */

static void
sleep_poll(void)
{
	poll(NULL, 0, -1);
}

static void
sleep_poll_timed(void)
{
	poll(NULL, 0, 1000000);
}

static void
sleep_ppoll_masked(void)
{
	sigset_t set;

	sigfillset(&set);
	ppoll(NULL, 0, NULL, &set);
}

static void
sleep_pselect_masked(void)
{
	sigset_t set;

	sigemptyset(&set);
	pselect(0, NULL, NULL, NULL, NULL, &set);
}

static void
sleep_nanosleep(void)
{
	struct timespec t = { .tv_sec = 1000 };

	nanosleep(&t, NULL);
}

static void
sleep_semaphore(void)
{
	sem_t s;

	sem_init(&s, 0, 0);
	sem_wait(&s);
}

static void
sleep_epoll(void)
{
	struct epoll_event e;
	int fd = epoll_create1(EPOLL_CLOEXEC);

	epoll_wait(fd, &e, 1, -1);
	close(fd);
}

static void
sleep_recv(void)
{
	int fd[2];
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0 && recv(fd[0], &c, 1, 0) < 0)
		perror("recv");
}

static void
sleep_sigwait(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 5);
	sigwaitinfo(&set, NULL);
}

static const struct {
	const char *name;
	void (*sleep)(void);
} kind[] = {
	{ "poll", sleep_poll },
	{ "poll-timed", sleep_poll_timed },
	{ "ppoll-masked", sleep_ppoll_masked },
	{ "pselect-masked", sleep_pselect_masked },
	{ "nanosleep", sleep_nanosleep },
	{ "semaphore", sleep_semaphore },
	{ "epoll", sleep_epoll },
	{ "recv", sleep_recv },
	{ "sigwait", sleep_sigwait },
};
#define NR_KINDS (sizeof kind / sizeof *kind)

static void *
sleep_for_ever(void *arg)
{
	size_t at = (size_t)(uintptr_t)arg;
	sigset_t set;

	sigemptyset(&set);
	for (int sig = 1; sig < 32; sig++)
		if (value[MASK] >> (sig - 1) & 1)
			sigaddset(&set, sig);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	tracee_use_malloc();
	nr_asleep++;
	for (;;) {
		kind[at].sleep();
		last_kind = (int)at;
		nr_woken++;
	}
	return arg;
}

/* ---- what it must have kept ---- */

struct state {
	unsigned long nr_threads, masks, locked_kib, size_kib;
};

/* The number behind NAME in FILE. */
static unsigned long
number_in(const char *file, const char *name, int base)
{
	unsigned long n = 0;
	char line[256];
	FILE *f = fopen(file, "re");

	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, name, strlen(name)) == 0)
			n = strtoul(line + strlen(name), NULL, base);
	if (f)
		fclose(f);
	return n;
}

/* The masks of all threads in one number: 31 signals are enough for it. */
static struct state
look(void)
{
	struct state s = { .locked_kib = number_in("/proc/self/status", "VmLck:", 10),
		.size_kib = number_in("/proc/self/status", "VmSize:", 10) };
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *d;
	char name[300];

	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(name, sizeof name, "/proc/self/task/%s/status", d->d_name);
		s.nr_threads++;
		s.masks +=
			number_in(name, "SigBlk:", 16) * (1 + (unsigned long)atoi(d->d_name) % 997);
	}
	if (dir)
		closedir(dir);
	return s;
}

/*
 * A helper's thread may take a moment to end, and a thread that has just been let go shows the mask
 * of its sleep a little later.
 */
static struct state
look_patiently(const struct state *before)
{
	struct state s = look();

	for (int i = 0; i < 200 && (s.nr_threads != before->nr_threads || s.masks != before->masks);
		i++) {
		usleep(10000);
		s = look();
	}
	return s;
}

static void
say_difference(const struct state *before, unsigned long more_kib, unsigned long more_locked_kib)
{
	struct state now = look_patiently(before);

	if (now.nr_threads != before->nr_threads)
		tracee_say("%lu threads, not %lu", now.nr_threads, before->nr_threads);
	else if (now.masks != before->masks)
		tracee_say("a signal mask is another");
	else if (nr_woken)
		tracee_say("%d sleeps ended, a %s", nr_woken, kind[last_kind].name);
	else if (now.locked_kib > before->locked_kib + more_locked_kib)
		tracee_say("%lu KiB are locked, not %lu", now.locked_kib, before->locked_kib);
	else if (now.size_kib > before->size_kib + more_kib)
		tracee_say("%lu KiB of address space, not %lu", now.size_kib, before->size_kib);
	else
		tracee_say("kept");
}

/* ---- the settings ---- */

static unsigned long
one_of(const unsigned long *list, size_t nr)
{
	return list[(size_t)rand() % nr];
}

static void
choose(unsigned int seed)
{
	static const unsigned long stacks[] = { 0, 16, 17, 20, 32, 48, 64, 256, 4096 };
	static const unsigned long masks[] = { 0, 0, 0x7ffbfeff & ~0x7d8, 0x2000,
		0x7ffffeff & ~0x7d8 };
	static const unsigned long rooms[] = { 0, 0, 0, 100, 400, 900, 5000, 80000 };

	srand(seed);
	value[THREADS] = (unsigned long)rand() % 7;
	value[SLEEP] = (unsigned long)rand() % (NR_KINDS + 1);
	value[STACK] = one_of(stacks, sizeof stacks / sizeof *stacks);
	value[LOCK] = (unsigned long)rand() % 4;
	value[MASK] = one_of(masks, sizeof masks / sizeof *masks);
	value[ROOM] = one_of(rooms, sizeof rooms / sizeof *rooms);
}

static void
set(const char *arg)
{
	const char *is = strchr(arg, '=');

	for (size_t k = 0; is && k < NR_KEYS; k++)
		if (strncmp(arg, key_name[k], (size_t)(is - arg)) == 0)
			value[k] = strtoul(is + 1, NULL, k == MASK ? 16 : 10);
	if (!is || strncmp(arg, "sleep", 5) != 0)
		return;
	value[SLEEP] = NR_KINDS;
	for (size_t i = 0; i < NR_KINDS; i++)
		if (strcmp(is + 1, kind[i].name) == 0)
			value[SLEEP] = i;
}

/*
 * Libc looks at the limit of stacks when the program starts; then main's own may be as large as
 * usual.
 */
static void
start_with_stack(char **argv)
{
	char *const no_environment[] = { NULL };
	rlim_t wanted = value[STACK] * 1024;
	bool is_set;
	struct rlimit r;

	if (!wanted)
		return;
	if (getrlimit(RLIMIT_STACK, &r) < 0)
		tracee_fail("getrlimit");
	is_set = r.rlim_cur == wanted;
	r.rlim_cur = is_set && r.rlim_max > 8 << 20 ? 8 << 20 : is_set ? r.rlim_max : wanted;
	if (setrlimit(RLIMIT_STACK, &r) < 0)
		tracee_fail("setrlimit");
	if (is_set)
		return;
	execve("/proc/self/exe", argv, no_environment);
	tracee_fail("execve");
}

static void
limit_room(const struct state *s)
{
	struct rlimit r = { (s->size_kib + value[ROOM]) * 1024, RLIM_INFINITY };

	if (value[ROOM] && setrlimit(RLIMIT_AS, &r) < 0)
		tracee_fail("setrlimit");
}

static void
start_threads(void)
{
	for (unsigned long i = 0; i < value[THREADS]; i++)
		tracee_thread(sleep_for_ever,
			(void *)(uintptr_t)(value[SLEEP] == NR_KINDS ? i % NR_KINDS
								     : value[SLEEP]));
	while (nr_asleep < (int)value[THREADS])
		usleep(1000);
	usleep(20000);
}

int
main(int argc, char **argv)
{
	struct state before;
	char line[64], *end;
	int at = 1;

	value[SLEEP] = NR_KINDS;
	value[THREADS] = 3;
	if (argc > 1 && !strchr(argv[1], '='))
		choose((unsigned int)atoi(argv[at++]));
	for (; at < argc; at++)
		set(argv[at]);
	start_with_stack(argv);
	if (value[LOCK] &&
		mlockall((value[LOCK] & 1 ? MCL_CURRENT : 0) | (value[LOCK] & 2 ? MCL_FUTURE : 0)) <
			0)
		tracee_fail("mlockall");
	start_threads();
	look(); /* what libc allocates for it is there from now on */
	before = look();
	limit_room(&before);
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (strncmp(line, "check ", 6) == 0) {
			unsigned long kib = strtoul(line + 6, &end, 10);

			say_difference(&before, kib, strtoul(end, NULL, 10));
			continue;
		}
		tracee_say("threads=%lu sleep=%s stack=%lu lock=%lu mask=%lx room=%lu",
			value[THREADS], value[SLEEP] < NR_KINDS ? kind[value[SLEEP]].name : "mixed",
			value[STACK], value[LOCK], value[MASK], value[ROOM]);
	}
	return tracee_end();
}

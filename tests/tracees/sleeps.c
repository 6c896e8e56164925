/*
 * sleeps SEED [KINDS [MIN_MS MAX_MS [NR_THREADS]]]: sleep again and again, in one system call of
 * KINDS (names with commas, default all) for a random time, until stdin ends; in so many threads
 * more if NR_THREADS is given.  A child does the same as a control.  Says for each kind at the end
 *	KIND COUNT BAD LATE_MS CONTROL_LATE_MS
 * the sleeps that ended, those that ended early or with another result, and by how much the latest
 * was late, in this process and in the child.  "sleeps" alone lists the kinds.
 */
#include "tracee.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441 /* Linux 5.11, glibc 2.33 */
#endif

/* One of each for every thread. */
struct place {
	int epoll, pair[2], semaphores;
	long io_context;
	sem_t semaphore;
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	uint32_t word;
};

static struct timespec
span(long ms)
{
	return (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
}

static struct timespec
point(clockid_t clock, long ms)
{
	struct timespec now, wait = span(ms);

	clock_gettime(clock, &now);
	now.tv_sec += wait.tv_sec + (now.tv_nsec + wait.tv_nsec) / 1000000000;
	now.tv_nsec = (now.tv_nsec + wait.tv_nsec) % 1000000000;
	return now;
}

/* A timeout that must not be written to. */
static struct timespec *
constant(long ms)
{
	static __thread struct timespec *page;

	if (!page)
		page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	*page = span(ms);
	mprotect(page, 4096, PROT_READ);
	return page;
}

/* ---- each returns 0, or what it should not --------------------------------------------------- */

static long
sleep_poll(struct place *p, long ms)
{
	(void)p;
	return poll(NULL, 0, (int)ms);
}

static long
sleep_ppoll(struct place *p, long ms)
{
	(void)p;
	return ppoll(NULL, 0, constant(ms), NULL);
}

static long
sleep_ppoll_constant(struct place *p, long ms)
{
	(void)p;
	return syscall(SYS_ppoll, NULL, 0L, constant(ms), NULL, 8L);
}

static long
sleep_select(struct place *p, long ms)
{
	struct timeval t = { ms / 1000, ms % 1000 * 1000 };

	(void)p;
	return select(0, NULL, NULL, NULL, &t);
}

static long
sleep_pselect(struct place *p, long ms)
{
	(void)p;
	return pselect(0, NULL, NULL, NULL, constant(ms), NULL);
}

static long
sleep_epoll(struct place *p, long ms)
{
	struct epoll_event event;

	return epoll_wait(p->epoll, &event, 1, (int)ms);
}

static long
sleep_epoll_pwait2(struct place *p, long ms)
{
	struct epoll_event event;
	long n = syscall(SYS_epoll_pwait2, p->epoll, &event, 1L, constant(ms), NULL, 8L);

	return n < 0 && errno == ENOSYS ? sleep_epoll(p, ms) : n;
}

static long
sleep_nanosleep(struct place *p, long ms)
{
	(void)p;
	return nanosleep(constant(ms), NULL);
}

static long
sleep_nanosleep_rest(struct place *p, long ms)
{
	struct timespec t = span(ms);

	(void)p;
	return nanosleep(&t, &t);
}

static long
sleep_clock(struct place *p, long ms)
{
	(void)p;
	return clock_nanosleep(CLOCK_MONOTONIC, 0, constant(ms), NULL);
}

static long
sleep_clock_until(struct place *p, long ms)
{
	struct timespec t = point(CLOCK_MONOTONIC, ms);

	(void)p;
	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static long
sleep_signal(struct place *p, long ms)
{
	sigset_t set;

	(void)p;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, constant(ms)) == -1 && errno == EAGAIN ? 0 : errno;
}

static long
sleep_receive(struct place *p, long ms)
{
	struct timeval t = { ms / 1000, ms % 1000 * 1000 };
	char c;

	setsockopt(p->pair[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	return recv(p->pair[0], &c, 1, 0) == -1 && errno == EAGAIN ? 0 : errno;
}

static long
sleep_semop(struct place *p, long ms)
{
	struct sembuf down = { .sem_op = -1 };

	return semtimedop(p->semaphores, &down, 1, constant(ms)) == -1 && errno == EAGAIN ? 0
											  : errno;
}

static long
sleep_futex(struct place *p, long ms)
{
	return syscall(SYS_futex, &p->word, FUTEX_WAIT_PRIVATE, 0L, constant(ms), NULL, 0L) == -1 &&
			errno == ETIMEDOUT
		? 0
		: errno;
}

static long
sleep_io(struct place *p, long ms)
{
	struct timespec t = span(ms);
	char event[64];

	if (!p->io_context)
		return sleep_nanosleep(p, ms);
	return syscall(SYS_io_getevents, p->io_context, 1L, 1L, event, &t);
}

static long
sleep_sem(struct place *p, long ms)
{
	struct timespec t = point(CLOCK_REALTIME, ms);

	return sem_timedwait(&p->semaphore, &t) == -1 && errno == ETIMEDOUT ? 0 : errno;
}

static long
sleep_condition(struct place *p, long ms)
{
	struct timespec t = point(CLOCK_REALTIME, ms);
	int error;

	pthread_mutex_lock(&p->mutex);
	error = pthread_cond_timedwait(&p->condition, &p->mutex, &t);
	pthread_mutex_unlock(&p->mutex);
	return error == ETIMEDOUT ? 0 : error;
}

static struct kind {
	const char *name;
	long (*sleep)(struct place *p, long ms);
	bool is_wanted;
	unsigned long count, bad;
	long late_ms;
} kinds[] = {
	{ .name = "poll", .sleep = sleep_poll },
	{ .name = "ppoll", .sleep = sleep_ppoll },
	{ .name = "ppoll-constant", .sleep = sleep_ppoll_constant },
	{ .name = "select", .sleep = sleep_select },
	{ .name = "pselect", .sleep = sleep_pselect },
	{ .name = "epoll", .sleep = sleep_epoll },
	{ .name = "epoll_pwait2", .sleep = sleep_epoll_pwait2 },
	{ .name = "nanosleep", .sleep = sleep_nanosleep },
	{ .name = "nanosleep-rest", .sleep = sleep_nanosleep_rest },
	{ .name = "clock_nanosleep", .sleep = sleep_clock },
	{ .name = "clock_nanosleep-until", .sleep = sleep_clock_until },
	{ .name = "sigtimedwait", .sleep = sleep_signal },
	{ .name = "receive", .sleep = sleep_receive },
	{ .name = "semtimedop", .sleep = sleep_semop },
	{ .name = "futex", .sleep = sleep_futex },
	{ .name = "io_getevents", .sleep = sleep_io },
	{ .name = "sem_timedwait", .sleep = sleep_sem },
	{ .name = "pthread_cond_timedwait", .sleep = sleep_condition },
};

#define NR_KINDS (sizeof kinds / sizeof *kinds)

static pthread_mutex_t counts = PTHREAD_MUTEX_INITIALIZER;
static long min_ms, max_ms;
static size_t nr_wanted;
static volatile bool is_over;

static void
set_up(struct place *p)
{
	*p = (struct place){ .epoll = epoll_create1(0),
		.semaphores = semget(IPC_PRIVATE, 1, 0600) };
	if (p->epoll < 0 || p->semaphores < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, p->pair) != 0)
		tracee_fail("setting up");
	sem_init(&p->semaphore, 0, 0);
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->condition, NULL);
	if (syscall(SYS_io_setup, 1, &p->io_context) != 0)
		p->io_context = 0;
}

static void
sleep_once(struct place *p, struct kind *k, long ms)
{
	uint64_t start_ns = tracee_now_ns();
	long result = (errno = 0, k->sleep(p, ms)), late_ms;
	int64_t took_us = (int64_t)(tracee_now_ns() - start_ns) / 1000;

	if (is_over)
		return;
	late_ms = took_us / 1000 - ms;
	pthread_mutex_lock(&counts);
	k->count++;
	/* clock_gettime() of the coarse clocks behind some of these may be a tick early. */
	if (result != 0 || took_us < ms * 1000 - 1000) {
		k->bad++;
		fprintf(stderr, "%s of %ld ms: result %ld, errno %d, after %ld us\n", k->name, ms,
			result, errno, (long)took_us);
	}
	if (late_ms > k->late_ms)
		k->late_ms = late_ms;
	pthread_mutex_unlock(&counts);
}

static void
sleep_on(unsigned int seed)
{
	struct place p;

	set_up(&p);
	while (!is_over) {
		size_t at = (size_t)rand_r(&seed) % nr_wanted;
		struct kind *k = kinds;

		for (; !k->is_wanted || at--; k++)
			;
		sleep_once(&p, k, min_ms + rand_r(&seed) % (max_ms - min_ms + 1));
		if (poll(&(struct pollfd){ .fd = 0 }, 1, 0) == 1)
			break;
	}
	semctl(p.semaphores, 0, IPC_RMID);
}

static unsigned int first_seed;

static void *
sleep_in_thread(void *arg)
{
	tracee_use_malloc();
	sleep_on(first_seed + (unsigned int)(uintptr_t)arg);
	return NULL;
}

static void
want(const char *names)
{
	for (size_t i = 0; i < NR_KINDS; i++) {
		const char *at = names ? strstr(names, kinds[i].name) : NULL;
		char after = at ? at[strlen(kinds[i].name)] : 'x';

		while (at && after != '\0' && after != ',') {
			at = strstr(at + 1, kinds[i].name);
			after = at ? at[strlen(kinds[i].name)] : 'x';
		}
		kinds[i].is_wanted = !names || strcmp(names, "all") == 0 ||
			(at && (at == names || at[-1] == ','));
		nr_wanted += kinds[i].is_wanted;
	}
}

static void
sleep_all(long nr_threads)
{
	pthread_t thread[64];

	for (long i = 0; i < nr_threads && i < 64; i++)
		if (pthread_create(&thread[i], NULL, sleep_in_thread, (void *)(i + 1)) != 0)
			tracee_fail("pthread_create");
	sleep_on(first_seed);
	for (long i = 0; i < nr_threads && i < 64; i++)
		pthread_join(thread[i], NULL);
}

static void
control(int out, long nr_threads)
{
	sleep_all(nr_threads);
	for (size_t i = 0; i < NR_KINDS; i++)
		if (write(out, &kinds[i].late_ms, sizeof kinds[i].late_ms) < 0)
			_exit(1);
	_exit(0);
}

int
main(int argc, char **argv)
{
	const long nr_threads = tracee_number(argc, argv, 5, 0);
	int result[2];
	sigset_t set;
	long late_ms;

	for (size_t i = 0; argc < 2 && i < NR_KINDS; i++)
		puts(kinds[i].name);
	if (argc < 2)
		return 0;
	first_seed = (unsigned int)tracee_number(argc, argv, 1, 1);
	want(argc > 2 ? argv[2] : NULL);
	min_ms = tracee_number(argc, argv, 3, 300);
	max_ms = tracee_number(argc, argv, 4, 1500);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (!nr_wanted || pipe(result) != 0)
		tracee_fail("no such kind, or pipe");
	if (fork() == 0)
		control(result[1], nr_threads);
	tracee_ready();
	sleep_all(nr_threads);
	for (size_t i = 0; i < NR_KINDS; i++) {
		if (read(result[0], &late_ms, sizeof late_ms) != sizeof late_ms)
			tracee_fail("control");
		if (kinds[i].is_wanted)
			tracee_say("%s %lu %lu %ld %ld", kinds[i].name, kinds[i].count,
				kinds[i].bad, kinds[i].late_ms, late_ms);
	}
	return tracee_end();
}

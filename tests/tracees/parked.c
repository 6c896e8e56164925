/*
 * parked KIND MS [multi]: wait MS milliseconds in one blocking system call, and say what came of
 * it: "kept", or "broken" with the result.  A child process ends the waits that have no timeout
 * of their own.  With "multi" a second thread waits and main sits inside fgets(), where nobody may
 * borrow it.  "parked" alone lists the kinds in which a thread may be borrowed, "parked all" the
 * others too.
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

static long wait_ms;
static int pair[2];	      /* connected sockets: the child speaks into [1] */
static int semaphores, queue; /* System V */
static sem_t *shared;
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static int listener;

static struct timespec
wait_time(void)
{
	return (struct timespec){ wait_ms / 1000, wait_ms % 1000 * 1000000 };
}

static struct timespec
deadline(clockid_t clock)
{
	struct timespec now, wait = wait_time();

	clock_gettime(clock, &now);
	now.tv_sec += wait.tv_sec + (now.tv_nsec + wait.tv_nsec) / 1000000000;
	now.tv_nsec = (now.tv_nsec + wait.tv_nsec) % 1000000000;
	return now;
}

/* ---- the waits: each returns what its system call did ---------------------------------------- */

static long
wait_read(void)
{
	char c;

	return read(pair[0], &c, 1);
}

static long
wait_recv(void)
{
	char c;

	return recv(pair[0], &c, 1, 0);
}

static long
wait_recv_timeout(void)
{
	struct timeval t = { wait_ms / 1000, wait_ms % 1000 * 1000 };
	char c;

	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
	return recv(pair[0], &c, 1, 0);
}

static long
wait_accept(void)
{
	return accept(listener, NULL, NULL) >= 0;
}

static long
wait_sem(void)
{
	return sem_wait(shared);
}

static long
wait_sem_timed(void)
{
	struct timespec t = deadline(CLOCK_REALTIME);

	return sem_timedwait(shared, &t);
}

static long
wait_poll(void)
{
	return poll(NULL, 0, (int)wait_ms);
}

static long
wait_ppoll(void)
{
	struct timespec t = wait_time();

	return ppoll(NULL, 0, &t, NULL);
}

static long
wait_select(void)
{
	struct timeval t = { wait_ms / 1000, wait_ms % 1000 * 1000 };

	return select(0, NULL, NULL, NULL, &t);
}

static long
wait_nanosleep(void)
{
	struct timespec t = wait_time();

	return nanosleep(&t, NULL);
}

static long
wait_clock_nanosleep(void)
{
	struct timespec t = deadline(CLOCK_MONOTONIC);

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static long
wait_pause(void)
{
	return pause();
}

static long
wait_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigwaitinfo(&set, NULL) == SIGUSR2;
}

static long
wait_epoll(void)
{
	struct epoll_event event;

	return epoll_wait(epoll_create1(0), &event, 1, (int)wait_ms);
}

static long
wait_epoll_for_ever(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event);
	return epoll_wait(epoll, &event, 1, -1);
}

static long
wait_semop(void)
{
	struct sembuf down = { .sem_op = -1 };

	return semop(semaphores, &down, 1);
}

static long
wait_send_timeout(void)
{
	struct timeval t = { wait_ms / 1000, wait_ms % 1000 * 1000 };
	char some[4096] = { 0 };

	while (send(pair[0], some, sizeof some, MSG_DONTWAIT) > 0)
		;
	setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
	return send(pair[0], some, sizeof some, 0);
}

static long
wait_io_events(void)
{
	struct timespec t = wait_time();
	char event[64];
	long context = 0;

	if (syscall(SYS_io_setup, 1, &context) != 0)
		tracee_fail("io_setup");
	return syscall(SYS_io_getevents, context, 1L, 1L, event, &t);
}

static long
wait_message(void)
{
	char message[64];

	return msgrcv(queue, message, 8, 0, 0);
}

/* ---- how the child ends them ----------------------------------------------------------------- */

static void
end_socket(void)
{
	if (write(pair[1], "x", 1) != 1)
		tracee_fail("write");
}

static void
end_accept(void)
{
	if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address) !=
		0)
		tracee_fail("connect");
}

static void
end_sem(void)
{
	sem_post(shared);
}

static void
end_pause(void)
{
	kill(getppid(), SIGUSR1);
}

static void
end_signal(void)
{
	kill(getppid(), SIGUSR2);
}

static void
end_semop(void)
{
	struct sembuf up = { .sem_op = 1 };

	semop(semaphores, &up, 1);
}

static void
end_message(void)
{
	const long message = 1;

	msgsnd(queue, &message, 0, 0);
}

static const struct kind {
	const char *name;
	long (*wait)(void);
	void (*end)(void); /* NULL: it times out */
	long result;
	int error;
	/*
	 * Such a call fails with EINTR when the thread is stopped, and its timeout is the socket's
	 * (signal(7)): so the call is made again with its whole timeout.
	 */
	bool starts_over;
	bool is_not_borrowed;
} kinds[] = {
	{ "read", wait_read, end_socket, 1, 0, false, false },
	{ "recv", wait_recv, end_socket, 1, 0, false, false },
	{ "recv-timeout", wait_recv_timeout, NULL, -1, EAGAIN, true, true },
	{ "accept", wait_accept, end_accept, 1, 0, false, false },
	{ "sem", wait_sem, end_sem, 0, 0, false, false },
	{ "sem-timed", wait_sem_timed, NULL, -1, ETIMEDOUT, false, false },
	{ "poll", wait_poll, NULL, 0, 0, false, false },
	{ "ppoll", wait_ppoll, NULL, 0, 0, false, false },
	{ "select", wait_select, NULL, 0, 0, false, false },
	{ "nanosleep", wait_nanosleep, NULL, 0, 0, false, false },
	{ "clock_nanosleep", wait_clock_nanosleep, NULL, 0, 0, false, false },
	{ "pause", wait_pause, end_pause, -1, EINTR, false, false },
	{ "sigwaitinfo", wait_signal, end_signal, 1, 0, false, false },
	{ "epoll", wait_epoll, NULL, 0, 0, false, false },
	{ "epoll-for-ever", wait_epoll_for_ever, end_socket, 1, 0, false, false },
	{ "semop", wait_semop, end_semop, 0, 0, false, false },
	{ "send-timeout", wait_send_timeout, NULL, -1, EAGAIN, true, true },
	{ "io-events", wait_io_events, NULL, 0, 0, false, true },
	{ "message", wait_message, end_message, 0, 0, false, true },
};

static void
ignore(int sig)
{
	(void)sig;
}

/* They outlive the process.  It may end while the thread still waits. */
static void
remove_queues(void)
{
	semctl(semaphores, 0, IPC_RMID);
	msgctl(queue, IPC_RMID, NULL);
}

static void
prepare(void)
{
	struct sigaction a = { .sa_handler = ignore };
	sigset_t set;

	sigaction(SIGUSR1, &a, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		tracee_fail("socketpair");
	snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "parked-%d", getpid());
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
		listen(listener, 1) != 0)
		tracee_fail("listen");
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	shared = mmap(
		NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	queue = msgget(IPC_PRIVATE, 0600);
	atexit(remove_queues);
	if (semaphores < 0 || queue < 0 || shared == MAP_FAILED || sem_init(shared, 1, 0) != 0)
		tracee_fail("semaphores");
}

static void
end_later(const struct kind *k)
{
	struct timespec t = wait_time();

	if (!k->end || fork() != 0)
		return;
	nanosleep(&t, NULL);
	k->end();
	_exit(0);
}

/*
 * The most milliseconds that a wait may end late.  memdiag computes what is left of the wait while
 * the thread is stopped; on a busy machine it may then get no processor for a while.
 */
#define LATE_MS 1000

/*
 * How long this thread has waited for a processor so far, which is not memdiag's doing: the second
 * number of schedstat (Documentation/scheduler/sched-stats.rst); 0 if the kernel does not count.
 */
static long
queued_ms(void)
{
	char text[128] = "";
	unsigned long long run_ns, queued_ns = 0;
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof text - 1) <= 0 ||
		sscanf(text, "%llu %llu", &run_ns, &queued_ns) != 2)
		queued_ns = 0;
	close(fd);
	return (long)(queued_ns / 1000000);
}

static void *
wait_and_judge(void *arg)
{
	const struct kind *k = arg;
	uint64_t start_ns = tracee_now_ns();
	long most_ms = wait_ms + (k->starts_over ? wait_ms : 0) + LATE_MS, took_ms, late_ms, result;
	int error;

	errno = 0;
	result = k->wait();
	error = result == -1 ? errno : 0;
	took_ms = (long)((tracee_now_ns() - start_ns) / 1000000);
	late_ms = queued_ms();
	if (result == k->result && error == k->error && took_ms >= wait_ms - 200 - late_ms &&
		took_ms <= most_ms + late_ms)
		tracee_say("kept");
	else
		tracee_say("broken: result %ld, error %d, after %ld of %ld ms", result, error,
			took_ms, wait_ms);
	return NULL;
}

static int
run(const struct kind *k, bool is_multi)
{
	char line[64];
	sigset_t set;

	prepare();
	end_later(k);
	if (!is_multi) {
		tracee_ready();
		wait_and_judge((void *)k);
		return tracee_park();
	}
	tracee_thread(wait_and_judge, (void *)k);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1); /* it is for the thread */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	tracee_ready();
	while (fgets(line, sizeof line, stdin))
		;
	return tracee_end();
}

static int
list(bool with_all)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (with_all || !kinds[i].is_not_borrowed)
			puts(kinds[i].name);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc < 3)
		return list(argc == 2);
	wait_ms = tracee_number(argc, argv, 2, 0);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(argv[1], kinds[i].name) == 0)
			return run(&kinds[i], argc > 3);
	return 1;
}

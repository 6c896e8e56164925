/*
 * abandon: threads that leave mmap() and munmap() in the middle, by siglongjmp() out of a handler
 * or by asynchronous cancellation.  Others map as ever, and the sum stays near what there is.
 */
#include "count.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#define BYTES 8192
#define LEAVES 400
#define ROUNDS 20000

static __thread sigjmp_buf env;
static __thread volatile int is_armed;
static volatile long nr_left, nr_mapped;
static volatile bool is_over;

static void
jump(int sig)
{
	(void)sig;
	if (is_armed) {
		is_armed = 0;
		siglongjmp(env, 1);
	}
}

static void
map_for_ever(void)
{
	for (;;) {
		void *p = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		mprotect(p, BYTES, PROT_READ | PROT_WRITE);
		munmap(p, BYTES);
	}
}

/* The timer is in *RET before it can fire: until 2.33 timer_delete() follows it as a pointer. */
static void
start_timer(timer_t *ret, long ns)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct itimerspec when = { .it_value = { .tv_nsec = ns } };

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, ret) != 0)
		abort();
	timer_settime(*ret, 0, &when, NULL);
}

static void *
leave_by_jump(void *seed)
{
	static __thread timer_t timer;

	is_armed = 1;
	if (!sigsetjmp(env, 1)) {
		start_timer(&timer, 50000 + (long)(uintptr_t)seed * 7919 % 50000);
		map_for_ever();
	}
	timer_delete(timer);
	return NULL;
}

static void *
be_cancelled(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	map_for_ever();
	return arg;
}

static void *
leave_often(void *is_cancel)
{
	const struct timespec moment = { .tv_nsec = 60000 };
	pthread_t thread;

	for (uintptr_t i = 0; i < LEAVES; i++) {
		if (pthread_create(
			    &thread, NULL, is_cancel ? be_cancelled : leave_by_jump, (void *)i))
			abort();
		nanosleep(&moment, NULL);
		if (is_cancel)
			pthread_cancel(thread);
		pthread_join(thread, NULL);
		nr_left++;
	}
	is_over = true;
	return NULL;
}

static void *
map_plainly(void *arg)
{
	for (long i = 0; i < ROUNDS || !is_over; i++) {
		munmap(mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), BYTES);
		nr_mapped++;
	}
	return arg;
}

static long
address_space_bytes(void)
{
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY);
	long pages = 0;

	if (read(fd, text, sizeof text - 1) > 0)
		sscanf(text, "%ld", &pages);
	close(fd);
	return pages * sysconf(_SC_PAGESIZE);
}

/*
 * A mapping made just before the thread left may count or not; no more counts than exists.  A few
 * instructions, of thousands, are between the table and the counter.
 */
static void
try_leaving(bool is_cancel)
{
	const long before = address_space_bytes();
	pthread_t leaver, plain;
	long counted_bytes, there;

	nr_left = nr_mapped = 0;
	is_over = false;
	begin_count();
	pthread_create(&leaver, NULL, leave_often, (void *)(uintptr_t)is_cancel);
	pthread_create(&plain, NULL, map_plainly, NULL);
	pthread_join(leaver, NULL);
	pthread_join(plain, NULL);
	ok(nr_mapped >= ROUNDS, "others map while %ld threads %s", nr_left,
		is_cancel ? "are cancelled" : "jump");
	counted_bytes = (long)(memdiag_live_bytes() - count_before);
	there = address_space_bytes() - before;
	if (!ok(counted_bytes <= there + LEAVES / 10 * BYTES &&
			    counted_bytes >= -LEAVES / 10 * BYTES,
		    "and what they left is known"))
		printf("# counted %ld bytes, mapped %ld\n", counted_bytes, there);
}

/* Also when a thread comes back to work after it has left a call. */
static void
try_again_here(void)
{
	static timer_t timer;
	volatile long nr = 0;
	void *p;

	begin_count();
	while (nr++ < LEAVES) {
		is_armed = 1;
		if (sigsetjmp(env, 1))
			continue;
		if (nr > 1)
			timer_delete(timer);
		start_timer(&timer, 30000 + nr * 7919 % 30000);
		map_for_ever();
	}
	p = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p, BYTES);
	ok(p != MAP_FAILED, "a thread that has left calls goes on");
	begin_count();
	take_and_free(100);
	p = malloc(1000);
	ok(memdiag_live_bytes() - count_before >= 1000, "and what it allocates counts");
	free(p);
	p = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	counted(BYTES, "as what it maps");
	munmap(p, BYTES);
}

int
main(void)
{
	need_agent();
	signal(SIGUSR1, jump);
	take_and_free(10);
	try_leaving(false);
	try_leaving(true);
	try_again_here();
	return tap_end();
}

/*
 * file-stack FILE [above]: the one thread that waits has a private mapping of FILE as its stack,
 * and the pages below what it uses were never there; with "above" those are, but not the ones
 * above.  The first thread runs all the time.  With "timeout" the thread sleeps instead, for what
 * is at the beginning of FILE, whose page is not there any more.
 */
#include "tracee.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define STACK_BYTES ((size_t)1 << 20)

static atomic_bool is_deep;

/* Wait without a call that would use more of the stack. */
static void *
work(void *arg)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	volatile char *room;

	tracee_use_malloc();
	room = __builtin_alloca(65536 + (here & 4095) - 200);
	room[0] = 1;
	for (uintptr_t below = 4096; arg && below < 32768; below += 4096)
		*(volatile char *)((uintptr_t)room - below) = 1;
	is_deep = true;
	for (;;) {
#ifdef __x86_64__
		long number = 34, result; /* pause() */

		__asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
#else
		pause();
#endif
	}
	return arg;
}

static atomic_int sleeper;

static void *
sleep_for(void *time)
{
	sleeper = (int)syscall(SYS_gettid);
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, time, NULL);
	return NULL;
}

/* Whether the other thread sleeps. */
static bool
is_asleep(void)
{
	char path[64], text[16] = "";
	int fd;

	snprintf(path, sizeof path, "/proc/self/task/%d/syscall", sleeper);
	fd = sleeper ? open(path, O_RDONLY) : -1;
	if (fd >= 0 && read(fd, text, sizeof text - 1) < 0)
		text[0] = '\0';
	close(fd);
	return atoi(text) == SYS_clock_nanosleep;
}

/* The page is dropped when the kernel has read the time. */
static void
sleep_by_file(int fd)
{
	pthread_t thread;
	void *time = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	if (time == MAP_FAILED || pthread_create(&thread, NULL, sleep_for, time) != 0)
		tracee_fail("mmap");
	while (!is_asleep())
		;
	if (madvise(time, 4096, MADV_DONTNEED) < 0 ||
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		tracee_fail("the page is kept");
}

static void
stand_on_file(int fd, char *above)
{
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	pthread_attr_t attr;
	pthread_t thread;

	if (stack == MAP_FAILED || madvise(stack, STACK_BYTES, MADV_RANDOM) < 0)
		tracee_fail("mmap");
	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, stack, STACK_BYTES) != 0 ||
		pthread_create(&thread, &attr, work, above) != 0)
		tracee_fail("pthread_create");
	while (!is_deep)
		;
}

int
main(int argc, char **argv)
{
	const int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	struct pollfd in = { .fd = 0, .events = POLLIN };

	if (fd < 0)
		return 64;
	if (argc > 2 && strcmp(argv[2], "timeout") == 0)
		sleep_by_file(fd);
	else
		stand_on_file(fd, argc > 2 ? argv[2] : NULL);
	tracee_ready();
	/* Not to be borrowed: in no system call that waits. */
	while (poll(&in, 1, 0) == 0)
		;
	return tracee_end();
}

/*
 * file-stack FILE [above]: the one thread that waits has a private mapping of FILE as its stack, and
 * the pages below what it uses were never there; with "above" those are, but not the ones above.  The
 * first thread runs all the time.
 */
#include "tracee.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

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

int
main(int argc, char **argv)
{
	const int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	struct pollfd in = { .fd = 0, .events = POLLIN };
	pthread_attr_t attr;
	pthread_t thread;
	char *stack;

	if (fd < 0)
		return 64;
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (stack == MAP_FAILED || madvise(stack, STACK_BYTES, MADV_RANDOM) < 0)
		tracee_fail("mmap");
	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, stack, STACK_BYTES) != 0 ||
		pthread_create(&thread, &attr, work, argc > 2 ? argv[2] : NULL) != 0)
		tracee_fail("pthread_create");
	while (!is_deep)
		;
	tracee_ready();
	/* Not to be borrowed: in no system call that waits. */
	while (poll(&in, 1, 0) == 0)
		;
	return tracee_end();
}

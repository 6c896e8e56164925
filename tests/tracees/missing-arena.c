/*
 * missing-arena: the first page of a thread's arena is not there, and nothing brings it
 * (userfaultfd): a read of it waits for ever.  The thread does not use malloc again.
 */
#include "tracee.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Each heap of an arena begins at a multiple (HEAP_MAX_SIZE, malloc/arena.c). */
#define HEAP_BYTES ((uintptr_t)64 << 20)
#define PAGE_BYTES ((uintptr_t)65536) /* of any machine */

static _Atomic(char *) block;

static void *
wait_for_ever(void *arg)
{
	block = malloc(1000);
	for (;;)
		pause();
	return arg;
}

static void
take_away(char *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .range = { (uintptr_t)page, PAGE_BYTES },
		.mode = UFFDIO_REGISTER_MODE_MISSING };
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) != 0 ||
		ioctl(uffd, UFFDIO_REGISTER, &range) != 0 ||
		madvise(page, PAGE_BYTES, MADV_DONTNEED) != 0)
		tracee_fail("userfaultfd");
}

int
main(void)
{
	char line[64];

	tracee_thread(wait_for_ever, NULL);
	while (!block)
		usleep(1000);
	take_away((char *)((uintptr_t)block & ~(HEAP_BYTES - 1)));
	tracee_ready();
	while (tracee_command(line, sizeof line))
		tracee_say("?");
	_exit(tracee_end());
}

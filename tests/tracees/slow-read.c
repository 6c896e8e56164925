/*
 * slow-read: one thread is inside read(), where the kernel cannot be interrupted: the page it reads
 * into is not there, and this program is to bring it (userfaultfd), as with a network file system
 * that does not answer.  main waits inside stdio.
 *
 *	bring	-> "read", when read() has returned
 */
#include "tracee.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE_BYTES 65536 /* of any machine */

static char *page;
static int uffd, full[2], never[2];

static void *
read_slowly(void *arg)
{
	char line[64];
	ssize_t n;

	tracee_use_malloc();
	n = read(full[0], page, 1);
	if (n != 1)
		tracee_fail("read");
	tracee_say("read");
	fgets(line, sizeof line, fdopen(never[0], "r"));
	return arg;
}

static void
take_page_away(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .range.len = PAGE_BYTES,
		.mode = UFFDIO_REGISTER_MODE_MISSING };

	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) != 0)
		tracee_fail("userfaultfd");
	page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)page;
	if (page == MAP_FAILED || ioctl(uffd, UFFDIO_REGISTER, &range) != 0)
		tracee_fail("userfaultfd");
}

static void
await_fault(void)
{
	struct uffd_msg msg;

	if (read(uffd, &msg, sizeof msg) != sizeof msg)
		tracee_fail("userfaultfd");
}

static void
bring_page(void)
{
	struct uffdio_zeropage range = { .range = { (uintptr_t)page, PAGE_BYTES } };

	if (ioctl(uffd, UFFDIO_ZEROPAGE, &range) != 0)
		tracee_fail("userfaultfd");
}

int
main(void)
{
	char line[64];

	take_page_away();
	if (pipe(full) != 0 || pipe(never) != 0 || write(full[1], "x", 1) != 1)
		tracee_fail("pipe");
	tracee_thread(read_slowly, NULL);
	await_fault();
	tracee_ready();
	while (tracee_command_in_stdio(line, sizeof line))
		bring_page();
	/*
	 * Not exit(): since 2.40 that waits for streams that are in use, and a thread reads from
	 * one for ever.
	 */
	_exit(tracee_end());
}

/*
 * spin: one thread that computes and is never inside libc: what it must ask the kernel, it asks
 * with the instruction.
 *
 *	count	-> rounds so far, a thousand steps each
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

static long
read_directly(void *buf, size_t size)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_read), "D"(0L), "S"(buf), "d"(size)
			 : "rcx", "r11", "memory");
	return result;
#else
	long result = read(0, buf, size);

	return result < 0 ? -errno : result;
#endif
}

int
main(void)
{
	static volatile uint64_t steps;
	char line[64];
	long n;

	fcntl(0, F_SETFL, O_NONBLOCK);
	tracee_ready();
	while ((n = read_directly(line, sizeof line)) != 0) {
		if (n > 0)
			tracee_say("%llu", (unsigned long long)steps / 1000);
		else if (n != -EAGAIN)
			tracee_fail("read");
		for (int i = 0; i < 1000000; i++)
			steps++;
	}
	return tracee_end();
}

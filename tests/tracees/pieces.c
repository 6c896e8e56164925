/*
 * pieces KIND N: one thread with a heap of N blocks of 9000 bytes, every second of which is free,
 * that waits for commands in KIND:
 *	read
 *	poll
 *	timed	in poll() with a timeout
 *	seccomp	in poll(), under a filter that ends the program for any call that it does not make
 *	only-CALL	in read(), under such a filter that allows CALL besides
 *		itself
 *	fill	make all pages of the free blocks resident again
 *	trim	call malloc_trim() itself, and say how many microseconds it took
 *	broken	say how often the wait was broken off
 */
#include "tracee.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <poll.h>
#include <stddef.h>
#include <sys/syscall.h>

#define BLOCK_BYTES 9000

static char **block;
static size_t nr_blocks;
static unsigned int nr_broken;

static void
fill(void)
{
	for (size_t i = 0; i < nr_blocks; i += 2) {
		block[i] = malloc(BLOCK_BYTES);
		if (!block[i])
			tracee_fail("malloc");
		memset(block[i], 1, BLOCK_BYTES);
	}
	for (size_t i = 0; i < nr_blocks; i += 2)
		free(block[i]);
}

#define ALLOW(name)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Calls that the filter lets through besides those that the program makes. */
static const struct {
	const char *kind;
	unsigned int nr;
} also[] = {
	{ "only-nanosleep", SYS_nanosleep },
	{ "only-clock_nanosleep", SYS_clock_nanosleep },
	{ "only-futex", SYS_futex },
	{ "only-read", SYS_read }, /* no sleep at all */
#ifdef SYS_poll
	{ "seccomp", SYS_poll },
#else
	{ "seccomp", SYS_ppoll },
#endif
};

static void
only_these_calls(unsigned int nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read),
		ALLOW(write),
		ALLOW(brk),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(madvise),
		ALLOW(rt_sigreturn),
		ALLOW(exit_group),
		ALLOW(clock_gettime),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		tracee_fail("seccomp");
}

static void
wait_in_poll(int timeout_ms)
{
	struct pollfd p = { .fd = 0, .events = POLLIN };
	int n;

	while ((n = poll(&p, 1, timeout_ms)) <= 0)
		nr_broken += n < 0;
}

int
main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "read";
	char line[64];

	nr_blocks = (size_t)tracee_number(argc, argv, 2, 20000);
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 2000000000);
	block = calloc(nr_blocks, sizeof *block);
	for (size_t i = 0; block && i < nr_blocks; i++)
		block[i] = memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
	for (size_t i = 0; block && i < nr_blocks; i += 2)
		free(block[i]);
	tracee_ready();
	for (size_t i = 0; i < sizeof also / sizeof *also; i++)
		if (strcmp(kind, also[i].kind) == 0)
			only_these_calls(also[i].nr);
	for (;;) {
		uint64_t start_ns;

		if (strcmp(kind, "read") != 0 && strncmp(kind, "only-", 5) != 0)
			wait_in_poll(strcmp(kind, "timed") == 0 ? 3000 : -1);
		if (!tracee_command(line, sizeof line))
			break;
		start_ns = tracee_now_ns();
		if (strcmp(line, "fill") == 0)
			fill();
		else if (strcmp(line, "trim") == 0)
			malloc_trim(0);
		if (strcmp(line, "broken") == 0)
			tracee_say("%u times", nr_broken);
		else
			tracee_say("%lu us", (unsigned long)((tracee_now_ns() - start_ns) / 1000));
	}
	return tracee_end();
}

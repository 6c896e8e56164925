/*
 * sequence: one thread that is in a restartable sequence of its own (rseq, Linux 4.18) until it is
 * given a command.  Run it with GLIBC_TUNABLES=glibc.pthread.rseq=0, or glibc since 2.35 has
 * registered the thread already.
 *
 * aborts  -> how often the kernel has aborted the sequence
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

#if defined __x86_64__ && defined SYS_rseq
#define SIGNATURE 0x53053053 /* in front of the handler of aborts */

/* uapi/linux/rseq.h */
static struct {
	uint32_t cpu_id_start, cpu_id;
	uint64_t section;
	uint32_t flags;
} __attribute__((aligned(32))) area;

static long nr_aborts;
static volatile sig_atomic_t is_wanted; /* there is something to read */

static void
note(int sig)
{
	(void)sig;
	is_wanted = 1;
}

/* Turn round in the sequence, and begin it again when it was aborted, until is_wanted. */
static void
run_sequence(void)
{
	__asm__ volatile(".pushsection __rseq_cs, \"aw\"\n"
			 ".balign 32\n"
			 "1:	.long 0, 0\n"
			 "	.quad 2f, 3f - 2f, 4f\n"
			 ".popsection\n"
			 "	leaq 1b(%%rip), %%rax\n"
			 "6:	movq %%rax, %[section]\n"
			 "2:	cmpl $0, %[wanted]\n"
			 "	je 2b\n"
			 "3:	jmp 5f\n"
			 "	.byte 0x0f, 0xb9, 0x3d\n"
			 "	.long %c[signature]\n"
			 "4:	incq %[aborts]\n"
			 "	jmp 6b\n"
			 "5:	movq $0, %[section]\n"
			 : [section] "+m"(area.section), [aborts] "+m"(nr_aborts)
			 : [wanted] "m"(is_wanted), [signature] "i"(SIGNATURE)
			 : "rax", "cc", "memory");
}

int
main(void)
{
	char line[64];
	ssize_t n;

	if (syscall(SYS_rseq, &area, sizeof area, 0, SIGNATURE) < 0)
		tracee_fail("rseq");
	signal(SIGIO, note);
	fcntl(0, F_SETOWN, getpid());
	fcntl(0, F_SETFL, O_NONBLOCK | O_ASYNC);
	tracee_ready();
	while (is_wanted = 0, (n = read(0, line, sizeof line)) != 0) {
		if (n > 0)
			tracee_say("%ld", nr_aborts);
		else if (errno != EAGAIN)
			tracee_fail("read");
		run_sequence();
	}
	return tracee_end();
}
#else
int
main(void)
{
	tracee_fail("there are no restartable sequences here");
}
#endif

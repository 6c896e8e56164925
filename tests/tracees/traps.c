/*
 * traps int3|seccomp: a thread that runs all the time and takes a trap again and again, by an
 * instruction or by a seccomp filter that traps a system call, whose handler answers the call.
 *	lost	say how many traps had no effect
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define ANSWER 4242

static volatile uint64_t nr_handled;

static void
count(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	nr_handled++;
}

static void
answer(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	nr_handled++;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = ANSWER;
}

static long
call(long nr, long a, void *b, size_t c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static void
handle(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	sigaction(sig, &a, NULL);
}

static void
trap_getppid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		tracee_fail("seccomp");
}

int
main(int argc, char **argv)
{
	const bool is_seccomp = argc > 1 && strcmp(argv[1], "seccomp") == 0;
	uint64_t nr_traps = 0, nr_lost = 0;
	char line[64];
	long n;

	fcntl(0, F_SETFL, O_NONBLOCK);
	handle(SIGTRAP, count);
	handle(SIGSYS, answer);
	if (is_seccomp)
		trap_getppid();
	tracee_ready();
	while ((n = call(SYS_read, 0, line, sizeof line)) != 0) {
		if (n > 0)
			tracee_say("%lu of %s", (unsigned long)nr_lost, nr_traps ? "many" : "none");
		for (int i = 0; i < 1000; i++) {
			uint64_t before = nr_handled;
			long result = ANSWER;

			for (volatile int work = 0; work < 300; work++)
				;
			if (is_seccomp)
				result = call(SYS_getppid, 0, NULL, 0);
			else
				__asm__ volatile("int3" ::: "memory");
			nr_traps++;
			nr_lost += nr_handled != before + 1 || result != ANSWER;
		}
	}
	return tracee_end();
}

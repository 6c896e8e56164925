/*
 * operates: make the calls that memdiag would make in it, by itself, for strace.  Around each
 * operation stands a system call that nobody else makes: close(-1000 - N) before, close(-2000 - N)
 * behind it, N being 1 for malloc_info(), 2 for malloc_trim(), 3 for a helper, 4 for a free top
 * that is given back.  Then it is a tracee that waits.
 */
#include "tracee.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { INFO = 1, TRIM, HELPER, TOPS };

#define NR_BLOCKS 2000
#define HELPER_STACK_BYTES 32768

static void
mark(int nr)
{
	syscall(SYS_close, -nr);
}

static void
fill(void)
{
	static void *block[NR_BLOCKS];

	for (size_t i = 0; i < NR_BLOCKS; i++)
		block[i] = memset(malloc(5000), 1, 5000);
	for (size_t i = 0; i < NR_BLOCKS; i += 2)
		free(block[i]);
	free(block[NR_BLOCKS - 1]);
}

/* As memdiag does, to a stream that keeps all in its buffer. */
static void
make_info(void)
{
	static char buffer[1 << 20];
	FILE *f = fopen("/dev/null", "w");

	if (!f || setvbuf(f, buffer, _IOFBF, sizeof buffer) != 0)
		tracee_fail("fopen");
	fputc('x', f);
	mark(1000 + INFO);
	malloc_info(0, f);
	mark(2000 + INFO);
	fclose(f);
}

static volatile pid_t helper;

/* rt_sigprocmask() is all that the start routine of a helper calls. */
static void *
help(void *arg)
{
	sigset_t none;

	sigemptyset(&none);
	pthread_sigmask(SIG_BLOCK, &none, NULL);
	helper = (pid_t)syscall(SYS_gettid);
	return arg;
}

static void
make_helper(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, HELPER_STACK_BYTES);
	mark(1000 + HELPER);
	if (pthread_create(&thread, &attr, help, NULL))
		tracee_fail("pthread_create");
	while (!helper || syscall(SYS_tgkill, getpid(), helper, 0) == 0)
		usleep(1000);
	mark(2000 + HELPER);
}

static void
give_back_top(void)
{
	void *top = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mark(1000 + TOPS);
	madvise(top, 65536, MADV_DONTNEED);
	mark(2000 + TOPS);
}

int
main(void)
{
	tracee_use_malloc();
	fill();
	make_info();
	mark(1000 + TRIM);
	malloc_trim(0);
	mark(2000 + TRIM);
	give_back_top();
	/* Twice: the second one has another's stack. */
	make_helper();
	helper = 0;
	make_helper();
	tracee_ready();
	return tracee_park();
}

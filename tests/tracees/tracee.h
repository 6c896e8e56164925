/*
 * tracee: what every program under tests/tracees does.  It lets any process trace it, says "ready"
 * on stdout, answers each line it reads on stdin with one line, and when stdin ends says "alive"
 * and exits with 0.
 *
 * No stdio unless it is meant: a thread that waits inside fgets() is in the middle of a FILE, and
 * memdiag rightly refuses to borrow it.
 */
#ifndef MEMDIAG_TESTS_TRACEE_H
#define MEMDIAG_TESTS_TRACEE_H

#define _GNU_SOURCE 1 /* so include this first */
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* Say that our own assumption failed, and leave. */
#define tracee_fail(what)                                                                          \
	do {                                                                                       \
		perror(what);                                                                      \
		_exit(99);                                                                         \
	} while (0)

/* One line on stdout. */
static inline void __attribute__((format(printf, 1, 2))) tracee_say(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof line - 1, fmt, ap);
	va_end(ap);
	line[n] = '\n';
	if (write(1, line, (size_t)n + 1) != n + 1)
		tracee_fail("write");
}

/* As the threads of real programs have done; volatile keeps the compiler from leaving it out. */
static inline void
tracee_use_malloc(void)
{
	void *volatile block = malloc(1000);

	free(block);
}

static inline void
tracee_ready(void)
{
	tracee_use_malloc();
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	tracee_say("ready");
}

/* The next command into LINE; false when stdin has ended.  Lines come whole through the pipe. */
static inline bool
tracee_command(char *line, size_t size)
{
	ssize_t n = read(0, line, size - 1);

	if (n < 0)
		tracee_fail("read");
	if (n == 0)
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/*
 * The same, but waiting inside stdio, where nobody may borrow the thread: for a main that must
 * leave that to the others.
 */
static inline bool
tracee_command_in_stdio(char *line, size_t size)
{
	if (!fgets(line, (int)size, stdin))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static inline int
tracee_end(void)
{
	tracee_say("alive");
	return 0;
}

/* For a tracee that has nothing to answer: park until stdin ends. */
static inline int
tracee_park(void)
{
	char line[64];

	while (tracee_command(line, sizeof line))
		tracee_say("what is '%s'?", line);
	return tracee_end();
}

static inline uint64_t
tracee_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The number in argument AT, or what to take when it is not given. */
static inline long
tracee_number(int argc, char **argv, int at, long otherwise)
{
	return at < argc ? strtol(argv[at], NULL, 0) : otherwise;
}

/* For a thread that has nothing to do: where memdiag may borrow it, if it has used malloc. */
static inline void *
tracee_wait_for_ever(void *arg)
{
	for (;;)
		poll(NULL, 0, -1);
	return arg;
}

/* Start a thread that nobody joins. */
static inline void
tracee_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg) != 0 || pthread_detach(thread) != 0)
		tracee_fail("pthread_create");
}

/*
 * Leave no address on the stack below or in a register that calls preserve.  malloc moves addresses
 * of chunks in pairs, which stay in vector registers.
 */
static __attribute__((noinline, unused)) void
tracee_scrub(void)
{
	char below[128 * 1024];

	memset(below, 0, sizeof below);
	/* Or the compiler leaves it out. */
	__asm__ volatile("" ::"r"(below) : "memory");
#if defined __x86_64__
	__asm__ volatile("xor %%ebx, %%ebx\n\txor %%r12d, %%r12d\n\txor %%r13d, %%r13d\n\t"
			 "xor %%r14d, %%r14d\n\txor %%r15d, %%r15d" ::
				 : "rbx", "r12", "r13", "r14", "r15");
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroall" ::: "memory");
#endif
}

#endif

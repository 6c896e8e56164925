/* sys: system calls without libc: no errno, no hook, no PLT.  They return -errno on failure. */
#ifndef MEMDIAG_AGENT_BASE_SYS_H
#define MEMDIAG_AGENT_BASE_SYS_H

#include <stdint.h>
#include <sys/syscall.h>

#if defined __x86_64__
static inline long
sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined __aarch64__
static inline long
sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "the agent knows the system calls of x86-64 and aarch64 only"
#endif

/*
 * Add N to a variable that only this thread writes, and return its old value.  The addition is not
 * atomic for other CPUs, but a signal handler runs either before or after it.
 */
static inline int64_t
own_fetch_add(int64_t *at, int64_t n)
{
#if defined __x86_64__
	__asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(*at) : : "memory", "cc");
	return n;
#else
	return __atomic_fetch_add(at, n, __ATOMIC_RELAXED);
#endif
}

/* Set a variable that only this thread writes to 0, and return its old value. */
static inline int64_t
own_take(int64_t *at)
{
	const int64_t seen = *at, was = own_fetch_add(at, -seen);

	if (was != seen) /* a signal handler changed the value in between */
		own_fetch_add(at, seen - was);
	return was;
}

#define SYS_ARG(x) ((long)(uintptr_t)(x))
#define sys_call(nr, ...) sys_call_(nr, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define sys_call_(nr, a, b, c, d, e, f, ...)                                                       \
	sys_call6(nr, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e), SYS_ARG(f))
#define sys_failed(ret) ((unsigned long)(ret) > -4096UL)

#endif

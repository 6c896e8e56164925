/*
 * thread: the number of the calling thread, without a system call: a filter that the thread has
 * entered might not allow one and end the process.
 */
#ifndef MEMDIAG_AGENT_BASE_THREAD_H
#define MEMDIAG_AGENT_BASE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/compiler.h"
#include "agent/base/real.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"

/* The address of memory that no other live thread shares. */
static inline uintptr_t
thread_stack(void)
{
	uintptr_t at;

#if defined __x86_64__
	__asm__("mov %%fs:0, %0" : "=r"(at));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(at));
#endif
	return at;
}

/*
 * The offset of the thread's number in struct pthread: a header of 704 bytes and a list precede it
 * (nptl/descr.h, glibc 2.3.4 to 2.44).  On aarch64 the descriptor ends at the thread pointer, and
 * its size differs between releases.
 */
#if defined __x86_64__
#define THREAD_ID_OFFSET 0x2d0
#else
#define THREAD_ID_OFFSET 0
#endif

extern bool thread_knows_id __attribute__((visibility("hidden")));

static inline uint32_t
thread_id(void)
{
	if (LIKELY(thread_knows_id))
		return *(const volatile uint32_t *)(thread_stack() + THREAD_ID_OFFSET);
	return (uint32_t)sys_call(SYS_gettid, 0);
}

/*
 * Check, once when the agent starts, that the number is at the expected offset.  In another libc
 * the header is smaller.
 */
static inline void
thread_find_id(void)
{
	thread_knows_id = THREAD_ID_OFFSET && (real.libc_malloc || agent_is_static) &&
		*(const volatile uint32_t *)(thread_stack() + THREAD_ID_OFFSET) ==
			(uint32_t)sys_call(SYS_gettid, 0);
}

#endif

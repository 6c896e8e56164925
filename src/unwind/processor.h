/*
 * processor: the differences between processors.  UNWIND_AARCH64 can be defined to test the code
 * for aarch64 on x86-64.
 */
#ifndef MEMDIAG_UNWIND_PROCESSOR_H
#define MEMDIAG_UNWIND_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

#if !defined UNWIND_AARCH64 && defined __aarch64__
#define UNWIND_AARCH64 1
#endif

#ifdef UNWIND_AARCH64
/* DWARF for the Arm 64-bit Architecture, 4.1: x0 to x30, sp. The return address is in x30. */
enum {
	UNWIND_FP = 29,
	UNWIND_RA = 30,
	UNWIND_SP = 31,
	UNWIND_NR_REGS = 32,
	UNWIND_RA_STATE = 34, /* RA_SIGN_STATE, a number that is toggled */
};
#define UNWIND_ADDRESS_BITS 48 /* of user space, mostly */
#define UNWIND_RED_ZONE 0
#define UNWIND_MAX_RA_AT 255
/* A function may have no frame and keep its return address in the register. */
#define UNWIND_LEAF true
/* FP points to the lowest words of a frame, so it does not show the caller's SP. */
#define UNWIND_GUESS_FINDS_SP false
#else
/*
 * System V psABI for x86-64, figure 3.36: rax rdx rcx rbx rsi rdi rbp rsp, r8 to r15, the return
 * address.
 */
enum {
	UNWIND_FP = 6,
	UNWIND_SP = 7,
	UNWIND_RA = 16,
	UNWIND_NR_REGS = 17,
};
#define UNWIND_ADDRESS_BITS 47 /* of user space, mostly */
#define UNWIND_RED_ZONE 128
/* A call stores the return address directly below the CFA. */
#define UNWIND_MAX_RA_AT 1
#define UNWIND_LEAF false
#define UNWIND_GUESS_FINDS_SP true
#endif

/* The registers that follow pc, sp and fp in struct unwind_regs, in its order. */
static const uint8_t unwind_kept_reg[] = {
#ifdef UNWIND_AARCH64
	19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 30
#else
	3, 12, 13, 14, 15
#endif
};

/* A return address without its signature (PAC), which is in unused bits of the address. */
static inline uintptr_t
unwind_strip(uintptr_t pc)
{
#if defined UNWIND_AARCH64 && defined __aarch64__
	register uintptr_t x30 __asm__("x30") = pc;

	__asm__("hint 7" : "+r"(x30)); /* xpaclri */
	return x30;
#elif defined UNWIND_AARCH64
	return pc & ((UINT64_C(1) << 48) - 1);
#else
	return pc;
#endif
}

/*
 * The code of a signal handler's trampoline that has no table entry. aarch64: __kernel_rt_sigreturn
 * of the vDSO, since Linux 5.10 (arch/arm64/kernel/vdso/sigreturn.S gives the reason). x86-64:
 * musl's __restore_rt.
 */
#ifdef UNWIND_AARCH64
#define UNWIND_TRAMPOLINE                                                                          \
	{                                                                                          \
		0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4                                     \
	}
/*
 * The offset of x0 to x30, sp and pc in struct rt_sigframe: they follow siginfo (struct
 * sigcontext).
 */
#define UNWIND_SIGNAL_REGS (128 + 176 + 8)
#else
#define UNWIND_TRAMPOLINE                                                                          \
	{                                                                                          \
		0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05                               \
	}
/* The offset of uc_mcontext.  The return address of __restore_rt precedes it and was popped. */
#define UNWIND_SIGNAL_REGS 40
#endif

/* The position of each register, in the order of DWARF, in words; the last one is the pc. */
static const uint8_t unwind_signal_word[] = {
#ifdef UNWIND_AARCH64
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
	25, 26, 27, 28, 29, 30, 31, 32
#else
	13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16
#endif
};

#endif

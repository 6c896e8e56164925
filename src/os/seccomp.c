/*
 * What a thread's seccomp filters say of a system call that is none.
 */
#include <config.h>

#include "os/os-priv.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ptrace.h>

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c	/* 4.4 */
#endif
#ifndef SECCOMP_RET_USER_NOTIF
#define SECCOMP_RET_USER_NOTIF 0x7fc00000u	/* 5.0 */
#endif

#if defined __x86_64__
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#else
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

/* ---- running a filter (kernel/seccomp.c, seccomp_check_filter(): what there may be in one) ---- */

struct machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
};

static uint32_t
calculated(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_MUL: return a * b;
	case BPF_DIV: return b ? a / b : 0;
	case BPF_AND: return a & b;
	case BPF_OR: return a | b;
	case BPF_XOR: return a ^ b;
	case BPF_LSH: return b < 32 ? a << b : 0;
	case BPF_RSH: return b < 32 ? a >> b : 0;
	case BPF_NEG: return -a;
	default: return 0;
	}
}

static bool
holds(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ: return a == b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	case BPF_JSET: return a & b;
	default: return false;
	}
}

static uint32_t
loaded(const struct machine *m, const struct sock_filter *f, const struct seccomp_data *d)
{
	uint32_t word = 0;

	switch (BPF_MODE(f->code)) {
	case BPF_ABS:
		if (f->k <= sizeof *d - sizeof word)
			memcpy(&word, (const char *)d + f->k, sizeof word);
		return word;
	case BPF_LEN: return sizeof *d;
	case BPF_IMM: return f->k;
	case BPF_MEM: return m->memory[f->k % BPF_MEMWORDS];
	default: return 0;
	}
}

uint32_t
os_filter_run(const struct sock_filter *f, size_t nr, const struct seccomp_data *d)
{
	struct machine m = { 0 };

	/* Jumps lead forwards only. */
	for (size_t pc = 0; pc < nr; pc++) {
		const struct sock_filter *i = &f[pc];
		uint32_t b = BPF_SRC(i->code) == BPF_X ? m.x : i->k;

		switch (BPF_CLASS(i->code)) {
		case BPF_LD: m.a = loaded(&m, i, d); break;
		case BPF_LDX: m.x = loaded(&m, i, d); break;
		case BPF_ST: m.memory[i->k % BPF_MEMWORDS] = m.a; break;
		case BPF_STX: m.memory[i->k % BPF_MEMWORDS] = m.x; break;
		case BPF_ALU: m.a = calculated(i->code, m.a, b); break;
		case BPF_JMP:
			pc += BPF_OP(i->code) == BPF_JA ? i->k
				: holds(i->code, m.a, b) ? i->jt : i->jf;
			break;
		case BPF_RET: return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
		case BPF_MISC: *(BPF_MISCOP(i->code) == BPF_TAX ? &m.x : &m.a) =
				BPF_MISCOP(i->code) == BPF_TAX ? m.a : m.x; break;
		}
	}
	return SECCOMP_RET_KILL_THREAD;
}

/* ---- those of a thread ---- */

static bool
is_harmless(uint32_t answer)
{
	switch (answer & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
	case SECCOMP_RET_ERRNO:
		return true;
	default:
		return false;
	}
}

bool
os_filters_may_harm(const struct target *t, pid_t tid)
{
	static const struct seccomp_data none = { .nr = -1, .arch = NATIVE_ARCH };
	struct sock_filter f[BPF_MAXINSNS];
	struct os_status s;
	struct err e;
	long nr = 0;

	if (os_status(t, tid, &s, &e) == 0 && !s.seccomp)
		return false;
	for (uintptr_t i = 0; nr >= 0; i++) {
		nr = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, NULL);
		if (nr < 0)
			return errno != ENOENT || !i;
		if (nr > BPF_MAXINSNS || ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, f) != nr ||
			!is_harmless(os_filter_run(f, (size_t)nr, &none)))
			return true;
	}
	return false;
}

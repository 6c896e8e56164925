/* The result of threads' seccomp filters for a system call, found before the call is made. */
#include <config.h>

#include "base/array.h"
#include "os/os.h"
#include "os/seccomp-priv.h"
#include "os/status.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "os/seccomp.h"

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c /* since 4.4 */
#endif
#ifndef SECCOMP_RET_USER_NOTIF
#define SECCOMP_RET_USER_NOTIF 0x7fc00000u /* since 5.0 */
#endif

#if defined __x86_64__
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#else
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#endif

/* ---- running a filter (kernel/seccomp.c, seccomp_check_filter(): the allowed instructions) --- */

struct seccomp_machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
};

/*
 * Return the result of an arithmetic instruction.  Shifts use the low five bits of B, as in the
 * kernel.  A divisor is not 0.
 */
static uint32_t
calculated(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return a / b;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & 31);
	case BPF_RSH:
		return a >> (b & 31);
	case BPF_NEG:
		return -a;
	default:
		return 0;
	}
}

static bool
seccomp_holds(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JSET:
		return a & b;
	default:
		return false;
	}
}

static uint32_t
loaded(const struct seccomp_machine *m, const struct sock_filter *f, const struct seccomp_data *d)
{
	uint32_t word = 0;

	switch (BPF_MODE(f->code)) {
	case BPF_ABS:
		if (f->k <= sizeof *d - sizeof word)
			memcpy(&word, (const char *)d + f->k, sizeof word);
		return word;
	case BPF_LEN:
		return sizeof *d;
	case BPF_IMM:
		return f->k;
	case BPF_MEM:
		return m->memory[f->k % BPF_MEMWORDS];
	default:
		return 0;
	}
}

uint32_t
os_filter_run(const struct sock_filter *f, size_t nr, const struct seccomp_data *d)
{
	struct seccomp_machine m = { 0 };

	/* Jumps only lead forwards. */
	for (size_t pc = 0; pc < nr; pc++) {
		const struct sock_filter *i = &f[pc];
		uint32_t b = BPF_SRC(i->code) == BPF_X ? m.x : i->k;

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			m.a = loaded(&m, i, d);
			break;
		case BPF_LDX:
			m.x = loaded(&m, i, d);
			break;
		case BPF_ST:
			m.memory[i->k % BPF_MEMWORDS] = m.a;
			break;
		case BPF_STX:
			m.memory[i->k % BPF_MEMWORDS] = m.x;
			break;
		case BPF_ALU:
			/* as the kernel does (net/core/filter.c, bpf_convert_filter()) */
			if (BPF_OP(i->code) == BPF_DIV && !b)
				return SECCOMP_RET_KILL_THREAD;
			m.a = calculated(i->code, m.a, b);
			break;
		case BPF_JMP:
			pc += BPF_OP(i->code) == BPF_JA		 ? i->k
				: seccomp_holds(i->code, m.a, b) ? i->jt
								 : i->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
		case BPF_MISC:
			*(BPF_MISCOP(i->code) == BPF_TAX ? &m.x : &m.a) =
				BPF_MISCOP(i->code) == BPF_TAX ? m.a : m.x;
			break;
		}
	}
	return SECCOMP_RET_KILL_THREAD;
}

/* ---- filters of threads ---- */

static bool
seccomp_is_there(const struct os_filters *f, const struct sock_filter *code, size_t nr)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->v[i].nr == nr && memcmp(f->v[i].code, code, nr * sizeof *code) == 0)
			return true;
	return false;
}

static int
seccomp_add(struct os_filters *f, pid_t tid, const struct sock_filter *code, size_t nr)
{
	struct sock_filter *copy = malloc(nr * sizeof *copy);
	struct os_filter *new = copy ? array_add(f) : NULL;

	if (!new) {
		free(copy);
		return -1;
	}
	memcpy(copy, code, nr * sizeof *copy);
	*new = (struct os_filter){ tid, copy, nr };
	return 0;
}

int
os_filters_add(struct os_filters *f, const struct target *t, pid_t tid, struct err *e)
{
	struct sock_filter code[BPF_MAXINSNS];
	struct os_status s;
	struct err ignored;
	uintptr_t i = 0;
	long nr;

	if (os_status(t, tid, &s, &ignored) == 0 && !s.seccomp)
		return 0;
	/* The result stays valid: a filter can be added later, but not removed. */
	while ((nr = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, NULL)) > 0) {
		if (nr > BPF_MAXINSNS ||
			ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, code) != nr)
			break;
		if (!seccomp_is_there(f, code, (size_t)nr) &&
			seccomp_add(f, tid, code, (size_t)nr) < 0)
			return err_set(
				e, ENOMEM, "cannot copy the seccomp filters of thread %d", tid);
		i++;
	}
	if (nr < 0 && errno == ENOENT && i)
		return 0;
	err_set(e, errno, "cannot read the seccomp filters of thread %d of %d (%s)", tid, t->pid,
		t->comm);
	return e->code != EACCES
		? -1
		: err_hint(e,
			  "That takes CAP_SYS_ADMIN, and that memdiag is under no filter itself: in a container, give it --security-opt seccomp=unconfined");
}

static bool
is_allowed(uint32_t answer)
{
	answer &= SECCOMP_RET_ACTION_FULL;
	return answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_LOG;
}

static bool
is_harmless(uint32_t answer)
{
	return is_allowed(answer) || (answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
}

/* Return whether F checks the address of the call in libc, which is unknown here. */
static bool
asks_where(const struct os_filter *f)
{
	const size_t at = offsetof(struct seccomp_data, instruction_pointer);

	for (size_t i = 0; i < f->nr; i++)
		if (f->code[i].code == (BPF_LD | BPF_W | BPF_ABS) && f->code[i].k >= at &&
			f->code[i].k < at + sizeof(uint64_t))
			return true;
	return false;
}

/* Return the first filter of F whose result for CALL is not IS_WANTED; NULL if not found. */
static const struct os_filter *
first_other(const struct os_filters *f, const struct os_call *call, bool (*is_wanted)(uint32_t))
{
	struct seccomp_data d = { .nr = (int)call->nr, .arch = NATIVE_ARCH };

	memcpy(d.args, call->arg, sizeof d.args);
	for (size_t i = 0; i < f->nr; i++)
		if (asks_where(&f->v[i]) || !is_wanted(os_filter_run(f->v[i].code, f->v[i].nr, &d)))
			return &f->v[i];
	return NULL;
}

const struct os_filter *
os_filters_harm(const struct os_filters *f, const struct os_call *call)
{
	return first_other(f, call, is_harmless);
}

bool
os_filters_allow(const struct os_filters *f, const struct os_call *call)
{
	return !first_other(f, call, is_allowed);
}

void
os_filters_release(struct os_filters *f)
{
	for (size_t i = 0; i < f->nr; i++)
		free(f->v[i].code);
	free(f->v);
	*f = (struct os_filters){ 0 };
}

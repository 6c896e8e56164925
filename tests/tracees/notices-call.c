#include "notices.h"

#include <stddef.h>

_Static_assert(offsetof(struct registers, red_zone) == 104, "notices_call() knows it");
_Static_assert(offsetof(struct registers, ymm) == 232, "notices_call() knows it");
_Static_assert(offsetof(struct registers, mxcsr) == 744, "notices_call() knows it");
_Static_assert(offsetof(struct registers, nr_below) == 752, "notices_call() knows it");
_Static_assert(offsetof(struct registers, sp) == 768, "notices_call() knows it");

/*
 * void notices_call(const struct registers *before, struct registers *after): make a system call
 * with the one register file in place, and fill the other right after.
 */
__asm__(".text\n"
	".globl notices_call\n"
	".type notices_call, @function\n"
	"notices_call:\n"
	".cfi_startproc\n"
	".irp r, rbp, rbx, r12, r13, r14, r15, rsi, rdi\n"
	"	push %\\r\n"
	"	.cfi_adjust_cfa_offset 8\n"
	".endr\n"
	"	sub $16, %rsp\n"
	"	.cfi_adjust_cfa_offset 16\n"
	"	stmxcsr (%rsp)\n"
	"	fnstcw 4(%rsp)\n"
	"	mov %rdi, %rdx\n" /* fill the words below the red zone */
	"	mov 752(%rdx), %rcx\n"
	"	lea (,%rcx,8), %rax\n"
	"	lea -128(%rsp), %rdi\n"
	"	sub %rax, %rdi\n"
	"	mov 760(%rdx), %rax\n"
	"	rep stosq\n"
	"	mov %rdx, %rax\n"
	".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	mov 104+8*\\n(%rax), %rbx\n"
	"	mov %rbx, -128+8*\\n(%rsp)\n"
	"	movdqu 232+32*\\n(%rax), %xmm\\n\n"
	".endr\n"
	"	cmpw $0, 750(%rax)\n"
	"	je 1f\n"
	".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	vmovdqu 232+32*\\n(%rax), %ymm\\n\n"
	".endr\n"
	"1:	ldmxcsr 744(%rax)\n"
	"	fldcw 748(%rax)\n"
	"	mov 8(%rax), %rdi\n"
	"	mov 16(%rax), %rsi\n"
	"	mov 24(%rax), %rdx\n"
	"	mov 32(%rax), %r10\n"
	"	mov 40(%rax), %r8\n"
	"	mov 48(%rax), %r9\n"
	"	mov 56(%rax), %rbx\n"
	"	mov 64(%rax), %rbp\n"
	"	mov 72(%rax), %r12\n"
	"	mov 80(%rax), %r13\n"
	"	mov 88(%rax), %r14\n"
	"	mov 96(%rax), %r15\n"
	"	mov 0(%rax), %rax\n"
	"	syscall\n"
	"	mov 24(%rsp), %rcx\n" /* AFTER, as pushed */
	"	mov %rax, 0(%rcx)\n"
	"	mov %rdi, 8(%rcx)\n"
	"	mov %rsi, 16(%rcx)\n"
	"	mov %rdx, 24(%rcx)\n"
	"	mov %r10, 32(%rcx)\n"
	"	mov %r8, 40(%rcx)\n"
	"	mov %r9, 48(%rcx)\n"
	"	mov %rbx, 56(%rcx)\n"
	"	mov %rbp, 64(%rcx)\n"
	"	mov %r12, 72(%rcx)\n"
	"	mov %r13, 80(%rcx)\n"
	"	mov %r14, 88(%rcx)\n"
	"	mov %r15, 96(%rcx)\n"
	"	stmxcsr 744(%rcx)\n"
	"	fnstcw 748(%rcx)\n"
	"	mov %rsp, 768(%rcx)\n"
	".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	mov -128+8*\\n(%rsp), %rbx\n"
	"	mov %rbx, 104+8*\\n(%rcx)\n"
	"	movdqu %xmm\\n, 232+32*\\n(%rcx)\n"
	".endr\n"
	"	mov %rcx, %rsi\n"
	"	mov 16(%rsp), %rdx\n" /* BEFORE */
	"	cmpw $0, 750(%rdx)\n"
	"	je 2f\n"
	".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	vmovdqu %ymm\\n, 232+32*\\n(%rsi)\n"
	".endr\n"
	"	vzeroupper\n"
	"2:	mov 752(%rdx), %rcx\n"
	"	lea (,%rcx,8), %rax\n"
	"	lea -128(%rsp), %rdi\n"
	"	sub %rax, %rdi\n"
	"	mov 760(%rdx), %rax\n"
	"	xor %r8d, %r8d\n"
	"	test %rcx, %rcx\n"
	"	repe scasq\n"
	"	je 3f\n"
	"	lea 1(%rcx), %r8\n"
	"	mov -8(%rdi), %rax\n"
	"3:	mov %r8, 752(%rsi)\n"
	"	mov %rax, 760(%rsi)\n"
	"	ldmxcsr (%rsp)\n"
	"	fldcw 4(%rsp)\n"
	"	add $16, %rsp\n"
	"	.cfi_adjust_cfa_offset -16\n"
	".irp r, rdi, rsi, r15, r14, r13, r12, rbx, rbp\n"
	"	pop %\\r\n"
	"	.cfi_adjust_cfa_offset -8\n"
	".endr\n"
	"	ret\n"
	".cfi_endproc\n"
	".size notices_call, . - notices_call\n");

static const char *const names[NR_GPR] = { "rax", "rdi", "rsi", "rdx", "r10", "r8", "r9", "rbx",
	"rbp", "r12", "r13", "r14", "r15" };

/* Words of a coroutine's stack below the red zone of the call, once a call has found the place. */
static uint64_t
words_below(const struct waiter *w)
{
	uint64_t from, sp = w->after.sp;

	if (!w->on)
		return 0;
	from = (uint64_t)(uintptr_t)w->on->guard + COROUTINE_GUARD_BYTES;
	return sp > from + 128 && sp <= from + COROUTINE_BYTES ? (sp - 128 - from) / 8 : 0;
}

/* Fill all registers but the system call's number and arguments: see set_call(). */
void
registers_fill(struct waiter *w)
{
	struct registers *r = &w->before;

	for (unsigned int i = RBX; i < NR_GPR; i++)
		r->gpr[i] = tag_of(w, w->nr, i);
	for (unsigned int i = 0; i < 16; i++)
		r->red_zone[i] = tag_of(w, w->nr, 16 + i);
	for (unsigned int i = 0; i < 64; i++)
		r->ymm[i / 4][i % 4] = i % 4 < 2 || has_avx ? tag_of(w, w->nr, 32 + i) : 0;
	r->has_avx = has_avx;
	r->mxcsr = 0x1f80 | (uint32_t)(w->nr & 3) << 13;	       /* rounding, no exceptions */
	r->x87_control = (uint16_t)(0x037f | ((w->nr + 1) & 3) << 10); /* the same */
	r->nr_below = words_below(w);
	r->below = tag_of(w, w->nr, 99);
}

/*
 * Whether memdiag may have left NOW in the register of a timeout (doc/internals/inject.md,
 * "Timeouts").
 */
static bool
is_documented(const struct waiter *w, unsigned int at, uint64_t was, uint64_t now)
{
	if (at == RAX || at != (unsigned int)w->kind->timeout_at)
		return false;
	if (w->kind->is_whole_ms)
		return (int32_t)was > 0 && now <= (uint32_t)was;
	return now >= w->fs_base && now < w->fs_base + 4096; /* struct pthread */
}

/* One fault for all registers that differ in a wait. */
static void
compare_gpr(struct waiter *w)
{
	const uint64_t *a = w->before.gpr, *b = w->after.gpr;
	unsigned int nr = 0, first = 0;

	for (unsigned int i = NR_GPR; --i > RAX;) {
		if (a[i] == b[i])
			continue;
		if (is_documented(w, i, a[i], b[i])) {
			documented();
		} else {
			first = i;
			nr++;
		}
	}
	if (nr)
		fault(w, FAULT_REGISTERS, "%u differ, %s was %#lx and is %#lx", nr, names[first],
			a[first], b[first]);
}

static void
compare_vectors(struct waiter *w)
{
	const struct registers *a = &w->before, *b = &w->after;
	unsigned int nr = 0, first = 0;

	for (unsigned int i = 16; i-- > 0;)
		if (memcmp(a->ymm[i], b->ymm[i], has_avx ? 32 : 16) != 0) {
			first = i;
			nr++;
		}
	if (nr || a->mxcsr != b->mxcsr || a->x87_control != b->x87_control)
		fault(w, FAULT_VECTOR,
			"%u differ, ymm%u was %#lx... and is %#lx..., MXCSR %#x and %#x, "
			"x87 control word %#x and %#x",
			nr, first, a->ymm[first][0], b->ymm[first][0], a->mxcsr, b->mxcsr,
			a->x87_control, b->x87_control);
}

void
registers_compare(struct waiter *w)
{
	const struct registers *a = &w->before, *b = &w->after;
	uint64_t at = b->nr_below;

	compare_gpr(w);
	compare_vectors(w);
	if (memcmp(a->red_zone, b->red_zone, sizeof a->red_zone) != 0)
		fault(w, FAULT_STACK, "the red zone began with %#lx, now %#lx", a->red_zone[0],
			b->red_zone[0]);
	if (at)
		fault(w, FAULT_STACK, "%lu bytes below the red zone was %#lx and is %#lx", at * 8,
			a->below, b->below);
}

/*
 * oracle [multi]: notices whatever is changed in it while it waits.  The thread waits in a read of
 * its own making, with a pattern in every register the kernel keeps across a system call, in the
 * vector registers, in MXCSR, the x87 control word and the red zone.  Any line it reads makes it
 * compare, and answer "intact" or what differs.  With "multi" it is a second thread, and main sits
 * inside fgets(), where nobody may borrow it.
 */
#include "tracee.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#define NR_BLOCKS 4096

/* Read and written by oracle_read(): keep the offsets. */
struct registers {
	uint64_t gpr[9];       /*   0: rbx rbp r8 r9 r10 r12 r13 r14 r15 */
	uint64_t red_zone[16]; /*  72: below the stack pointer */
	uint64_t ymm[16][4];   /* 200 */
	uint32_t mxcsr;	       /* 712 */
	uint16_t x87_control;  /* 716 */
	uint16_t unused;
};

struct state {
	struct registers registers;
	sigset_t mask;
	stack_t altstack;
	int error;
	uint64_t fds;		/* bit per open descriptor */
	uint64_t action[65][4]; /* struct kernel_sigaction */
};

/*
 * long oracle_read(int fd, void *buf, size_t size, const struct registers *, struct registers *):
 * read(2) with the one register file in place, and the other filled right after.
 */
long oracle_read(
	int fd, void *buf, size_t size, const struct registers *before, struct registers *after);
__asm__(".text\n"
	".globl oracle_read\n"
	".type oracle_read, @function\n"
	"oracle_read:\n"
	".cfi_startproc\n"
	".irp r, rbp, rbx, r12, r13, r14, r15, r8\n"
	"	push %\\r\n"
	"	.cfi_adjust_cfa_offset 8\n"
	".endr\n"
	"	sub $16, %rsp\n"
	"	.cfi_adjust_cfa_offset 16\n"
	"	stmxcsr (%rsp)\n"
	"	fnstcw 4(%rsp)\n"
	"	mov %rcx, %rax\n"
	".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	mov 72+8*\\n(%rax), %rbx\n"
	"	mov %rbx, -128+8*\\n(%rsp)\n"
	"	vmovdqu 200+32*\\n(%rax), %ymm\\n\n"
	".endr\n"
	"	ldmxcsr 712(%rax)\n"
	"	fldcw 716(%rax)\n"
	"	mov 0(%rax), %rbx\n"
	"	mov 8(%rax), %rbp\n"
	"	mov 16(%rax), %r8\n"
	"	mov 24(%rax), %r9\n"
	"	mov 32(%rax), %r10\n"
	"	mov 40(%rax), %r12\n"
	"	mov 48(%rax), %r13\n"
	"	mov 56(%rax), %r14\n"
	"	mov 64(%rax), %r15\n"
	"	xor %eax, %eax\n" /* __NR_read */
	"	syscall\n"
	"	mov 16(%rsp), %rcx\n" /* AFTER, as pushed */
	"	mov %rbx, 0(%rcx)\n"
	"	mov %rbp, 8(%rcx)\n"
	"	mov %r8, 16(%rcx)\n"
	"	mov %r9, 24(%rcx)\n"
	"	mov %r10, 32(%rcx)\n"
	"	mov %r12, 40(%rcx)\n"
	"	mov %r13, 48(%rcx)\n"
	"	mov %r14, 56(%rcx)\n"
	"	mov %r15, 64(%rcx)\n"
	".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	"	mov -128+8*\\n(%rsp), %rbx\n"
	"	mov %rbx, 72+8*\\n(%rcx)\n"
	"	vmovdqu %ymm\\n, 200+32*\\n(%rcx)\n"
	".endr\n"
	"	stmxcsr 712(%rcx)\n"
	"	fnstcw 716(%rcx)\n"
	"	vzeroupper\n"
	"	ldmxcsr (%rsp)\n"
	"	fldcw 4(%rsp)\n"
	"	add $16, %rsp\n"
	"	.cfi_adjust_cfa_offset -16\n"
	".irp r, r8, r15, r14, r13, r12, rbx, rbp\n"
	"	pop %\\r\n"
	"	.cfi_adjust_cfa_offset -8\n"
	".endr\n"
	"	ret\n"
	".cfi_endproc\n"
	".size oracle_read, . - oracle_read\n");

static unsigned char *block[NR_BLOCKS];

static size_t
block_size(size_t i)
{
	return 16 + i * 7919 % 3000;
}

/* Every block must hold what was written; then half of them make place for new ones. */
static bool
is_heap_intact(void)
{
	for (size_t i = 0; i < NR_BLOCKS; i++)
		for (size_t j = 0; block[i] && j < block_size(i); j++)
			if (block[i][j] != (unsigned char)i)
				return false;
	for (size_t i = 0; i < NR_BLOCKS; i += 1 + i % 3) {
		free(block[i]);
		block[i] = malloc(block_size(i));
		if (!block[i])
			return false;
		memset(block[i], (int)i, block_size(i));
	}
	return true;
}

static uint64_t
open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint64_t fds = 0;

	if (!d)
		tracee_fail("/proc/self/fd");
	for (struct dirent *entry; (entry = readdir(d));)
		if (atoi(entry->d_name) != dirfd(d) && entry->d_name[0] != '.')
			fds |= (uint64_t)1 << atoi(entry->d_name) % 64;
	closedir(d);
	return fds;
}

static void
fill(struct registers *r)
{
	unsigned char *bytes = (unsigned char *)r;

	for (size_t i = 0; i < sizeof *r; i++)
		bytes[i] = (unsigned char)(i * 37 + 11);
	r->mxcsr = 0x1f80 | 0x6000; /* round towards zero, all exceptions masked */
	r->x87_control = 0x0c7f;    /* round towards zero, 24 bits */
	r->unused = 0;
}

/* All but the registers, which oracle_read() puts there. */
static void
take_state(struct state *s)
{
	s->error = errno;
	pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
	sigaltstack(NULL, &s->altstack);
	s->fds = open_descriptors();
	/* The system call, as glibc hides its own two signals. */
	for (int sig = 1; sig <= 64; sig++)
		syscall(SYS_rt_sigaction, sig, NULL, s->action[sig], 8);
}

static const char *
difference(const struct state *a, const struct state *b)
{
#define DIFFERS(field) memcmp(&a->field, &b->field, sizeof a->field) != 0
	return DIFFERS(registers.gpr)		 ? "general registers differ"
		: DIFFERS(registers.red_zone)	 ? "red zone differs"
		: DIFFERS(registers.ymm)	 ? "vector registers differ"
		: DIFFERS(registers.mxcsr)	 ? "MXCSR differs"
		: DIFFERS(registers.x87_control) ? "x87 control word differs"
		: DIFFERS(mask)			 ? "signal mask differs"
		: DIFFERS(altstack)		 ? "alternate signal stack differs"
		: DIFFERS(error)		 ? "errno differs"
		: DIFFERS(fds)			 ? "descriptors differ"
		: DIFFERS(action)		 ? "signal dispositions differ"
		: !is_heap_intact()		 ? "heap is damaged"
						 : "intact";
#undef DIFFERS
}

static void *
watch(void *arg)
{
	static struct state before, after;
	static char stack[1 << 16];
	stack_t altstack = { .ss_sp = stack, .ss_size = sizeof stack };
	sigset_t mask;
	char line[64];

	sigaltstack(&altstack, NULL);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigaddset(&mask, SIGRTMIN + 3);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	is_heap_intact();
	fill(&before.registers);
	errno = 4242;
	take_state(&before);
	tracee_ready();
	for (;;) {
		errno = 4242;
		if (oracle_read(0, line, sizeof line, &before.registers, &after.registers) <= 0)
			break;
		take_state(&after);
		tracee_say("%s", difference(&before, &after));
	}
	tracee_end();
	_exit(0);
	return arg;
}

int
main(int argc, char **argv)
{
	int never[2];
	char line[64];

	(void)argv;
	if (!__builtin_cpu_supports("avx"))
		tracee_fail("no AVX");
	if (argc < 2)
		watch(NULL);
	if (pipe(never) != 0)
		tracee_fail("pipe");
	tracee_thread(watch, NULL);
	fgets(line, sizeof line, fdopen(never[0], "r"));
	return 1;
}

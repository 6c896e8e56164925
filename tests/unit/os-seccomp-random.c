/*
 * Filters made by chance answer as the kernel has them answer: a child sets each for itself and
 * makes a system call that does not exist, a few times with other arguments.  A program leaves 32
 * bits and the kernel shows 12 of them, so it is asked for these in three parts.
 */
#include <config.h>

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "os/seccomp-priv.h"
#include "os/seccomp.h"
#include "seeds.h"

#define NR_NONE 7777 /* of no system call */
#define NR_CALLS 12
#define MAX_BODY 24
#define RESULT_AT 15 /* the word of memory that only the end of a program uses */
/* at the end of a program: which part, in an argument that no body reads */
#define SHIFT_ARG 5

#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

struct program {
	struct sock_filter v[MAX_BODY + 16];
	unsigned short nr;
};

/* What a child saw of each call. */
struct seen {
	bool is_refused; /* the kernel does not take the program */
	size_t nr;
	uint16_t part[NR_CALLS];
};

static void
emit(struct program *p, struct sock_filter i)
{
	p->v[p->nr++] = i;
}

/* Numbers at which operations change what they do. */
static uint32_t
some_word(void)
{
	static const uint32_t edges[] = { 0, 1, 2, 31, 32, 33, 63, 64, 0x7fffffff, 0x80000000,
		0xfffffffe, 0xffffffff, ARCH, NR_NONE };

	return some(2) ? edges[some(sizeof edges / sizeof *edges)]
		       : (uint32_t)(some(1u << 16) << 16 | some(1u << 16));
}

/* A field of the call, but for its address and the argument that selects the part. */
static uint32_t
some_field(void)
{
	static const uint32_t fields[] = { offsetof(struct seccomp_data, nr),
		offsetof(struct seccomp_data, arch) };
	uint64_t i = some(12);

	return i < 2 ? fields[i] : (uint32_t)(offsetof(struct seccomp_data, args) + 4 * (i - 2));
}

static struct sock_filter
some_load(void)
{
	switch (some(7)) {
	case 0:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, some_word());
	case 1:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, some_word());
	case 2:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_MEM, (uint32_t)some(RESULT_AT));
	case 3:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_MEM, (uint32_t)some(RESULT_AT));
	case 4:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0);
	case 5:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_W | BPF_LEN, 0);
	default:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, some_field());
	}
}

static struct sock_filter
some_arithmetic(void)
{
	static const uint16_t ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND, BPF_OR,
		BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG };
	const uint16_t op = ops[some(sizeof ops / sizeof *ops)];
	uint32_t k = some_word();

	if (op == BPF_NEG)
		return (struct sock_filter)BPF_STMT(BPF_ALU | BPF_NEG, 0);
	if (some(2))
		return (struct sock_filter)BPF_STMT(BPF_ALU | op | BPF_X, 0);
	/* The kernel takes no constants that make no sense. */
	if (op == BPF_LSH || op == BPF_RSH)
		k %= 32;
	if (op == BPF_DIV && !k)
		k = 7;
	return (struct sock_filter)BPF_STMT(BPF_ALU | op | BPF_K, k);
}

/* A jump over at most LEFT instructions. */
static struct sock_filter
some_jump(size_t left)
{
	static const uint16_t ops[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	const uint16_t op = ops[some(sizeof ops / sizeof *ops)];

	if (!some(6))
		return (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)some(left + 1));
	return (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | op | (some(2) ? BPF_X : BPF_K)),
		some_word(), (uint8_t)some(left + 1), (uint8_t)some(left + 1));
}

static struct sock_filter
some_instruction(size_t left)
{
	switch (some(10)) {
	case 0 ... 2:
		return some_load();
	case 3 ... 5:
		return some_arithmetic();
	case 6:
		return (struct sock_filter)BPF_STMT(
			some(2) ? BPF_ST : BPF_STX, (uint32_t)some(RESULT_AT));
	case 7:
		return (struct sock_filter)BPF_STMT(BPF_MISC | (some(2) ? BPF_TAX : BPF_TXA), 0);
	case 8:
		return some(8) ? some_jump(left)
			       : (struct sock_filter)BPF_STMT(
					 BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)some(4096));
	default:
		return some_jump(left);
	}
}

/* All other calls are allowed; a body by chance; and its A, of which a part is shown. */
static void
make_program(struct program *p)
{
	const size_t nr_body = 1 + some(MAX_BODY);

	p->nr = 0;
	emit(p,
		(struct sock_filter)BPF_STMT(
			BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NR_NONE, 1, 0));
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	/* The kernel wants each word stored before it is loaded, on every way. */
	for (uint32_t i = 0; i < 4; i++)
		emit(p, (struct sock_filter)BPF_STMT(BPF_ST, i));
	for (size_t i = 0; i < nr_body; i++)
		emit(p, some_instruction(nr_body - 1 - i));
	emit(p, (struct sock_filter)BPF_STMT(BPF_ST, RESULT_AT));
	emit(p,
		(struct sock_filter)BPF_STMT(
			BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[SHIFT_ARG])));
	emit(p, (struct sock_filter)BPF_STMT(BPF_MISC | BPF_TAX, 0));
	emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_MEM, RESULT_AT));
	emit(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_RSH | BPF_X, 0));
	emit(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xfff));
	emit(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO));
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_A, 0));
}

/* In the child. */
static void
ask_kernel(struct program *p, const struct seccomp_data *call, struct seen *seen)
{
	const struct sock_fprog prog = { p->nr, p->v };
	const struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	seen->is_refused = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0;
	for (size_t i = 0; i < NR_CALLS && !seen->is_refused; i++) {
		const __u64 *arg = call[i].args;

		errno = 0;
		syscall(NR_NONE, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
		seen->part[i] = (uint16_t)errno;
		seen->nr++;
	}
	_exit(0);
}

static size_t nr_taken, nr_killed;

/* The kernel kills at the call after the last that was seen, or at none. */
static bool
is_same(const struct program *p, const struct seccomp_data *call, const struct seen *seen)
{
	for (size_t i = 0; i < NR_CALLS; i++) {
		uint32_t answer = os_filter_run(p->v, p->nr, &call[i]);
		bool is_errno = (answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;

		if (is_errno != (i < seen->nr))
			return FAIL("call %zu: answer %#x, but the kernel %s", i, answer,
				i < seen->nr ? "does not kill" : "kills");
		if (!is_errno) {
			nr_killed++;
			return true;
		}
		if ((answer & SECCOMP_RET_DATA) != seen->part[i])
			return FAIL(
				"call %zu: answer %#x, the kernel's %#x", i, answer, seen->part[i]);
	}
	return true;
}

/* Each call three times, once for each part. */
static void
make_calls(struct seccomp_data *call)
{
	for (size_t i = 0; i < NR_CALLS; i++) {
		call[i] = (struct seccomp_data){ .nr = NR_NONE, .arch = ARCH };
		if (i % 3)
			memcpy(call[i].args, call[i - 1].args, sizeof call[i].args);
		for (size_t j = 0; j < SHIFT_ARG && i % 3 == 0; j++)
			call[i].args[j] = (uint64_t)some_word() << 32 | some_word();
		call[i].args[SHIFT_ARG] = i % 3 * 12;
	}
}

static struct seen *seen; /* shared with the child */

static bool
try(void)
{
	struct seccomp_data call[NR_CALLS];
	struct program p;
	pid_t pid;

	make_program(&p);
	make_calls(call);
	*seen = (struct seen){ 0 };
	fflush(stdout);
	pid = fork();
	if (!pid)
		ask_kernel(&p, call, seen);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		return FAIL("no child");
	if (seen->is_refused)
		return true;
	nr_taken++;
	return is_same(&p, call, seen);
}

int
main(int argc, char **argv)
{
	const struct seeds s = seeds_of(argc, argv, 4000);

	if (prctl(PR_GET_SECCOMP) < 0) {
		skip("filters by chance", "the kernel has no seccomp filters");
		return tap_end();
	}
	seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!ok(seen != MAP_FAILED, "memory that a child shares"))
		return tap_end();
	seeds_try(s, try, "filters by chance answer as the kernel's");
	printf("# %lu programs, %zu taken by the kernel, %zu end the child\n", s.nr, nr_taken,
		nr_killed);
	ok(nr_taken > s.nr / 4, "the kernel takes enough of them");
	return tap_end();
}

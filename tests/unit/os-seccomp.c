/*
 * Filters run as the kernel runs them: the answers of a few of each kind.
 */
#include <config.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "os/seccomp-priv.h"
#include "os/seccomp.h"
#include "tap.h"

#define LD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RET(k) BPF_STMT(BPF_RET | BPF_K, k)
#define RUN(...)                                                                                   \
	os_filter_run((const struct sock_filter[]){ __VA_ARGS__ },                                 \
		sizeof((const struct sock_filter[]){ __VA_ARGS__ }) / sizeof(struct sock_filter),  \
		&call)

static const struct seccomp_data call = {
	.nr = -1, .arch = 0x1234, .args = { 0x1122334455667788 }
};

static void
test_jumps(void)
{
	is_u64(RUN(RET(7)), 7, "the answer alone");
	is_u64(RUN(LD(nr), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 0, 1), RET(1), RET(2)),
		1, "equal");
	is_u64(RUN(LD(nr), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 1, 0), RET(1), RET(2)),
		2, "at least: -1 is a large number, as that of another ABI");
	is_u64(RUN(LD(arch), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 0x1234, 1, 0), RET(1), RET(2)), 1,
		"greater: not, when equal");
	is_u64(RUN(LD(arch), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x30, 0, 1), RET(1), RET(2)), 1,
		"any bit");
	is_u64(RUN(BPF_STMT(BPF_JMP | BPF_JA, 1), RET(1), RET(2)), 2, "always");
	is_u64(RUN(LD(args[0]), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x55667788, 0, 1), RET(1),
		       RET(2)),
		1, "half an argument");
	is_u64(RUN(LD(nr)), SECCOMP_RET_KILL_THREAD, "without an answer it is not let through");
}

static void
test_arithmetic(void)
{
	is_u64(RUN(LD(arch), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
		       BPF_STMT(BPF_RET | BPF_A, 0)),
		0x30, "and");
	is_u64(RUN(BPF_STMT(BPF_LD | BPF_IMM, 5), BPF_STMT(BPF_ST, 3),
		       BPF_STMT(BPF_LD | BPF_IMM, 9), BPF_STMT(BPF_LDX | BPF_MEM, 3),
		       BPF_STMT(BPF_ALU | BPF_SUB | BPF_X, 0), BPF_STMT(BPF_RET | BPF_A, 0)),
		4, "memory, and a register less another");
	is_u64(RUN(BPF_STMT(BPF_LD | BPF_IMM, 6), BPF_STMT(BPF_MISC | BPF_TAX, 0),
		       BPF_STMT(BPF_LD | BPF_IMM, 1), BPF_STMT(BPF_MISC | BPF_TXA, 0),
		       BPF_STMT(BPF_RET | BPF_A, 0)),
		6, "there and back");
	is_u64(RUN(BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BPF_STMT(BPF_RET | BPF_A, 0)),
		sizeof(struct seccomp_data), "the length");
}

/* What two filters answer, of which one allows all. */
static void
test_answers(void)
{
	static const struct {
		uint32_t answer;
		bool is_allowed, is_harmless;
		const char *name;
	} answers[] = {
		{ SECCOMP_RET_ALLOW, true, true, "allow" },
		{ SECCOMP_RET_LOG, true, true, "log" },
		{ SECCOMP_RET_ERRNO | EPERM, false, true, "errno" },
		{ SECCOMP_RET_TRACE, false, false, "trace" },
		{ SECCOMP_RET_USER_NOTIF, false, false, "user notification" },
		{ SECCOMP_RET_TRAP, false, false, "trap" },
		{ SECCOMP_RET_KILL_THREAD, false, false, "kill thread" },
		{ SECCOMP_RET_KILL_PROCESS, false, false, "kill process" },
	};
	const struct os_call made = { .name = "close", .nr = SYS_close };

	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		struct sock_filter all = RET(SECCOMP_RET_ALLOW), other = RET(answers[i].answer);
		struct os_filter v[] = { { 1, &all, 1 }, { 2, &other, 1 } };
		const struct os_filters f = { .v = v, .nr = 2 };
		const struct os_filter *harms = os_filters_harm(&f, &made);

		ok(os_filters_allow(&f, &made) == answers[i].is_allowed, "%s: %s", answers[i].name,
			answers[i].is_allowed ? "allowed" : "not allowed");
		ok(harms == (answers[i].is_harmless ? NULL : &v[1]), "%s: %s", answers[i].name,
			answers[i].is_harmless ? "harmless" : "harmful, and by which filter");
	}
}

/* A filter that would allow the call if it were made at address 0. */
static void
test_where(void)
{
	struct sock_filter code[] = { LD(instruction_pointer),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), RET(SECCOMP_RET_ALLOW),
		RET(SECCOMP_RET_KILL_PROCESS) };
	struct os_filter v = { 1, code, sizeof code / sizeof *code };
	const struct os_filters f = { .v = &v, .nr = 1 };
	const struct os_call made = { .name = "close", .nr = SYS_close };

	ok(!os_filters_allow(&f, &made), "it is not allowed if that depends on the place");
	ok(os_filters_harm(&f, &made) == &v, "and may be harmful");
	code[0].k += 4;
	ok(os_filters_harm(&f, &made) == &v, "as with the upper half of the address");
	code[0].k = offsetof(struct seccomp_data, arch);
	code[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 0, 0, 1);
	ok(os_filters_allow(&f, &made), "the field before the address is known");
}

int
main(void)
{
	test_answers();
	test_where();
	test_jumps();
	test_arithmetic();
	return tap_end();
}

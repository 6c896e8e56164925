/*
 * Registers of a thread by the numbers of DWARF, against the table of the processor's ABI; and how
 * much memory a walk may
 * read, for a frame and in all.
 */
#include <config.h>

#include <stddef.h>
#include <sys/user.h>

#include "stack/walk.c"

#include "tap.h"

#define AT(member) (offsetof(struct user_regs_struct, member) / 8)

#if defined __x86_64__
/* System V psABI for x86-64, figure 3.36: DWARF register number mapping. */
static const struct {
	int dwarf;
	size_t at;
	const char *name;
} registers[] = {
	{ 0, AT(rax), "rax" },
	{ 1, AT(rdx), "rdx" },
	{ 2, AT(rcx), "rcx" },
	{ 3, AT(rbx), "rbx" },
	{ 4, AT(rsi), "rsi" },
	{ 5, AT(rdi), "rdi" },
	{ 6, AT(rbp), "rbp" },
	{ 7, AT(rsp), "rsp" },
	{ 8, AT(r8), "r8" },
	{ 9, AT(r9), "r9" },
	{ 10, AT(r10), "r10" },
	{ 11, AT(r11), "r11" },
	{ 12, AT(r12), "r12" },
	{ 13, AT(r13), "r13" },
	{ 14, AT(r14), "r14" },
	{ 15, AT(r15), "r15" },
	{ 16, AT(rip), "the return address" },
};
#elif defined __aarch64__
/* DWARF for the Arm 64-bit Architecture, 4.1: x0 to x30 are 0 to 30, sp is 31, pc is 32. */
static const struct {
	int dwarf;
	size_t at;
	const char *name;
} registers[] = {
	{ 0, AT(regs[0]), "x0" },
	{ 19, AT(regs[19]), "x19" },
	{ 29, AT(regs[29]), "x29" },
	{ 30, AT(regs[30]), "x30" },
	{ 31, AT(sp), "sp" },
	{ 32, AT(pc), "pc" },
};
#endif

static void
test_registers(void)
{
	uint64_t regs[STACK_MAX_REGS];
	struct walker w = { .regs = regs };

	for (size_t i = 0; i < STACK_MAX_REGS; i++)
		regs[i] = 1000 + i;
	for (size_t i = 0; i < sizeof registers / sizeof *registers; i++) {
		unw_word_t value = 0;

		if (access_reg(NULL, registers[i].dwarf, &value, 0, &w) < 0)
			ok(false, "%s is read", registers[i].name);
		is_u64(value, 1000 + registers[i].at, registers[i].name);
		ok(access_reg(NULL, registers[i].dwarf, &value, 1, &w) < 0, "%s is not written",
			registers[i].name);
	}
	ok(access_reg(NULL, 40, &(unw_word_t){ 0 }, 0, &w) < 0, "register 40 is unknown");
	ok(access_reg(NULL, -1, &(unw_word_t){ 0 }, 0, &w) < 0, "register -1 is unknown");
}

/* How many of at most MOST words at the stack pointer may be read of the present frame. */
static size_t
read_words(struct walker *w, size_t most)
{
	unw_word_t value;
	size_t nr = 0;

	w->nr_reads_before = w->nr_reads;
	while (nr < most && access_mem(NULL, w->sp.v, &value, 0, w) == 0)
		nr++;
	return nr;
}

static void
test_reads(void)
{
	static const uint64_t copy[2] = { 17, 18 };
	struct walker w = { .sp = { 4096 }, .copy = (const char *)copy, .copy_bytes = sizeof copy };
	const size_t of_frame = (size_t)1 << 18;
	unw_word_t value = 0;
	size_t nr = 0;

	ok(access_mem(NULL, 4104, &value, 0, &w) == 0 && value == 18,
		"a word of the stack is read");
	ok(access_mem(NULL, 4104, &value, 1, &w) < 0, "no word is written");
	is_u64(read_words(&w, 2 * of_frame), of_frame, "2^18 words may be read for a frame");
	is_u64(read_words(&w, of_frame / 2), of_frame / 2, "the next frame has its own limit");
	while (nr < 100 && read_words(&w, of_frame - 1) == of_frame - 1)
		nr++;
	is_u64(nr, 14, "2^22 words may be read for a stack");
}

int
main(void)
{
	test_registers();
	test_reads();
	return tap_end();
}

/*
 * arm64's part of a borrow, on whatever processor this is: the kernel's register sets are played,
 * frames are compared with the kernel's layout byte by byte, instructions are assembled by hand.
 */
#include <config.h>

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/image.h"
#include "elf/objects.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/target.h"

static int played_get(pid_t tid, unsigned int type, void *buf, size_t *size, struct err *e);
static int played_set(pid_t tid, unsigned int type, const void *buf, size_t size, struct err *e);
static int played_sigmask(pid_t tid, uint64_t *ret, struct err *e);

#define os_get_regset played_get
#define os_set_regset played_set
#define os_get_sigmask played_sigmask
#include "arch/aarch64.c"

#include "elf-page.h"
#include "tap.h"

#ifdef __aarch64__
#include <asm/ptrace.h>
#include <asm/unistd.h>
#include <signal.h>
#include <ucontext.h>

#define SAME(a, b) _Static_assert((a) == (b), #a " is " #b)
#define UC(field) (128 + offsetof(ucontext_t, field))
SAME(PRSTATUS_BYTES, sizeof(struct user_pt_regs));
SAME(sizeof(struct fpsimd), sizeof(struct user_fpsimd_state));
SAME(offsetof(struct fpsimd, fpcr), offsetof(struct user_fpsimd_state, fpcr));
SAME(sizeof(struct fpsimd_record), sizeof(struct fpsimd_context));
SAME(offsetof(struct fpsimd_record, v), offsetof(struct fpsimd_context, vregs));
SAME(offsetof(struct aarch64_rt_sigframe, uc_flags), sizeof(siginfo_t));
SAME(offsetof(struct aarch64_rt_sigframe, ss_flags), UC(uc_stack.ss_flags));
SAME(offsetof(struct aarch64_rt_sigframe, sigmask), UC(uc_sigmask));
SAME(offsetof(struct aarch64_rt_sigframe, mc.x), UC(uc_mcontext.regs));
SAME(offsetof(struct aarch64_rt_sigframe, mc.pstate), UC(uc_mcontext.pstate));
SAME(offsetof(struct aarch64_rt_sigframe, mc.fpsimd), UC(uc_mcontext.__reserved));
SAME(FPSIMD_RECORD, FPSIMD_MAGIC);
SAME(VECTOR_FLAG_LIVE, SVE_PT_REGS_SVE);
SAME(PSTATE_BTYPE, PSR_BTYPE_MASK);
SAME(NR_FUTEX, __NR_futex);
SAME(NR_NANOSLEEP, __NR_nanosleep);
SAME(NR_CLOCK_NANOSLEEP, __NR_clock_nanosleep);
SAME(NR_RESTART_SYSCALL, __NR_restart_syscall);
SAME(NR_RT_SIGRETURN, __NR_rt_sigreturn);
#endif

/* ---- a thread that is played ---- */

#define MAX_SETS 8

static struct {
	unsigned int type;
	const void *bytes;
	size_t size;
} has[MAX_SETS];
static size_t nr_has;

static unsigned int written[4]; /* which register sets were, in order */
static size_t nr_written;
static int32_t written_syscall;

static void
give(unsigned int type, const void *bytes, size_t size)
{
	for (size_t i = 0; i <= nr_has && i < MAX_SETS; i++) {
		if (i < nr_has && has[i].type != type)
			continue;
		has[i].type = type;
		has[i].bytes = bytes;
		has[i].size = size;
		nr_has += i == nr_has;
		return;
	}
}

static int
played_get(pid_t tid, unsigned int type, void *buf, size_t *size, struct err *e)
{
	(void)tid;
	for (size_t i = 0; i < nr_has; i++) {
		if (has[i].type != type)
			continue;
		*size = has[i].size < *size ? has[i].size : *size;
		memcpy(buf, has[i].bytes, *size);
		return 0;
	}
	return err_set(e, EINVAL, "no such register set");
}

static int
played_set(pid_t tid, unsigned int type, const void *buf, size_t size, struct err *e)
{
	(void)tid, (void)e;
	written[nr_written++ % 4] = type;
	if (type == NT_ARM_SYSTEM_CALL && size == sizeof written_syscall)
		memcpy(&written_syscall, buf, size);
	return 0;
}

static int
played_sigmask(pid_t tid, uint64_t *ret, struct err *e)
{
	(void)tid, (void)e;
	*ret = 0x5a5a;
	return 0;
}

static uint64_t prstatus[34];
static int32_t syscall_nr = 42;
static struct fpsimd fpsimd = { .fpsr = 0x11, .fpcr = 0x22 };
static const uint64_t tls[2] = { 0x7000, 0x7777 }, pac_masks[2] = { 1, UINT64_C(0x7f) << 48 };

static void
play_thread(void)
{
	nr_has = nr_written = 0;
	for (size_t i = 0; i < 34; i++)
		prstatus[i] = 0x100 + i;
	for (size_t i = 0; i < sizeof fpsimd.v; i++)
		fpsimd.v[i / 16][i % 16] = (unsigned char)(i * 7);
	give(NT_PRSTATUS, prstatus, sizeof prstatus);
	give(NT_ARM_SYSTEM_CALL, &syscall_nr, sizeof syscall_nr);
	give(NT_PRFPREG, &fpsimd, sizeof fpsimd);
	give(NT_ARM_TLS, tls, sizeof tls);
}

static void
test_registers(void)
{
	struct arch_thread th;
	struct err e = { 0 };

	play_thread();
	ok(arch_save(1, &th, &e) == 0, "a thread is saved %s", e.msg);
	is_u64(arch_result(&th.regs), 0x100, "x0");
	is_u64(arch_sp(&th.regs).v, 0x100 + 31, "sp");
	is_u64(arch_pc(&th.regs).v, 0x100 + 32, "pc");
	is_u64((uint64_t)arch_syscall_nr(&th.regs), 42, "the system call");
	is_u64(th.ext_bytes, 528, "the vector registers");
	is_u64(th.sigmask, 0x5a5a, "the signal mask");
	is_u64(arch_strip_signature(&th.regs, (raddr){ UINT64_C(0x003fffff81234568) }).v,
		UINT64_C(0x003fffff81234568), "no signatures, nothing to strip");
	give(NT_ARM_PAC_MASK, pac_masks, sizeof pac_masks);
	arch_save(1, &th, &e);
	is_u64(arch_strip_signature(&th.regs, (raddr){ UINT64_C(0x003fffff81234568) }).v,
		UINT64_C(0x0000ffff81234568), "a signature is stripped");

	ok(arch_set_regs(1, &th.regs, &e) == 0 && nr_written == 2, "two register sets are written");
	is_u64(written[0], NT_PRSTATUS, "  the registers first");
	is_u64(written[1], NT_ARM_SYSTEM_CALL, "  then the system call");
	is_u64((uint64_t)written_syscall, (uint64_t)-1, "  is skipped");

	give(NT_PRSTATUS, prstatus, 18 * 4);
	ok(arch_get_regs(1, &th.regs, &e) < 0 && e.kind == ERR_UNSUPPORTED,
		"32-bit code is refused: %s", e.msg);
}

static void
test_obstacles(void)
{
	static const struct {
		const char *name;
		unsigned int type;
		struct vector_header h;
		const char *want; /* NULL or in the answer */
	} row[] = {
		{ "no vectors beyond FPSIMD", 0x405, { .size_bytes = 544 }, NULL },
		{ "live SVE registers", 0x405, { .size_bytes = 544, .flags = 1 }, "SVE" },
		{ "not in streaming mode", 0x40b, { .size_bytes = 16 }, NULL },
		{ "in streaming mode", 0x40b, { .size_bytes = 544, .flags = 1 }, "streaming" },
		{ "ZA is off", 0x40c, { .size_bytes = 16 }, NULL },
		{ "ZA is on", 0x40c, { .size_bytes = 16 + 256 }, "matrix" },
	};
	uint64_t gcs[3] = { 0, 1, 0x8000 };

	play_thread();
	is_str(arch_obstacle(1), NULL, "a processor that has none of it");
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const char *got;

		play_thread();
		give(row[i].type, &row[i].h, sizeof row[i].h);
		got = arch_obstacle(1);
		ok(row[i].want ? got && strstr(got, row[i].want) : !got, "%s: %s", row[i].name,
			got ? got : "no obstacle");
	}
	play_thread();
	give(0x410, gcs, sizeof gcs);
	is_str(arch_obstacle(1), NULL, "a shadow stack that is off");
	gcs[0] = 1;
	ok(arch_obstacle(1), "a shadow stack is refused");
}

/* ---- the frame ---- */

static uint64_t
at(const struct arch_frame *f, size_t offset, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, f->bytes + offset, size);
	return value;
}

static void
check_frame(const struct arch_frame *f)
{
	bool same = true;

	is_u64(f->addr.v % 16, 0, "it is aligned");
	ok(f->addr.v + f->size_bytes <= 0x10009 && f->addr.v + f->size_bytes + 16 > 0x10009,
		"it ends just below the top");
	is_u64(at(f, 128, 8) | at(f, 136, 8) | at(f, 144, 8), 0, "uc_flags, uc_link, ss_sp");
	is_u64(at(f, 152, 4), 4, "an ss_flags that the kernel refuses");
	is_u64(at(f, 168, 8), 0x5a5a, "the signal mask");
	for (size_t i = 0; i < 34; i++)
		same = same && at(f, 312 + 8 * i, 8) == 0x100 + i;
	ok(same, "x0 to x30, sp, pc, pstate");
	is_u64(at(f, 592, 4), 0x46508001, "the FPSIMD record");
	is_u64(at(f, 596, 4), 0x210, "  its size");
	is_u64(at(f, 600, 4), 0x11, "  fpsr");
	is_u64(at(f, 604, 4), 0x22, "  fpcr");
	ok(memcmp(f->bytes + 608, fpsimd.v, 512) == 0, "  v0 to v31");
}

static void
test_frame(void)
{
	uint64_t por = UINT64_C(0x1234567);
	struct arch_thread th;
	struct arch_frame f;
	struct err e;

	play_thread();
	arch_save(1, &th, &e);
	memset(&f, 0xff, sizeof f);
	arch_build_frame(&f, (raddr){ 0x10009 }, &th.regs, th.sigmask, &th, (raddr){ 0x9000 });
	check_frame(&f);
	is_u64(at(&f, 1120, 8), 0, "the null record");
	ok(f.size_bytes >= 1128 && f.size_bytes <= 4688, "no larger than the kernel's");

	give(0x40f, &por, sizeof por);
	arch_save(1, &th, &e);
	memset(&f, 0xff, sizeof f);
	arch_build_frame(&f, (raddr){ 0x10009 }, &th.regs, th.sigmask, &th, (raddr){ 0x9000 });
	check_frame(&f);
	is_u64(at(&f, 1120, 4), 0x504f4530, "the POR_EL0 record");
	is_u64(at(&f, 1124, 4), 16, "  its size");
	is_u64(at(&f, 1128, 8), por, "  its value");
	is_u64(at(&f, 1136, 8), 0, "the null record behind it");
	ok(f.size_bytes >= 1144, "lies in the frame");
}

/* ---- calls ---- */

static struct arch_regs
stopped_in(uint64_t nr, uint64_t pc, uint64_t x0, uint64_t x1, uint64_t x3)
{
	return (struct arch_regs){ .size_bytes = PRSTATUS_BYTES,
		.word = { [X0] = x0,
			[X1] = x1,
			[X3] = x3,
			[X8] = nr,
			[SP] = 0x8000,
			[PC] = pc,
			[PSTATE] = 0x60000000,
			[SYSCALL_NR] = NO_SYSCALL } };
}

static void
test_calls(void)
{
	const raddr fn = { 0x4000 }, restorer = { 0x9000 }, frame = { 0x7fe0 };
	const uint64_t arg[] = { 11, 12, 13, 14, 15, 16 };
	struct arch_regs r = stopped_in(139, 0x5004, 0, 0, 0);
	uint64_t *u = r.word;

	u[PSTATE] |= 0xc00 | 0x200000;
	u[SYSCALL_NR] = 139;
	arch_prepare_call(&r, fn, arg, 6, restorer, frame);
	is_u64(u[PC], fn.v, "a call enters the function");
	is_u64(u[SP], frame.v, "  on the frame");
	is_u64(u[X30], restorer.v, "  and returns to the restorer");
	ok(u[X0] == 11 && u[X1] == 12 && u[X0 + 5] == 16, "  with its arguments");
	is_u64(u[PSTATE], 0x60000000, "  without BTYPE and single step");
	is_u64((uint64_t)arch_syscall_nr(&r), (uint64_t)-1, "  and no system call");

	r = stopped_in(139, restorer.v + 8, 0, 0, 0);
	u[PSTATE] |= 0x400;
	u[SYSCALL_NR] = 139;
	ok(arch_is_sigreturn(&r, restorer), "the entry of rt_sigreturn");
	ok(!arch_is_sigreturn(&r, fn), "  of another restorer");
	u[SYSCALL_NR] = 98;
	ok(!arch_is_sigreturn(&r, restorer), "another system call");
	arch_prepare_return(&r, restorer, frame);
	ok(u[PC] == restorer.v && u[SP] == frame.v && u[SYSCALL_NR] == NO_SYSCALL &&
			u[PSTATE] == 0x60000000,
		"through the restorer into the frame");
}

static void
test_restart(void)
{
	enum { SVC = 0x5000, AFTER = 0x5004 };
	static const struct {
		const char *name;
		uint64_t nr, pc, x0, x1, x3;
		bool still_in;
		enum arch_restart want;
		uint64_t settled_pc, settled_x0;
	} row[] = {
		{ "read", 63, SVC, 3, 0, 0, true, ARCH_RESTARTS, SVC, 3 },
		{ "ppoll", 73, SVC, 3, 0, 0, true, ARCH_RESTARTS, SVC, 3 },
		{ "futex without timeout", 98, SVC, 3, 128, 0, true, ARCH_RESTARTS, SVC, 3 },
		{ "futex with a timeout", 98, SVC, 3, 128, 9, true, ARCH_RESTARTS_FROM_BLOCK, AFTER,
			-4 },
		{ "futex until a time", 98, SVC, 3, 128 | 256 | 9, 9, true, ARCH_RESTARTS, SVC, 3 },
		{ "nanosleep", 101, SVC, 3, 0, 0, true, ARCH_RESTARTS_FROM_BLOCK, AFTER, -4 },
		{ "clock_nanosleep", 115, SVC, 1, 0, 0, true, ARCH_RESTARTS_FROM_BLOCK, AFTER, -4 },
		{ "clock_nanosleep until a time", 115, SVC, 1, 1, 0, true, ARCH_RESTARTS, SVC, 1 },
		{ "restart_syscall", 128, SVC, 3, 0, 0, true, ARCH_RESTARTS_FROM_BLOCK, AFTER, -4 },
		{ "failed with EINTR", 22, AFTER, -4, 0, 0, true, ARCH_NO_RESTART, AFTER, -4 },
		{ "finished", 63, AFTER, 17, 0, 0, true, ARCH_NO_RESTART, AFTER, 17 },
		{ "somewhere else", 63, SVC - 4, 17, 0, 0, false, ARCH_NO_RESTART, SVC - 4, 17 },
	};

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const struct arch_regs was =
			stopped_in(row[i].nr, row[i].pc, row[i].x0, row[i].x1, row[i].x3);
		struct arch_regs r = was;
		uint64_t *u = r.word;
		bool from_block = row[i].want == ARCH_RESTARTS_FROM_BLOCK;
		bool is_lost = row[i].pc == AFTER || !row[i].still_in;

		ok(!arch_is_still_in(&r, (long)row[i].nr, (raddr){ 0x8010 }, (raddr){ AFTER }) &&
				!arch_is_still_in(&r, 1, (raddr){ 0x8000 }, (raddr){ AFTER }) &&
				memcmp(u, was.word, sizeof was.word) == 0,
			"%s: another stack pointer or system call is not it", row[i].name);
		ok(arch_is_still_in(&r, (long)row[i].nr, (raddr){ 0x8000 }, (raddr){ AFTER }) ==
				row[i].still_in,
			"  still in it, or not");
		is_u64((uint64_t)arch_syscall_nr(&r), is_lost ? (uint64_t)-1 : row[i].nr,
			"  its number");
		ok(arch_restart(&r) == row[i].want, "  how it goes on");
		is_u64(u[X8], from_block ? 128 : row[i].nr, "  what the kernel will be asked for");
		ok(u[PC] == was.word[PC] && u[X0] == was.word[X0] && u[SP] == was.word[SP],
			"  nothing else changed");
		arch_settle(&r);
		ok(u[PC] == row[i].settled_pc && u[X0] == row[i].settled_x0 && u[SP] == 0x8000 &&
				u[SYSCALL_NR] == NO_SYSCALL,
			"  as a signal handler would find it");
	}
	ok(!arch_can_rewind, "what failed is not made again");
}

static void
test_rewind(void)
{
	enum { SVC = 0x5000, AFTER = 0x5004 };
	struct arch_regs r = stopped_in(101, SVC, 3, 0, 0);

	arch_is_still_in(&r, 101, (raddr){ 0x8000 }, (raddr){ AFTER });
	arch_rewind(&r, 101);
	ok(arch_restart(&r) == ARCH_RESTARTS && r.word[X8] == 101 && r.word[PC] == SVC,
		"what the kernel would continue is made again");
	arch_set_arg(&r, 0, 0x7000);
	ok(arch_arg(&r, 0) == 0x7000 && r.word[X0] == 0x7000, "with another argument");
	arch_settle(&r);
	ok(r.word[PC] == SVC && r.word[X0] == 0x7000 && r.word[X8] == 101,
		"as a signal handler would find it");
}

/* ---- instructions ---- */

static bool
calls(uint32_t code)
{
	unsigned char bytes[7] = { 0 };

	memcpy(bytes + 3, &code, sizeof code);
	return arch_follows_call(bytes, sizeof bytes);
}

static void
test_follows_call(void)
{
	ok(calls(0x94000001) && calls(0x97ffffff), "bl, forward and back");
	ok(calls(0xd63f0000) && calls(0xd63f03c0), "blr x0, blr x30");
	ok(calls(0xd73f0801) && calls(0xd73f0c3f), "blraa x0, x1; blrab x1, sp");
	ok(calls(0xd63f081f) && calls(0xd63f0e7f), "blraaz x0; blrabz x19");
	ok(!calls(0x14000001) && !calls(0xd61f0200), "b and br are no calls");
	ok(!calls(0xd65f03c0) && !calls(0xd503201f), "nor are ret and nop");
	ok(!arch_follows_call((const unsigned char[]){ 1, 0, 0x94 }, 3), "too few bytes");
}

static const char *const names[2] = { "__errno_location", "__kernel_rt_sigreturn" };

static void
test_restorer(const struct target *t, struct elf_page *page)
{
	struct objects o = { .vdso = { (uintptr_t)page } };

	elf_page_fill(page, EM_AARCH64, names);
	page->code[0] = 0xd2801168; /* mov x8, #139 */
	page->code[1] = 0xd4000001; /* svc #0 */
	is_u64(arch_find_restorer(t, &o, NULL).v, (uintptr_t)page->code, "the restorer in a vdso");
	page->code[0] = 0xd2801148;
	is_u64(arch_find_restorer(t, &o, NULL).v, 0, "a stub with another number");
	page->code[0] = 0xd2801168;
	page->names[1][0] = 'x';
	is_u64(arch_find_restorer(t, &o, NULL).v, 0, "a vdso without the symbol");
	memset(page, 0, SELFMAG); /* the ELF header's first bytes */
	is_u64(arch_find_restorer(t, &o, NULL).v, 0, "what is no vdso");
	is_u64(arch_find_restorer(t, &(struct objects){ 0 }, NULL).v, 0, "no vdso at all");
}

#define ADRP(reg, pages) (0x90000000 | ((pages)&3) << 29 | ((pages) >> 2 & 0x7ffff) << 5 | (reg))
#define ADD_IMM(to, from, imm) (0x91000000 | (uint32_t)(imm) << 10 | (from) << 5 | (to))
#define ADD(to, a, b) (0x8b000000 | (b) << 16 | (a) << 5 | (to))
#define LDR(to, from, imm) (0xf9400000 | (uint32_t)(imm) / 8 << 10 | (from) << 5 | (to))
#define MRS_TPIDR(to) (0xd53bd040 | (to))
#define NOP 0xd503201f
#define BTI_C 0xd503245f

static void
test_leaves(const struct target *t, struct elf_page *page)
{
	static const struct {
		const char *name;
		uint32_t code[9];
		bool returns, returns_errno; /* 0x300 in the page; the GOT's offset in the TLS */
	} row[] = {
		{ "adrp, add", { ADRP(0, 0), ADD_IMM(0, 0, 0x300), RET }, true, false },
		{ "behind bti c", { BTI_C, ADRP(3, 0), ADD_IMM(0, 3, 0x300), RET }, true, false },
		{ "a page further and back",
			{ ADRP(0, 1), ADRP(0, (uint32_t)-1), ADD_IMM(1, 0, 0x300), ADRP(2, 0),
				ADD_IMM(0, 2, 0x300), RET },
			true, false },
		{ "as gcc 12 has it",
			{ ADRP(0, 0), LDR(0, 0, offsetof(struct elf_page, got)), MRS_TPIDR(1),
				ADD(0, 1, 0), RET },
			false, true },
		{ "in another order",
			{ MRS_TPIDR(2), ADRP(1, 0), NOP, LDR(1, 1, offsetof(struct elf_page, got)),
				ADD(0, 2, 1), RET },
			false, true },
		{ "a register nobody set", { ADD_IMM(0, 7, 0x300), RET }, false, false },
		{ "nothing in x0", { ADRP(1, 0), RET }, false, false },
		{ "a load from nowhere", { MRS_TPIDR(0), LDR(0, 0, 8), RET }, false, false },
		{ "a branch", { ADRP(0, 0), 0x14000001, RET }, false, false },
		{ "to the stack pointer", { ADRP(0, 0), ADD_IMM(31, 0, 0), RET }, false, false },
		{ "too long", { ADRP(0, 0), NOP, NOP, NOP, NOP, NOP, NOP, NOP, RET }, false,
			false },
	};
	auto_image struct image *image = NULL;
	struct arch_regs r = { .size_bytes = PRSTATUS_BYTES };
	const raddr fn = { (uintptr_t)page->code };
	struct object o = { 0 };
	struct err e = { 0 };

	elf_page_fill(page, EM_AARCH64, names);
	page->got = 0x40;
	r.word[TLS] = 0x7000;
	ok(image_open(&image, t, &(struct region){ .start = { (uintptr_t)page } }, NULL, &e) == 0,
		"an object %s", e.msg);
	o.image = image;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		memset(page->code, 0, sizeof page->code);
		memcpy(page->code, row[i].code, sizeof row[i].code);
		is_u64(arch_returned_address(&o, fn).v,
			row[i].returns ? ((uintptr_t)page->code & ~UINT64_C(0xfff)) + 0x300 : 0,
			row[i].name);
		is_u64(arch_errno_address(t, &o, &r).v,
			row[i].returns_errno	 ? 0x7040
				: row[i].returns ? (uintptr_t)page + 0x300
						 : 0,
			"  as __errno_location");
	}
	memcpy(page->code, row[3].code, sizeof row[3].code);
	is_u64(arch_errno_address(t, &o, &r).v, 0x7040, row[3].name);
	r.word[TLS] = 0;
	is_u64(arch_errno_address(t, &o, &r).v, 0, "a thread without TLS");
	is_u64(adrp_target(ADRP(0, 1), 0x12345678), 0x12346000, "adrp to the next page");
	is_u64(adrp_target(ADRP(0, (uint32_t)-1), 0x12345678), 0x12344000, "and to the one before");
}

int
main(void)
{
	auto_target struct target t = TARGET_NONE;
	struct elf_page *page = elf_page_map();
	struct err e = { 0 };

	test_registers();
	test_obstacles();
	test_frame();
	test_calls();
	test_restart();
	test_rewind();
	test_follows_call();
	ok(page && target_open(&t, getpid(), &e) == 0, "our own memory %s", e.msg);
	test_restorer(&t, page);
	test_leaves(&t, page);
	return tap_end();
}

/*
 * x86-64's part of a borrow: signal frames are compared with the kernel's layout byte by byte, with
 * the extended state of processors that this one need not be.
 */
#include <config.h>

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "elf/image.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/target.h"

static int played_get(pid_t tid, unsigned int type, void *buf, size_t *size, struct err *e);
static void played_cpuid(unsigned int leaf, unsigned int sub, unsigned int *a, unsigned int *b,
	unsigned int *c, unsigned int *d);

#define os_get_regset played_get
#define ARCH_CPUID(leaf, sub, a, b, c, d) played_cpuid(leaf, sub, &(a), &(b), &(c), &(d))
#include "arch/x86_64.c"

#include "elf-page.h"
#include "tap.h"

/* ---- a processor that is played ---- */

/* CPUID leaf 0xd of one that has AVX, AVX-512, PKRU, AMX and APX; the last is out of order. */
static const struct {
	unsigned int nr, size, offset;
} component[] = {
	{ 2, 256, 576 },
	{ 5, 64, 1088 },
	{ 6, 512, 1152 },
	{ 7, 1024, 1664 },
	{ 9, 8, 2688 },
	{ 17, 64, 2752 },
	{ 18, 8192, 2816 },
	{ 19, 128, 960 },
};

enum { ALL_BYTES = 2816 + 8192 };

#define X87_SSE 0x3
#define AVX UINT64_C(0x4)
#define AVX512 UINT64_C(0xe0)
#define PKRU UINT64_C(0x200)
#define AMX UINT64_C(0x60000)
#define APX UINT64_C(0x80000)

static void
played_cpuid(unsigned int leaf, unsigned int sub, unsigned int *a, unsigned int *b, unsigned int *c,
	unsigned int *d)
{
	*a = *b = *c = *d = 0;
	if (leaf == 0xd && sub == 0)
		*a = X87_SSE;
	for (size_t i = 0; leaf == 0xd && i < sizeof component / sizeof *component; i++) {
		if (sub == 0) {
			*a |= 1U << component[i].nr;
		} else if (component[i].nr == sub) {
			*a = component[i].size;
			*b = component[i].offset;
		}
	}
}

static size_t prstatus_bytes = sizeof(struct user_regs_struct);

static int
played_get(pid_t tid, unsigned int type, void *buf, size_t *size, struct err *e)
{
	(void)tid, (void)e;
	*size = type == NT_PRSTATUS ? prstatus_bytes : 0;
	memset(buf, 0x11, *size);
	return 0;
}

static void
test_registers(void)
{
	struct arch_regs r;
	struct err e = { 0 };

	ok(arch_get_regs(1, &r, &e) == 0, "a thread's registers");
	is_u64(arch_pc(&r).v, UINT64_C(0x1111111111111111), "are there");
	prstatus_bytes = 17 * 4;
	ok(arch_get_regs(1, &r, &e) < 0 && e.kind == ERR_UNSUPPORTED, "32-bit code is refused: %s",
		e.msg);
}

/* ---- the frame ---- */

static uint64_t
at(const struct arch_frame *f, size_t offset, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, f->bytes + offset, size);
	return value;
}

static struct arch_regs
regs_of(const struct user_regs_struct *u)
{
	struct arch_regs r = { .size_bytes = sizeof *u };

	memcpy(r.word, u, sizeof *u);
	return r;
}

static struct arch_regs
some_regs(void)
{
	return regs_of(&(struct user_regs_struct){
		.r8 = 1,
		.r9 = 2,
		.r10 = 3,
		.r11 = 4,
		.r12 = 5,
		.r13 = 6,
		.r14 = 7,
		.r15 = 8,
		.rdi = 9,
		.rsi = 10,
		.rbp = 11,
		.rbx = 12,
		.rdx = 13,
		.rax = 14,
		.rcx = 15,
		.rsp = 16,
		.rip = 17,
		.eflags = 18,
		.cs = 0x33,
		.ss = 0x2b,
		.orig_rax = (uint64_t)-1,
	});
}

static void
check_general(const struct arch_frame *f, uint64_t top)
{
	bool same = true;

	is_u64(f->addr.v % 16, 8, "as after a call: 16n + 8");
	ok(f->addr.v + f->size_bytes <= top && f->addr.v + f->size_bytes + 64 > top,
		"it ends just below the top");
	is_u64(at(f, 0, 8), 0x9000, "the return address");
	is_u64(at(f, 8, 8), 7, "uc_flags");
	is_u64(at(f, 16, 8) | at(f, 24, 8), 0, "uc_link, ss_sp");
	is_u64(at(f, 32, 4), 4, "an ss_flags that the kernel refuses");
	for (size_t i = 0; i < 18; i++)
		same = same && at(f, 48 + 8 * i, 8) == i + 1;
	ok(same, "r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags");
	is_u64(at(f, 192, 8), UINT64_C(0x2b) << 48 | 0x33, "cs, ss");
	is_u64(at(f, 304, 8), 0x5a5a, "the signal mask");
}

static void
check_extended(const struct arch_frame *f, const struct arch_thread *th, uint64_t want_features,
	uint64_t want_bytes)
{
	size_t fp = at(f, 232, 8) - f->addr.v;

	is_u64(at(f, 232, 8) % 64, 0, "fpstate is aligned");
	if (!ok(fp >= 312 && fp + want_bytes + 4 <= f->size_bytes, "  and lies behind the rest"))
		return;
	is_u64(at(f, fp + 464, 4), 0x46505853, "  magic1");
	is_u64(at(f, fp + 468, 4), want_bytes + 4, "  size with magic2");
	is_u64(at(f, fp + 472, 8), want_features, "  what is in it");
	is_u64(at(f, fp + 480, 4), want_bytes, "  size");
	is_u64(at(f, fp + want_bytes, 4), 0x46505845, "  magic2");
	ok(memcmp(f->bytes + fp, th->ext, 464) == 0 &&
			memcmp(f->bytes + fp + 512, th->ext + 512, want_bytes - 512) == 0,
		"  the state itself");
}

static void
test_frame(void)
{
	static const struct {
		const char *name;
		uint64_t enabled, in_use, want_features, want_bytes;
	} row[] = {
		{ "nothing but SSE", X87_SSE, X87_SSE, X87_SSE, 576 },
		{ "nothing at all in use", X87_SSE | AVX, 0, X87_SSE, 576 },
		{ "AVX", X87_SSE | AVX, X87_SSE | AVX, X87_SSE | AVX, 832 },
		{ "AVX-512 enabled, AVX in use", X87_SSE | AVX | AVX512, X87_SSE | AVX,
			X87_SSE | AVX, 832 },
		{ "AVX-512 in use", X87_SSE | AVX | AVX512, X87_SSE | AVX512,
			X87_SSE | AVX | AVX512, 2688 },
		{ "AMX enabled, AVX in use", X87_SSE | AVX | AVX512 | PKRU | AMX, X87_SSE | AVX,
			X87_SSE | AVX, 832 },
		{ "AMX enabled, PKRU in use", X87_SSE | AVX | AVX512 | PKRU | AMX, X87_SSE | PKRU,
			X87_SSE | AVX | AVX512 | PKRU, 2696 },
		{ "AMX in use", X87_SSE | AVX | AVX512 | PKRU | AMX, X87_SSE | AMX,
			X87_SSE | AVX | AVX512 | PKRU | AMX, ALL_BYTES },
		{ "APX in use, which lies before AVX-512", X87_SSE | AVX | AVX512 | APX,
			X87_SSE | APX, X87_SSE | AVX | APX, 1088 },
	};
	struct arch_thread th = { .regs = some_regs(), .ext_bytes = ALL_BYTES, .sigmask = 0x5a5a };
	const raddr top = { 0x100037 };

	learn_xsave();
	for (size_t i = 0; i < sizeof th.ext; i++)
		th.ext[i] = (unsigned char)(i * 7);
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct arch_frame f;

		memcpy(th.ext + 464, &row[i].enabled, 8);
		memcpy(th.ext + 512, &row[i].in_use, 8);
		memset(&f, 0xff, sizeof f);
		arch_build_frame(&f, top, &th.regs, th.sigmask, &th, (raddr){ 0x9000 });
		ok(f.size_bytes <= sizeof f.bytes, "%s", row[i].name);
		check_general(&f, top.v);
		check_extended(&f, &th, row[i].want_features, row[i].want_bytes);
	}
}

/* ---- calls ---- */

static void
test_calls(void)
{
	const raddr fn = { 0x4000 }, restorer = { 0x9000 }, frame = { 0x7fe8 };
	const uint64_t arg[] = { 21, 22, 23, 24, 25, 26 };
	struct arch_regs r = some_regs();
	uint64_t *u = r.word;

	u[EFLAGS] = 0x40000 | 0x400 | 0x100 | 0x246;
	u[ORIG_RAX] = 15;
	arch_prepare_call(&r, fn, arg, 6, restorer, frame);
	is_u64(u[RIP], fn.v, "a call enters the function");
	is_u64(u[RSP], frame.v, "  on the frame");
	ok(u[RDI] == 21 && u[RSI] == 22 && u[RDX] == 23 && u[RCX] == 24 && u[R8] == 25 &&
			u[R9] == 26,
		"  with its arguments");
	is_u64(u[RAX], 0, "  none of them in vector registers");
	is_u64(u[EFLAGS], 0x246, "  without trap, direction and alignment check");
	is_u64((uint64_t)arch_syscall_nr(&r), (uint64_t)-1, "  and no system call");

	u[RIP] = restorer.v + 9; /* behind mov and syscall */
	u[ORIG_RAX] = 15;
	ok(arch_is_sigreturn(&r, restorer), "the entry of rt_sigreturn");
	ok(!arch_is_sigreturn(&r, fn), "  of another restorer");
	u[ORIG_RAX] = 202;
	ok(!arch_is_sigreturn(&r, restorer), "another system call");
	arch_prepare_return(&r, restorer, frame);
	ok(u[RIP] == restorer.v && u[RSP] == frame.v + 8 && u[ORIG_RAX] == (uint64_t)-1,
		"through the restorer into the frame");
}

static void
test_restart(void)
{
	static const struct {
		const char *name;
		int64_t orig_rax, rax;
		enum arch_restart want;
		int64_t settled_rip, settled_rax;
	} row[] = {
		{ "ERESTARTSYS", 202, -512, ARCH_RESTARTS, -2, 202 },
		{ "ERESTARTNOINTR", 202, -513, ARCH_RESTARTS, -2, 202 },
		{ "ERESTARTNOHAND", 270, -514, ARCH_RESTARTS, -2, 270 },
		{ "ERESTART_RESTARTBLOCK", 35, -516, ARCH_RESTARTS_FROM_BLOCK, 0, -4 },
		{ "EINTR", 232, -4, ARCH_FAILED_EINTR, 0, -4 },
		{ "another error", 0, -9, ARCH_NO_RESTART, 0, -9 },
		{ "ENOIOCTLCMD, which is between them", 16, -515, ARCH_NO_RESTART, 0, -515 },
		{ "success", 0, 17, ARCH_NO_RESTART, 0, 17 },
		{ "no system call", -1, -512, ARCH_NO_RESTART, 0, -512 },
		{ "an interrupt", -240, -512, ARCH_NO_RESTART, 0, -512 },
	};
	const raddr sp = { 0x8000 }, pc = { 0x5002 };

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct arch_regs r = regs_of(&(struct user_regs_struct){ .rip = pc.v,
			.rsp = sp.v,
			.orig_rax = (uint64_t)row[i].orig_rax,
			.rax = (uint64_t)row[i].rax });
		uint64_t *u = r.word;
		long nr = row[i].orig_rax < 0 ? -1 : row[i].orig_rax;

		is_u64((uint64_t)arch_syscall_nr(&r), (uint64_t)nr, row[i].name);
		ok(arch_restart(&r) == row[i].want, "  how it goes on");
		ok(arch_is_still_in(&r, nr, sp, pc) && !arch_is_still_in(&r, nr + 1, sp, pc) &&
				!arch_is_still_in(&r, nr, pc, pc) &&
				!arch_is_still_in(&r, nr, sp, sp),
			"  where it was seen, and nowhere else");
		arch_settle(&r);
		ok(u[RIP] == pc.v + (uint64_t)row[i].settled_rip &&
				u[RAX] == (uint64_t)row[i].settled_rax && u[RSP] == sp.v &&
				u[ORIG_RAX] == (uint64_t)-1,
			"  as a signal handler would find it");
	}
}

static void
test_rewind(void)
{
	struct arch_regs r = regs_of(&(struct user_regs_struct){
		.rip = 0x5002, .orig_rax = 232, .rax = (uint64_t)-EINTR });
	uint64_t *u = r.word;

	ok(arch_can_rewind, "what failed with EINTR can be made again");
	arch_rewind(&r, 232);
	ok(arch_restart(&r) == ARCH_RESTARTS && u[RIP] == 0x5002 && u[ORIG_RAX] == 232,
		"by the kernel");
	arch_settle(&r);
	ok(u[RIP] == 0x5000 && u[RAX] == 232 && u[ORIG_RAX] == (uint64_t)-1, "from its beginning");

	r = regs_of(&(struct user_regs_struct){
		.rip = 0x5002, .orig_rax = SYS_restart_syscall, .rax = (uint64_t)-516 });
	arch_rewind(&r, SYS_poll);
	ok(arch_restart(&r) == ARCH_RESTARTS && u[RIP] == 0x5002 && u[ORIG_RAX] == SYS_poll,
		"what the kernel would continue can be made again, too, under its own number");
}

static void
test_arguments(void)
{
	struct arch_regs r = regs_of(&(struct user_regs_struct){
		.rdi = 1, .rsi = 2, .rdx = 3, .r10 = 4, .r8 = 5, .r9 = 6, .rcx = 7 });
	bool all = true;

	for (int i = 0; i < 6; i++)
		all &= arch_arg(&r, i) == (uint64_t)i + 1;
	ok(all, "the arguments of a system call, of which the fourth is not in rcx");
	arch_set_arg(&r, 3, 40);
	ok(arch_arg(&r, 3) == 40 && r.word[R10] == 40 && r.word[RCX] == 7, "and one changed");
}

/* ---- instructions ---- */

/* How long "ff ModRM" is in 64-bit mode, with SIB 0x24 (no index) and zeros behind. */
static size_t
length_of(unsigned char modrm)
{
	int mod = modrm >> 6, rm = modrm & 7;
	size_t length = 2 + (mod != 3 && rm == 4);

	if (mod == 1)
		return length + 1;
	return mod == 2 || (mod == 0 && rm == 5) ? length + 4 : length;
}

static void
test_follows_call(void)
{
	bool all = true, none = true;

	for (int modrm = 0; modrm < 256; modrm++) {
		unsigned char bytes[7] = { 0 };
		size_t length = length_of((unsigned char)modrm);
		unsigned char *code = bytes + sizeof bytes - length;
		bool found;

		code[0] = 0xff;
		code[1] = (unsigned char)modrm;
		if (modrm >> 6 != 3 && (modrm & 7) == 4)
			code[2] = 0x24;
		found = arch_follows_call(bytes, sizeof bytes);
		if ((modrm >> 3 & 7) == 2)
			all = all && found && arch_follows_call(code, length);
		else
			none = none && !found;
	}
	ok(all, "call through every register and memory operand");
	ok(none, "no other instruction of that group: inc, dec, jmp, push");
	ok(arch_follows_call((unsigned char[]){ 0, 0, 0xe8, 1, 2, 3, 4 }, 7), "call rel32");
	ok(arch_follows_call((unsigned char[]){ 0, 0, 0, 0, 0x41, 0xff, 0xd3 }, 7), "call *%%r11");
	ok(!arch_follows_call((unsigned char[]){ 0, 0, 0xe9, 1, 2, 3, 4 }, 7), "jmp is no call");
	ok(!arch_follows_call((unsigned char[]){ 0, 0, 0, 0xe8, 1, 2, 3 }, 7),
		"a call not yet over");
	ok(!arch_follows_call((unsigned char[]){ 0xff }, 1) &&
			!arch_follows_call((unsigned char[]){ 0, 0, 0, 0xe8 }, 4),
		"too few bytes");
}

static void
put_code(struct elf_page *page, const char *code, size_t size)
{
	memset(page->code, 0x90, sizeof page->code);
	memcpy(page->code, code, size);
}

#define PUT(page, code) put_code(page, code, sizeof code - 1)
#define ENDBR64 "\xf3\x0f\x1e\xfa"

static void
test_leaves(const struct target *t, struct elf_page *page)
{
	static const char *const names[2] = { "__errno_location", "gnu_get_libc_version" };
	auto_image struct image *image = NULL;
	struct arch_regs r = regs_of(&(struct user_regs_struct){ .fs_base = 0x7000 });
	struct object o = { 0 };
	struct err e = { 0 };
	const raddr fn = { (uintptr_t)page->code };

	elf_page_fill(page, EM_X86_64, names);
	page->got = (uint64_t)-0x40;
	ok(image_open(&image, t, &(struct region){ .start = { (uintptr_t)page } }, NULL, &e) == 0,
		"an object %s", e.msg);
	o.image = image;

	PUT(page, "\x48\x8d\x05\x10\0\0\0\xc3");
	is_u64(arch_returned_address(&o, fn).v, fn.v + 7 + 0x10, "lea; ret");
	PUT(page, "\x48\x8d\x05\xf0\xff\xff\xff\xc3");
	is_u64(arch_returned_address(&o, fn).v, fn.v + 7 - 0x10, "lea of something before it; ret");
	PUT(page, ENDBR64 "\x48\x8d\x05\x10\0\0\0\xc3");
	is_u64(arch_returned_address(&o, fn).v, fn.v + 4 + 7 + 0x10, "endbr64; lea; ret");
	PUT(page, "\x48\x8d\x05\x10\0\0\0\x90");
	is_u64(arch_returned_address(&o, fn).v, 0, "it does more than that");
	PUT(page, "\x48\x8d\x0d\x10\0\0\0\xc3");
	is_u64(arch_returned_address(&o, fn).v, 0, "another register");

	_Static_assert(
		offsetof(struct elf_page, got) - offsetof(struct elf_page, code) == 0x100, "");
	PUT(page, "\x48\x8b\x05\xf9\0\0\0\x64\x48\x03\x04\x25\0\0\0\0\xc3");
	is_u64(arch_errno_address(t, &o, &r).v, 0x7000 - 0x40, "mov; add %fs:0; ret");
	PUT(page, ENDBR64 "\x48\x8b\x05\xf5\0\0\0\x64\x48\x03\x04\x25\0\0\0\0\xc3");
	is_u64(arch_errno_address(t, &o, &r).v, 0x7000 - 0x40, "endbr64; mov; add %fs:0; ret");
	PUT(page, "\x48\x8b\x05\xf9\0\0\0\x64\x48\x03\x04\x25\x08\0\0\0\xc3");
	is_u64(arch_errno_address(t, &o, &r).v, 0, "another place in the TLS");

	PUT(page, "\x90\x48\xc7\xc0\x0f\0\0\0\x0f\x05");
	is_u64(arch_find_restorer(t, NULL, &o).v, fn.v + 1, "the restorer in the text");
	PUT(page, "\x90\x48\xc7\xc0\x0e\0\0\0\x0f\x05");
	is_u64(arch_find_restorer(t, NULL, &o).v, 0, "another system call's stub");
}

/* ---- a library that memdiag itself puts somewhere ---- */

static uint64_t
relocated(struct image_relocation r)
{
	uint64_t word = 1;

	return arch_relocate(&r, 0x7000, &word) ? word : UINT64_MAX;
}

#define SYMBOL .has_symbol = true, .name = "symbol"
#define DEFINED SYMBOL, .is_defined = true, .value = 0x234
static void
test_relocate(void)
{
	is_u64(relocated((struct image_relocation){ .type = R_X86_64_RELATIVE, .addend = 0x123 }),
		0x7123, "an address in the library");
	is_u64(relocated((struct image_relocation){ .type = R_X86_64_64, .addend = 8, DEFINED }),
		0x723c, "a symbol's, and some more");
	is_u64(relocated((struct image_relocation){
		       .type = R_X86_64_GLOB_DAT, .addend = 8, DEFINED }),
		0x7234, "a symbol's alone");
	is_u64(relocated((struct image_relocation){ .type = R_X86_64_JUMP_SLOT, SYMBOL }), 0,
		"that of one that nobody has");
	is_u64(relocated((struct image_relocation){ .type = R_X86_64_TPOFF64, .addend = 8 }), 0x88,
		"a thread's own word");
	is_u64(relocated((struct image_relocation){ .type = R_X86_64_TPOFF64, SYMBOL }), UINT64_MAX,
		"not if nobody has it");
	is_u64(relocated((struct image_relocation){ .type = R_X86_64_64, .has_symbol = true }),
		UINT64_MAX, "nor of a symbol that is not known");
	is_u64(relocated((struct image_relocation){ .type = R_X86_64_DTPMOD64, DEFINED }),
		UINT64_MAX, "nor of another kind");
}

int
main(void)
{
	auto_target struct target t = TARGET_NONE;
	struct elf_page *page = elf_page_map();
	struct err e = { 0 };

	test_registers();
	test_frame();
	test_calls();
	test_restart();
	test_rewind();
	test_arguments();
	test_follows_call();
	ok(page && target_open(&t, getpid(), &e) == 0, "our own memory %s", e.msg);
	test_leaves(&t, page);
	test_relocate();
	return tap_end();
}

#include <config.h>

#include "arch/arch.h"
#include "elf/image.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/stops.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/reg.h>
#include <sys/syscall.h>
#include <sys/user.h>

/* The unit test simulates a processor. */
#ifndef ARCH_CPUID
#define ARCH_CPUID __cpuid_count
#endif

const char arch_name[] = "x86-64";
const int arch_machine = EM_X86_64;
const uint64_t arch_red_zone_bytes = 128; /* System V psABI, 3.2.2 */
const int arch_clone_child_tid = 3;
const uint32_t arch_tls_relocation = R_X86_64_TPOFF64;
const bool arch_can_rewind = true;

/* The kernel's values in rax for an interrupted call (include/linux/errno.h). */
enum {
	ERESTARTSYS = 512,
	ERESTARTNOINTR = 513,
	ERESTARTNOHAND = 514,
	ERESTART_RESTARTBLOCK = 516,
};

#define FLAG_TRAP 0x100
#define FLAG_DIRECTION 0x400
#define FLAG_ALIGNMENT_CHECK 0x40000

/*
 * <sys/reg.h> numbers the words of struct arch_regs.  Never access them as a struct
 * user_regs_struct: its members have another type, so compilers may assume that they do not alias.
 */
_Static_assert(sizeof(struct user_regs_struct) <= ARCH_MAX_REGS * sizeof(uint64_t), "no room");

/*
 * The end of each component of the standard XSAVE format (CPUID leaf 0xd), 0 if absent.  Queried
 * once, before any thread is stopped: in a virtual machine one CPUID can take 50 us.
 */
static uint32_t xsave_end[63];

static void
learn_xsave(void)
{
	unsigned int low, high, size, offset, c, d;
	uint64_t enabled;

	if (__get_cpuid_max(0, NULL) < 0xd)
		return;
	ARCH_CPUID(0xd, 0, low, size, c, high);
	enabled = (uint64_t)high << 32 | low;
	for (unsigned int i = 2; i < sizeof xsave_end / sizeof *xsave_end; i++)
		if (enabled >> i & 1) {
			ARCH_CPUID(0xd, i, size, offset, c, d);
			xsave_end[i] = size + offset;
		}
}

int64_t
arch_tls_of_program(const Elf64_Phdr *tls)
{
	const uint64_t align = tls->p_align ? tls->p_align : 1;

	/* variant II: it ends at the thread pointer */
	return -(int64_t)((tls->p_memsz + align - 1) / align * align);
}

int
arch_check_process(const struct target *t, struct err *e)
{
	struct os_status s;

	if (os_status(t, t->mem_tid, &s, e) < 0)
		return -1;
	if (s.has_shadow_stack)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) runs with a shadow stack (CET), and memdiag cannot call into that yet",
			t->pid, t->comm);
	learn_xsave();
	return 0;
}

const char *
arch_obstacle(pid_t tid)
{
	(void)tid; /* the frame contains all of the extended state */
	return NULL;
}

/* ---- registers ---- */

int
arch_get_regs(pid_t tid, struct arch_regs *ret, struct err *e)
{
	*ret = (struct arch_regs){ .size_bytes = sizeof ret->word };
	if (os_get_regset(tid, NT_PRSTATUS, ret->word, &ret->size_bytes, e) < 0)
		return -1;
	/* For a thread in 32-bit mode the kernel returns 17 words of 4 bytes. */
	if (ret->size_bytes != sizeof(struct user_regs_struct))
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "thread %d runs 32-bit code", tid);
	ret->stop_nr = os_stop_nr(tid);
	return 0;
}

int
arch_set_regs(pid_t tid, const struct arch_regs *regs, struct err *e)
{
	return os_set_regset(tid, NT_PRSTATUS, regs->word, regs->size_bytes, e);
}

int
arch_save(pid_t tid, struct arch_thread *ret, struct err *e)
{
	ret->ext_bytes = sizeof ret->ext;
	if (arch_get_regs(tid, &ret->regs, e) < 0 ||
		os_get_regset(tid, NT_X86_XSTATE, ret->ext, &ret->ext_bytes, e) < 0 ||
		os_get_sigmask(tid, &ret->sigmask, e) < 0)
		return -1;
	return 0;
}

int
arch_set_ext(pid_t tid, const struct arch_thread *th, struct err *e)
{
	return os_set_regset(tid, NT_X86_XSTATE, th->ext, th->ext_bytes, e);
}

/*
 * The general registers in the order of asm/perf_regs.h: ax bx cx dx si di bp sp ip, and from bit
 * 16 on r8 to r15.
 */
static const int sampled[] = { RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP, RIP, R8, R9, R10, R11, R12,
	R13, R14, R15 };
const uint64_t arch_sampled_regs = 0xff01ff;

void
arch_from_sample(struct arch_regs *r, const uint64_t *values)
{
	*r = (struct arch_regs){ .size_bytes = sizeof(struct user_regs_struct) };
	for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++)
		r->word[sampled[i]] = values[i];
	r->word[ORIG_RAX] = UINT64_MAX; /* not in a system call */
}

raddr
arch_pc(const struct arch_regs *r)
{
	return (raddr){ r->word[RIP] };
}

raddr
arch_sp(const struct arch_regs *r)
{
	return (raddr){ r->word[RSP] };
}

raddr
arch_thread_pointer(const struct arch_regs *r)
{
	return (raddr){ r->word[FS_BASE] };
}

long
arch_syscall_nr(const struct arch_regs *r)
{
	/* Interrupts store a negative number here (arch/x86/include/asm/ptrace.h). */
	long nr = (long)r->word[ORIG_RAX];

	return nr < 0 ? -1 : nr;
}

static const int syscall_arg[] = { RDI, RSI, RDX, R10, R8, R9 };

uint64_t
arch_arg(const struct arch_regs *r, int i)
{
	return r->word[syscall_arg[i]];
}

void
arch_set_arg(struct arch_regs *r, int i, uint64_t value)
{
	r->word[syscall_arg[i]] = value;
}

int64_t
arch_result(const struct arch_regs *r)
{
	return (int64_t)r->word[RAX];
}

void
arch_set_result(struct arch_regs *r, int64_t value)
{
	r->word[RAX] = (uint64_t)value;
}

/* ---- interrupted system calls ---- */

enum arch_restart
arch_restart(const struct arch_regs *r)
{
	if (arch_syscall_nr(r) < 0)
		return ARCH_NO_RESTART;
	switch (-arch_result(r)) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
		return ARCH_RESTARTS;
	case ERESTART_RESTARTBLOCK:
		return ARCH_RESTARTS_FROM_BLOCK;
	case EINTR:
		return ARCH_FAILED_EINTR;
	default:
		return ARCH_NO_RESTART;
	}
}

bool
arch_is_still_in(struct arch_regs *r, long nr, raddr sp, raddr pc)
{
	return arch_syscall_nr(r) == nr && arch_sp(r).v == sp.v && arch_pc(r).v == pc.v;
}

/*
 * Do what the kernel does after the stop for this result (arch_do_signal_or_restart,
 * handle_signal).
 */
void
arch_rewind(struct arch_regs *r, long nr)
{
	r->word[ORIG_RAX] = (uint64_t)nr;
	r->word[RAX] = (uint64_t)-ERESTARTNOHAND;
}

void
arch_settle(struct arch_regs *r)
{
	uint64_t *u = r->word;

	switch (arch_restart(r)) {
	case ARCH_RESTARTS:
		u[RAX] = u[ORIG_RAX];
		u[RIP] -= 2; /* the length of the syscall instruction */
		break;
	case ARCH_RESTARTS_FROM_BLOCK:
		u[RAX] = (uint64_t)-EINTR;
		break;
	case ARCH_NO_RESTART:
	case ARCH_FAILED_EINTR:
		break;
	}
	u[ORIG_RAX] = (uint64_t)-1;
}

/* ---- calls ---- */

const bool arch_returns_by_frame = true;

void
arch_prepare_call(struct arch_regs *r, raddr fn, const uint64_t *arg, size_t nr_args,
	raddr restorer, raddr frame)
{
	uint64_t *u = r->word;
	static const int in[] = { RDI, RSI, RDX, RCX, R8, R9 };

	(void)restorer; /* the restorer is the frame's first word */
	for (size_t i = 0; i < nr_args && i < sizeof in / sizeof *in; i++)
		u[in[i]] = arg[i];
	u[RAX] = 0; /* no vector registers carry arguments */
	u[RIP] = fn.v;
	u[RSP] = frame.v;
	u[EFLAGS] &= ~(uint64_t)(FLAG_TRAP | FLAG_DIRECTION | FLAG_ALIGNMENT_CHECK);
	u[ORIG_RAX] = (uint64_t)-1;
}

void
arch_prepare_return(struct arch_regs *r, raddr restorer, raddr frame)
{
	uint64_t *u = r->word;

	u[RIP] = restorer.v;
	u[RSP] = frame.v + 8; /* as if the frame's return address had been popped */
	u[ORIG_RAX] = (uint64_t)-1;
}

/* ---- the signal frame ---- */

/*
 * rt_sigreturn reads this frame (x86: asm/sigframe.h, uapi/asm/sigcontext.h, uapi/asm/ucontext.h).
 * siginfo follows in the kernel's own frames and is never read back.
 *
 *	lower   +--------------------------+  addr = 16n + 8
 *	        | return address: restorer |
 *	        | ucontext                 |
 *	        |   registers, fpstate ----+--+
 *	        |   signal mask            |  |
 *	        +--------------------------+ <+  64n
 *	        | XSAVE image, magic2      |
 *	higher  +--------------------------+  <= top
 */
struct sigcontext_64 {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, flags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved1[8];
};

struct x86_64_rt_sigframe {
	uint64_t pretcode;
	uint64_t uc_flags, uc_link;
	uint64_t ss_sp;
	uint32_t ss_flags, pad;
	uint64_t ss_size;
	struct sigcontext_64 mc;
	uint64_t sigmask;
};

/*
 * uc_flags (uapi/asm/ucontext.h): FP_XSTATE | SIGCONTEXT_SS | STRICT_RESTORE_SS.  A function that
 * returns into the frame sees it as its seventh argument.
 */
#define UC_FLAGS ARCH_SEVENTH_ARG

/* The bytes at offset 464 of the XSAVE area in a signal frame. */
struct fpx_sw_bytes {
	uint32_t magic1, extended_size;
	uint64_t xfeatures;
	uint32_t xstate_size, padding[7];
};

#define XSAVE_SW_OFFSET 464
#define XSAVE_BV_OFFSET 512 /* components that are not in their initial state */
#define XSAVE_MIN_BYTES 576
#define FP_MAGIC1 0x46505853
#define FP_MAGIC2 0x46505845

static uint32_t
component_end(int i)
{
	return i < 2 || !xsave_end[i] ? XSAVE_MIN_BYTES : xsave_end[i];
}

/*
 * Build the used part of the state as in a signal frame.  It must not exceed what the thread is
 * permitted: the kernel would drop all but the legacy part (fpu/signal.c,
 * check_xstate_in_sigframe).  A component in use is always permitted.
 */
static size_t
build_fpstate(unsigned char *to, const struct arch_thread *th)
{
	struct fpx_sw_bytes sw = { .magic1 = FP_MAGIC1 };
	uint32_t size = XSAVE_MIN_BYTES, magic2 = FP_MAGIC2;
	uint64_t in_use, enabled;

	memcpy(&enabled, th->ext + XSAVE_SW_OFFSET, sizeof enabled); /* ptrace stores XCR0 here */
	memcpy(&in_use, th->ext + XSAVE_BV_OFFSET, sizeof in_use);
	for (int i = 2; i < 63; i++)
		if (in_use >> i & 1 && component_end(i) > size)
			size = component_end(i);
	for (int i = 0; i < 63; i++)
		if (enabled >> i & 1 && component_end(i) <= size)
			sw.xfeatures |= UINT64_C(1) << i;
	sw.xstate_size = size;
	sw.extended_size = size + (uint32_t)sizeof magic2;
	memcpy(to, th->ext, size);
	memcpy(to + XSAVE_SW_OFFSET, &sw, sizeof sw);
	memcpy(to + size, &magic2, sizeof magic2);
	return size + sizeof magic2;
}

void
arch_build_frame(struct arch_frame *f, raddr top, const struct arch_regs *regs, uint64_t sigmask,
	const struct arch_thread *th, raddr restorer)
{
	const uint64_t *u = regs->word;
	unsigned char fpstate[ARCH_MAX_EXT_BYTES + 64];
	size_t fp_bytes = build_fpstate(fpstate, th);
	uint64_t fp_addr = (top.v - fp_bytes) & ~UINT64_C(63);
	struct x86_64_rt_sigframe frame = {
		.pretcode = restorer.v,
		.uc_flags = UC_FLAGS,
		.ss_flags = ARCH_SS_FLAGS_INVALID,
		.mc = {
			u[R8], u[R9], u[R10], u[R11], u[R12], u[R13], u[R14], u[R15], u[RDI],
			u[RSI], u[RBP], u[RBX], u[RDX], u[RAX], u[RCX], u[RSP], u[RIP], u[EFLAGS],
			(uint16_t)u[CS], 0, 0, (uint16_t)u[SS], .fpstate = fp_addr,
		},
		.sigmask = sigmask,
	};

	f->addr.v = ((fp_addr - sizeof frame) & ~UINT64_C(15)) - 8;
	f->size_bytes = fp_addr + fp_bytes - f->addr.v;
	memset(f->bytes, 0, f->size_bytes);
	memcpy(f->bytes, &frame, sizeof frame);
	memcpy(f->bytes + (fp_addr - f->addr.v), fpstate, fp_bytes);
}

/* mov $15,%rax; syscall: glibc keeps these bytes because unwinders search for them. */
static const unsigned char restorer_code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

bool
arch_is_sigreturn(const struct arch_regs *r, raddr restorer)
{
	return arch_syscall_nr(r) == SYS_rt_sigreturn &&
		r->word[RIP] == restorer.v + sizeof restorer_code;
}

/* The code is near the beginning; reading in pieces avoids reading the whole library. */
#define PIECE_BYTES UINT64_C(65536)

/* Return the place of restorer_code in the SIZE bytes of IMAGE at START; 0 if not found. */
static raddr
find_restorer(const struct image *image, raddr start, uint64_t size)
{
	for (uint64_t done = 0; done < size; done += PIECE_BYTES) {
		const raddr from = raddr_add(start, done);
		uint64_t bytes = PIECE_BYTES + sizeof restorer_code - 1;
		const unsigned char *text, *at;

		if (bytes > size - done)
			bytes = size - done;
		text = image_bytes(image, from, bytes);
		at = text ? memmem(text, bytes, restorer_code, sizeof restorer_code) : NULL;
		if (at)
			return raddr_add(from, (uint64_t)(at - text));
	}
	return (raddr){ 0 };
}

raddr
arch_find_restorer(const struct target *t, const struct objects *o, const struct object *libc)
{
	(void)t, (void)o;
	for (size_t i = 0; i < image_nr_phdrs(libc->image); i++) {
		const Elf64_Phdr *p = image_phdr(libc->image, i);
		raddr start = { p->p_vaddr + image_bias(libc->image) };
		raddr found;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		found = find_restorer(libc->image, start, p->p_filesz);
		if (found.v)
			return found;
	}
	return (raddr){ 0 };
}

const unsigned char arch_call_and_store[] = {
	0x56,		  /* push %rsi */
	0xff, 0xd7,	  /* call *%rdi */
	0x5e,		  /* pop %rsi */
	0x48, 0x89, 0x06, /* mov %rax,(%rsi) */
	0xc3,		  /* ret */
};
const size_t arch_call_and_store_bytes = sizeof arch_call_and_store;

const unsigned char arch_make_syscall[] = {
	0x48, 0x8b, 0x36, /* mov (%rsi),%rsi */
	0x89, 0xf8,	  /* mov %edi,%eax */
	0x48, 0x89, 0xf7, /* mov %rsi,%rdi */
	0x48, 0x89, 0xd6, /* mov %rdx,%rsi */
	0x48, 0x89, 0xca, /* mov %rcx,%rdx */
	0x4d, 0x89, 0xc2, /* mov %r8,%r10 */
	0x0f, 0x05,	  /* syscall */
	0x49, 0x89, 0x01, /* mov %rax,(%r9) */
	0xc3,		  /* ret */
};
const size_t arch_make_syscall_offset = 3;
const size_t arch_make_syscall_bytes = sizeof arch_make_syscall;

/* ---- a library in a program without a dynamic linker ---- */

/*
 * tcbhead_t (sysdeps/x86_64/nptl/tls.h): until 2.23, ld.so of shared programs saved vector
 * registers in the 512 bytes at 0x80, which remain because others rely on the size; struct pthread
 * continues at 0x2c0, with robust_head at 0x2e0.  The bytes are zero in a new stack, are cleared in
 * a stack provided by the program (nptl/allocatestack.c), and keep their content in a reused stack.
 */
const struct arch_spare arch_spare = {
	.offset = 0x80, .bytes = 480, .timeout = 0x260, .head = 0x2e0
};

/* A control block points to itself twice: as tcb and as self. */
bool
arch_is_control_block(const uint64_t block[ARCH_BLOCK_WORDS], raddr tp)
{
	return block[0] == tp.v && block[2] == tp.v;
}

bool
arch_relocate(const struct image_relocation *r, uint64_t base, uint64_t *ret)
{
	const uint64_t symbol = r->is_defined ? base + r->value : 0, addend = (uint64_t)r->addend;

	if (r->has_symbol && !r->name)
		return false;
	switch (r->type) {
	case R_X86_64_RELATIVE:
		*ret = base + addend;
		return true;
	case R_X86_64_64:
		*ret = symbol + addend;
		return true;
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
		*ret = symbol;
		return true;
	case R_X86_64_TPOFF64:
		*ret = arch_spare.offset + r->value + addend;
		return !r->has_symbol || r->is_defined;
	default:
		return false;
	}
}

/* ---- reading a few instructions ---- */

/* Skip an endbr64 at CODE, if present. */
static const unsigned char *
skip_endbr(const unsigned char *code)
{
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return memcmp(code, endbr64, sizeof endbr64) == 0 ? code + sizeof endbr64 : code;
}

/*
 * Decode the target of a 7-byte instruction "REX.W OPCODE 05 disp32" (RIP-relative, to rax) at
 * CODE.
 */
static bool
rip_relative(const unsigned char *code, unsigned char opcode, uint64_t addr, raddr *ret)
{
	int32_t disp;

	if (code[0] != 0x48 || code[1] != opcode || code[2] != 0x05)
		return false;
	memcpy(&disp, code + 3, sizeof disp);
	*ret = (raddr){ addr + 7 + (uint64_t)(int64_t)disp };
	return true;
}

/*
 * Find errno in a static program, whose thread-local words end at the thread pointer
 * (csu/libc-tls.c, __libc_setup_tls).
 */
static raddr
errno_of_static(const struct image *image, const struct arch_regs *r)
{
	struct image_symbol s;

	for (size_t i = 0; i < image_nr_phdrs(image); i++) {
		const Elf64_Phdr *p = image_phdr(image, i);
		uint64_t align = p->p_align ? p->p_align : 1;

		if (p->p_type == PT_TLS && image_find(image, "errno", &s) == 0 && s.type == STT_TLS)
			return (raddr){ r->word[FS_BASE] -
				(p->p_memsz + align - 1) / align * align + s.addr.v };
	}
	return (raddr){ 0 };
}

raddr
arch_errno_address(const struct target *t, const struct object *libc, const struct arch_regs *r)
{
	/* mov tpoff@GOT(%rip),%rax; add %fs:0,%rax; ret */
	static const unsigned char add_fs[] = { 0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0, 0xc3 };
	const unsigned char *bytes, *code;
	struct image_symbol s;
	uint64_t tpoff;
	struct err e;
	raddr slot;

	if (image_is_static(libc->image))
		return errno_of_static(libc->image, r);
	if (image_find(libc->image, "__errno_location", &s) < 0 ||
		!(bytes = image_bytes(libc->image, s.addr, 32)))
		return (raddr){ 0 };
	code = skip_endbr(bytes);
	if (!rip_relative(code, 0x8b, s.addr.v + (uint64_t)(code - bytes), &slot) ||
		memcmp(code + 7, add_fs, sizeof add_fs) != 0 ||
		os_read(t, slot, &tpoff, sizeof tpoff, &e) < 0)
		return (raddr){ 0 };
	return (raddr){ r->word[FS_BASE] + tpoff };
}

raddr
arch_returned_address(const struct object *o, raddr fn)
{
	const unsigned char *bytes = image_bytes(o->image, fn, 16), *code;
	raddr ret;

	if (!bytes)
		return (raddr){ 0 };
	code = skip_endbr(bytes);
	if (!rip_relative(code, 0x8d, fn.v + (uint64_t)(code - bytes), &ret) || code[7] != 0xc3)
		return (raddr){ 0 };
	return ret;
}

bool
arch_follows_call(const unsigned char *before, size_t nr)
{
	/*
	 * call rel32 is e8 and four bytes; call r/m is ff /2 with a length of two to seven bytes.
	 */
	if (nr >= 5 && before[nr - 5] == 0xe8)
		return true;
	for (size_t len = 2; len <= 7 && len <= nr; len++)
		if (before[nr - len] == 0xff && (before[nr - len + 1] >> 3 & 7) == 2)
			return true;
	return false;
}

raddr
arch_strip_signature(const struct arch_regs *r, raddr code)
{
	(void)r; /* addresses are not signed here */
	return code;
}

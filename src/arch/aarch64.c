/*
 * arm64.  All kernel definitions for this processor are repeated here instead of taken from its
 * headers, so that the unit test can be built on any machine; on arm64 the test compares both.
 */
#include <config.h>

#include "arch/arch.h"
#include "elf/image.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "os/memory.h"
#include "os/ptrace.h"
#include "os/stops.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

const char arch_name[] = "arm64";
const int arch_machine = EM_AARCH64;
const uint64_t arch_red_zone_bytes = 0; /* AAPCS64, 6.4.5.1 */
const int arch_clone_child_tid = 4;
const uint32_t arch_tls_relocation = R_AARCH64_TLS_TPREL;

/*
 * At a stop the kernel has already handled the interrupted call (arch/arm64/kernel/signal.c,
 * do_signal): a call that failed with EINTR has lost its first argument.
 */
const bool arch_can_rewind = false;

/* uapi/linux/elf.h; some libcs lack these names. */
#define MD_NT_ARM_SSVE 0x40b
#define MD_NT_ARM_ZA 0x40c
#define MD_NT_ARM_POE 0x40f
#define MD_NT_ARM_GCS 0x410

/* uapi/asm-generic/unistd.h */
enum {
	NR_FUTEX = 98,
	NR_NANOSLEEP = 101,
	NR_CLOCK_NANOSLEEP = 115,
	NR_RESTART_SYSCALL = 128,
	NR_RT_SIGRETURN = 139,
};

#define NO_SYSCALL UINT64_MAX
#define INSTRUCTION_BYTES 4

/* PSTATE: the target type required by an indirect branch (BTI), and single-stepping. */
#define PSTATE_BTYPE (UINT64_C(3) << 10)
#define PSTATE_SS (UINT64_C(1) << 21)

/*
 * The words of struct arch_regs: NT_PRSTATUS (uapi/asm/ptrace.h, struct user_pt_regs), then data
 * that the kernel keeps elsewhere.
 */
enum {
	X0, /* x1 to x30 follow */
	X1,
	X3 = 3,
	X8 = 8,
	X30 = 30,
	SP,
	PC,
	PSTATE,
	NR_PRSTATUS_WORDS,
	/* the present system call, or the one interrupted by the stop */
	SYSCALL_NR = NR_PRSTATUS_WORDS,
	TLS,	  /* TPIDR_EL0; only from arch_save(), as is the next */
	PAC_MASK, /* bits of a code address that contain its signature */
	NR_WORDS
};

#define PRSTATUS_BYTES (NR_PRSTATUS_WORDS * sizeof(uint64_t))

_Static_assert(NR_WORDS <= ARCH_MAX_REGS, "no room");

/* NT_PRFPREG (struct user_fpsimd_state). */
struct fpsimd {
	unsigned char v[32][16];
	uint32_t fpsr, fpcr;
	uint32_t reserved[2];
};

/* The content of arch_thread.ext; POR_EL0 only if the processor has it, as ext_bytes shows. */
struct extended {
	struct fpsimd fpsimd;
	uint64_t por;
};

int64_t
arch_tls_of_program(const Elf64_Phdr *tls)
{
	const uint64_t align = tls->p_align ? tls->p_align : 1;

	/* variant I: after two words */
	return (int64_t)((16 + align - 1) / align * align);
}

int
arch_check_process(const struct target *t, struct err *e)
{
	(void)t, (void)e; /* every thread has its own shadow stack (GCS): arch_obstacle() */
	return 0;
}

/* ---- registers ---- */

/* Read an optional register set: false if the processor or kernel lacks it. */
static bool
get_optional(pid_t tid, unsigned int type, void *buf, size_t size)
{
	size_t got = size;
	struct err e;

	return os_get_regset(tid, type, buf, &got, &e) == 0 && got == size;
}

int
arch_get_regs(pid_t tid, struct arch_regs *ret, struct err *e)
{
	int32_t nr;
	size_t nr_bytes = sizeof nr;

	*ret = (struct arch_regs){ .size_bytes = sizeof ret->word };
	if (os_get_regset(tid, NT_PRSTATUS, ret->word, &ret->size_bytes, e) < 0)
		return -1;
	/* For a thread in 32-bit mode the kernel returns 18 words of 4 bytes. */
	if (ret->size_bytes != PRSTATUS_BYTES)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "thread %d runs 32-bit code", tid);
	if (os_get_regset(tid, NT_ARM_SYSTEM_CALL, &nr, &nr_bytes, e) < 0)
		return -1;
	ret->word[SYSCALL_NR] = nr;
	ret->stop_nr = os_stop_nr(tid);
	return 0;
}

/*
 * Set the registers.  At a system call's entry the call is skipped, and cancelled after the
 * registers are set: otherwise the thread would continue after the call as if it had been made.
 */
int
arch_set_regs(pid_t tid, const struct arch_regs *regs, struct err *e)
{
	const int32_t none = -1;

	if (os_set_regset(tid, NT_PRSTATUS, regs->word, regs->size_bytes, e) < 0)
		return -1;
	return os_set_regset(tid, NT_ARM_SYSTEM_CALL, &none, sizeof none, e);
}

int
arch_save(pid_t tid, struct arch_thread *ret, struct err *e)
{
	uint64_t *r = ret->regs.word;
	uint64_t mask[2]; /* struct user_pac_mask: for data and for code addresses */

	ret->ext_bytes = sizeof(struct fpsimd);
	if (arch_get_regs(tid, &ret->regs, e) < 0 ||
		os_get_regset(tid, NT_PRFPREG, ret->ext, &ret->ext_bytes, e) < 0 ||
		os_get_regset(tid, NT_ARM_TLS, &r[TLS], &(size_t){ sizeof r[TLS] }, e) < 0 ||
		os_get_sigmask(tid, &ret->sigmask, e) < 0)
		return -1;
	if (get_optional(tid, NT_ARM_PAC_MASK, mask, sizeof mask))
		r[PAC_MASK] = mask[1];
	if (get_optional(tid, MD_NT_ARM_POE, ret->ext + offsetof(struct extended, por), 8))
		ret->ext_bytes = sizeof(struct extended);
	return 0;
}

int
arch_set_ext(pid_t tid, const struct arch_thread *th, struct err *e)
{
	return os_set_regset(tid, NT_PRFPREG, th->ext, sizeof(struct fpsimd), e);
}

/* struct user_sve_header and user_za_header */
struct vector_header {
	uint32_t size_bytes, max_bytes;
	uint16_t vl, max_vl, flags, reserved;
};

#define VECTOR_FLAG_LIVE 1 /* SVE_PT_REGS_SVE: more than the 128 bits in FPSIMD */
#define GCS_ENABLED 1	   /* PR_SHADOW_STACK_ENABLE */

/*
 * Return the obstacle.  A thread in a system call has no live vectors beyond FPSIMD
 * (fpsimd_syscall_enter); a running one may have.
 */
const char *
arch_obstacle(pid_t tid)
{
	struct vector_header h;
	uint64_t gcs[3]; /* struct user_gcs: enabled, locked, the stack pointer */

	if (get_optional(tid, MD_NT_ARM_GCS, gcs, sizeof gcs) && gcs[0] & GCS_ENABLED)
		return "it runs with a guarded control stack (GCS)";
	if (get_optional(tid, MD_NT_ARM_ZA, &h, sizeof h) && h.size_bytes > sizeof h)
		return "it is using matrix registers (SME)";
	if (get_optional(tid, MD_NT_ARM_SSVE, &h, sizeof h) && h.flags & VECTOR_FLAG_LIVE)
		return "it is in streaming mode (SME)";
	if (get_optional(tid, NT_ARM_SVE, &h, sizeof h) && h.flags & VECTOR_FLAG_LIVE)
		return "it is using vector registers (SVE)";
	return NULL;
}

/* x0 to x30, sp and pc: the same order in both (asm/perf_regs.h). */
const uint64_t arch_sampled_regs = (UINT64_C(1) << (PC + 1)) - 1;

void
arch_from_sample(struct arch_regs *r, const uint64_t *values)
{
	*r = (struct arch_regs){ .size_bytes = PRSTATUS_BYTES };
	memcpy(r->word, values, (PC + 1) * sizeof *values);
}

raddr
arch_pc(const struct arch_regs *r)
{
	return (raddr){ r->word[PC] };
}

raddr
arch_sp(const struct arch_regs *r)
{
	return (raddr){ r->word[SP] };
}

raddr
arch_thread_pointer(const struct arch_regs *r)
{
	return (raddr){ r->word[TLS] };
}

long
arch_syscall_nr(const struct arch_regs *r)
{
	return (long)r->word[SYSCALL_NR];
}

uint64_t
arch_arg(const struct arch_regs *r, int i)
{
	return r->word[X0 + i];
}

void
arch_set_arg(struct arch_regs *r, int i, uint64_t value)
{
	r->word[X0 + i] = value;
}

int64_t
arch_result(const struct arch_regs *r)
{
	return (int64_t)r->word[X0];
}

void
arch_set_result(struct arch_regs *r, int64_t value)
{
	r->word[X0] = (uint64_t)value;
}

/* ---- interrupted system calls ---- */

/*
 * True for calls with a relative timeout: the kernel stores the rest for restart_syscall.  An
 * absolute timeout (clock_nanosleep with TIMER_ABSTIME, FUTEX_WAIT_BITSET) stays right when the
 * call is repeated, and ppoll and pselect6 write the rest to the caller's timeout.
 */
static bool
has_relative_timeout(const uint64_t *u)
{
	enum { TIMER_ABSTIME_BIT = 1, FUTEX_OPERATION = 0x7f, FUTEX_WAIT_OPERATION = 0 };

	switch (u[SYSCALL_NR]) {
	case NR_NANOSLEEP:
	case NR_RESTART_SYSCALL:
		return true;
	case NR_CLOCK_NANOSLEEP:
		return !(u[X1] & TIMER_ABSTIME_BIT);
	case NR_FUTEX:
		return (u[X1] & FUTEX_OPERATION) == FUTEX_WAIT_OPERATION && u[X3];
	default:
		return false;
	}
}

/*
 * The kernel rewinds the thread to the call before a tracer sees it, and forgets the number.  As
 * its last step, if PC is unchanged, it replaces the call by restart_syscall if a timeout must be
 * kept (setup_restart_syscall). memdiag changes PC, so it must do this step here.
 */
bool
arch_is_still_in(struct arch_regs *r, long nr, raddr sp, raddr pc)
{
	uint64_t *u = r->word;

	if (u[SP] != sp.v || (long)u[X8] != nr)
		return false;
	if (u[PC] == pc.v)
		return true; /* just finished, perhaps with EINTR: the call cannot be restarted */
	if (u[PC] != pc.v - INSTRUCTION_BYTES)
		return false;
	u[SYSCALL_NR] = nr;
	if (has_relative_timeout(u))
		u[X8] = NR_RESTART_SYSCALL;
	return true;
}

enum arch_restart
arch_restart(const struct arch_regs *r)
{
	const uint64_t *u = r->word;

	if (u[SYSCALL_NR] == NO_SYSCALL)
		return ARCH_NO_RESTART;
	return u[X8] == NR_RESTART_SYSCALL ? ARCH_RESTARTS_FROM_BLOCK : ARCH_RESTARTS;
}

/* The kernel has already rewound PC and kept the arguments. */
void
arch_rewind(struct arch_regs *r, long nr)
{
	r->word[SYSCALL_NR] = (uint64_t)nr;
	r->word[X8] = (uint64_t)nr;
}

void
arch_settle(struct arch_regs *r)
{
	uint64_t *u = r->word;

	if (arch_restart(r) == ARCH_RESTARTS_FROM_BLOCK) {
		u[X0] = (uint64_t)-EINTR;
		u[PC] += INSTRUCTION_BYTES;
	}
	u[SYSCALL_NR] = NO_SYSCALL;
}

/* ---- calls ---- */

static void
aarch64_go_to(uint64_t *u, raddr pc, raddr sp)
{
	u[PC] = pc.v;
	u[SP] = sp.v;
	u[PSTATE] &= ~(PSTATE_BTYPE | PSTATE_SS);
	u[SYSCALL_NR] = NO_SYSCALL;
}

const bool arch_returns_by_frame = false;

/*
 * x7 carries no argument (ARCH_MAX_ARGS): while a thread is stopped at a system call, the kernel
 * uses it to distinguish entry from exit, and reverts any change (kernel/ptrace.c, report_syscall).
 */
void
arch_prepare_call(struct arch_regs *r, raddr fn, const uint64_t *arg, size_t nr_args,
	raddr restorer, raddr frame)
{
	uint64_t *u = r->word;

	for (size_t i = 0; i < nr_args && i < ARCH_MAX_ARGS; i++)
		u[X0 + i] = arg[i];
	u[X30] = restorer.v; /* the return address */
	aarch64_go_to(u, fn, frame);
}

void
arch_prepare_return(struct arch_regs *r, raddr restorer, raddr frame)
{
	aarch64_go_to(r->word, restorer, frame);
}

/* ---- the signal frame ---- */

/* A record of struct sigcontext.__reserved (uapi/asm/sigcontext.h, struct _aarch64_ctx). */
struct aarch64_record {
	uint32_t magic, size_bytes;
};

#define FPSIMD_RECORD 0x46508001
#define POE_RECORD 0x504f4530

struct fpsimd_record {
	struct aarch64_record head;
	uint32_t fpsr, fpcr;
	unsigned char v[32][16];
};

struct poe_record {
	struct aarch64_record head;
	uint64_t por;
};

/*
 * The frame that rt_sigreturn reads (arch/arm64/kernel/signal.c: rt_sigframe, parse_user_sigframe).
 * The kernel's own frames have 4096 bytes for the records; it reads none after the null record.
 *
 *	lower   +----------------------------------+  addr = sp = 16n
 *	        | siginfo, never read back         |
 *	        | ucontext                         |
 *	        |   signal mask                    |
 *	        |   registers                      |
 *	        |   FPSIMD record, required        |
 *	        |   POR_EL0 record, or a null one  |
 *	        |   null record                    |
 *	higher  +----------------------------------+  <= top
 */
struct aarch64_rt_sigframe {
	unsigned char siginfo[128];
	uint64_t uc_flags, uc_link;
	uint64_t ss_sp;
	uint32_t ss_flags, pad;
	uint64_t ss_size;
	uint64_t sigmask;
	unsigned char unused[120]; /* glibc's sigset_t has 1024 bits */
	struct {
		uint64_t fault_address;
		uint64_t x[31], sp, pc, pstate;
		struct fpsimd_record fpsimd __attribute__((aligned(16)));
		struct poe_record poe;
		struct aarch64_record end;
	} mc __attribute__((aligned(16)));
};

static void
build_records(struct aarch64_rt_sigframe *to, const struct arch_thread *th)
{
	struct extended ext;

	memcpy(&ext, th->ext, sizeof ext);
	to->mc.fpsimd.head = (struct aarch64_record){ FPSIMD_RECORD, sizeof to->mc.fpsimd };
	to->mc.fpsimd.fpsr = ext.fpsimd.fpsr;
	to->mc.fpsimd.fpcr = ext.fpsimd.fpcr;
	memcpy(to->mc.fpsimd.v, ext.fpsimd.v, sizeof to->mc.fpsimd.v);
	/* Without this record, Linux 6.12 and later may set the register to any value. */
	if (th->ext_bytes >= sizeof ext)
		to->mc.poe =
			(struct poe_record){ { POE_RECORD, sizeof(struct poe_record) }, ext.por };
}

void
arch_build_frame(struct arch_frame *f, raddr top, const struct arch_regs *regs, uint64_t sigmask,
	const struct arch_thread *th, raddr restorer)
{
	const uint64_t *u = regs->word;
	struct aarch64_rt_sigframe frame = {
		.ss_flags = ARCH_SS_FLAGS_INVALID,
		.sigmask = sigmask,
		.mc = { .sp = u[SP], .pc = u[PC], .pstate = u[PSTATE] },
	};

	(void)restorer; /* the return address is in a register */
	memcpy(frame.mc.x, u + X0, sizeof frame.mc.x);
	build_records(&frame, th);
	f->addr.v = (top.v - sizeof frame) & ~UINT64_C(15);
	f->size_bytes = sizeof frame;
	memcpy(f->bytes, &frame, sizeof frame);
}

/*
 * mov x8, #139; svc #0: the kernel keeps these bytes because unwinders search for them
 * (vdso/sigreturn.S).
 */
static const unsigned char restorer_code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 };

bool
arch_is_sigreturn(const struct arch_regs *r, raddr restorer)
{
	return arch_syscall_nr(r) == NR_RT_SIGRETURN &&
		r->word[PC] == restorer.v + sizeof restorer_code;
}

raddr
arch_find_restorer(const struct target *t, const struct objects *o, const struct object *libc)
{
	auto_image struct image *vdso = NULL;
	const unsigned char *code;
	struct image_symbol s;
	struct err e;

	(void)libc; /* libc has no restorer on this processor */
	if (!o->vdso.v ||
		image_open(&vdso, t, &(struct region){ .start = o->vdso }, NULL, &e) < 0 ||
		image_find(vdso, "__kernel_rt_sigreturn", &s) < 0)
		return (raddr){ 0 };
	code = image_bytes(vdso, s.addr, sizeof restorer_code);
	if (!code || memcmp(code, restorer_code, sizeof restorer_code) != 0)
		return (raddr){ 0 };
	return s.addr;
}

/* ---- reading a few instructions ---- */

/* State for following a function without branches. */
struct evaluation {
	const struct target *target; /* for loads; NULL: loads are not followed */
	uint64_t pc, tls;
	uint64_t x[31];
	uint32_t known; /* bit N: x[N] is known */
};

static bool
aarch64_is_known(const struct evaluation *ev, uint32_t reg)
{
	return ev->known >> reg & 1;
}

static bool
aarch64_load(const struct evaluation *ev, uint64_t addr, uint64_t *ret)
{
	struct err e;

	return ev->target && os_read(ev->target, (raddr){ addr }, ret, sizeof *ret, &e) == 0;
}

static uint64_t
adrp_target(uint32_t code, uint64_t pc)
{
	/* immhi and immlo form a signed 21-bit number of pages. */
	uint64_t imm = (uint64_t)(code >> 5 & 0x7ffff) << 2 | (code >> 29 & 3);

	return (pc & ~UINT64_C(0xfff)) + ((imm ^ 0x100000) - 0x100000) * 4096;
}

/* Follow one instruction of the kinds that compilers generate for "return &variable". */
static bool
aarch64_follow(struct evaluation *ev, uint32_t code)
{
	uint32_t d = code & 31, n = code >> 5 & 31, m = code >> 16 & 31, imm = code >> 10 & 0xfff;
	uint64_t value;

	if ((code & 0xfffff01f) == 0xd503201f) /* nop, bti, paciasp and other hints */
		return true;
	if ((code & 0x9f000000) == 0x90000000) /* adrp xD, page */
		value = adrp_target(code, ev->pc);
	else if ((code & 0xffffffe0) == 0xd53bd040) /* mrs xD, tpidr_el0 */
		value = ev->tls;
	else if ((code & 0xffc00000) == 0x91000000 &&
		aarch64_is_known(ev, n)) /* add xD, xN, #imm */
		value = ev->x[n] + imm;
	else if ((code & 0xffe0fc00) == 0x8b000000 && aarch64_is_known(ev, n) &&
		aarch64_is_known(ev, m))
		value = ev->x[n] + ev->x[m]; /* add xD, xN, xM */
	else if ((code & 0xffc00000) != 0xf9400000 || !aarch64_is_known(ev, n) ||
		!aarch64_load(ev, ev->x[n] + imm * UINT64_C(8), &value)) /* ldr xD, [xN, #imm] */
		return false;
	if (d == 31) /* sp or zero register */
		return false;
	ev->x[d] = value;
	ev->known |= UINT32_C(1) << d;
	return true;
}

#define RET 0xd65f03c0
#define LEAF_INSTRUCTIONS 8

/* Return the result of the function at FN in O; {0} if it is not simple enough. */
static raddr
leaf_result(struct evaluation *ev, const struct object *o, raddr fn)
{
	const unsigned char *bytes =
		image_bytes(o->image, fn, LEAF_INSTRUCTIONS * INSTRUCTION_BYTES);
	uint32_t code;

	for (int i = 0; bytes && i < LEAF_INSTRUCTIONS; i++) {
		memcpy(&code, bytes + i * INSTRUCTION_BYTES, sizeof code);
		ev->pc = fn.v + (uint64_t)i * INSTRUCTION_BYTES;
		if (code == RET)
			return (raddr){ ev->x[0] }; /* 0 if not set */
		if (!aarch64_follow(ev, code))
			break;
	}
	return (raddr){ 0 };
}

const unsigned char arch_call_and_store[] = {
	0xe1, 0x7b, 0xbf, 0xa9, /* stp x1, x30, [sp, #-16]! */
	0x00, 0x00, 0x3f, 0xd6, /* blr x0 */
	0xe1, 0x7b, 0xc1, 0xa8, /* ldp x1, x30, [sp], #16 */
	0x20, 0x00, 0x00, 0xf9, /* str x0, [x1] */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
};
const size_t arch_call_and_store_bytes = sizeof arch_call_and_store;

const unsigned char arch_make_syscall[] = {
	0x21, 0x00, 0x40, 0xf9, /* ldr x1, [x1] */
	0xe8, 0x03, 0x00, 0xaa, /* mov x8, x0 */
	0xe0, 0x03, 0x01, 0xaa, /* mov x0, x1 */
	0xe1, 0x03, 0x02, 0xaa, /* mov x1, x2 */
	0xe2, 0x03, 0x03, 0xaa, /* mov x2, x3 */
	0xe3, 0x03, 0x04, 0xaa, /* mov x3, x4 */
	0x01, 0x00, 0x00, 0xd4, /* svc #0 */
	0xa0, 0x00, 0x00, 0xf9, /* str x0, [x5] */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
};
const size_t arch_make_syscall_offset = 4;
const size_t arch_make_syscall_bytes = sizeof arch_make_syscall;

/* Static programs cannot be hooked here yet. */
const struct arch_spare arch_spare = { .bytes = 0 };

bool
arch_is_control_block(const uint64_t block[ARCH_BLOCK_WORDS], raddr tp)
{
	(void)block, (void)tp;
	return false;
}

bool
arch_relocate(const struct image_relocation *r, uint64_t base, uint64_t *ret)
{
	(void)r, (void)base, (void)ret;
	return false;
}

raddr
arch_errno_address(const struct target *t, const struct object *libc, const struct arch_regs *r)
{
	struct evaluation ev = { .target = t, .tls = r->word[TLS] };
	struct image_symbol s;

	if (!ev.tls || image_find(libc->image, "__errno_location", &s) < 0)
		return (raddr){ 0 };
	return leaf_result(&ev, libc, s.addr);
}

raddr
arch_returned_address(const struct object *o, raddr fn)
{
	struct evaluation ev = { .target = NULL };

	return leaf_result(&ev, o, fn);
}

bool
arch_follows_call(const unsigned char *before, size_t nr)
{
	uint32_t code;

	if (nr < sizeof code)
		return false;
	memcpy(&code, before + nr - sizeof code, sizeof code);
	/* bl; blr, blraa, blrab, blraaz, blrabz */
	return (code & 0xfc000000) == 0x94000000 || (code & 0xfefff000) == 0xd63f0000;
}

raddr
arch_strip_signature(const struct arch_regs *r, raddr code)
{
	return (raddr){ code.v & ~r->word[PAC_MASK] };
}

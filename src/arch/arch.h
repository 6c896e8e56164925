/*
 * arch: the processor-specific part of borrowing a thread.  One file arch-NAME.c implements it for
 * each processor; arch-none.c refuses.  Registers are kept as in the kernel's NT_PRSTATUS; an
 * implementation may append its own words.
 */
#ifndef MEMDIAG_ARCH_ARCH_H
#define MEMDIAG_ARCH_ARCH_H

#include <elf.h>
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "elf/objects.h"
#include "elf/symbols.h"

struct target;

#define ARCH_MAX_REGS 64
#define ARCH_MAX_EXT_BYTES 16384 /* AVX-512 takes 2.7 KiB, AMX 11 KiB */

/* The general registers of a thread. */
struct arch_regs {
	uint64_t word[ARCH_MAX_REGS];
	size_t size_bytes;
	uint64_t stop_nr; /* the stop in which they were read (os_stop_nr()); 0: not read */
};

/* All state of a thread that a call into libc may change. */
struct arch_thread {
	struct arch_regs regs;
	unsigned char ext[ARCH_MAX_EXT_BYTES]; /* floating-point and vector state */
	size_t ext_bytes;
	uint64_t sigmask;
};

/* The processor's name, for messages, and its number in an ELF header (EM_X86_64 ...). */
extern const char arch_name[];
extern const int arch_machine;

/* Bytes below the stack pointer that belong to the interrupted function. */
extern const uint64_t arch_red_zone_bytes;

/* Index of clone(2)'s argument child_tid (kernel/fork.c, CONFIG_CLONE_BACKWARDS). */
extern const int arch_clone_child_tid;

/*
 * The relocation that stores the offset of a thread-local variable from the thread pointer
 * (R_X86_64_TPOFF64 ...); 0 if unknown.
 */
extern const uint32_t arch_tls_relocation;

/*
 * Return the distance of the program's own thread-local block, described by TLS (PT_TLS), from the
 * thread pointer; 0 if unknown.  The ABI defines it, not ld.so.
 */
int64_t arch_tls_of_program(const Elf64_Phdr *tls);

/*
 * Check that memdiag can call into threads of this process; reads /proc.  Returns 0, or -1 with E
 * (ERR_UNSUPPORTED), for example with a shadow stack.
 */
int arch_check_process(const struct target *t, struct err *e);

/*
 * Return the feature in use by the stopped thread TID that memdiag's signal frame does not save, as
 * words that begin with "it" (static text); NULL if it uses no such feature.
 */
const char *arch_obstacle(pid_t tid);

/*
 * Read and write the registers of a stopped thread; only stop/registers.h writes.  If it is at a
 * system call's entry and REGS come from arch_prepare_call() or arch_prepare_return(), the call is
 * skipped, which a seccomp filter may not allow.
 */
int arch_get_regs(pid_t tid, struct arch_regs *ret, struct err *e);
int arch_set_regs(pid_t tid, const struct arch_regs *regs, struct err *e);
int arch_save(pid_t tid, struct arch_thread *ret, struct err *e);
int arch_set_ext(pid_t tid, const struct arch_thread *th, struct err *e);

/*
 * The registers to request in a sample of perf_event_open(), one bit each (asm/perf_regs.h);
 * arch_from_sample() sets R->word from a sample's VALUES, lowest bit first. 0: unsupported.
 */
extern const uint64_t arch_sampled_regs;
void arch_from_sample(struct arch_regs *r, const uint64_t *values);

raddr arch_pc(const struct arch_regs *r);
raddr arch_sp(const struct arch_regs *r);

/* Return the address of the thread's static TLS, from arch_save(). */
raddr arch_thread_pointer(const struct arch_regs *r);

/* Return the system call that the thread is in or was stopped in, -1 if it is in no call. */
long arch_syscall_nr(const struct arch_regs *r);
/* Return argument I (0 to 5) of that call. */
uint64_t arch_arg(const struct arch_regs *r, int i);
void arch_set_arg(struct arch_regs *r, int i, uint64_t value);
/* At a system call's exit: return its result. */
int64_t arch_result(const struct arch_regs *r);
void arch_set_result(struct arch_regs *r, int64_t value);

/*
 * How the kernel would continue an interrupted system call (kernel/signal.c and the architecture's
 * file): it restarts by itself, or it has already failed with EINTR.
 */
enum arch_restart {
	ARCH_NO_RESTART, /* not in a system call, or the call is finished */
	ARCH_RESTARTS,	 /* from the registers, if they are restored exactly */
	/*
	 * with a timeout that the kernel keeps until the thread's next rt_sigreturn or timed call
	 */
	ARCH_RESTARTS_FROM_BLOCK,
	ARCH_FAILED_EINTR, /* arch_rewind() can undo this if arch_can_rewind */
};
enum arch_restart arch_restart(const struct arch_regs *r);

/*
 * True if the just stopped thread with registers R is still in the system call NR that it was seen
 * in with SP and PC (struct os_syscall).  If the kernel has forgotten the call, R is set to the
 * values that arch_syscall_nr() and arch_restart() return, and that make the kernel continue the
 * call.
 */
bool arch_is_still_in(struct arch_regs *r, long nr, raddr sp, raddr pc);

/*
 * Change R, of a thread in an event or signal stop, so that the interrupted call, which is
 * ARCH_FAILED_EINTR or ARCH_RESTARTS_FROM_BLOCK, is made again from its beginning as call NR, with
 * the arguments in R.  The kernel makes it only if no signal handler of the program runs first;
 * otherwise the call fails with EINTR, as it would have anyway.
 */
void arch_rewind(struct arch_regs *r, long nr);
/*
 * False if a call with ARCH_FAILED_EINTR cannot be repeated: then a call that would fail should not
 * be interrupted at all.
 */
extern const bool arch_can_rewind;

/*
 * Change R to the state that a signal handler's return would find: the system call is made again,
 * or returns EINTR if only the kernel could continue it.
 */
void arch_settle(struct arch_regs *r);

/*
 * A seventh argument always has this value: if it is passed on the stack, the frame lies there and
 * contains this value.
 */
#define ARCH_MAX_ARGS 7
#define ARCH_SEVENTH_ARG 7

/*
 * True if the return address of a call is the first word of the frame; otherwise it is in a
 * register.  A function may overwrite that word, as the kernel does for a return probe (uretprobe,
 * before 6.11), so write the restorer's address there before each call.
 */
extern const bool arch_returns_by_frame;

/*
 * Change R, a copy of the thread's own registers, so that it enters FN with at most ARCH_MAX_ARGS
 * ARGs, returns to RESTORER and finds FRAME (from arch_build_frame()) there.  Removes any system
 * call to be restarted.
 */
void arch_prepare_call(struct arch_regs *r, raddr fn, const uint64_t *arg, size_t nr_args,
	raddr restorer, raddr frame);

/*
 * Change R so that the thread goes through the restorer into FRAME, from any state.  Used to skip a
 * system call: if memdiag dies then, the kernel still restores the thread.
 */
void arch_prepare_return(struct arch_regs *r, raddr restorer, raddr frame);

/*
 * An invalid mode of sigaltstack, for ss_flags in a frame: the kernel rejects it, ignores the
 * error, and so leaves the alternate stack unchanged (kernel/signal.c, restore_altstack).
 */
#define ARCH_SS_FLAGS_INVALID 4

/* A signal frame in the kernel's layout, which a call returns into. */
struct arch_frame {
	raddr addr; /* the stack pointer for entering a function */
	size_t size_bytes;
	unsigned char bytes[ARCH_MAX_EXT_BYTES + 1024];
};

/*
 * Build in F the frame that makes the thread continue with REGS, SIGMASK and the extended state of
 * TH.  It must be written to F->addr, which is as close below TOP as alignment allows.
 */
void arch_build_frame(struct arch_frame *f, raddr top, const struct arch_regs *regs,
	uint64_t sigmask, const struct arch_thread *th, raddr restorer);

/* True if a thread at a system call's entry is about to return through the frame. */
bool arch_is_sigreturn(const struct arch_regs *r, raddr restorer);

/* Return the stub that calls rt_sigreturn: in libc's text, or in the vdso. {0} if not found. */
raddr arch_find_restorer(
	const struct target *t, const struct objects *o, const struct object *libc);

/*
 * A function of two arguments: it calls the first, a function without arguments, and stores its
 * result at the second.
 */
extern const unsigned char arch_call_and_store[];
extern const size_t arch_call_and_store_bytes;

/*
 * Code of two functions.  The one at OFFSET makes the system call numbered by its first argument,
 * with the next four as arguments, and stores the kernel's result at the sixth.  The one at the
 * beginning does the same, but its second argument is the address of the value to pass.
 */
extern const unsigned char arch_make_syscall[];
extern const size_t arch_make_syscall_bytes, arch_make_syscall_offset;

/*
 * Words of a thread's control block that libc does not use, if the list of robust mutexes is at
 * HEAD from the thread pointer: BYTES at OFFSET for memdiag's library, zero at first in every
 * thread, and ARCH_SPARE_TIMEOUT_BYTES at TIMEOUT for a repeated call (stop/timeout.c).  BYTES is 0
 * if no such words exist.
 */
#define ARCH_SPARE_TIMEOUT_BYTES 32
struct arch_spare {
	uint64_t offset, bytes, timeout, head;
};
extern const struct arch_spare arch_spare;

/* True if the words at BLOCK look like the beginning of a control block at TP. */
#define ARCH_BLOCK_WORDS 3
bool arch_is_control_block(const uint64_t block[ARCH_BLOCK_WORDS], raddr tp);

/*
 * Compute the value that R stores, for an object loaded at its own address plus BASE.  A symbol
 * that the object does not define counts as 0.  Return false if the kind of R is unknown.
 */
bool arch_relocate(const struct image_relocation *r, uint64_t base, uint64_t *ret);

/* Return the address of the thread's errno; {0} if unknown. */
raddr arch_errno_address(
	const struct target *t, const struct object *libc, const struct arch_regs *r);

/*
 * Return the address that the function at FN in O returns, if it does nothing else; otherwise {0}.
 */
raddr arch_returned_address(const struct object *o, raddr fn);

/* True if the bytes before AT are a call, so that AT can be a return address. */
bool arch_follows_call(const unsigned char *before, size_t nr_bytes);

/* Return the code address for a return address on the stack of R's thread. */
raddr arch_strip_signature(const struct arch_regs *r, raddr code);

#endif

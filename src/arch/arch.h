/*
 * arch: what differs between processors in borrowing a thread.  One file arch-NAME.c implements it
 * for each; arch-none.c refuses.  Registers are kept as the kernel's NT_PRSTATUS has them; behind
 * those an implementation may keep what it needs besides.
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
	uint64_t stop_nr; /* the stop in which they were read (os_stop_nr()); 0: they were not */
};

/* Everything of a thread that a call into libc may change. */
struct arch_thread {
	struct arch_regs regs;
	unsigned char ext[ARCH_MAX_EXT_BYTES]; /* floating point and vector state */
	size_t ext_bytes;
	uint64_t sigmask;
};

/* The processor's name, for messages, and what it is in an ELF header (EM_X86_64 ...). */
extern const char arch_name[];
extern const int arch_machine;

/* Bytes below the stack pointer that still belong to the interrupted function. */
extern const uint64_t arch_red_zone_bytes;

/* Which argument of clone(2) is child_tid (kernel/fork.c, CONFIG_CLONE_BACKWARDS). */
extern const int arch_clone_child_tid;

/*
 * The relocation that fills a word with the offset of a thread-local variable from the thread
 * pointer (R_X86_64_TPOFF64 ...); 0 if unknown.
 */
extern const uint32_t arch_tls_relocation;

/*
 * The distance of the program's own thread-local block, which TLS (PT_TLS) describes, from the
 * thread pointer; 0 if unknown.  The ABI has it, not ld.so.
 */
int64_t arch_tls_of_program(const Elf64_Phdr *tls);

/*
 * Whether memdiag can call into threads of this process at all; reads /proc. Returns 0, or -1 with
 * E (ERR_UNSUPPORTED), as for a shadow stack.
 */
int arch_check_process(const struct target *t, struct err *e);

/*
 * The feature in use by stopped thread TID that a signal frame of ours does not keep, as words that
 * begin with "it" (static text); NULL if none.
 */
const char *arch_obstacle(pid_t tid);

/*
 * Read and write a stopped thread; only stop/registers.h writes.  Where it stands at a system
 * call's entry and REGS are of arch_prepare_call() or arch_prepare_return(), the call is skipped,
 * which a seccomp filter may not like.
 */
int arch_get_regs(pid_t tid, struct arch_regs *ret, struct err *e);
int arch_set_regs(pid_t tid, const struct arch_regs *regs, struct err *e);
int arch_save(pid_t tid, struct arch_thread *ret, struct err *e);
int arch_set_ext(pid_t tid, const struct arch_thread *th, struct err *e);

/*
 * The registers that a sample of perf_event_open() is to have, a bit each (asm/perf_regs.h), and
 * R->word from a sample's VALUES of them, the lowest bit first.  0: none is known.
 */
extern const uint64_t arch_sampled_regs;
void arch_from_sample(struct arch_regs *r, const uint64_t *values);

raddr arch_pc(const struct arch_regs *r);
raddr arch_sp(const struct arch_regs *r);

/* The address of the thread's static TLS, of arch_save(). */
raddr arch_thread_pointer(const struct arch_regs *r);

/* The system call the thread is in or was stopped in, -1 if none. */
long arch_syscall_nr(const struct arch_regs *r);
/* Argument I (0 to 5) of that call. */
uint64_t arch_arg(const struct arch_regs *r, int i);
void arch_set_arg(struct arch_regs *r, int i, uint64_t value);
/* At a system call's exit: what it returned. */
int64_t arch_result(const struct arch_regs *r);
void arch_set_result(struct arch_regs *r, int64_t value);

/*
 * How the kernel would go on with an interrupted system call (kernel/signal.c and the
 * architecture's): it restarts by itself, or it has already failed with EINTR.
 */
enum arch_restart {
	ARCH_NO_RESTART,	  /* not in a system call, or it is finished */
	ARCH_RESTARTS,		  /* by what is in the registers, if they are put back exactly */
	ARCH_RESTARTS_FROM_BLOCK, /* and with a timeout that the kernel keeps until the next
					 * rt_sigreturn or timed call of the thread */
	ARCH_FAILED_EINTR,	  /* and arch_rewind() can undo that */
};
enum arch_restart arch_restart(const struct arch_regs *r);

/*
 * Whether thread with registers R, just stopped, still is in the system call NR that it was seen in
 * with SP and PC (struct os_syscall).  If the kernel has forgotten the call by then, R gets back
 * the values that arch_syscall_nr() and arch_restart() return, and those that make the kernel go on
 * with it.
 */
bool arch_is_still_in(struct arch_regs *r, long nr, raddr sp, raddr pc);

/*
 * Change R, of a thread in an event or signal stop, so that the call that was interrupted is made
 * again from its beginning as call NR, with the arguments in R: one that ARCH_FAILED_EINTR, or that
 * ARCH_RESTARTS_FROM_BLOCK.  The kernel makes it, and only if no signal handler of the program runs
 * first.  Then the call fails with EINTR, as it would have anyway.
 */
void arch_rewind(struct arch_regs *r, long nr);
/*
 * False where a call that ARCH_FAILED_EINTR cannot be made again: then a call that would fail
 * should not be interrupted at all.
 */
extern const bool arch_can_rewind;

/*
 * Change R to what a signal handler's return would find: the system call is made again, or
 * returns EINTR where only the kernel could go on with it.
 */
void arch_settle(struct arch_regs *r);

/*
 * A seventh argument is always this: where it is passed on the stack the frame lies there, and this
 * is what the frame has in that place.
 */
#define ARCH_MAX_ARGS 7
#define ARCH_SEVENTH_ARG 7

/*
 * Whether the return address of a call is the first word of the frame; else it is in a register. A
 * function may overwrite that word, as the kernel does for a probe on the return (uretprobe, before
 * 6.11), so the address of the restorer must be written there before each call.
 */
extern const bool arch_returns_by_frame;

/*
 * Change R, a copy of the thread's own, so that it enters FN with at most ARCH_MAX_ARGS ARGs,
 * returns to RESTORER and finds FRAME (of arch_build_frame()) there.  No system call is left to be
 * restarted.
 */
void arch_prepare_call(struct arch_regs *r, raddr fn, const uint64_t *arg, size_t nr_args,
	raddr restorer, raddr frame);

/*
 * Change R so that the thread, wherever it is now, goes through the restorer into FRAME.  Used
 * where a system call is skipped: if we die then, the kernel still puts the thread back.
 */
void arch_prepare_return(struct arch_regs *r, raddr restorer, raddr frame);

/*
 * No mode of sigaltstack has this value: the kernel refuses it, ignores that, and so leaves the
 * alternate stack as it is (kernel/signal.c, restore_altstack).  For ss_flags in a frame.
 */
#define ARCH_SS_FLAGS_INVALID 4

/* A signal frame as the kernel would lay it, that a call returns into. */
struct arch_frame {
	raddr addr; /* the stack pointer to enter a function with */
	size_t size_bytes;
	unsigned char bytes[ARCH_MAX_EXT_BYTES + 1024];
};

/*
 * Build in F the frame that makes the thread go on with REGS, SIGMASK and the extended state of TH,
 * to be written at F->addr, as near below TOP as alignment allows.
 */
void arch_build_frame(struct arch_frame *f, raddr top, const struct arch_regs *regs,
	uint64_t sigmask, const struct arch_thread *th, raddr restorer);

/* Whether a thread at a system call's entry is about to return through the frame. */
bool arch_is_sigreturn(const struct arch_regs *r, raddr restorer);

/* The stub that calls rt_sigreturn: in libc's text, or in the vdso.  {0} if it is not found. */
raddr arch_find_restorer(
	const struct target *t, const struct objects *o, const struct object *libc);

/*
 * A function of two arguments: it calls the first, which takes none, and stores what that returns
 * at the second.
 */
extern const unsigned char arch_call_and_store[];
extern const size_t arch_call_and_store_bytes;

/*
 * Code of two functions.  The one at OFFSET makes the system call that its first argument is the
 * number of, with the next four, and stores at the sixth what the kernel returns.  The one at the
 * beginning does as much, but its second argument is the address of what it stands for.
 */
extern const unsigned char arch_make_syscall[];
extern const size_t arch_make_syscall_bytes, arch_make_syscall_offset;

/*
 * Words of a thread's control block that libc does not use, if the list of robust mutexes is at
 * HEAD from the thread pointer: BYTES at OFFSET for a library of ours, zeroes at first in every
 * thread, and ARCH_SPARE_TIMEOUT_BYTES at TIMEOUT for a call that is made again (stop/timeout.c).
 * BYTES is 0 if there are none.
 */
#define ARCH_SPARE_TIMEOUT_BYTES 32
struct arch_spare {
	uint64_t offset, bytes, timeout, head;
};
extern const struct arch_spare arch_spare;

/* Whether the control block that begins with the words at BLOCK, and lies at TP, looks like one. */
#define ARCH_BLOCK_WORDS 3
bool arch_is_control_block(const uint64_t block[ARCH_BLOCK_WORDS], raddr tp);

/*
 * The value that R gives its word in an object that is loaded at its own address plus BASE.  A
 * symbol that the object does not define is 0.  False if R is of an unknown kind.
 */
bool arch_relocate(const struct image_relocation *r, uint64_t base, uint64_t *ret);

/* The address of the thread's errno; {0} if unknown. */
raddr arch_errno_address(
	const struct target *t, const struct object *libc, const struct arch_regs *r);

/*
 * The address that the function at FN in O returns, if it does nothing else; else {0}.
 */
raddr arch_returned_address(const struct object *o, raddr fn);

/* Whether the bytes before AT are a call: AT can be a return address. */
bool arch_follows_call(const unsigned char *before, size_t nr_bytes);

/* The code address that a return address on the stack of R's thread stands for. */
raddr arch_strip_signature(const struct arch_regs *r, raddr code);

#endif

/*
 * prologue: move the first instructions of a function to another address, so that the function can
 * begin with a jump.  Pure: tested with bytes.  One file prologue-NAME.c per processor.
 */
#ifndef MEMDIAG_ARCH_PROLOGUE_H
#define MEMDIAG_ARCH_PROLOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/raddr.h"

/* NULL, or the reason why this build of memdiag cannot hook functions. */
extern const char *const prologue_obstacle;

/* The maximum distance of a near jump. */
extern const uint64_t prologue_reach_bytes;

#define PROLOGUE_WORD_BYTES 8
#define PROLOGUE_FAR_BYTES 16
#define PROLOGUE_MOVED_BYTES 64
#define PROLOGUE_UNDO_BYTES 7

/*
 * The function's first instruction stays in place if its effect can be undone or does not matter:
 *
 *	malloc:	  push %r12			malloc:	  push %r12
 *		  push %rbp				  pop  %r12	<- undo
 *		  push %rbx				  jmp  hook
 *		  mov  %rdi,%rbx			  (rest of a cut instruction)
 *		  sub  $0x10,%rsp			  ...
 *
 * A kernel probe (uprobe) on the function replaces its first byte. When the probe is hit, the
 * kernel executes the instruction that the *file* has there, at another place, and continues after
 * it (arch/x86/kernel/uprobes.c, default_post_xol_op()): this would be in the middle of a jump that
 * began with that byte.
 */
struct prologue {
	raddr at;	 /* start of the word that changes */
	size_t nr_bytes; /* number of its bytes that change */
	/* instructions that undo the instruction that stays */
	unsigned char undo[PROLOGUE_UNDO_BYTES];
	size_t nr_undo;
	bool is_undone_there; /* in the word that changes, if they fit; otherwise in the stub */
	/* replacement for the function's beginning, and a jump to the rest; padded */
	unsigned char moved[PROLOGUE_MOVED_BYTES];
};

/* More arguments than registers: any register may contain one. */
#define PROLOGUE_ANY_ARGS 6

/*
 * Move the first instructions of the function of SIZE bytes CODE at FN to the address TO.  It takes
 * NR_ARGS arguments, all integers or pointers: a first instruction that writes only the register of
 * a further argument may stay.  Returns 0, or -1 with *WHY (static text) if this is impossible, for
 * example if code in the function jumps to the overwritten bytes.
 */
int prologue_move(const unsigned char *code, size_t size, raddr fn, unsigned int nr_args, raddr to,
	struct prologue *ret, const char **why);

/* Return the PROLOGUE_WORD_BYTES of WAS at P->at, changed to jump to TO. */
uint64_t prologue_patch(const struct prologue *p, uint64_t was, raddr to);

/*
 * Return how many bytes of a word from prologue_patch() belong to the patch; 0 if WORD is not
 * patched.
 */
size_t prologue_patch_bytes(uint64_t word);

/*
 * Return the target of a near jump at AT that begins with the bytes of WORD; {0} for other
 * instructions.
 */
raddr prologue_jump_target(uint64_t word, raddr at);

/*
 * Fill CODE, to be placed at AT, with instructions that undo as P requires and jump to the address
 * stored in the word at WORD, at any distance.  WORD must be near.
 */
void prologue_stub(
	const struct prologue *p, unsigned char code[PROLOGUE_FAR_BYTES], raddr at, raddr word);

/*
 * True if a direct call of the function TO returns to CODE + AT, where CODE has the bytes at START.
 * Judged by the bytes alone, which may be part of another instruction.
 */
bool prologue_is_return(const unsigned char *code, size_t at, raddr start, raddr to);

/* True if a relocation of TYPE stores the address of a function in a word. */
bool prologue_is_slot(uint32_t type);
/* True if ld.so may delay such a relocation until the first call. */
bool prologue_is_lazy_slot(uint32_t type);

#endif

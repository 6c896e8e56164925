/*
 * prologue: the first instructions of a function that is to begin with a jump elsewhere, made to
 * work at another address.  Pure: tested with bytes.  One file prologue-NAME.c for each processor.
 */
#ifndef MEMDIAG_ARCH_PROLOGUE_H
#define MEMDIAG_ARCH_PROLOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/raddr.h"

/* NULL, or why this build of memdiag can hook no function. */
extern const char *const prologue_obstacle;

/* How far away, at most, a near jump may lead. */
extern const uint64_t prologue_reach_bytes;

#define PROLOGUE_WORD_BYTES 8
#define PROLOGUE_FAR_BYTES 16
#define PROLOGUE_MOVED_BYTES 64
#define PROLOGUE_UNDO_BYTES 7

/*
 * The function's first instruction stays where it is if its effect can be undone or does not
 * matter:
 *
 *	malloc:	  push %r12			malloc:	  push %r12
 *		  push %rbp				  pop  %r12	<- undo
 *		  push %rbx				  jmp  hook
 *		  mov  %rdi,%rbx			  (rest of a cut instruction)
 *		  sub  $0x10,%rsp			  ...
 *
 * A kernel probe (uprobe) on the function replaces its first byte. When it is hit the kernel
 * executes the instruction that the *file* has there, elsewhere, and continues behind it
 * (arch/x86/kernel/uprobes.c, default_post_xol_op()): in the middle of a jump that began with that
 * byte.
 */
struct prologue {
	raddr at;	 /* the word that changes begins here */
	size_t nr_bytes; /* this many bytes of it change */
	/* instructions that undo the one that stays */
	unsigned char undo[PROLOGUE_UNDO_BYTES];
	size_t nr_undo;
	bool is_undone_there; /* in the word that changes, as they fit; else in the stub */
	/*
	 * what does as the function's beginning did, and a jump to what follows it; padded
	 */
	unsigned char moved[PROLOGUE_MOVED_BYTES];
};

/* More arguments than registers hold: any register may have one. */
#define PROLOGUE_ANY_ARGS 6

/*
 * Move the first instructions of the function of SIZE bytes CODE that lies at FN to the address TO.
 * It takes NR_ARGS arguments, all of them integers or pointers: a first instruction that writes
 * only the register of another one may stay.  Returns 0, or -1 with *WHY (static text) when that is
 * not possible, for instance when something in the function jumps to what would be overwritten.
 */
int prologue_move(const unsigned char *code, size_t size, raddr fn, unsigned int nr_args, raddr to,
	struct prologue *ret, const char **why);

/* The PROLOGUE_WORD_BYTES of WAS at P->at with a jump to TO. */
uint64_t prologue_patch(const struct prologue *p, uint64_t was, raddr to);

/* How many bytes of a word that prologue_patch() made are its own; 0 if none. */
size_t prologue_patch_bytes(uint64_t word);

/* The target of a near jump at AT that begins with the bytes of WORD; {0} if it is no jump. */
raddr prologue_jump_target(uint64_t word, raddr at);

/*
 * Make CODE, which is to lie at AT, undo what P says and jump to the address that the word at WORD
 * holds, however far that is.  WORD is near.
 */
void prologue_stub(
	const struct prologue *p, unsigned char code[PROLOGUE_FAR_BYTES], raddr at, raddr word);

/*
 * Whether a direct call of the function TO returns to CODE + AT, CODE being what lies at START.  By
 * its bytes alone, which may be part of something else.
 */
bool prologue_is_return(const unsigned char *code, size_t at, raddr start, raddr to);

/* Whether a relocation of TYPE makes a word hold the address of a function. */
bool prologue_is_slot(uint32_t type);
/* And whether ld.so may leave that to the first call. */
bool prologue_is_lazy_slot(uint32_t type);

#endif

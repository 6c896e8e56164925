/* unwind-priv: declarations that the files of this room share. */
#ifndef MEMDIAG_UNWIND_UNWIND_PRIV_H
#define MEMDIAG_UNWIND_UNWIND_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/bytes.h"
#include "unwind/processor.h"
#include "unwind/unwind.h"
#include "unwind/walk.h"

#pragma GCC visibility push(hidden)

/* For functions that read stacks: AddressSanitizer forbids reads between variables. */
#define UNWIND_UNCHECKED __attribute__((no_sanitize_address))

#define UNWIND_LIKELY(x) __builtin_expect(!!(x), 1)
#define UNWIND_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- call frame instructions ---- */

enum unwind_how {
	HOW_SAME, /* the value in this frame: not mentioned, or declared the same */
	HOW_UNDEFINED,
	HOW_OFFSET,	/* saved at the CFA + AT */
	HOW_VALUE,	/* the CFA + AT */
	HOW_REGISTER,	/* in register AT */
	HOW_EXPRESSION, /* saved at the address of an expression */
	HOW_VALUE_EXPRESSION,
};

/* The rules that lead from a frame to its caller, for one code address. */
struct unwind_row {
	bool is_signal; /* a signal handler's trampoline: the caller was interrupted there */
	bool has_cfa_expression;
	uint8_t ra; /* the register in the return address column */
	uint16_t cfa_reg;
	int64_t cfa_at;
	struct bytes cfa_expression;
	uint8_t how[UNWIND_NR_REGS];
	int64_t at[UNWIND_NR_REGS]; /* an expression: the address of its length */
	const uint8_t *end;	    /* limit of all expressions */
};

/* ---- unwind tables ---- */

/* Readable bytes of an object. */
struct unwind_span {
	const uint8_t *start, *end;
};

#define UNWIND_NR_SPANS 8

/* An entry of the index; both members are relative to the object's start. */
struct unwind_index_entry {
	int32_t pc, frame; /* start of a frame description entry's code, and its address */
};

struct unwind_object {
	uintptr_t start, end;			  /* range of all its segments */
	const uint8_t *header;			  /* .eh_frame_hdr; NULL if missing */
	const struct unwind_index_entry *index;	  /* in that case: a sorted index of .eh_frame, */
	uint32_t nr_index;			  /* which may be empty */
	struct unwind_span span[UNWIND_NR_SPANS]; /* its segments */
	uint32_t nr_spans;
	bool is_program;
	bool is_permanent; /* never unloaded */
	uintptr_t bias;
	const void *phdrs; /* ElfW(Phdr); valid while the object is loaded, as is NAME */
	uint32_t nr_phdrs;
	const char *name; /* the path that ld.so has; NULL if unknown */
};

/* ---- rules ---- */

enum unwind_kind {
	RULE_PLAIN,	/* described below */
	RULE_REALIGNED, /* the CFA is the word at CFA_AT; FP is saved at the address in FP */
	RULE_OUTERMOST, /* the frame has no caller */
	RULE_ODD,	/* needs the whole row */
	RULE_TRAMPOLINE,
	RULE_NONE,    /* no row: the frame pointer may help */
	RULE_UNKNOWN, /* in an object that is not noted yet */
};

/*
 * A rule is one word, so that it fits in a register:
 *
 *	bit 63         62     61     55      47           31                        0
 *	| has_fp | is_from_fp | kind | ra_at |    fp_at   |         cfa_at          |
 *
 * The CFA is cfa_at bytes from FP if is_from_fp, else from SP.  PC is saved ra_at words below the
 * CFA.  With has_fp, FP is saved fp_at words below the CFA; otherwise FP is unchanged, and fp_at is
 * equal to ra_at.
 */
typedef uint64_t unwind_rule;

static inline unwind_rule
unwind_rule_make(
	enum unwind_kind kind, bool is_from_fp, int32_t cfa_at, uint16_t fp_at, uint8_t ra_at)
{
	return (uint64_t)(fp_at != 0) << 63 | (uint64_t)is_from_fp << 62 | (uint64_t)kind << 56 |
		(uint64_t)ra_at << 48 | (uint64_t)(fp_at ? fp_at : ra_at) << 32 | (uint32_t)cfa_at;
}

static inline enum unwind_kind
unwind_rule_kind(unwind_rule rule)
{
	return (enum unwind_kind)(rule >> 56 & 0x3f);
}

static inline bool
unwind_rule_is_from_fp(unwind_rule rule)
{
	return rule >> 62 & 1;
}

static inline uintptr_t
unwind_rule_cfa_at(unwind_rule rule)
{
	return (uintptr_t)(intptr_t)(int32_t)rule;
}

/*
 * The part of RULE that is in the member how of struct unwind_frame: has_fp, is_from_fp, fp_at and
 * ra_at.
 */
static inline uint32_t
unwind_rule_how(unwind_rule rule)
{
	return (uint32_t)(rule >> 32) & 0xc0ffffff;
}

/* The offset of the saved FP from the CFA, in bytes. */
static inline uintptr_t
unwind_how_fp_at(uint32_t how)
{
	return (how & 0xffff) * sizeof(uint64_t);
}

static inline uintptr_t
unwind_how_ra_at(uint32_t how)
{
	return UNWIND_MAX_RA_AT == 1 ? sizeof(uint64_t) : (how >> 16 & 0xff) * sizeof(uint64_t);
}

/* All ones if FP was saved, else 0. */
static inline uint64_t
unwind_how_fp_mask(uint32_t how)
{
	return (uint64_t)((int64_t)((uint64_t)how << 32) >> 63);
}

/* The CFA was computed from the callee's FP: is_from_fp. */
#define UNWIND_FROM_FP 0x40000000u
/* More flags like UNWIND_EXACT. */
#define UNWIND_ODD 0x04000000u /* found by an expression, or past a signal */

/* ---- one step ---- */

/* The part of STACK that is certainly mapped while SP is its stack pointer. */
static inline struct unwind_bounds
unwind_bounds_from(const struct unwind_bounds *stack, uintptr_t sp)
{
	return (struct unwind_bounds){ sp - stack->start > UNWIND_RED_ZONE ? sp - UNWIND_RED_ZONE
									   : stack->start,
		stack->end };
}

/* T if it must be asked before words of its stack BOUNDS are read; else NULL. */
static inline const struct unwind_thread *
unwind_checker_of(const struct unwind_thread *t, const struct unwind_bounds *bounds)
{
	const bool is_own = bounds->start == t->own.start && bounds->end == t->own.end;

	return UNWIND_UNLIKELY(!is_own) && t->may_read ? t : NULL;
}

/* True if the word at AT, which is within the bounds of CHECKER's stack, can be read. */
static inline bool
unwind_may_read(const struct unwind_thread *checker, uintptr_t at)
{
	return UNWIND_LIKELY(!checker) || checker->may_read(checker->arg, at);
}

#pragma GCC visibility pop

#endif

/*
 * unwind-priv: what the files of this room share.
 */
#ifndef MEMDIAG_UNWIND_PRIV_H
#define MEMDIAG_UNWIND_PRIV_H

#include "unwind/bytes.h"
#include "unwind/processor.h"
#include "unwind/unwind.h"

#pragma GCC visibility push(hidden)

/* Reads stacks, where AddressSanitizer forbids what is between variables. */
#define UNWIND_UNCHECKED __attribute__((no_sanitize_address))

#define UNWIND_LIKELY(x) __builtin_expect(!!(x), 1)
#define UNWIND_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- DWARF expressions (expression.c) ---- */

/* The registers of one frame as far as they are known, and the stack. */
struct unwind_context {
	uintptr_t reg[UNWIND_NR_REGS];
	uint64_t known;		     /* bit R: reg[R] is */
	struct unwind_bounds bounds; /* all of it is mapped, but for what CHECKER has to check */
	const struct unwind_thread *checker; /* see struct unwind_walk */
	uint64_t used;			     /* bit R: an expression has read reg[R] */
	bool has_read;			     /* an expression has read memory */
};

/* A word of the stack. False: it is not in there. */
bool unwind_read(const struct unwind_context *c, uint64_t at, uint64_t *ret);

/*
 * The value of EXPRESSION; INITIAL, if not NULL, is on its stack first. False: it needs what is
 * not known, or is not valid.
 */
bool unwind_evaluate(
	struct unwind_context *c, struct bytes expression, const uint64_t *initial, uint64_t *ret);

/* ---- call frame instructions (program.c) ---- */

enum unwind_how {
	HOW_SAME, /* not mentioned, or the same value: as in this frame */
	HOW_UNDEFINED,
	HOW_OFFSET,	/* saved AT bytes from the CFA */
	HOW_VALUE,	/* is the CFA + AT */
	HOW_REGISTER,	/* is in register AT */
	HOW_EXPRESSION, /* saved where the expression says */
	HOW_VALUE_EXPRESSION,
};

/* How to get from one frame to its caller, at one address. */
struct unwind_row {
	bool is_signal; /* a signal handler's trampoline: the caller was interrupted */
	bool has_cfa_expression;
	uint8_t ra; /* the register that is the return address' column */
	uint16_t cfa_reg;
	int64_t cfa_at;
	struct bytes cfa_expression;
	uint8_t how[UNWIND_NR_REGS];
	int64_t at[UNWIND_NR_REGS]; /* an expression: the address of its length */
	const uint8_t *end;	    /* no expression reaches further */
};

/* The expression of register R, which has one. */
struct bytes unwind_row_expression(const struct unwind_row *row, unsigned int r);

struct unwind_program {
	struct bytes initial, own; /* of the CIE, of the FDE */
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer_encoding;
	uint64_t start; /* the address that OWN begins with */
};

/* Run P up to address PC; ROW's ra, is_signal and end are set. False: it is not valid. */
bool unwind_run(const struct unwind_program *p, uint64_t pc, struct unwind_row *row);

/* ---- unwind tables (tables.c) ---- */

/* Bytes of an object that can be read. */
struct unwind_span {
	const uint8_t *start, *end;
};

#define UNWIND_NR_SPANS 8

/* Both count from the object's start. */
struct unwind_index_entry {
	int32_t pc, frame; /* of a frame description entry: what it begins with, where it is */
};

struct unwind_object {
	uintptr_t start, end;			  /* of all its segments */
	const uint8_t *header;			  /* .eh_frame_hdr; NULL if none */
	const struct unwind_index_entry *index;	  /* then: what is made for it, sorted, */
	uint32_t nr_index;			  /* if any */
	struct unwind_span span[UNWIND_NR_SPANS]; /* its segments */
	uint32_t nr_spans;
	bool is_permanent; /* cannot be unloaded */
	uintptr_t bias;
	const void *phdrs; /* ElfW(Phdr), as long as it is loaded, as is NAME */
	uint32_t nr_phdrs;
	const char *name; /* its path, as ld.so has it; NULL: not known */
};

/* The row of O for PC. False: it has none. */
bool unwind_find_row(const struct unwind_object *o, uint64_t pc, struct unwind_row *ret);

/*
 * Go from the entry of .eh_frame at *AT to the next one.  *RET_PC: the address that it begins with;
 * 0: it is no frame description entry, or cannot be read.  False: none at *AT.
 */
bool unwind_next_frame(const struct unwind_object *o, uint64_t *at, uint64_t *ret_pc);

/* Whether the code at PC is a signal trampoline without a row. */
bool unwind_is_trampoline(const struct unwind_object *o, uint64_t pc);

/* ---- an object without .eh_frame_hdr (index.c) ---- */

/*
 * Make O's index of its .eh_frame, BYTES from FRAMES on, in memory from MAP.  Without memory, or if
 * nothing can be read there, O has none.
 */
void unwind_index_make(
	struct unwind_object *o, const void *frames, size_t bytes, void *(*map)(size_t bytes));

/* ---- rules (rule.c) ---- */

enum unwind_kind {
	RULE_PLAIN,	/* what is below */
	RULE_REALIGNED, /* the CFA is the word at CFA_AT, FP is saved where FP points to */
	RULE_OUTERMOST, /* there is no caller */
	RULE_ODD,	/* the row is needed */
	RULE_TRAMPOLINE,
	RULE_NONE,    /* no row: the frame pointer may help */
	RULE_UNKNOWN, /* of an object that was not noted yet */
};

/*
 * In one word, so that it is in a register while it is used:
 *
 *	bit 63         62     61     55      47           31                        0
 *	| has_fp | is_from_fp | kind | ra_at |    fp_at   |         cfa_at          |
 *
 * The CFA is cfa_at bytes from FP if is_from_fp, else from SP. PC is saved ra_at words below the
 * CFA; FP fp_at words below if has_fp, else it is as it was, and fp_at is that of PC.
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

/* The part of RULE in struct unwind_frame's how: has_fp, is_from_fp, fp_at and ra_at. */
static inline uint32_t
unwind_rule_how(unwind_rule rule)
{
	return (uint32_t)(rule >> 32) & 0xc0ffffff;
}

/* In bytes. */
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

/* The callee's FP led to the CFA: is_from_fp. */
#define UNWIND_FROM_FP 0x40000000u
/* As UNWIND_EXACT. */
#define UNWIND_ODD 0x04000000u /* found by an expression, or past a signal */

/* The rule that does the same as ROW at PC; RULE_ODD if none does. */
unwind_rule unwind_rule_of(const struct unwind_row *row, uint64_t pc);

/* ---- what is loaded (objects.c) ---- */

enum unwind_found {
	FOUND_NONE, /* PC is in no object */
	FOUND,
	FOUND_UNKNOWN, /* it may be in one that was not noted */
};
enum unwind_found unwind_find_object(uintptr_t pc, struct unwind_object *ret);

/* Note what is loaded, and how HOST, which is copied, can be asked for it. */
void unwind_objects_start(const struct unwind_host *host);

/* Set up *RET for an object whose program headers are known. */
bool unwind_object_init(struct unwind_object *ret, uintptr_t bias, const void *phdrs, size_t nr);

/* ---- which object it is (seen.c) ---- */

/* Keep the function of HOST that is called for each object. */
void unwind_seen_start(const struct unwind_host *host);
/* See unwind_forget(). */
void unwind_seen_forget(void);

/*
 * A frame of the object O is met while GENERATION is loaded: note O, unless it has been.
 * Reads what of O is mapped.
 */
void unwind_note_seen(const struct unwind_object *o, uint64_t generation);

/* A frame with PC is met, which is in no object: it is not in one that was there before. */
void unwind_note_unseen(uintptr_t pc);

/* ---- code address -> rule (cache.c) ---- */

/* The slow way: from the tables. GENERATION is that of when the walk began. */
unwind_rule unwind_look_up(uintptr_t pc, bool is_exact, uint64_t generation);

/* ---- one step (step.c) ---- */

struct unwind_state {
	uintptr_t pc, sp, fp;
	bool is_exact; /* PC is where the frame is, not where it continues */
};

struct unwind_walk {
	const struct unwind_regs *regs;
	const struct unwind_thread *thread;
	struct unwind_bounds bounds; /* what is read of the stack: see unwind_bounds_from() */
	/* THREAD, if it has to be asked before each word of this stack is read; else NULL. */
	const struct unwind_thread *checker;
	bool has_moved; /* to another stack than that of the beginning */
	uint64_t generation;
};

enum unwind_step {
	STEP_DONE,
	STEP_OUTERMOST,
	STEP_BROKEN,
};

/*
 * By a rule that is not RULE_PLAIN; *RET is as in struct unwind_frame, without EXACT and
 * OF_TABLE.
 */
enum unwind_step unwind_step_slowly(
	struct unwind_walk *w, struct unwind_state *s, unwind_rule rule, uint32_t *ret);

/* The part of STACK that is certainly mapped while SP is its stack pointer. */
static inline struct unwind_bounds
unwind_bounds_from(const struct unwind_bounds *stack, uintptr_t sp)
{
	return (struct unwind_bounds){ sp - stack->start > UNWIND_RED_ZONE ? sp - UNWIND_RED_ZONE
									   : stack->start,
		stack->end };
}

/* The bounds of a walk from SP on. False: SP is in no known stack. */
bool unwind_find_bounds(const struct unwind_thread *t, uintptr_t sp, struct unwind_bounds *ret);

/* T, if it has to be asked before words of its stack BOUNDS are read; else NULL. */
static inline const struct unwind_thread *
unwind_checker_of(const struct unwind_thread *t, const struct unwind_bounds *bounds)
{
	const bool is_own = bounds->start == t->own.start && bounds->end == t->own.end;

	return UNWIND_UNLIKELY(!is_own) && t->may_read ? t : NULL;
}

/* Whether the word at AT, which is in the bounds of CHECKER's stack, can be read. */
static inline bool
unwind_may_read(const struct unwind_thread *checker, uintptr_t at)
{
	return UNWIND_LIKELY(!checker) || checker->may_read(checker->arg, at);
}

#pragma GCC visibility pop

#endif

/* unwind-priv: declarations that the files of this room share. */
#ifndef MEMDIAG_UNWIND_PRIV_H
#define MEMDIAG_UNWIND_PRIV_H

#include "unwind/bytes.h"
#include "unwind/processor.h"
#include "unwind/unwind.h"

#pragma GCC visibility push(hidden)

/* For functions that read stacks: AddressSanitizer forbids reads between variables. */
#define UNWIND_UNCHECKED __attribute__((no_sanitize_address))

#define UNWIND_LIKELY(x) __builtin_expect(!!(x), 1)
#define UNWIND_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- DWARF expressions (expression.c) ---- */

/* The known registers of one frame, and the stack. */
struct unwind_context {
	uintptr_t reg[UNWIND_NR_REGS];
	uint64_t known;			     /* bit R: reg[R] is known */
	struct unwind_bounds bounds;	     /* all of it is mapped unless CHECKER must be asked */
	const struct unwind_thread *checker; /* see struct unwind_walk */
	uint64_t used;			     /* bit R: an expression has read reg[R] */
	bool has_read;			     /* an expression has read memory */
};

/* Read a word of the stack.  False if it is outside of the stack. */
bool unwind_read(const struct unwind_context *c, uint64_t at, uint64_t *ret);

/*
 * Evaluate EXPRESSION; INITIAL, if not NULL, is the first value on its stack.  False if it needs an
 * unknown value or is invalid.
 */
bool unwind_evaluate(
	struct unwind_context *c, struct bytes expression, const uint64_t *initial, uint64_t *ret);

/* ---- call frame instructions (program.c) ---- */

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

/* The expression of register R, whose rule is an expression. */
struct bytes unwind_row_expression(const struct unwind_row *row, unsigned int r);

struct unwind_program {
	struct bytes initial, own; /* instructions of the CIE, and of the FDE */
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer_encoding;
	uint64_t start; /* the address at which OWN begins */
};

/* Run P up to address PC; ROW's ra, is_signal and end are already set.  False if P is invalid. */
bool unwind_run(const struct unwind_program *p, uint64_t pc, struct unwind_row *row);

/* ---- unwind tables (tables.c) ---- */

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
	bool is_permanent; /* never unloaded */
	uintptr_t bias;
	const void *phdrs; /* ElfW(Phdr); valid while the object is loaded, as is NAME */
	uint32_t nr_phdrs;
	const char *name; /* the path that ld.so has; NULL if unknown */
};

/* Get the row of O for PC.  False if O has no row for it. */
bool unwind_find_row(const struct unwind_object *o, uint64_t pc, struct unwind_row *ret);

/*
 * Move *AT from an entry of .eh_frame to the next one. *RET_PC is the start of the entry's code; 0
 * if it is not a frame description entry or is unreadable.  False if *AT is not an entry.
 */
bool unwind_next_frame(const struct unwind_object *o, uint64_t *at, uint64_t *ret_pc);

/* True if the code at PC is a signal trampoline without a row. */
bool unwind_is_trampoline(const struct unwind_object *o, uint64_t pc);

/* ---- an object without .eh_frame_hdr (index.c) ---- */

/*
 * Create O's index of its .eh_frame, which has BYTES from FRAMES on, in memory from MAP.  If no
 * memory is available or the frames are unreadable, O gets no index.
 */
void unwind_index_make(
	struct unwind_object *o, const void *frames, size_t bytes, void *(*map)(size_t bytes));

/* ---- rules (rule.c) ---- */

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

/* The rule that is equivalent to ROW at PC; RULE_ODD if no rule is. */
unwind_rule unwind_rule_of(const struct unwind_row *row, uint64_t pc);

/* ---- loaded objects (objects.c) ---- */

enum unwind_found {
	FOUND_NONE, /* PC is in no object */
	FOUND,
	FOUND_UNKNOWN, /* PC may be in an object that was not noted */
};
enum unwind_found unwind_find_object(uintptr_t pc, struct unwind_object *ret);

/* Note the loaded objects.  HOST, which is copied, has the functions that report them. */
void unwind_objects_start(const struct unwind_host *host);

/* Set up *RET for an object whose program headers are known. */
bool unwind_object_init(struct unwind_object *ret, uintptr_t bias, const void *phdrs, size_t nr);

/* ---- identity of an object (seen.c) ---- */

/* Keep the function of HOST that is called for each object. */
void unwind_seen_start(const struct unwind_host *host);
/* Implements unwind_forget(). */
void unwind_seen_forget(void);

/*
 * Note the object O, which contains a frame and is loaded in GENERATION, unless it is noted
 * already.  Reads the mapped bytes of O.
 */
void unwind_note_seen(const struct unwind_object *o, uint64_t generation);

/* Note that PC of a frame is in no object, and not in one that was loaded there before. */
void unwind_note_unseen(uintptr_t pc);

/* ---- code address -> rule (cache.c) ---- */

/* Look up a rule in the tables, which is slow.  GENERATION is that of the beginning of the walk. */
unwind_rule unwind_look_up(uintptr_t pc, bool is_exact, uint64_t generation);

/* ---- one step (step.c) ---- */

struct unwind_state {
	uintptr_t pc, sp, fp;
	bool is_exact; /* PC is the present instruction, not the one after a call */
};

struct unwind_walk {
	const struct unwind_regs *regs;
	const struct unwind_thread *thread;
	struct unwind_bounds bounds; /* the readable part of the stack: see unwind_bounds_from() */
	/* THREAD if it must be asked before each word of this stack is read; else NULL. */
	const struct unwind_thread *checker;
	bool has_moved; /* the walk has left the stack on which it began */
	uint64_t generation;
};

enum unwind_step {
	STEP_DONE,
	STEP_OUTERMOST,
	STEP_BROKEN,
};

/*
 * Step by a rule other than RULE_PLAIN. *RET is the member how of struct unwind_frame, without
 * UNWIND_EXACT and UNWIND_OF_TABLE.
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

/* Get the bounds for a walk from SP on.  False if SP is in no known stack. */
bool unwind_find_bounds(const struct unwind_thread *t, uintptr_t sp, struct unwind_bounds *ret);

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

/*
 * memo: earlier walks, and what they have read.  A program maps memory from a few places, so most
 * of its stacks have been walked before.  A walk depends on the registers and the words of the
 * stack that it reads, and otherwise only on files, which do not change: if all of these are equal,
 * the result is equal.
 */
#ifndef MEMDIAG_STACK_MEMO_H
#define MEMDIAG_STACK_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/stack.h"

struct memo;

/* NULL if there is no memory: then nothing is kept. */
struct memo *memo_new(void);
void memo_free(struct memo *m);

/*
 * Copy the walk that S leads to, whose program counter is PC, to *RET, if M has it.  If not, begin
 * to note what the next walk reads.
 */
bool memo_find(struct memo *m, const struct stack_source *s, uint64_t pc, struct stack *ret);

/*
 * Note that the walk has read register I, or the word at ADDR of the stack.  These functions do
 * nothing if M is NULL.
 */
void memo_note_register(struct memo *m, int i, uint64_t value);
void memo_note_word(struct memo *m, uint64_t addr, uint64_t value);
/* Note that the walk needs the word at ADDR, which is on the stack beyond the copy. */
void memo_note_beyond(struct memo *m, uint64_t addr);
/* Do not keep the present walk, since it depends on something else. */
void memo_spoil(struct memo *m);

/* Keep the walk that has ended with *RESULT, unless it was spoiled. */
void memo_keep(struct memo *m, const struct stack *result);

#endif

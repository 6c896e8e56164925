/*
 * hook-words: the words that hooks are written into, and their old contents.
 */
#ifndef MEMDIAG_INJECT_HOOK_WORDS_H
#define MEMDIAG_INJECT_HOOK_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"
#include "elf/regions.h"
#include "inject/hook.h"

struct target;

struct word_change {
	raddr at;
	uint64_t from, to;
	uint64_t or_from; /* also accepted: what ld.so makes of FROM */
	bool is_code;
	size_t nr_bytes; /* of code: how many of them belong to a hook */
	bool is_left;	 /* contains TO already, or was changed by another tool */
	uint64_t was;
};

struct word_changes {
	struct word_change *v;
	size_t nr, room;
	raddr low, high; /* range around the words of code */
	bool has_lazy;	 /* a slot that ld.so has not filled yet */
};

/*
 * Add a copy of C to CS, unless CS has that word of code already.  The caller frees CS->v.  0, or
 * -1 with E.
 */
int hook_words_add(struct word_changes *cs, const struct word_change *c, struct err *e);

/*
 * Write all words of CS while all threads of T are stopped, and no thread is in the middle of what
 * changes; M is T's maps.  Tries again for WAIT_NS nanoseconds.  A word with an unexpected value is
 * an error when hooks are set, and is left alone when they are lifted (IS_LIFTING).  REPORT gets
 * how many words changed and how long threads were stopped.  Returns 0, or -1 with E and all words
 * unchanged: ERR_NO_SAFE_POINT if time was up.
 */
int hook_words_write(const struct target *t, const struct regions *m, struct word_changes *cs,
	bool is_lifting, uint64_t wait_ns, struct hook_report *report, struct err *e);

#endif

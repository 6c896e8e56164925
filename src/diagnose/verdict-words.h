/*
 * verdict-words: the sentences of verdicts and the numbers in them.
 */
#ifndef MEMDIAG_DIAGNOSE_VERDICT_WORDS_H
#define MEMDIAG_DIAGNOSE_VERDICT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "diagnose/verdict.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/*
 * Whether BYTES are at least LEAST and at least SHARE of WHOLE.  Every threshold wants both: a high
 * share of little is no trouble, nor is a little of much.  doc/verdicts.md names them all.
 */
bool verdict_weighs(uint64_t bytes, uint64_t least, double share, uint64_t whole);

/* PART of WHOLE in percent, rounded; 0 if WHOLE is 0. */
int verdict_percent(uint64_t part, uint64_t whole);

/* "12 % of RSS", into BUF, which is returned.  A core file has no RSS. */
const char *verdict_share_text(
	const struct verdict_facts *f, uint64_t bytes, char *buf, size_t size);

/* Sizes and shares within a sentence; valid up to the end of the block. */
struct verdict_word {
	char v[40];
};
#define BYTES(n) text_bytes((n), (struct verdict_word){ { 0 } }.v, sizeof(struct verdict_word))
#define SHARE(f, n)                                                                                \
	verdict_share_text((f), (n), (struct verdict_word){ { 0 } }.v, sizeof(struct verdict_word))

/* Set what V says, and of how many BYTES. */
void verdict_say(struct verdict *v, const char *severity, uint64_t bytes, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Add one more thing that can be done; the last one is replaced if there is no room. */
void verdict_advise(struct verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Advise a command of memdiag, as "trim --tops"; the process of a core file has ended. */
void verdict_advise_run(const struct verdict_facts *f, struct verdict *v, const char *command);

#endif

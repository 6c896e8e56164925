/* verdict-words: the sentences of verdicts and the numbers in them. */
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
 * True if BYTES are at least LEAST and at least SHARE of WHOLE.  Every threshold needs both: a high
 * share of a small amount is harmless, and so is a small share of a large amount. doc/verdicts.md
 * lists all thresholds.
 */
bool verdict_weighs(uint64_t bytes, uint64_t least, double share, uint64_t whole);

/* Return PART of WHOLE in percent, rounded; 0 if WHOLE is 0. */
int verdict_percent(uint64_t part, uint64_t whole);

/* Write "12 % of RSS" to BUF and return it.  A core file has no RSS. */
const char *verdict_share_text(
	const struct verdict_facts *f, uint64_t bytes, char *buf, size_t size);

/* Sizes and shares within a sentence; valid until the end of the block. */
struct verdict_word {
	char v[40];
};
#define BYTES(n) text_bytes((n), (struct verdict_word){ { 0 } }.v, sizeof(struct verdict_word))
#define SHARE(f, n)                                                                                \
	verdict_share_text((f), (n), (struct verdict_word){ { 0 } }.v, sizeof(struct verdict_word))

/* Set V's text, and the number of BYTES that it concerns. */
void verdict_say(struct verdict *v, const char *severity, uint64_t bytes, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Add an action; if the list is full, it replaces the last one. */
void verdict_advise(struct verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Advise a command of memdiag, such as "trim --tops"; not for a core file or a saved account, whose
 * process has ended.
 */
void verdict_advise_run(const struct verdict_facts *f, struct verdict *v, const char *command);

#endif

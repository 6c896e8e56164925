/* redaction: --redact of `memdiag report` and `memdiag record report`. */
#ifndef MEMDIAG_CMD_REDACTION_H
#define MEMDIAG_CMD_REDACTION_H

#include <stdbool.h>

#include "profile/redact.h"
#include "report/report.h"
#include "ui/option.h"
#include "ui/warnings.h"

struct redaction_options {
	bool is_wanted;
	const char *key_file; /* NULL: a random key for this run */
	struct redact_options redact;
};

/* The input is a struct redaction_options. */
extern const struct ui_syntax redaction_syntax;

/* The texts of a redacted report in the place of the names of its files and its warnings. */
struct redaction {
	char file[REDACT_WORD_BYTES], base[REDACT_WORD_BYTES];
	struct warnings warnings;
};

/* Make or read the key, if O is wanted.  Returns 0, or -1 with E. */
int redaction_begin(struct redaction_options *o, struct err *e);
void redaction_release(struct redaction_options *o);

/*
 * Replace the profile *P of V by a redacted copy, and the names of V by R's, if O is wanted; R
 * lives as long as V.  The warnings of the report are W.  Returns 0, or -1 with E.
 */
int redaction_apply(struct redaction *r, const struct redaction_options *o, struct profile **p,
	struct report_view *v, const struct warnings *w, struct err *e);

#endif

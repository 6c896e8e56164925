/* pair: two outputs saved with --json, and the growth between them. */
#ifndef MEMDIAG_ACCOUNT_PAIR_H
#define MEMDIAG_ACCOUNT_PAIR_H

#include <jansson.h>

#include "account/growth-lists.h"
#include "account/growth.h"
#include "ui/warnings.h"

struct saved_pair {
	const char *file[2]; /* borrowed */
	json_t *was, *is;    /* owned */
	bool is_live;	     /* IS was not saved: its own warnings are printed elsewhere */
	const struct comparable *what;
	struct growth growth[COMPARABLE_LISTS]; /* without a list if a document lacks it */
	struct warnings warnings;
};

/*
 * Read the files BEFORE and AFTER, and compare all lists that both have.  Warns if one is partial
 * or lacks a list, or if they describe two processes.  P must be zeroed; release it in any case.
 * It refers to the file names.  Returns 0, or -1 with E: a file is not an output of memdiag, they
 * are of different kinds, or no list can be compared.
 */
int saved_pair_compare(struct saved_pair *p, const char *before, const char *after, struct err *e);

/*
 * As saved_pair_compare(), in two steps, with a document that is not saved: read the file BEFORE,
 * which must be of COMMAND; then compare it with IS, a document of that command.
 */
int saved_pair_begin(struct saved_pair *p, const char *before, const char *command, struct err *e);
int saved_pair_end(struct saved_pair *p, json_t *is, struct err *e);

void saved_pair_release(struct saved_pair *p);
#define auto_saved_pair __attribute__((cleanup(saved_pair_release)))

#endif

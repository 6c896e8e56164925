/*
 * report: a profile as text, JSON and HTML.
 */
#ifndef MEMDIAG_REPORT_REPORT_H
#define MEMDIAG_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/raddr.h"
#include "profile/profile.h"
#include "recording/choice.h"
#include "recording/live.h"
#include "report/calls.h"
#include "ui/ui.h"

struct warnings;

/* A block in use, of a stack of the profile. */
struct report_block {
	raddr at;
	uint64_t bytes;
	uint32_t tid; /* that has allocated it; 0: unknown */
	uint32_t stack;
};

struct report_blocks {
	struct report_block *v; /* the largest first */
	size_t nr, room;
	uint64_t nr_more; /* that are left out */
};

struct report_view {
	const struct profile *p;
	const struct calls *c;
	/*
	 * The blocks of C's bytes, with the same nodes; NULL: they are not shown.
	 */
	const struct calls *blocks;
	const char *file;
	const char *base; /* the file that was subtracted; NULL: none */
	const struct ui_options *ui;
	/* the blocks that P has alone, of a log; NULL: all */
	const struct history_choice *choice;
	const struct history_chosen *chosen;   /* their sums */
	const struct report_blocks *addresses; /* single blocks, in text and JSON; NULL: none */
	size_t limit;			       /* rows; 0: all */
	bool by_cum;			       /* the greatest cum first */
	bool symbols_inside;		       /* names go into the file, too */
	const struct warnings *warnings;       /* of the reader; NULL: none */
};

#endif

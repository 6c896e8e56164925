/* report: print a profile as text, JSON and HTML. */
#ifndef MEMDIAG_REPORT_REPORT_H
#define MEMDIAG_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/raddr.h"
#include "profile/profile.h"
#include "recording/choice.h"
#include "recording/changes.h"
#include "recording/live.h"
#include "report/calls.h"
#include "ui/ui.h"

struct warnings;

/* A block in use, with a stack of the profile. */
struct report_block {
	raddr at;
	uint64_t bytes;
	uint32_t tid; /* the thread that allocated it; 0: unknown */
	uint32_t stack;
};

struct report_blocks {
	struct report_block *v; /* the largest first */
	size_t nr, room;
	uint64_t nr_more; /* number of blocks not listed */
};

/* The live memory at many moments of the recording from which the profile was made. */
struct report_moments {
	const struct history_changes *changes;
	const uint32_t *samples; /* the number of each site's sample; UINT32_MAX: none */
};

/* The words for a profile whose frames are not calls. */
struct report_words {
	const char *frames, *stacks; /* "calls", "stacks" */
	const char *title;	     /* of the table of a page */
	const char *column;	     /* of a tree as text */
};

struct report_view {
	const struct profile *p;
	const struct report_words *words; /* NULL: its frames are calls */
	const struct calls *c;
	/* The blocks of C's bytes, with the same nodes; NULL: not shown. */
	const struct calls *blocks;
	const char *file;
	const char *base; /* the file that was subtracted; NULL: no file */
	const struct ui_options *ui;
	/* the choice of blocks in P, from a log; NULL: all blocks */
	const struct history_choice *choice;
	const struct history_chosen *chosen;  /* their sums */
	const struct report_moments *moments; /* for a page; NULL: no moments are known */
	/* single blocks, in text and JSON; NULL: not listed */
	const struct report_blocks *addresses;
	const char *source;  /* directory of source files for a page; NULL: no lines are shown */
	const char *peek;    /* regular expression for functions of format peek; NULL: all */
	size_t limit;	     /* rows; 0: all */
	bool by_cum;	     /* sort by cum, largest first */
	bool symbols_inside; /* function names are written to the file */
	bool has_no_time;    /* the time of the report is left out */
	const struct warnings *warnings; /* from reading; NULL: no warnings */
};

#endif

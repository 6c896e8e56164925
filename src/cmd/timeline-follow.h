/* timeline-follow: 'memdiag timeline --follow' shows a log while it grows. */
#ifndef MEMDIAG_CMD_TIMELINE_FOLLOW_H
#define MEMDIAG_CMD_TIMELINE_FOLLOW_H

#include "recording/recording.h"
#include "ui/ui.h"
#include "ui/warnings.h"

struct target;

enum follow_format { FOLLOW_FORMAT_TEXT, FOLLOW_FORMAT_CSV, FOLLOW_FORMAT_JSON };

struct timeline_follow {
	struct recording *recording; /* not yet read */
	struct target *target;	     /* the process of the log; NULL: unknown */
	const char *file;
	const struct ui_options *ui;
	uint64_t interval_ns;
	enum follow_format format;
};

/*
 * Show W until its log is closed, its writer is gone, the reader of OUT has gone, or memdiag is
 * asked to end.  On a terminal, text is the plot, redrawn each time; otherwise text and the other
 * formats print a line for each interval that has ended.  Missing data is added to WARNINGS.
 * Returns 0, or -1 with E.
 */
int timeline_follow(const struct timeline_follow *w, struct ui_output *out,
	struct warnings *warnings, struct err *e);

#endif

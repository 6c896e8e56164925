/*
 * progress: the line on a terminal that shows how far a long read is.
 */
#ifndef MEMDIAG_UI_PROGRESS_H
#define MEMDIAG_UI_PROGRESS_H

#include "ui/ui.h"

/*
 * If work takes longer than a second, show on a terminal's standard error the current action (WHAT,
 * static: "reading the heap") and the elapsed time.  May return NULL.  ui_progress_end() removes
 * the line.
 */
struct ui_progress;

struct ui_progress *ui_progress_begin(const struct ui_options *opt, const char *what);
void ui_progress_end(struct ui_progress *p);
static inline void
ui_progress_cleanup(struct ui_progress **p)
{
	ui_progress_end(*p);
}
#define auto_progress __attribute__((cleanup(ui_progress_cleanup)))
/* Remove the line before other output to stderr.  Safe in signal handlers. */
void ui_progress_clear(void);

#endif

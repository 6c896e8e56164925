/*
 * limits: --max-memory, and --timeout for commands that read files: bounds on the cost of an
 * untrusted file.
 */
#ifndef MEMDIAG_UI_LIMITS_H
#define MEMDIAG_UI_LIMITS_H

#include "ui/ui.h"

/*
 * Limit memdiag's memory as OPT requires (os/ceiling.h), and make it the OOM killer's first choice.
 * Programs started later inherit both.
 */
void limits_set_memory(const struct ui_options *opt);

/* As limits_set_memory(), and fail after OPT's time limit for files, from now. */
void limits_set(const struct ui_options *opt);

/* If E is a lack of memory under such a limit, append a hint. */
void limits_hint(struct err *e);

#endif

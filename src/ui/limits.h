/*
 * limits: --max-memory, and --timeout for commands that read files: what a stranger's file may
 * cost.
 */
#ifndef MEMDIAG_UI_LIMITS_H
#define MEMDIAG_UI_LIMITS_H

#include "ui/ui.h"

/*
 * Take no more memory than OPT says (os/ceiling.h), and have the OOM killer take memdiag first.
 * Programs that are started later inherit both.
 */
void limits_set_memory(const struct ui_options *opt);

/* The same, and give up when what OPT says for files has passed, from now. */
void limits_set(const struct ui_options *opt);

/* Where E is a lack of memory below a limit that was set, append what would help. */
void limits_hint(struct err *e);

#endif

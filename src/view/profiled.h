/* profiled: print a profile that was begun, ended or written, as text and as JSON. */
#ifndef MEMDIAG_VIEW_PROFILED_H
#define MEMDIAG_VIEW_PROFILED_H

#include <stdio.h>

#include "capture/captured.h"
#include "os/os.h"
#include "ui/ui.h"

/* Print P, of T.  Returns 0, or -1 with E. */
int profiled_print(
	const struct profiled *p, const struct target *t, const struct ui_options *opt, FILE *f);
int profiled_print_json(
	const struct profiled *p, const struct target *t, struct ui_output *out, struct err *e);

#endif

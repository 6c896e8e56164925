/* capture-result: print a profile that was begun, ended or written, as text and as JSON. */
#ifndef MEMDIAG_VIEW_CAPTURE_RESULT_H
#define MEMDIAG_VIEW_CAPTURE_RESULT_H

#include <stdio.h>

#include "capture/capture.h"
#include "os/os.h"
#include "ui/ui.h"

/* Print P, of T.  Returns 0, or -1 with E. */
int capture_result_print(const struct capture_result *p, const struct target *t,
	const struct ui_options *opt, FILE *f);
int capture_result_print_json(const struct capture_result *p, const struct target *t,
	struct ui_output *out, struct err *e);

#endif

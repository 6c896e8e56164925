/* logged: print the state of a record's log, as text and as JSON. */
#ifndef MEMDIAG_VIEW_LOGGED_H
#define MEMDIAG_VIEW_LOGGED_H

#include <jansson.h>
#include <stdio.h>

#include "capture/captured.h"
#include "ui/ui.h"
#include "ui/warnings.h"

/* Print only the process that writes the log. */
void logged_print_writer(const struct logged *l, FILE *f);
void logged_print(const struct logged *l, const struct ui_options *opt, FILE *f);
/* Warn if the log is truncated, or if its writer is stuck. */
void logged_warn(const struct logged *l, struct warnings *w);
json_t *logged_json(const struct logged *l);

#endif

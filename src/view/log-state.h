/* log-state: print the state of a record's log, as text and as JSON. */
#ifndef MEMDIAG_VIEW_LOG_STATE_H
#define MEMDIAG_VIEW_LOG_STATE_H

#include <jansson.h>
#include <stdio.h>

#include "capture/capture.h"
#include "ui/ui.h"
#include "ui/warnings.h"

/* Print only the process that writes the log. */
void log_state_print_writer(const struct log_state *l, FILE *f);
void log_state_print(const struct log_state *l, const struct ui_options *opt, FILE *f);
/* Warn if the log is truncated, or if its writer is stuck. */
void log_state_warn(const struct log_state *l, struct warnings *w);
json_t *log_state_json(const struct log_state *l);

#endif

/*
 * logged: what is written of the log of a record, for people and as JSON.
 */
#ifndef MEMDIAG_VIEW_LOGGED_H
#define MEMDIAG_VIEW_LOGGED_H

#include <jansson.h>
#include <stdio.h>

#include "capture/captured.h"
#include "ui/ui.h"
#include "ui/warnings.h"

/* Print only which process writes it. */
void logged_print_writer(const struct logged *l, FILE *f);
void logged_print(const struct logged *l, const struct ui_options *opt, FILE *f);
/* Warn of a log that is cut, and of a writer that does not get on. */
void logged_warn(const struct logged *l, struct warnings *w);
json_t *logged_json(const struct logged *l);

#endif

/*
 * warnings: remarks that a command prints in addition to its answer, and whether that is partial.
 */
#ifndef MEMDIAG_UI_WARNINGS_H
#define MEMDIAG_UI_WARNINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "ui/ui.h"

struct warnings {
	struct warning {
		char text[600];
	} * v;
	size_t nr, room;
	bool is_partial; /* exit status 2 */
};

/* Add a warning; with IS_PARTIAL, a part of the answer is missing. */
void warnings_add(struct warnings *w, bool is_partial, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Print them on stderr. */
void warnings_print(const struct warnings *w, const struct ui_options *opt);
/* Set "warnings" and "partial". */
void warnings_to_json(const struct warnings *w, json_t *document);
void warnings_release(struct warnings *w);
#define auto_warnings __attribute__((cleanup(warnings_release)))

#endif

#include <config.h>

#include "ui/warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "ui/json.h"
#include "ui/output.h"

void
warnings_add(struct warnings *w, bool is_partial, const char *fmt, ...)
{
	struct warning *new = array_add(w);
	va_list ap;

	w->is_partial |= is_partial;
	if (!new)
		return;
	va_start(ap, fmt);
	vsnprintf(new->text, sizeof new->text, fmt, ap);
	va_end(ap);
}

void
warnings_print(const struct warnings *w, const struct ui_options *opt)
{
	for (size_t i = 0; i < w->nr; i++)
		ui_note(opt, "%s", w->v[i].text);
}

void
warnings_to_json(const struct warnings *w, json_t *document)
{
	for (size_t i = 0; i < w->nr; i++)
		ui_json_warn(document, w->is_partial, "%s", w->v[i].text);
}

void
warnings_release(struct warnings *w)
{
	free(w->v);
	*w = (struct warnings){ 0 };
}

/*
 * heap-text: a heap as text.
 */
#ifndef MEMDIAG_VIEW_HEAP_TEXT_H
#define MEMDIAG_VIEW_HEAP_TEXT_H

#include "base/err.h"
#include "ui/ui.h"
#include "view/heap.h"

/* heap-text.c; returns 0, or -1 with E */
int heap_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct heap_report *report, struct err *e);

#endif

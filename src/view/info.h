/*
 * info: what 'memdiag info' prints.
 */
#ifndef MEMDIAG_VIEW_INFO_H
#define MEMDIAG_VIEW_INFO_H

#include <jansson.h>

#include "base/err.h"
#include "diagnose/info.h"
#include "inject/malloc.h"
#include "ui/ui.h"

#define NR_INFO_METHODS (INFO_READ + 1)
/* With NULL at the end, as the next one. */
extern const char *const info_method_name[NR_INFO_METHODS + 1];
/* "stream" or "fd2". */
#define NR_INFO_CAPTURES (INJECT_CAPTURE_FD2 + 1)
extern const char *const info_capture_name[NR_INFO_CAPTURES + 1];

int info_print_text(const struct info *info, const struct info_options *opt, struct ui_output *out,
	struct err *e);
/* The document, the caller's; NULL with E. */
json_t *info_to_json(const struct info *info, const struct info_options *opt, struct err *e);

/* The document of malloc_info(): to a terminal without the bytes that would drive it. */
void info_print_xml(const struct info *info, const struct ui_output *out);

#endif

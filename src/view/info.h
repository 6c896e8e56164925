/* info: the output of 'memdiag info'. */
#ifndef MEMDIAG_VIEW_INFO_H
#define MEMDIAG_VIEW_INFO_H

#include <jansson.h>

#include "base/err.h"
#include "diagnose/info.h"
#include "inject/malloc.h"
#include "ui/ui.h"

#define NR_INFO_METHODS (INFO_READ + 1)
/* NULL-terminated, as is the next array. */
extern const char *const info_method_name[NR_INFO_METHODS + 1];
/* "stream" or "fd2". */
#define NR_INFO_CAPTURES (INJECT_CAPTURE_FD2 + 1)
extern const char *const info_capture_name[NR_INFO_CAPTURES + 1];

int info_print_text(const struct info *info, const struct info_options *opt, struct ui_output *out,
	struct err *e);
/* Return the document, which the caller frees; NULL with E. */
json_t *info_to_json(const struct info *info, const struct info_options *opt, struct err *e);

/* Print malloc_info()'s document, on a terminal without control characters. */
void info_print_xml(const struct info *info, const struct ui_output *out);

#endif

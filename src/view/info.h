/*
 * info: what 'memdiag info' prints.
 */
#ifndef MEMDIAG_VIEW_INFO_H
#define MEMDIAG_VIEW_INFO_H

#include "diagnose/info.h"

#define NR_INFO_METHODS (INFO_READ + 1)
/* With NULL at the end, as the next one. */
extern const char *const info_method_name[NR_INFO_METHODS + 1];
/* "stream" or "fd2". */
#define NR_INFO_CAPTURES (INJECT_CAPTURE_FD2 + 1)
extern const char *const info_capture_name[NR_INFO_CAPTURES + 1];

/* ---- info-jemalloc.c: where the malloc is jemalloc's ---- */

int info_print_jemalloc(const struct info *info, const struct info_options *opt,
	struct ui_output *out, struct err *e);
json_t *jemalloc_accounting_json(const struct info *info);
/* WHAT jemalloc says of itself; of its arenas ONLY that one, -1: all. */
json_t *jemalloc_json(const struct jemalloc *where, const struct jemalloc_stats *what, long only);

/* ---- info-file.c: a saved account ---- */

void info_print_file_account(const struct info *info, const struct info_options *opt, FILE *f);
/* ARENAS, which are taken over, are the rows. */
json_t *info_file_json(const struct info *info, json_t *arenas, struct err *e);

/* ---- info.c ---- */

int info_print_text(const struct info *info, const struct info_options *opt, struct ui_output *out,
	struct err *e);
/* The document, the caller's; NULL with E. */
json_t *info_to_json(const struct info *info, const struct info_options *opt, struct err *e);

/* The document of malloc_info(): to a terminal without the bytes that would drive it. */
void info_print_xml(const struct info *info, const struct ui_output *out);

#endif

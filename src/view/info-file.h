/*
 * info-file: info of a saved document, as text and JSON.
 */
#ifndef MEMDIAG_VIEW_INFO_FILE_H
#define MEMDIAG_VIEW_INFO_FILE_H

#include <jansson.h>
#include <stdio.h>

#include "base/err.h"
#include "diagnose/info.h"

void info_print_file_account(const struct info *info, const struct info_options *opt, FILE *f);
/* Return the account from a file; takes ownership of ARENAS, the rows. */
json_t *info_file_json(const struct info *info, json_t *arenas, struct err *e);

#endif

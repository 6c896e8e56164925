/*
 * info-understand: what malloc_info() has written, or a file has, as arenas and their sums.
 */
#ifndef MEMDIAG_DIAGNOSE_INFO_UNDERSTAND_H
#define MEMDIAG_DIAGNOSE_INFO_UNDERSTAND_H

#include "base/err.h"
#include "base/text.h"
#include "diagnose/info.h"

/*
 * info-understand.c: after info_ask(), read the memory that the account describes, compare and
 * judge both, and fill in all other members.  Unreadable parts cause warnings.  Returns 0, or -1
 * with E: xml cannot be parsed, or does not contain the arena OPT->arena (ERR_USAGE).
 */
int info_understand(struct info *info, const struct info_options *opt, struct err *e);

/*
 * info-understand.c: as info_understand(), for XML, malloc_info()'s document from file NAME; takes
 * ownership of XML.  NAME must outlive INFO.
 */
int info_understand_file(struct info *info, const char *name, struct text *xml,
	const struct info_options *opt, struct err *e);

void info_release(struct info *info);
#define auto_info __attribute__((cleanup(info_release)))

#endif

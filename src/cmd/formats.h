/*
 * formats: the list of the formats of reports.
 */
#ifndef MEMDIAG_CMD_FORMATS_H
#define MEMDIAG_CMD_FORMATS_H

#include "report/format.h"

/* All report formats, in the order of --help. */
#define REPORT_FORMATS(X)                                                                          \
	X(text)                                                                                    \
	X(tree)                                                                                    \
	X(peek)                                                                                    \
	X(flame)                                                                                   \
	X(html)                                                                                    \
	X(graph)                                                                                   \
	X(dot)                                                                                     \
	X(json)                                                                                    \
	X(pprof)                                                                                   \
	X(heap)                                                                                    \
	X(folded)                                                                                  \
	X(speedscope)                                                                              \
	X(firefox)

#define REPORT_FORMAT(name) extern const struct report_format report_format_##name;
REPORT_FORMATS(REPORT_FORMAT)
#undef REPORT_FORMAT

/* Return the format called NAME; NULL if it does not exist. */
const struct report_format *report_format_find(const char *name);
/* Return the name of format I, NULL after the last one, and its note. */
const char *report_format_word(size_t i);
const char *report_format_note(size_t i);
/* Return the name of format I among those that need no blocks; NULL after the last one. */
const char *report_format_word_of_bytes(size_t i);
/* As report_format_word(), for formats whose frames may be types and variables. */
const char *report_format_word_of_types(size_t i);
/* As report_format_word(), for formats whose frames may be classes of memory. */
const char *report_format_word_of_classes(size_t i);

#endif

/*
 * json: JSON documents with strings from strangers.
 */
#ifndef MEMDIAG_UI_JSON_H
#define MEMDIAG_UI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"
#include "ui/ui.h"

struct target;

/* ---- JSON ------------------------------------------------------------------------------------ */

/*
 * The envelope every --json output has:
 * {"schema":"memdiag.NAME/1","memdiag":VERSION,"generated_at":...,"target":{...},"process":{...},
 *  "data":{},"verdicts":[],"warnings":[],"partial":false}.  T may be NULL.
 * NULL when there is no memory.
 * Sizes are integers named *_bytes, durations *_ns; addresses are "0x..." strings. doc/json.md
 * lists every member, and tests/live/json.sh compares the list with real output.
 */
json_t *ui_json_new(const char *name, const struct target *t);
/* Append a warning and, with IS_PARTIAL, set "partial". */
void ui_json_warn(json_t *document, bool is_partial, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A name of untrusted bytes: made valid UTF-8 as text_escape() does. */
json_t *ui_json_string(const char *s);
/*
 * A sentence of our own, or text that is escaped already: made valid UTF-8 as text_printable()
 * does.
 */
json_t *ui_json_text(const char *s);
json_t *ui_json_address(raddr a);
/*
 * N, or where it is larger than JSON's integers are, their greatest: only memory that was written
 * over has such numbers.  ui_json_print() adds a warning then.
 */
json_t *ui_json_number(uint64_t n);
/*
 * As ui_json_print(), with the rows that NEXT(ARG) gives, one by one until it is NULL, in the empty
 * array KEY of "data": there may be too many to keep.
 */
int ui_json_print_with(json_t *document, const char *key, json_t *(*next)(void *arg), void *arg,
	struct ui_output *o, struct err *e);
/* Write DOCUMENT to O, members in the order they were set. */
int ui_json_print(json_t *document, struct ui_output *o, struct err *e);

#endif

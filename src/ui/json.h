/*
 * json: JSON documents with strings from strangers.
 */
#ifndef MEMDIAG_UI_JSON_H
#define MEMDIAG_UI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/raddr.h"
#include "ui/ui.h"

struct target;

/* ---- JSON ------------------------------------------------------------------------------------ */

/*
 * Return the envelope of every --json output:
 * {"schema":"memdiag.NAME/1","memdiag":VERSION,"generated_at":...,"target":{...},"process":{...},
 *  "data":{},"verdicts":[],"warnings":[],"partial":false}.  T may be NULL.
 * Returns NULL if memory is exhausted.
 * Sizes are integers named *_bytes, durations *_ns; addresses are "0x..." strings. doc/json.md
 * lists every member, and tests/live/json.sh compares the list with real output.
 */
json_t *ui_json_new(const char *name, const struct target *t);
/* Append a warning and, with IS_PARTIAL, set "partial". */
void ui_json_warn(json_t *document, bool is_partial, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Return a name of untrusted bytes, made valid UTF-8 as in text_escape(). */
json_t *ui_json_string(const char *s);
/*
 * Return a sentence of memdiag, or text already escaped, made valid UTF-8 as in text_printable().
 */
json_t *ui_json_text(const char *s);
/*
 * Print S to F, escaped as in text for people (text_printable()), with quotes.  0, or -1 with E if
 * memory is exhausted; an error of F is found when F is closed.
 */
int ui_json_put_string(const char *s, FILE *f, struct err *e);
json_t *ui_json_address(raddr a);
/*
 * Return N, limited to the largest JSON integer: only overwritten memory has larger numbers.
 * ui_json_print() then adds a warning.
 */
json_t *ui_json_number(uint64_t n);
/*
 * As ui_json_print(), with the rows from NEXT(ARG), called until it returns NULL, in the empty
 * array KEY of "data": the rows may be too many to store.
 */
int ui_json_print_with(json_t *document, const char *key, json_t *(*next)(void *arg), void *arg,
	struct ui_output *o, struct err *e);
/* Write DOCUMENT to O, with members in the order of their creation. */
int ui_json_print(json_t *document, struct ui_output *o, struct err *e);

#endif

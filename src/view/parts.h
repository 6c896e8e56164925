/*
 * parts: what several views have: verdicts, checks, the borrowed thread, durations.
 */
#ifndef MEMDIAG_VIEW_PARTS_H
#define MEMDIAG_VIEW_PARTS_H

#include <jansson.h>
#include <stdio.h>

#include "account/checks.h"
#include "diagnose/verdict.h"
#include "inject/inject.h"
#include "ui/ui.h"

/* ---- verdicts.c ---- */

/* Print the weightiest three of V, or "nothing to do". */
void verdicts_print(const struct ui_output *o, const struct verdict *v, size_t nr);
/* All of V, for "verdicts". */
json_t *verdicts_to_json(const struct verdict *v, size_t nr);

/* ---- checks.c ---- */

/* Print each failed check and its difference, one per line. */
void checks_print(const struct checks *c, FILE *f);
/* All of them: [{"name","ours","theirs","difference","holds"}, ...]. */
json_t *checks_json(const struct checks *c);

/* ---- borrowed.c ---- */

/* The thread that was borrowed and for how long, as in "thread 12 was held for 300 us". */
const char *borrow_text(const struct inject_report *r, char *buf, size_t size);
/* The same for JSON: {"mode","tid","held_us","held_ns"}, or null if none was. */
json_t *borrow_json(const struct inject_report *r);

/* ---- durations.c ---- */

/*
 * Set NAME_ns in O, and NAME_us, which is there for programs of memdiag 0.1 only: durations in new
 * members are in nanoseconds alone.
 */
void view_json_set_duration(json_t *o, const char *name, uint64_t ns);

/*
 * Set in O, a "stop", what every command says of how the target was stopped: "count", how often,
 * and "total_ns" and "longest_ns".
 */
void view_json_set_stop(json_t *o, uint64_t nr_stops, uint64_t total_ns, uint64_t longest_ns);

#endif

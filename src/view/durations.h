/*
 * durations: durations in JSON.
 */
#ifndef MEMDIAG_VIEW_DURATIONS_H
#define MEMDIAG_VIEW_DURATIONS_H

#include <jansson.h>
#include <stdint.h>

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

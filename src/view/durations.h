/*
 * durations: durations in JSON.
 */
#ifndef MEMDIAG_VIEW_DURATIONS_H
#define MEMDIAG_VIEW_DURATIONS_H

#include <jansson.h>
#include <stdint.h>

/*
 * Set NAME_ns in O, and NAME_us, which exists only for programs written for memdiag 0.1: new
 * members have durations in nanoseconds only.
 */
void view_json_set_duration(json_t *o, const char *name, uint64_t ns);

/*
 * Set "stop" in O, the same in every command: "count", the number of stops of the target, and
 * "total_ns" and "longest_ns".
 */
void view_json_set_stop(json_t *o, uint64_t nr_stops, uint64_t total_ns, uint64_t longest_ns);

#endif

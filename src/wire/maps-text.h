/*
 * maps-text: the lines of /proc/PID/maps that the agent writes, as text.
 */
#ifndef MEMDIAG_WIRE_MAPS_TEXT_H
#define MEMDIAG_WIRE_MAPS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/maps.h"

/*
 * Return the merged lines as one text, which the caller frees; NULL if no memory is available.  Not
 * in the agent.
 */
char *wire_maps_text(const struct wire_maps_texts *t);

/* True if LINE is "# build-id 0xSTART ID" with this START; ID gets its ID.  Not in the agent. */
#define WIRE_MAX_ID_BYTES 129
bool wire_maps_id(const char *line, uint64_t start, char id[WIRE_MAX_ID_BYTES]);

#endif

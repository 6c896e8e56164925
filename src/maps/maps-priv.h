/* maps-priv: what the files of maps share about leaves and spans. */
#ifndef MEMDIAG_MAPS_MAPS_PRIV_H
#define MEMDIAG_MAPS_MAPS_PRIV_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/raddr.h"

/* ---- spans: what is known of intervals, whatever mappings they lie in ---- */

struct span {
	raddr start, end;
	uint8_t kind, confidence;
	int32_t object, arena;
	pid_t tid;
};

struct spans {
	struct span *v; /* sorted by start, never overlapping */
	size_t nr, room;
};

#define SPAN_NONE                                                                                  \
	{                                                                                          \
		.object = -1, .arena = -1                                                          \
	}

#endif

/* maps-priv: declarations about leaves and spans shared by the files of maps. */
#ifndef MEMDIAG_MAPS_MAPS_PRIV_H
#define MEMDIAG_MAPS_MAPS_PRIV_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/raddr.h"

/* ---- spans: facts about intervals, independent of mappings ---- */

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

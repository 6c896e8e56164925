/*
 * The stop that each traced thread is in: a number that no other stop has.  Only the tracing thread
 * (os_trace()) calls these functions.
 */
#include <config.h>

#include "os/stops.h"

#include "os/stops-priv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Open addressing; a slot with NR 0 was used once, and is skipped. */
static struct stop {
	pid_t tid; /* 0: never used */
	uint64_t nr;
} * table;
static size_t nr_used, room;
static uint64_t last_nr;

static struct stop *
stops_place_of(struct stop *v, size_t nr_places, pid_t tid)
{
	size_t at = (size_t)tid * 2654435761u & (nr_places - 1);

	while (v[at].tid && v[at].tid != tid)
		at = (at + 1) & (nr_places - 1);
	return &v[at];
}

static bool
stops_grow(void)
{
	const size_t wider = room ? 2 * room : 64;
	struct stop *v = calloc(wider, sizeof *v);

	if (!v)
		return false;
	nr_used = 0;
	for (size_t i = 0; i < room; i++)
		if (table[i].nr) {
			*stops_place_of(v, wider, table[i].tid) = table[i];
			nr_used++;
		}
	free(table);
	table = v;
	room = wider;
	return true;
}

void
os_stops_begin(pid_t tid)
{
	struct stop *s;

	/* Without memory the stop has no number, and the registers cannot be set. */
	if (2 * (nr_used + 1) > room && !stops_grow())
		return;
	s = stops_place_of(table, room, tid);
	nr_used += !s->tid;
	*s = (struct stop){ tid, ++last_nr };
}

void
os_stops_end(pid_t tid)
{
	if (room)
		stops_place_of(table, room, tid)->nr = 0;
}

void
os_stops_forget(void)
{
	free(table);
	table = NULL;
	nr_used = room = 0;
}

uint64_t
os_stop_nr(pid_t tid)
{
	return room ? stops_place_of(table, room, tid)->nr : 0;
}

#include <config.h>

#include "agent/note/request.h"

#include "agent/note/notes.h"
#include "agent/note/stack.h"
#include "unwind/cache.h"

static void
serve(struct wire_request *r)
{
	const struct notes_start start = {
		.fd = (int)r->fd,
		.size = { r->max_nodes, r->max_sites, r->nr_log_blocks },
		.opens_log = r->opens_log,
		.period_bytes = r->period_bytes,
		.max_bytes = r->max_bytes,
		.live_set = (enum wire_live_set)r->live_set,
		.triggers = r->triggers,
	};
	const struct unwind_image program = { (const void *)r->program, (const void *)r->frames,
		r->frames_bytes };

	if (r->is_end) {
		r->is_done = notes_end();
		return;
	}
	stack_set_images(&program, (const void *)r->vdso);
	r->is_done = notes_begin(&start);
}

/* If the program itself is starting or ending a record, nothing is done. */
void
request_serve(struct wire_request *r)
{
	if (!notes_claim())
		return;
	serve(r);
	notes_unclaim();
}

#include <config.h>

#include "export/push-queue.h"

#include <string.h>

uint64_t
push_profile_bytes(const struct profile *p)
{
	uint64_t bytes = p->frames.room * sizeof *p->frames.v + p->lines.room * sizeof *p->lines.v +
		p->stacks.room * sizeof *p->stacks.v +
		p->stack_frames.room * sizeof *p->stack_frames.v +
		p->samples.room * sizeof *p->samples.v + p->values.room * sizeof *p->values.v +
		p->functions.room * sizeof *p->functions.v +
		p->mappings.room * sizeof *p->mappings.v;

	for (size_t i = 0; i < p->functions.nr; i++)
		bytes += strlen(p->functions.v[i].name) + 1;
	return bytes;
}

/* Remove item I. */
static struct push_item
push_queue_remove(struct push_queue *q, size_t i)
{
	const struct push_item item = q->v[i];

	memmove(&q->v[i], &q->v[i + 1], (q->nr - i - 1) * sizeof *q->v);
	q->nr--;
	q->bytes -= item.bytes;
	return item;
}

size_t
push_queue_add(struct push_queue *q, struct push_item item)
{
	size_t nr_dropped = 0;

	while (q->nr > q->is_busy &&
		(q->nr == PUSH_QUEUE_PROFILES || q->bytes + item.bytes > PUSH_QUEUE_BYTES)) {
		profile_free(push_queue_remove(q, q->is_busy).p);
		nr_dropped++;
	}
	q->v[q->nr++] = item;
	q->bytes += item.bytes;
	return nr_dropped;
}

struct push_item
push_queue_take(struct push_queue *q)
{
	q->is_busy = false;
	return push_queue_remove(q, 0);
}

void
push_queue_release(struct push_queue *q)
{
	while (q->nr)
		profile_free(push_queue_take(q).p);
}

/* Call mallctl() in a borrowed thread. */
#include <config.h>

#include "base/text.h"
#include "inject/call.h"
#include "jemalloc/jemalloc-priv.h"
#include "jemalloc/jemalloc.h"
#include "os/memory.h"

#include <stddef.h>
#include <string.h>

/*
 * VALUE before the call. mallctl() leaves it unchanged if it does not know the name; its result is
 * lost on the way through the restorer.
 */
#define NO_ANSWER UINT64_C(0xa5a5a5a55a5a5a5a)

/* Set the arguments of mallctl() for the call stored at AT. */
static void
arguments(uint64_t arg[5], const struct ctl *ctl, raddr at)
{
	arg[0] = at.v + offsetof(struct ctl, name);
	arg[1] = ctl->size_bytes ? at.v + offsetof(struct ctl, value) : 0;
	arg[2] = ctl->size_bytes ? at.v + offsetof(struct ctl, got_bytes) : 0;
	arg[3] = ctl->new_bytes ? at.v + offsetof(struct ctl, new) : 0;
	arg[4] = ctl->new_bytes;
}

static int
lay(const struct ctls *in, struct ctl *v, size_t nr, struct err *e)
{
	for (size_t i = 0; i < nr; i++) {
		v[i].value = NO_ANSWER;
		v[i].got_bytes = v[i].size_bytes;
	}
	return worker_write(in->worker, in->ws->buffer, v, nr * sizeof *v, e);
}

/*
 * Read the values.  All supported processors are little-endian: a smaller value is in the first
 * bytes.
 */
static int
fetch(const struct ctls *in, struct ctl *v, size_t nr, struct err *e)
{
	if (os_read(in->worker->callee->target, in->ws->buffer, v, nr * sizeof *v, e) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		v[i].is_known = v[i].size_bytes && v[i].value != NO_ANSWER &&
			v[i].got_bytes == v[i].size_bytes;
		if (!v[i].is_known)
			v[i].value = JEMALLOC_UNKNOWN;
		else if (v[i].size_bytes < sizeof v[i].value)
			v[i].value &= (UINT64_C(1) << 8 * v[i].size_bytes) - 1;
	}
	return 0;
}

void
ctl_string(const struct ctls *in, const struct ctl *ctl, char *buf, size_t size)
{
	char raw[64] = "";
	struct err e;

	*buf = '\0';
	if (ctl->is_known && ctl->value &&
		os_read_some(in->worker->callee->target, (raddr){ ctl->value }, raw, sizeof raw - 1,
			&e) > 0)
		text_printable(raw, buf, size);
}

/* All calls are made in one batch: the thread stops once, after the last. */
int
ctl_make(const struct ctls *in, struct ctl *v, size_t nr, struct err *e)
{
	struct long_call call = { .name = v[0].name,
		.fn = in->j->mallctl,
		.nr_args = 5,
		.holds_more = true,
		.nr_next = nr - 1,
		.next_room = raddr_add(in->ws->buffer, CTL_BUFFER_BYTES),
		.deadline_ns = in->job->deadline_ns };
	struct next_call next[CTL_MAX] = { 0 };
	uint64_t ns = 0;

	arguments(call.arg, &v[0], in->ws->buffer);
	for (size_t i = 1; i < nr; i++) {
		next[i - 1] = (struct next_call){ .fn = in->j->mallctl, .nr_args = 5 };
		arguments(next[i - 1].arg, &v[i], raddr_add(in->ws->buffer, i * sizeof *v));
	}
	call.next = next;
	if (lay(in, v, nr, e) < 0 || long_call_make(&call, in->worker, in->ws, &ns, e) < 0)
		return -1;
	in->job->report->call_ns += ns;
	return fetch(in, v, nr, e);
}

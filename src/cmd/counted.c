#include <config.h>

#include "cmd/counted.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "elf/image.h"
#include "maps/maps.h"

/* ---- reading ---- */

int
counted_take(struct counted *c, void *copy, uint64_t size, struct err *e)
{
	struct wire_segment *s = copy;

	if (!wire_is_valid(s, size)) {
		bool is_other = size >= sizeof *s && s->magic == WIRE_MAGIC &&
			s->version && s->version != WIRE_VERSION;
		uint32_t version = is_other ? s->version : 0;

		free(copy);
		if (is_other)
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"its agent is of another memdiag: it counts by version %" PRIu32
				", and this one reads version %d", version, WIRE_VERSION);
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the counters of its agent are not there, or damaged");
	}
	c->segment = s;
	c->nr_threads = s->nr_threads;
	wire_add_up(s, c->nr_threads, &c->totals);
	return 0;
}

/* Where the agent says that its segment is: {0} as long as it does not count. */
static int
find_segment(const struct objects *o, const struct target *t, raddr *ret, struct err *e)
{
	struct image_symbol symbol;

	for (size_t i = 0; i < o->nr; i++)
		if (image_find(o->v[i].image, WIRE_SYMBOL, &symbol) == 0)
			return os_read(t, symbol.addr, &ret->v, sizeof ret->v, e);
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"%d (%s) does not have memdiag's agent, so nobody has counted. Start it with "
		"'memdiag run'; of a process as it is, 'memdiag info' tells what malloc has",
		t->pid, t->comm);
}

/* A child has the segment of its parent until it has one of its own, if it ever does. */
static bool
is_of_another(const struct wire_segment *s, const struct target *t)
{
	struct os_status status;
	struct err e;

	return os_status(t, 0, &status, &e) == 0 && status.inner_tid &&
		s->pid != (uint32_t)status.inner_tid;
}

/*
 * First the header, which tells how many threads there are: pages behind them were never touched, and
 * reading would make them.
 */
static int
read_segment(struct counted *c, const struct target *t, raddr at, struct err *e)
{
	struct wire_segment head;
	uint64_t size = WIRE_HEADER_BYTES;
	void *copy;

	if (os_read(t, at, &head, sizeof head, e) < 0)
		return -1;
	if (head.nr_threads <= WIRE_MAX_THREADS)
		size = WIRE_SEGMENT_BYTES(head.nr_threads);
	copy = calloc(1, size);
	if (!copy)
		return err_set(e, ENOMEM, "cannot read %" PRIu64 " bytes", size);
	if (os_read(t, at, copy, size, e) < 0) {
		free(copy);
		return -1;
	}
	/* A thread that has come meanwhile is not in the copy. */
	((struct wire_segment *)copy)->nr_threads = head.nr_threads;
	return counted_take(c, copy, size, e);
}

int
counted_read(struct counted *c, const struct target *t, struct err *e)
{
	auto_maps struct maps m = { 0 };
	auto_objects struct objects o = { 0 };
	raddr at = { 0 };

	if (maps_read(&m, t, e) < 0 || objects_find(&o, &m, t, NULL, e) < 0)
		return -1;
	if (find_segment(&o, t, &at, e) < 0)
		return -1;
	if (at.v && read_segment(c, t, at, e) < 0)
		return err_context(e, "%d (%s)", t->pid, t->comm);
	if (!at.v || is_of_another(c->segment, t))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) has memdiag's agent, but does not count: it is a child of a process "
			"that does (see 'memdiag run --follow-children'), or its malloc is not one that "
			"the agent can stand in front of", t->pid, t->comm);
	return 0;
}

void
counted_release(struct counted *c)
{
	free(c->segment);
	*c = (struct counted){ 0 };
}

/* ---- asking ---- */

const struct wire_thread *
counted_thread(const struct counted *c, uint32_t i)
{
	return &wire_threads(c->segment)[i];
}

int64_t
counted_thread_bytes(const struct wire_thread *t)
{
	return (int64_t)((uint64_t)t->live_bytes - (uint64_t)t->first_bytes);
}

static bool
has_limit(const struct wire_segment *s)
{
	return s->limit_bytes != INT64_MAX;
}

/* The name with number I of NAMES, "?" when there is none: the number is a stranger's. */
static const char *
name_of(const char *const *names, uint32_t i)
{
	for (; *names; names++)
		if (!i--)
			return *names;
	return "?";
}

static const char *
started_at(const struct wire_segment *s, char *buf, size_t size)
{
	time_t seconds = (time_t)(s->started_ns / 1000000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(buf, size, "?");
	return buf;
}

/* ---- printing ---- */

static void
print_limit(const struct counted *c, const struct ui_options *opt, FILE *f)
{
	const struct wire_segment *s = c->segment;

	if (!has_limit(s)) {
		fputs("limit      none\n", f);
		return;
	}
	fprintf(f, "limit      %s, on which: %s", UI_SIZE(opt, (uint64_t)s->limit_bytes),
		name_of(wire_on_limit_names, s->on_limit));
	if (s->nr_refused)
		fprintf(f, "; %" PRIu64 " calls were refused", s->nr_refused);
	fputs(s->is_reported ? "; it was passed\n" : "\n", f);
}

void
counted_print(const struct counted *c, const struct ui_options *opt, FILE *f)
{
	const struct wire_segment *s = c->segment;
	const struct wire_totals *sum = &c->totals;
	char when[64];

	fprintf(f, "counted    %s bytes, since %s\n", name_of(wire_account_names, s->account),
		started_at(s, when, sizeof when));
	fprintf(f, "live       %s in %" PRIu64 " blocks, and %s mapped\n",
		UI_SIZE(opt, sum->live_bytes - (sum->mapped_bytes < sum->live_bytes
						? sum->mapped_bytes : sum->live_bytes)),
		sum->nr_live, UI_SIZE(opt, sum->mapped_bytes));
	fprintf(f, "peak       %s of both\n", UI_SIZE(opt, sum->peak_bytes));
	fprintf(f, "so far     %" PRIu64 " blocks allocated, %" PRIu64 " freed; %" PRIu64
		" mappings made\n", sum->nr_allocated, sum->nr_freed, s->nr_mappings);
	fprintf(f, "code       %s, %s\n", UI_SIZE(opt, s->code_bytes),
		s->base_bytes ? "counts for the limit" : "not counted");
	print_limit(c, opt, f);
}

int
counted_to_json(const struct counted *c, json_t *data, struct err *e)
{
	const struct wire_segment *s = c->segment;
	const struct wire_totals *sum = &c->totals;
	char when[64];
	json_t *more = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:I}",
		"since", started_at(s, when, sizeof when),
		"account", name_of(wire_account_names, s->account),
		"live_bytes", (json_int_t)sum->live_bytes,
		"peak_bytes", (json_int_t)sum->peak_bytes,
		"mapped_bytes", (json_int_t)sum->mapped_bytes,
		"mapped_peak_bytes", (json_int_t)s->mapped_peak_bytes,
		"code_bytes", (json_int_t)s->code_bytes,
		"code_counts", s->base_bytes != 0,
		"blocks", (json_int_t)sum->nr_live,
		"blocks_allocated", (json_int_t)sum->nr_allocated,
		"blocks_freed", (json_int_t)sum->nr_freed,
		"mappings_made", (json_int_t)s->nr_mappings);
	json_t *limit = !has_limit(s) ? json_null() : json_pack("{s:I, s:s, s:I, s:b}",
		"bytes", (json_int_t)s->limit_bytes,
		"on_limit", name_of(wire_on_limit_names, s->on_limit),
		"refused", (json_int_t)s->nr_refused,
		"passed", s->is_reported != 0);

	if (json_object_set_new(more, "limit", limit) < 0 || json_object_update_new(data, more) < 0)
		return err_set(e, ENOMEM, "cannot write JSON");
	return 0;
}

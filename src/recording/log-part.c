#include <config.h>

#include "recording/log-part.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "wire/sites.h"

#define TEXT_BYTES ((size_t)256 << 10)

/* Most texts of maps in a file: one in each round for an hour. */
#define MAX_TEXTS 65536

/* Results of a function that reads a record, besides -1 with E. */
enum { CUT, DONE };

/* ---- text ---- */

static uint64_t
log_part_offset_of(const struct log_part *p)
{
	return p->text_at + p->at;
}

/* Set E to "cannot read 'NAME': byte N, unpacked: WHY". */
static int
log_part_refuse(const struct log_part *p, struct err *e, const char *why)
{
	char shown[256];

	return err_set(e, 0, "cannot read '%s': byte %" PRIu64 " of what it unpacks to: %s",
		text_printable(p->name, shown, sizeof shown), log_part_offset_of(p), why);
}

static int
log_part_no_memory(const struct log_part *p, struct err *e)
{
	char shown[256];

	return err_set(e, ENOMEM, "cannot read '%s'", text_printable(p->name, shown, sizeof shown));
}

/* Drop the bytes after max_bytes. */
static void
cut_text(struct log_part *p)
{
	if (p->text_at + p->end < p->max_bytes)
		return;
	p->end = (size_t)(p->max_bytes - p->text_at);
	p->has_read_all = true;
}

/* Read until LEN bytes are in the text, or the file ends.  0, or -1 with E. */
static int
have(struct log_part *p, size_t len, struct err *e)
{
	if (p->end - p->at >= len || p->has_read_all)
		return 0;
	memmove(p->text, p->text + p->at, p->end - p->at);
	p->text_at += p->at;
	p->end -= p->at;
	p->at = 0;
	if (len > p->room) {
		uint8_t *bigger = realloc(p->text, len);

		if (!bigger)
			return log_part_no_memory(p, e);
		p->text = bigger;
		p->room = len;
	}
	while (p->end < len && !p->has_read_all) {
		long n = stream_read(p->stream, (char *)p->text + p->end, p->room - p->end, e);

		if (n < 0)
			return -1;
		p->has_read_all = n == 0;
		p->end += (size_t)n;
		cut_text(p);
	}
	return 0;
}

void
log_part_limit(struct log_part *p, uint64_t max_bytes)
{
	p->max_bytes = max_bytes;
	cut_text(p);
}

/* Read the next NR numbers of a record into V.  DONE, CUT, or -1 with E. */
static int
read_numbers(struct log_part *p, const uint8_t **at, uint64_t *v, size_t nr, struct err *e)
{
	const uint8_t *const end = p->text + p->end;

	for (size_t i = 0; i < nr; i++) {
		if (log_get(at, end, &v[i]))
			continue;
		return *at == end ? CUT : log_part_refuse(p, e, "a number has more than 64 bits");
	}
	return DONE;
}

/* ---- sites ---- */

static int
log_part_read_node(struct log_part *p, const uint64_t *v, struct err *e)
{
	const struct log_node node = { p->last_address + log_unfold(v[2]), (uint32_t)v[0],
		(uint32_t)v[1], (uint32_t)p->names.texts.nr };

	if (!v[0] || v[0] >= WIRE_SITES_MAX_NODES || log_names_node(&p->names, node.number))
		return log_part_refuse(p, e, "no call can have that number");
	/* A caller comes first, so every stack ends. */
	if (v[1] >= WIRE_SITES_MAX_NODES || (v[1] && !log_names_node(&p->names, node.parent)))
		return log_part_refuse(p, e, "a call has a caller that is not there");
	p->last_address = node.address;
	return log_names_add_node(&p->names, &node) < 0 ? log_part_no_memory(p, e) : DONE;
}

static bool
is_site(const struct log_part *p, uint64_t site)
{
	return site < p->names.sites.nr && p->names.sites.v[site];
}

static int
read_site(struct log_part *p, const uint64_t *v, struct err *e)
{
	if (v[0] >= WIRE_SITES_MAX_SITES || is_site(p, v[0]))
		return log_part_refuse(p, e, "no site can have that number");
	if (v[1] >= WIRE_SITES_MAX_NODES || (v[1] && !log_names_node(&p->names, (uint32_t)v[1])))
		return log_part_refuse(p, e, "a site has a stack that is not there");
	if (log_names_add_site(&p->names, (uint32_t)v[0], (uint32_t)v[1]) < 0)
		return log_part_no_memory(p, e);
	p->r.nr_sites = (uint32_t)p->names.sites.nr;
	return DONE;
}

static int
log_part_read_maps(struct log_part *p, const uint8_t **at, struct err *e)
{
	const size_t before = (size_t)(*at - (p->text + p->at));
	uint64_t len = 0;
	char **text;
	int r = read_numbers(p, at, &len, 1, e);

	if (r != DONE)
		return r;
	if (len > LOG_MAX_MAPS_BYTES)
		return log_part_refuse(p, e, "nothing has so many mappings");
	if (have(p, before + LOG_MAX_RECORD_BYTES + (size_t)len, e) < 0)
		return -1;
	*at = p->text + p->at + before;
	read_numbers(p, at, &len, 1, e);
	if (len > (size_t)(p->text + p->end - *at))
		return CUT;
	if (p->is_followed) {
		*at += len;
		return DONE;
	}
	if (p->names.texts.nr == MAX_TEXTS)
		return log_part_refuse(p, e, "what is mapped does not change so often");
	text = array_add(&p->names.texts);
	if (text)
		*text = strndup((const char *)*at, (size_t)len);
	if (!text || !*text)
		return log_part_no_memory(p, e);
	*at += len;
	return DONE;
}

/* ---- records ---- */

static int
log_part_read_live(
	struct log_part *p, bool is_mapped, const uint64_t *v, struct event *ret, struct err *e)
{
	struct amount *const before = is_mapped ? &p->mapped_before : &p->live_before;
	struct amount a;

	if (!is_site(p, v[0]))
		return log_part_refuse(p, e, "it has a site that is not there");
	if (p->has_begun)
		return log_part_refuse(p, e, "what was live comes behind events");
	if (!v[1] && v[2])
		return log_part_refuse(p, e, "bytes are live without a block");
	*ret = (struct event){ p->time_ns, v[2], (uint32_t)v[0],
		is_mapped ? EVENT_LIVE_MAPPED : EVENT_LIVE, v[1] };
	a = live_amount_of(ret);
	if (!amount_has_room(before, &a))
		return log_part_refuse(p, e, "no process has so much");
	amount_add(before, &a);
	return DONE;
}

/* Read an event of a mapping, of KIND. */
static int
log_part_read_mapping(struct log_part *p, enum event_kind kind, const uint64_t *v,
	struct event *ret, struct err *e)
{
	if (!is_site(p, v[0]))
		return log_part_refuse(p, e, "it has a site that is not there");
	if (v[1] > EVENT_MAX_BYTES)
		return log_part_refuse(p, e, "no mapping has so many bytes");
	p->nr_events++;
	p->has_begun = true;
	*ret = (struct event){ p->time_ns, v[1], (uint32_t)v[0], kind, 0 };
	return DONE;
}

static int
log_part_read_time(struct log_part *p, uint64_t ticks, struct event *ret, struct err *e)
{
	if (ticks > LOG_MAX_TICKS || p->time_ns / LOG_TICK_NS + ticks > LOG_MAX_TICKS)
		return log_part_refuse(p, e, "invalid time");
	p->time_ns += ticks * LOG_TICK_NS;
	p->has_begun = true;
	*ret = (struct event){ .time_ns = p->time_ns, .kind = EVENT_TIME };
	return DONE;
}

static int
log_part_read_moment(struct log_part *p, const uint64_t *v, struct event *ret, struct err *e)
{
	if (v[0] > EVENT_MAX_BYTES)
		return log_part_refuse(p, e, "no process has so much resident");
	p->has_begun = true;
	p->nr_dropped = v[1];
	p->dropped_bytes = v[2];
	p->nr_unmatched = v[3];
	p->unmatched_bytes = v[4];
	*ret = (struct event){ p->time_ns, v[0], 0, v[0] ? EVENT_RSS : EVENT_TIME, 0 };
	return DONE;
}

static int
read_unordered(struct log_part *p, const uint64_t *v, struct event *ret, struct err *e)
{
	if (v[1] > EVENT_MAX_BYTES || v[3] > EVENT_MAX_BYTES)
		return log_part_refuse(p, e, "no process has so much");
	p->has_begun = true;
	p->nr_unordered = v[2];
	p->unordered_bytes = v[3];
	*ret = (struct event){ p->time_ns, v[1], 0, EVENT_UNORDERED, 0 };
	return DONE;
}

static int
read_end(struct log_part *p, const uint64_t *v, struct err *e)
{
	if (v[0] != p->nr_events || v[1] > 1)
		return log_part_refuse(p, e, "its events are not all that there were");
	p->has_end = p->has_begun = true;
	p->is_last = v[1];
	return DONE;
}

/* Counts of the numbers in records that are not events. */
static const uint8_t nr_numbers[] = {
	[LOG_TIME - LOG_TIME] = 1,
	[LOG_MOMENT - LOG_TIME] = 5,
	[LOG_LIVE - LOG_TIME] = 3,
	[LOG_NODE - LOG_TIME] = 3,
	[LOG_SITE - LOG_TIME] = 2,
	[LOG_MAPS - LOG_TIME] = 0,
	[LOG_MAPPED + EVENT_MAPPED - EVENT_MAPPED - LOG_TIME] = 2,
	[LOG_MAPPED + EVENT_GROWN - EVENT_MAPPED - LOG_TIME] = 2,
	[LOG_MAPPED + EVENT_UNMAPPED - EVENT_MAPPED - LOG_TIME] = 2,
	[LOG_MAPPED + EVENT_SHRUNK - EVENT_MAPPED - LOG_TIME] = 2,
	[LOG_LIVE_MAPPED - LOG_TIME] = 3,
	[LOG_UNORDERED - LOG_TIME] = 4,
	[LOG_END - LOG_TIME] = 2,
};

/*
 * Read the record CODE, whose numbers begin at AT.  An event goes into *RET; its site is UINT32_MAX
 * if the record was not an event.  DONE, CUT, or -1 with E.
 */
static int
read_record(
	struct log_part *p, unsigned int code, const uint8_t **at, struct event *ret, struct err *e)
{
	uint64_t v[5];
	int r;

	if (p->has_end)
		return log_part_refuse(p, e, "something follows its end");
	r = read_numbers(p, at, v, nr_numbers[code - LOG_TIME], e);
	if (r != DONE)
		return r;
	p->is_at_moment = code == LOG_MOMENT;
	switch (code) {
	case LOG_TIME:
		return log_part_read_time(p, v[0], ret, e);
	case LOG_MOMENT:
		return log_part_read_moment(p, v, ret, e);
	case LOG_LIVE:
	case LOG_LIVE_MAPPED:
		return log_part_read_live(p, code == LOG_LIVE_MAPPED, v, ret, e);
	case LOG_UNORDERED:
		return read_unordered(p, v, ret, e);
	case LOG_NODE:
		return log_part_read_node(p, v, e);
	case LOG_SITE:
		return read_site(p, v, e);
	case LOG_MAPS:
		return log_part_read_maps(p, at, e);
	case LOG_MAPPED + EVENT_MAPPED - EVENT_MAPPED:
	case LOG_MAPPED + EVENT_GROWN - EVENT_MAPPED:
	case LOG_MAPPED + EVENT_UNMAPPED - EVENT_MAPPED:
	case LOG_MAPPED + EVENT_SHRUNK - EVENT_MAPPED:
		return log_part_read_mapping(
			p, (enum event_kind)(EVENT_MAPPED + code - LOG_MAPPED), v, ret, e);
	case LOG_END:
		return read_end(p, v, e);
	}
	return log_part_refuse(p, e, "it is of no kind that is known");
}

/* Read an event that is written out.  DONE, CUT, or -1 with E. */
static int
read_written(struct log_part *p, const uint8_t **at, struct log_pair *ret, struct err *e)
{
	uint64_t v[2];
	uint32_t slot;
	int r = read_numbers(p, at, v, 2, e);

	if (r != DONE)
		return r;
	if (!is_site(p, v[0]))
		return log_part_refuse(p, e, "it has a site that is not there");
	if (v[1] > EVENT_MAX_BYTES)
		return log_part_refuse(p, e, "no allocation has so many bytes");
	*ret = (struct log_pair){ v[1], (uint32_t)v[0], true };
	slot = log_slot(ret->site, ret->bytes);
	p->pairs.second[slot] = p->pairs.first[slot % LOG_FIRST_SLOTS] = *ret;
	return DONE;
}

/* Read the event CODE, less than LOG_TIME.  DONE, CUT, or -1 with E. */
static inline int
read_event(
	struct log_part *p, unsigned int code, const uint8_t **at, struct event *ret, struct err *e)
{
	struct log_pair pair;
	unsigned int kind, slot;
	int r;

	if (code < LOG_SECOND) {
		kind = code / LOG_FIRST_SLOTS;
		pair = p->pairs.first[code % LOG_FIRST_SLOTS];
	} else if (code < LOG_WRITTEN) {
		if (*at == p->text + p->end)
			return CUT;
		kind = (code - LOG_SECOND) / 16;
		slot = code % 16 << 8 | *(*at)++;
		pair = p->pairs.second[slot];
		p->pairs.first[slot % LOG_FIRST_SLOTS] = pair;
	} else {
		kind = code - LOG_WRITTEN;
		r = read_written(p, at, &pair, e);
		if (r != DONE)
			return r;
	}
	if (!pair.is_used || p->has_end)
		return log_part_refuse(
			p, e, "an event has a slot that is empty, or follows the end");
	p->nr_events++;
	ret->time_ns = p->time_ns;
	ret->bytes = pair.bytes;
	ret->site = pair.site;
	ret->kind = (enum event_kind)kind;
	return DONE;
}

/* ---- the end ---- */

/* The file ends, or has no further whole record. */
static int
log_part_stop(struct log_part *p, struct err *e)
{
	const char *cut = stream_is_cut(p->stream);
	char shown[256];

	p->has_stopped = true;
	p->nr_bytes = log_part_offset_of(p);
	if (p->max_bytes != UINT64_MAX)
		return p->nr_bytes == p->max_bytes
			? 0
			: err_set(e, 0, "cannot read '%s' again: it has become shorter",
				  text_printable(p->name, shown, sizeof shown));
	if (p->has_end && !cut)
		return 0;
	if (p->is_followed && (!cut || strcmp(cut, "it was cut off") == 0))
		return 0;
	if (cut && strcmp(cut, "it was cut off") != 0)
		p->is_at_moment = false;
	else
		cut = "it was cut off";
	/* Its writer continues, or was killed between two rounds. */
	if (p->is_at_moment)
		return 0;
	p->r.is_partial = true;
	profile_warn(p->r.facts, true,
		"'%s': %s at byte %" PRIu64 " of what it unpacks to; what is before that is shown",
		text_printable(p->name, shown, sizeof shown), cut, p->nr_bytes);
	return 0;
}

void
log_part_resume(struct log_part *p)
{
	stream_resume(p->stream);
	p->has_read_all = p->has_stopped = false;
}

static int
log_part_next(struct recording *r, struct event *v, size_t room, size_t *ret, struct err *e)
{
	struct log_part *p = (struct log_part *)r;

	*ret = 0;
	if (!p->gave_time && room) {
		v[(*ret)++] = (struct event){ .time_ns = p->time_ns, .kind = EVENT_TIME };
		p->gave_time = true;
	}
	while (*ret < room && !p->has_stopped) {
		struct event *to = &v[*ret];
		const uint8_t *at;
		unsigned int code;
		int got;

		if (p->end - p->at < LOG_MAX_RECORD_BYTES && have(p, LOG_MAX_RECORD_BYTES, e) < 0)
			return -1;
		if (p->at == p->end)
			return log_part_stop(p, e);
		at = p->text + p->at;
		code = *at++;
		to->site = UINT32_MAX;
		if (code < LOG_TIME) {
			got = read_event(p, code, &at, to, e);
			p->has_begun = true;
			p->is_at_moment = false;
		} else if (code - LOG_TIME < sizeof nr_numbers) {
			got = read_record(p, code, &at, to, e);
		} else
			return log_part_refuse(p, e, "it is of no kind that is known");
		if (got < 0)
			return -1;
		if (got == CUT)
			return log_part_stop(p, e);
		p->at = (size_t)(at - p->text);
		*ret += to->site != UINT32_MAX;
	}
	return 0;
}

/* ---- the head ---- */

static int
log_part_read_head(struct log_part *p, struct err *e)
{
	const size_t magic = strlen(LOG_MAGIC), word = strlen(LOG_MAGIC_WORD);
	const uint8_t *at;
	uint64_t v[6];
	char shown[256];

	if (have(p, magic + sizeof v * 2 + LOG_MAX_NAME_BYTES, e) < 0)
		return -1;
	if (p->end < magic || memcmp(p->text, LOG_MAGIC, word) != 0)
		return err_set(e, 0, "cannot read '%s': %s",
			text_printable(p->name, shown, sizeof shown),
			stream_is_cut(p->stream) ? stream_is_cut(p->stream)
						 : "it is not a file of a log");
	p->has_stamps = memcmp(p->text, LOG_MAGIC, magic) == 0;
	if (!p->has_stamps && memcmp(p->text, LOG_MAGIC_2, magic) != 0 &&
		memcmp(p->text, LOG_MAGIC_1, magic) != 0)
		return err_set(e, 0,
			"cannot read '%s': it is of another version of the log's format",
			text_printable(p->name, shown, sizeof shown));
	at = p->text + magic;
	if (read_numbers(p, &at, v, 6, e) != DONE || v[5] > LOG_MAX_NAME_BYTES ||
		v[5] > (size_t)(p->text + p->end - at) || v[0] > INT32_MAX || v[1] > UINT32_MAX ||
		v[4] > LOG_MAX_TICKS)
		return log_part_refuse(p, e, "its head is damaged");
	p->head = (struct log_head){ v[0], v[1], v[2], v[3], v[4], "" };
	memcpy(p->head.name, at, (size_t)v[5]);
	p->at = (size_t)(at + v[5] - p->text);
	return 0;
}

static int
rewind_part(struct recording *r, struct err *e)
{
	struct log_part *p = (struct log_part *)r;

	(void)e;
	p->time_ns = (p->head.ticks - p->base_ticks) * LOG_TICK_NS;
	return 0;
}

static void
free_part(struct recording *r)
{
	struct log_part *p = (struct log_part *)r;

	stream_free(p->stream);
	profile_free(p->r.facts);
	log_names_release(&p->names);
	free(p->text);
	free(p);
}

/* A part is read once; its stacks belong to the log. */
static const struct recording_ops ops = {
	.next = log_part_next,
	.rewind = rewind_part,
	.free = free_part,
};

int
log_part_open(struct log_part **ret, struct stream *s, const char *name, struct err *e)
{
	struct log_part *p = calloc(1, sizeof *p);

	if (!p) {
		stream_free(s);
		return err_set(e, ENOMEM, "cannot read '%s'", name);
	}
	p->r.ops = &ops;
	p->r.format = "memdiag-log";
	p->name = name;
	p->stream = s;
	p->max_bytes = UINT64_MAX;
	p->room = TEXT_BYTES;
	p->text = malloc(TEXT_BYTES);
	p->r.facts = profile_new();
	if (!p->text || !p->r.facts)
		log_part_no_memory(p, e);
	else if (log_part_read_head(p, e) == 0) {
		*ret = p;
		return 0;
	}
	free_part(&p->r);
	return -1;
}

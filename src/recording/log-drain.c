#include <config.h>

#include "recording/log-drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "recording/live.h"
#include "wire/wire.h"

#define HEAD_BYTES offsetof(struct wire_log_block, word)
#define MAX_WORDS ((WIRE_LOG_BLOCK_BYTES - HEAD_BYTES) / 8)

/* Words of a place that are read at once, and events that are given out at once. */
#define WORDS 512
#define EVENTS 1024
/* No thread's counter is ahead of ours by this; such a stamp is invalid. */
#define AHEAD_STAMPS (UINT64_C(1) << 36)
/* Rounds that an event may be under way; then nothing waits for its thread any longer. */
#define PATIENT_ROUNDS 20
/* A free that seems to precede its allocation waits for it this long. */
#define WAIT_STAMPS WIRE_LOG_FRESH

/* The reader's state of a block. */
struct log_drain_block {
	uint64_t number;
	uint64_t time_ns, stamp; /* of the last time record */
	uint32_t owner, nr_read;
	bool is_bad; /* with this owner and number: it is left alone */
	/*
	 * For NR_UNDER_ROUNDS an event has been under way after NR_WORDS, with UNDER_STAMP or more.
	 */
	uint32_t nr_words, nr_under_rounds;
	uint64_t under_stamp;
};

/* A block that has words to read or is to be returned. */
struct log_drain_entry {
	uint64_t number;
	uint32_t place, index, nr_words;
	bool is_full;
};

/* A place whose blocks are read, one after the other. */
struct cursor {
	size_t at, end; /* range in the entries */
	struct event event;
	uint64_t stamp;	   /* of the event */
	uint32_t from, nr; /* part of the block in WORD */
	uint64_t word[WORDS];
};

struct log_drain {
	struct log_source source;
	uint64_t log_at;
	uint32_t nr_blocks, max_sites, opening;
	struct log_drain_block *block; /* owned; NR_BLOCKS */
	/*
	 * The first NR_TOUCHED were used; TAKEN, as in the log, are the blocks taken in this round.
	 */
	uint32_t nr_touched;
	uint64_t taken[WIRE_LOG_MAX_BLOCKS / 64];
	struct log_drain_site {
		struct live live;     /* blocks, from the events given out so far */
		uint32_t first, last; /* of its waiting events, plus 1; 0 without any */
	} * site;		      /* owned; MAX_SITES */
	struct {
		struct waiting {
			struct event event;
			uint32_t next; /* next of the site, plus 1 */
			bool is_out;
		} * v;
		size_t nr, room;
		uint64_t stamp; /* of the first */
	} waiting;		/* owned */
	struct {
		struct log_drain_entry *v;
		size_t nr, room;
	} entries;
	struct cursor **cursor; /* owned, the first ROOM_CURSORS; a heap of NR_CURSORS */
	size_t nr_cursors, room_cursors;
	uint64_t before_ns, before_stamp; /* of this round */
	uint64_t cut_stamp;		  /* smaller stamps are complete, or not waited for */
	uint64_t last_stamp;		  /* of an event that was given out */
	uint32_t nr_taken;
	bool is_last, is_steady;
	bool is_ordered; /* the stamps of this round give the order */
	struct event event[EVENTS];
	size_t nr_events;
	struct log_drain_state state;
};

/* ---- the log's head ---- */

static int
log_drain_refuse(struct err *e)
{
	return err_set_kind(
		e, ERR_UNSUPPORTED, 0, "the log of the record is of another memdiag, or damaged");
}

static bool
log_drain_fits(const struct wire_sites *head, const struct wire_log *l)
{
	const uint64_t room = head->size_bytes - head->log_at;

	return l->magic == WIRE_LOG_MAGIC && l->nr_blocks && l->nr_blocks <= WIRE_LOG_MAX_BLOCKS &&
		room >= WIRE_LOG_HEADER_BYTES &&
		l->nr_blocks <= (room - WIRE_LOG_HEADER_BYTES) / WIRE_LOG_BLOCK_BYTES;
}

int
log_drain_new(struct log_drain **ret, const struct log_source *s, const struct wire_sites *head,
	bool is_steady, struct err *e)
{
	struct log_drain *d;
	struct wire_log l;

	if (!head->log_at || head->log_at >= head->size_bytes ||
		head->max_sites > WIRE_SITES_MAX_SITES)
		return log_drain_refuse(e);
	if (log_source_read(s, head->log_at, &l, sizeof l, e) < 0)
		return -1;
	if (!log_drain_fits(head, &l))
		return log_drain_refuse(e);
	/* The agent has made its head, but not begun: its events will be of another opening. */
	if (!l.nr_openings)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "the log was not opened yet");
	d = calloc(1, sizeof *d);
	if (d) {
		d->block = calloc(l.nr_blocks, sizeof *d->block);
		d->site = calloc(head->max_sites, sizeof *d->site);
	}
	if (!d || !d->block || !d->site) {
		log_drain_free(d);
		return err_set(e, ENOMEM, "cannot read the log of a record");
	}
	d->source = *s;
	d->log_at = head->log_at;
	d->nr_blocks = l.nr_blocks;
	d->max_sites = head->max_sites;
	d->is_steady = is_steady;
	d->opening = l.is_open ? l.is_open : l.nr_openings;
	*ret = d;
	return 0;
}

void
log_drain_free(struct log_drain *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->room_cursors; i++)
		free(d->cursor[i]);
	free(d->cursor);
	free(d->entries.v);
	free(d->block);
	free(d->site);
	free(d->waiting.v);
	free(d);
}

struct log_drain_state
log_drain_state(const struct log_drain *d)
{
	return d->state;
}

/* ---- which blocks have something new ---- */

static uint64_t
block_at(const struct log_drain *d, uint32_t i)
{
	return d->log_at + WIRE_LOG_HEADER_BYTES + (uint64_t)i * WIRE_LOG_BLOCK_BYTES;
}

/*
 * An event is under way in B, whose head was read after D->before_stamp.  Unless the same event was
 * under way in the last round, it has got its stamp since then.
 */
static void
note_under_way(
	struct log_drain *d, struct log_drain_block *b, uint32_t nr_words, uint64_t last_before)
{
	if (!b->nr_under_rounds++ || b->nr_words != nr_words) {
		b->nr_under_rounds = 1;
		b->nr_words = nr_words;
		b->under_stamp = last_before;
	}
	if (b->nr_under_rounds <= PATIENT_ROUNDS && b->under_stamp < d->cut_stamp)
		d->cut_stamp = b->under_stamp;
}

/* Block number I has the head H.  0, or -1 if memory runs out. */
static int
note_block(struct log_drain *d, uint32_t i, const struct wire_log_block *h, uint64_t last_before)
{
	const uint32_t nr_words = h->nr_words & ~WIRE_LOG_IS_STAMPING;
	struct log_drain_block *b = &d->block[i];
	struct log_drain_entry *entry;

	if (!h->owner || !h->number)
		return 0;
	if (b->owner != h->owner || b->number != h->number)
		*b = (struct log_drain_block){ .owner = h->owner, .number = h->number };
	if (nr_words != h->nr_words)
		note_under_way(d, b, nr_words, last_before);
	else
		b->nr_under_rounds = 0;
	/* Its words belong to another opening: only return the block. */
	if (h->opening != d->opening)
		b->nr_read = nr_words;
	if ((h->owner > WIRE_MAX_THREADS && h->owner != WIRE_LOG_OWNER_OF_MAPPINGS) ||
		nr_words > MAX_WORDS || nr_words < b->nr_read) {
		d->state.nr_damaged += !b->is_bad;
		b->is_bad = true;
	}
	if (b->is_bad || (nr_words == b->nr_read && !h->is_full))
		return 0;
	entry = array_add(&d->entries);
	if (!entry)
		return -1;
	*entry = (struct log_drain_entry){ h->number, h->owner, i, nr_words, h->is_full };
	return 0;
}

/*
 * Read the head of block number I.  An event under way in it is complete in a moment, unless its
 * thread has no processor: so read it up to two times.
 */
static int
log_drain_read_block(struct log_drain *d, uint32_t i, struct wire_log_block *ret, struct err *e)
{
	for (int looks = 0; looks < 2; looks++)
		if (log_source_read(&d->source, block_at(d, i), ret, HEAD_BYTES, e) < 0)
			return -1;
		else if (!(ret->nr_words & WIRE_LOG_IS_STAMPING))
			break;
	return 0;
}

static int
find_blocks(struct log_drain *d, uint64_t last_before, struct err *e)
{
	struct wire_log_block h;
	struct wire_log l;

	d->entries.nr = 0;
	d->nr_taken = 0;
	memset(d->taken, 0, sizeof d->taken);
	if (log_source_read(&d->source, d->log_at, &l, offsetof(struct wire_log, writer), e) < 0)
		return -1;
	d->nr_touched = l.nr_touched < d->nr_blocks ? l.nr_touched : d->nr_blocks;
	for (uint32_t i = 0; i < d->nr_touched; i++) {
		if (log_drain_read_block(d, i, &h, e) < 0)
			return -1;
		d->nr_taken += h.owner != 0;
		d->taken[i / 64] |= (uint64_t)(h.owner != 0) << i % 64;
		if (note_block(d, i, &h, last_before) < 0)
			return err_set(e, ENOMEM, "cannot read the log of a record");
	}
	/* Lose the order of a few events rather than events themselves. */
	if (d->is_last || d->nr_taken > d->nr_blocks / 4 * 3)
		d->cut_stamp = d->before_stamp;
	return 0;
}

static int
compare_entries(const void *va, const void *vb)
{
	const struct log_drain_entry *a = va, *b = vb;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

/* ---- the next event of a place ---- */

/* Store word number I of the block of ENTRY in *RET; I is less than its nr_words. */
static int
get_word(struct log_drain *d, struct cursor *c, const struct log_drain_entry *entry, uint32_t i,
	uint64_t *ret, struct err *e)
{
	if (i < c->from || i >= c->from + c->nr) {
		const uint32_t left = entry->nr_words - i;

		c->from = i;
		c->nr = left < WORDS ? left : WORDS;
		if (log_source_read(&d->source,
			    block_at(d, entry->index) + HEAD_BYTES + 8 * (uint64_t)i, c->word,
			    8 * (size_t)c->nr, e) < 0)
			return -1;
	}
	*ret = c->word[i - c->from];
	return 0;
}

/* A time in the future is invalid: the event came before now. */
static void
log_drain_set_time(
	const struct log_drain *d, struct log_drain_block *b, uint64_t ns, uint64_t stamp)
{
	b->time_ns = ns < d->before_ns ? ns : d->before_ns;
	b->stamp = stamp;
}

/*
 * Return whether an event with STAMP, and those that follow in its place, belong to another round.
 */
static bool
is_for_later(const struct log_drain *d, uint64_t stamp)
{
	return !d->is_last && stamp >= d->cut_stamp &&
		(stamp < d->before_stamp || stamp - d->before_stamp < AHEAD_STAMPS);
}

static const enum event_kind kinds[] = {
	[WIRE_LOG_ALLOCATED] = EVENT_ALLOCATED,
	[WIRE_LOG_FREED] = EVENT_FREED,
	[WIRE_LOG_FREED_SOON] = EVENT_FREED_SOON,
	[WIRE_LOG_TIME] = EVENT_TIME,
	[WIRE_LOG_MAPPED] = EVENT_MAPPED,
	[WIRE_LOG_GROWN] = EVENT_GROWN,
	[WIRE_LOG_UNMAPPED] = EVENT_UNMAPPED,
	[WIRE_LOG_SHRUNK] = EVENT_SHRUNK,
};

/*
 * Return the kind of an event whose first word has KIND; remove the kind from *WORD, the second
 * word, and leave the bytes.
 */
static enum wire_log_kind
take_kind(enum wire_log_kind kind, uint64_t *word)
{
	if (kind != WIRE_LOG_ALLOCATED || !wire_log_is_mapping(*word))
		return kind;
	kind = (enum wire_log_kind)(*word >> WIRE_LOG_MAPPING_SHIFT);
	*word &= (UINT64_C(1) << WIRE_LOG_MAPPING_SHIFT) - 1;
	return kind;
}

/*
 * Read the event WORD, the next of B, into the cursor.  1, 0 if it is not a valid event, or -1 with
 * E.
 */
static int
log_drain_take_event(struct log_drain *d, struct cursor *c, const struct log_drain_entry *entry,
	uint64_t word, struct err *e)
{
	struct log_drain_block *b = &d->block[entry->index];
	const uint32_t site = wire_log_site(word);
	enum wire_log_kind kind = wire_log_kind(word);
	uint64_t bytes = wire_log_value(word);

	b->nr_read++;
	if (bytes == WIRE_LOG_MANY_BYTES && b->nr_read < entry->nr_words) {
		if (get_word(d, c, entry, b->nr_read, &bytes, e) < 0)
			return -1;
		b->nr_read++;
		kind = take_kind(kind, &bytes);
	}
	if (!site || site >= d->max_sites || bytes > INT64_MAX) {
		d->state.nr_damaged++;
		return 0;
	}
	c->event = (struct event){ b->time_ns, bytes, site, kinds[kind], 0 };
	return 1;
}

/* Read a time; WORD is its first word and the next of B. */
static int
take_time(struct log_drain *d, struct cursor *c, const struct log_drain_entry *entry, uint64_t word,
	struct err *e)
{
	struct log_drain_block *b = &d->block[entry->index];
	uint64_t stamp;

	if (++b->nr_read == entry->nr_words) {
		d->state.nr_damaged++;
		return 0;
	}
	if (get_word(d, c, entry, b->nr_read, &stamp, e) < 0)
		return -1;
	b->nr_read++;
	log_drain_set_time(d, b, wire_log_value(word), stamp);
	return 0;
}

/* Advance to the next event.  1: it is in the cursor.  0: no more events.  -1 with E. */
static int
log_drain_advance(struct log_drain *d, struct cursor *c, struct err *e)
{
	while (c->at < c->end) {
		const struct log_drain_entry *entry = &d->entries.v[c->at];
		struct log_drain_block *b = &d->block[entry->index];
		uint64_t word;
		int status;

		if (b->nr_read == entry->nr_words) {
			c->at++;
			c->nr = 0;
			continue;
		}
		if (get_word(d, c, entry, b->nr_read, &word, e) < 0)
			return -1;
		if (wire_log_kind(word) == WIRE_LOG_TIME) {
			if (take_time(d, c, entry, word, e) < 0)
				return -1;
			continue;
		}
		c->stamp = wire_log_stamp(word, b->stamp);
		if (is_for_later(d, c->stamp))
			return 0;
		status = log_drain_take_event(d, c, entry, word, e);
		if (status)
			return status;
	}
	return 0;
}

/* ---- all places ---- */

static bool
is_before(const struct cursor *a, const struct cursor *b)
{
	return a->stamp < b->stamp;
}

/* Move cursor number I down the heap to its place. */
static void
sink_cursor(struct log_drain *d, size_t i)
{
	struct cursor *c = d->cursor[i];

	for (;;) {
		size_t next = 2 * i + 1;

		if (next >= d->nr_cursors)
			break;
		if (next + 1 < d->nr_cursors && is_before(d->cursor[next + 1], d->cursor[next]))
			next++;
		if (!is_before(d->cursor[next], c))
			break;
		d->cursor[i] = d->cursor[next];
		i = next;
	}
	d->cursor[i] = c;
}

/* Cursors without an event stay after the heap: the array owns all of them. */
static void
remove_first(struct log_drain *d)
{
	struct cursor *c = d->cursor[0];

	d->cursor[0] = d->cursor[--d->nr_cursors];
	d->cursor[d->nr_cursors] = c;
	if (d->nr_cursors)
		sink_cursor(d, 0);
}

static struct cursor *
new_cursor(struct log_drain *d)
{
	if (d->nr_cursors == d->room_cursors) {
		struct cursor *c,
			**v = reallocarray(d->cursor, d->room_cursors + 1, sizeof(struct cursor *));

		if (!v)
			return NULL;
		d->cursor = v;
		c = malloc(sizeof *c);
		if (!c)
			return NULL;
		d->cursor[d->room_cursors++] = c;
	}
	return d->cursor[d->nr_cursors];
}

static int
make_cursors(struct log_drain *d, struct err *e)
{
	d->nr_cursors = 0;
	for (size_t i = 0, end; i < d->entries.nr; i = end) {
		struct cursor *c = new_cursor(d);
		int status;

		if (!c)
			return err_set(e, ENOMEM, "cannot read the log of a record");
		for (end = i + 1;
			end < d->entries.nr && d->entries.v[end].place == d->entries.v[i].place;
			end++)
			;
		c->at = i;
		c->end = end;
		c->from = c->nr = 0;
		status = log_drain_advance(d, c, e);
		if (status < 0)
			return -1;
		d->nr_cursors += (size_t)status;
	}
	for (size_t i = d->nr_cursors / 2; i--;)
		sink_cursor(d, i);
	return 0;
}

static int
give_out(struct log_drain *d, const struct log_sink *sink, struct err *e)
{
	const size_t nr = d->nr_events;

	d->nr_events = 0;
	d->state.nr_events += nr;
	return nr ? sink->add(sink->context, d->event, nr, e) : 0;
}

static int
log_drain_put(
	struct log_drain *d, const struct event *event, const struct log_sink *sink, struct err *e)
{
	struct event *to = &d->event[d->nr_events++];

	*to = *event;
	if (to->time_ns < d->state.last_ns)
		to->time_ns = d->state.last_ns;
	d->state.last_ns = to->time_ns;
	return d->nr_events == EVENTS ? give_out(d, sink, e) : 0;
}

/*
 * Return whether EVENT frees a block that was not given out yet, because its allocation was
 * dropped, or is of a thread whose stamps lag.  The allocation is in the log: threads append it
 * before any thread can free the block.
 */
static bool
is_too_early(const struct log_drain *d, const struct event *event)
{
	return event->kind != EVENT_ALLOCATED &&
		!live_has_block(&d->site[event->site].live, event->bytes);
}

/* An invalid event is not counted: it is damaged, or the allocation was dropped. */
static void
log_drain_count(struct log_drain *d, const struct event *event)
{
	live_add(&d->site[event->site].live, event);
}

/* Let EVENT with STAMP, which is too early, wait.  False if memory runs out. */
static bool
let_wait(struct log_drain *d, const struct event *event, uint64_t stamp)
{
	struct log_drain_site *site = &d->site[event->site];
	struct waiting *w = d->waiting.nr < UINT32_MAX - 1 ? array_add(&d->waiting) : NULL;

	if (!w)
		return false;
	if (d->waiting.nr == 1)
		d->waiting.stamp = stamp;
	w->event = *event;
	if (site->last)
		d->waiting.v[site->last - 1].next = (uint32_t)d->waiting.nr;
	else
		site->first = (uint32_t)d->waiting.nr;
	site->last = (uint32_t)d->waiting.nr;
	return true;
}

/* Give out waiting events of site NUMBER that are now valid, after another of its events. */
static int
put_waiting(struct log_drain *d, uint32_t number, const struct log_sink *sink, struct err *e)
{
	struct log_drain_site *site = &d->site[number];

	while (site->first) {
		struct waiting *w = &d->waiting.v[site->first - 1];

		if (is_too_early(d, &w->event))
			break;
		log_drain_count(d, &w->event);
		w->is_out = true;
		site->first = w->next;
		if (!site->first)
			site->last = 0;
		if (log_drain_put(d, &w->event, sink, e) < 0)
			return -1;
	}
	return 0;
}

/* Give out all frees that still wait: their allocations were dropped. */
static int
put_all_waiting(struct log_drain *d, const struct log_sink *sink, struct err *e)
{
	for (size_t i = 0; i < d->waiting.nr; i++) {
		const struct waiting *w = &d->waiting.v[i];

		d->site[w->event.site].first = d->site[w->event.site].last = 0;
		if (!w->is_out && log_drain_put(d, &w->event, sink, e) < 0)
			return -1;
	}
	d->waiting.nr = 0;
	return 0;
}

/* Count the event with STAMP if it is given out after a later one. */
static void
log_drain_check_order(struct log_drain *d, const struct event *event, uint64_t stamp)
{
	const bool is_known = d->is_ordered ? stamp >= d->last_stamp : d->nr_cursors < 2;

	if (!is_known) {
		d->state.nr_unordered++;
		d->state.unordered_bytes += event->bytes;
	}
	if (stamp > d->last_stamp && stamp <= d->before_stamp)
		d->last_stamp = stamp;
}

static int
log_drain_add_event(struct log_drain *d, const struct event *event, uint64_t stamp,
	const struct log_sink *sink, struct err *e)
{
	if (d->waiting.nr && stamp - d->waiting.stamp >= WAIT_STAMPS &&
		put_all_waiting(d, sink, e) < 0)
		return -1;
	/* All mappings are in one place, in their order. */
	if (event_is_of_mapping(event->kind))
		return log_drain_put(d, event, sink, e);
	log_drain_check_order(d, event, stamp);
	if (is_too_early(d, event) && let_wait(d, event, stamp))
		return 0;
	log_drain_count(d, event);
	return log_drain_put(d, event, sink, e) < 0 ? -1 : put_waiting(d, event->site, sink, e);
}

/* Return the stamp of the event that follows those of the first cursor. */
static uint64_t
second_stamp(const struct log_drain *d)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 1; i < 3 && i < d->nr_cursors; i++)
		if (d->cursor[i]->stamp < least)
			least = d->cursor[i]->stamp;
	return least;
}

/* Give out events of the first cursor.  1, 0 if it has no more, or -1 with E. */
static int
log_drain_take_turn(struct log_drain *d, const struct log_sink *sink, struct err *e)
{
	const uint64_t until_stamp = second_stamp(d);
	struct cursor *c = d->cursor[0];
	int status;

	do {
		if (log_drain_add_event(d, &c->event, c->stamp, sink, e) < 0)
			return -1;
		status = log_drain_advance(d, c, e);
	} while (status > 0 && c->stamp <= until_stamp);
	return status;
}

static int
log_drain_merge(struct log_drain *d, const struct log_sink *sink, struct err *e)
{
	if (make_cursors(d, e) < 0)
		return -1;
	while (d->nr_cursors) {
		const int status = log_drain_take_turn(d, sink, e);

		if (status < 0)
			return -1;
		if (status)
			sink_cursor(d, 0);
		else
			remove_first(d);
	}
	return put_all_waiting(d, sink, e) < 0 ? -1 : give_out(d, sink, e);
}

/* ---- afterwards ---- */

/* The bytes that are written last, at once: see struct wire_log_block. */
#define OWNER_BYTES offsetof(struct wire_log_block, number)

/*
 * Return a block.  Its head is read once more: the block was seen to be full, so the number of its
 * words is final now, which it need not have been in the earlier copy.
 */
static int
log_drain_give_back(struct log_drain *d, const struct log_drain_entry *entry, struct err *e)
{
	static const struct wire_log_block none;
	const uint64_t at = block_at(d, entry->index);
	const struct log_drain_block *b = &d->block[entry->index];
	struct wire_log_block h;

	if (!entry->is_full || b->nr_read != entry->nr_words)
		return 0;
	if (log_source_read(&d->source, at, &h, HEAD_BYTES, e) < 0)
		return -1;
	if (h.owner != b->owner || h.number != b->number || h.nr_words != b->nr_read)
		return 0;
	if (log_source_write(&d->source, at + OWNER_BYTES, (const char *)&none + OWNER_BYTES,
		    offsetof(struct wire_log_block, unused) - OWNER_BYTES, e) < 0 ||
		log_source_write(&d->source, at, &none, OWNER_BYTES, e) < 0)
		return -1;
	d->taken[entry->index / 64] &= ~(UINT64_C(1) << entry->index % 64);
	return 0;
}

static int
give_all_back(struct log_drain *d, struct err *e)
{
	for (size_t i = 0; i < d->entries.nr; i++)
		if (log_drain_give_back(d, &d->entries.v[i], e) < 0)
			return -1;
	return log_source_write(&d->source, d->log_at + WIRE_LOG_TAKEN_AT, d->taken,
		(d->nr_touched + 63) / 64 * sizeof d->taken[0], e);
}

/*
 * Let one place append alone again, if the others no longer append: each place has its own stamps.
 * A place may have become alone meanwhile, and the kernel may copy byte by byte: so change only the
 * upper byte, which is 0 in every place's number; WIRE_LOG_TOGETHER without it is not a valid
 * place.
 */
static int
log_drain_end_together(struct log_drain *d, const struct wire_log *l, struct err *e)
{
	const uint64_t upper = offsetof(struct wire_log, alone) + sizeof l->alone - 1;
	const char none = 0;

	_Static_assert(WIRE_MAX_THREADS < (WIRE_LOG_TOGETHER & UINT32_MAX >> 8),
		"what is left is not a place");
	return l->alone != WIRE_LOG_TOGETHER
		? 0
		: log_source_write(&d->source, d->log_at + upper, &none, 1, e);
}

int
log_drain_round(struct log_drain *d, const struct log_now *now, bool is_last,
	const struct log_sink *sink, struct err *e)
{
	const uint64_t last_before = d->before_stamp;
	struct wire_log l;

	d->before_ns = now->ns;
	d->before_stamp = d->cut_stamp = now->stamp;
	d->is_last = is_last;
	d->is_ordered = d->is_steady;
	if (find_blocks(d, last_before, e) < 0)
		return -1;
	if (now->stamp < last_before) {
		/*
		 * The counter has gone back, as it may in a virtual machine that was saved and
		 * restored: no event waits for its present value.
		 */
		d->cut_stamp = UINT64_MAX;
		d->last_stamp = 0;
		d->is_ordered = false;
	}
	if (d->entries.nr)
		qsort(d->entries.v, d->entries.nr, sizeof *d->entries.v, compare_entries);
	if (log_drain_merge(d, sink, e) < 0 || give_all_back(d, e) < 0)
		return -1;
	if (log_source_read(&d->source, d->log_at, &l, offsetof(struct wire_log, writer), e) < 0)
		return -1;
	d->state.nr_dropped = l.nr_dropped;
	d->state.dropped_bytes = l.dropped_bytes;
	return log_drain_end_together(d, &l, e);
}

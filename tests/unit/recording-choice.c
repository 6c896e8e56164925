/*
 * Blocks of recordings that are made up, of several parts: what each begins with, and what is live
 * of unknown sizes.  tests/live/record-older.sh has recordings at random.
 */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "recording/choice.h"
#include "recording/parts.h"
#include "tap.h"

#define MS UINT64_C(1000000)

struct made {
	struct recording r;
	const struct event *const *part; /* each ends with one of the kind END */
	size_t nr_parts;
	const struct event *first, *next;
	bool is_part;
};
#define END ((enum event_kind)99)

static int
next(struct recording *r, struct event *v, size_t room, size_t *ret, struct err *e)
{
	struct made *m = (struct made *)r;

	(void)e;
	for (*ret = 0; *ret < room && *ret < 3 && m->next->kind != END; (*ret)++)
		v[*ret] = *m->next++;
	return 0;
}

static int
begin_again(struct recording *r, struct err *e)
{
	struct made *m = (struct made *)r;

	(void)e;
	m->next = m->first;
	return 0;
}

static void
free_made(struct recording *r)
{
	if (((struct made *)r)->is_part)
		free(r);
}

static const struct recording_ops part_ops = {
	.next = next, .rewind = begin_again, .free = free_made
};

static size_t
nr_parts(const struct recording *r)
{
	return ((const struct made *)r)->nr_parts;
}

static int
open_part(struct recording *r, size_t part, struct recording **ret, struct err *e)
{
	struct made *opened = malloc(sizeof *opened);

	(void)e;
	*opened = *(struct made *)r;
	opened->is_part = true;
	opened->next = opened->first = opened->part[part];
	opened->r.ops = &part_ops;
	opened->r.nr_sites = 8;
	*ret = &opened->r;
	return 0;
}

static int
done(struct recording *r, size_t part, struct recording *opened, struct err *e)
{
	(void)r, (void)part, (void)opened, (void)e;
	return 0;
}

static bool
has_begun(const struct recording *opened)
{
	(void)opened;
	return true;
}

static bool
is_whole(const struct recording *r, size_t part)
{
	(void)r, (void)part;
	return true;
}

static const struct recording_parts parts = { .nr = nr_parts,
	.open = open_part,
	.done = done,
	.has_begun = has_begun,
	.is_whole = is_whole };
static const struct recording_ops ops = { .parts = &parts, .free = free_made };

static void
choose(struct history_chosen *c, const struct event *const *part, size_t nr, uint64_t older_ms,
	uint64_t least, uint64_t most)
{
	struct made m = { .r = { .ops = &ops, .nr_sites = 8 }, .part = part, .nr_parts = nr };
	const struct history_choice choice = {
		.has_age = older_ms, .age_ns = older_ms * MS, .min_bytes = least, .max_bytes = most
	};
	struct history h = { .nr_threads = 1 };
	struct err e;

	*c = (struct history_chosen){ .now_ns = 0 };
	ok(history_read(&h, &m.r, NULL, &e) == 0, "the recording is read");
	ok(history_choose(c, &h, &m.r, &choice, &e) == 0, "blocks are chosen");
	history_release(&h);
}

static void
is_amount(const struct amount *a, int64_t blocks, int64_t bytes, const char *what)
{
	ok(a->blocks == blocks && a->bytes == bytes, "%s: %lld blocks, %lld bytes; not %lld, %lld",
		what, (long long)blocks, (long long)bytes, (long long)a->blocks,
		(long long)a->bytes);
}

static void
check(const struct event *const *part, size_t nr, uint64_t older_ms, uint64_t least, uint64_t most,
	struct amount certain, struct amount possible, struct amount unknown)
{
	struct history_chosen c;

	choose(&c, part, nr, older_ms, least, most);
	is_amount(&c.certain, certain.blocks, certain.bytes, "certain");
	is_amount(&c.possible, possible.blocks, possible.bytes, "possible");
	is_amount(&c.unknown, unknown.blocks, unknown.bytes, "unknown");
	history_chosen_release(&c);
}

/* One file after the other: what each begins with counts once. */
static void
test_parts(void)
{
	static const struct event first[] = { { 0, 0, 0, EVENT_TIME, 0 },
		{ 1 * MS, 10, 1, EVENT_ALLOCATED, 0 }, { 2 * MS, 10, 1, EVENT_ALLOCATED, 0 },
		{ 3 * MS, 50, 2, EVENT_ALLOCATED, 0 }, { .kind = END } };
	static const struct event second[] = { { 4 * MS, 0, 0, EVENT_TIME, 0 },
		{ 4 * MS, 20, 1, EVENT_LIVE, 2 }, { 4 * MS, 50, 2, EVENT_LIVE, 1 },
		{ 5 * MS, 10, 1, EVENT_FREED, 0 }, { 9 * MS, 10, 1, EVENT_ALLOCATED, 0 },
		{ 10 * MS, 0, 0, EVENT_TIME, 0 }, { .kind = END } };
	const struct event *const both[] = { first, second };
	const struct amount none = { 0, 0 };

	check(both, 2, 0, 0, UINT64_MAX, (struct amount){ 3, 70 }, (struct amount){ 3, 70 }, none);
	/* before 4 ms three are live, and then one of two equal ones is freed */
	check(both, 2, 6, 0, UINT64_MAX, (struct amount){ 2, 60 }, (struct amount){ 2, 60 }, none);
	/* before 8 ms two */
	check(both, 2, 2, 0, UINT64_MAX, (struct amount){ 2, 60 }, (struct amount){ 2, 60 }, none);
	check(both, 2, 1, 0, UINT64_MAX, (struct amount){ 3, 70 }, (struct amount){ 3, 70 }, none);
	check(both, 2, 9, 0, UINT64_MAX, (struct amount){ 0, 0 }, (struct amount){ 1, 10 }, none);
	check(both, 2, 10, 0, UINT64_MAX, none, none, none);
	check(both, 2, 100, 0, UINT64_MAX, none, none, none);
	check(both, 2, 0, 11, 50, (struct amount){ 1, 50 }, (struct amount){ 1, 50 }, none);
	check(both, 2, 0, 0, 10, (struct amount){ 2, 20 }, (struct amount){ 2, 20 }, none);
}

/* The first file that is left begins with what was live: its sizes are known of single blocks. */
static void
test_begin(void)
{
	static const struct event only[] = { { 0, 0, 0, EVENT_TIME, 0 },
		{ 0, 300, 1, EVENT_LIVE, 4 }, { 0, 70, 2, EVENT_LIVE, 1 },
		{ 2 * MS, 100, 1, EVENT_FREED, 0 }, { 3 * MS, 100, 1, EVENT_ALLOCATED, 0 },
		{ 4 * MS, 100, 1, EVENT_FREED, 0 }, { 10 * MS, 0, 0, EVENT_TIME, 0 },
		{ .kind = END } };
	const struct event *const part[] = { only };
	const struct amount left = { 3, 200 };

	check(part, 1, 0, 0, UINT64_MAX, (struct amount){ 4, 270 }, (struct amount){ 4, 270 },
		left);
	check(part, 1, 5, 0, UINT64_MAX, (struct amount){ 4, 270 }, (struct amount){ 4, 270 },
		left);
	check(part, 1, 10, 0, UINT64_MAX, (struct amount){ 4, 270 }, (struct amount){ 4, 270 },
		left);
	/* of any age, as they were live before the recording began */
	check(part, 1, 11, 0, UINT64_MAX, (struct amount){ 0, 0 }, (struct amount){ 4, 270 }, left);
	check(part, 1, 0, 1, UINT64_MAX, (struct amount){ 1, 70 }, (struct amount){ 1, 70 }, left);
	check(part, 1, 0, 0, 69, (struct amount){ 0, 0 }, (struct amount){ 0, 0 }, left);
}

/* More groups than there is room for at first. */
static void
test_many(void)
{
	enum { NR = 5000 };
	struct event *v = calloc(NR + 2, sizeof *v);
	const struct event *const part[] = { v };

	for (uint64_t i = 0; i < NR; i++)
		v[i] = (struct event){ i * MS, i + 1, (uint32_t)(i % 8), EVENT_ALLOCATED, 0 };
	v[NR].kind = END;
	check(part, 1, 1000, 0, UINT64_MAX, (struct amount){ 4000, 4000 * 4001 / 2 },
		(struct amount){ 4000, 4000 * 4001 / 2 }, (struct amount){ 0, 0 });
	free(v);
}

int
main(void)
{
	test_parts();
	test_begin();
	test_many();
	return tap_end();
}

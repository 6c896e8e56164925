/*
 * What --push sends: deltas of random profiles, of which a random part is accepted, add up to the
 * last one; the queue is bounded; requests have no character that ends a label.
 *
 *	export-push [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include "base/cleanup.h"
#include "export/push-body.h"
#include "export/push-delta.h"
#include "export/push-queue.h"
#include "export/push.h"
#include "os/clock.h"
#include "seeds.h"

#define NR_SITES 20
#define NR_ADDRESSES 5
#define MAX_DEPTH 3

/* ---- deltas ---- */

/* Sites of a process that allocates. */
static struct site {
	uint32_t nr;
	uint64_t address[MAX_DEPTH];
	int64_t tid;
	uint64_t size_bytes;
	int64_t value[4]; /* in the order of the usual types */
} site[NR_SITES];

static bool
is_same(const struct site *a, const struct site *b)
{
	return a->nr == b->nr && a->tid == b->tid && a->size_bytes == b->size_bytes &&
		memcmp(a->address, b->address, a->nr * sizeof *a->address) == 0;
}

static void
some_sites(void)
{
	memset(site, 0, sizeof site);
	for (size_t i = 0; i < NR_SITES; i++) {
		site[i].nr = (uint32_t)some(MAX_DEPTH + 1);
		for (size_t k = 0; k < site[i].nr; k++)
			site[i].address[k] = 0x1000 + some(NR_ADDRESSES);
		site[i].tid = (int64_t)some(3);
		site[i].size_bytes = 16 * some(3);
	}
}

static void
allocate(void)
{
	for (size_t i = 0; i < NR_SITES; i++)
		if (some(2)) {
			const int64_t blocks = (int64_t)some(10);

			site[i].value[0] += blocks;
			site[i].value[1] += 100 * blocks;
			site[i].value[2] = (int64_t)some((uint64_t)site[i].value[0] + 1);
			site[i].value[3] = 100 * site[i].value[2];
		}
}

/*
 * The profile of the sites, with its frames, threads and types in another order each time, and a
 * type that is not pushed.
 */
static struct profile *
take(void)
{
	static const char *const types[] = { "peak_space", "inuse_space", "alloc_space",
		"alloc_objects", "inuse_objects" };
	static const int value[] = { -1, 3, 1, 0, 2 };
	const size_t turn = some(5), begin = some(NR_SITES);
	struct profile *p = profile_new();
	struct err e;

	for (size_t i = 0; i < 5; i++)
		if (profile_add_type(p, types[(i + turn) % 5], "x", &e) < 0)
			abort();
	for (size_t n = 0; n < NR_SITES; n++) {
		const struct site *s = &site[(begin + n) % NR_SITES];
		struct profile_sample sample = { .size_bytes = s->size_bytes };
		uint32_t frames[MAX_DEPTH];
		int64_t values[5];
		char name[16];

		for (size_t k = 0; k < s->nr; k++)
			if (profile_frame(p, s->address[k], false, &frames[k], &e) < 0)
				abort();
		/* A thread's name changes. */
		snprintf(name, sizeof name, "t%d", (int)some(3));
		if (s->tid && profile_thread(p, s->tid, name, &sample.thread_1, &e) < 0)
			abort();
		for (size_t i = 0; i < 5; i++)
			values[i] =
				value[(i + turn) % 5] < 0 ? 777 : s->value[value[(i + turn) % 5]];
		if (profile_stack(p, frames, s->nr, &sample.stack, &e) < 0 ||
			profile_add_sample(p, sample, values, &e) < 0)
			abort();
	}
	return p;
}

/* Add the samples of P like S to SUM. */
static void
add_up(const struct profile *p, const struct site *s, int64_t sum[4])
{
	for (size_t i = 0; i < p->samples.nr; i++) {
		const struct profile_sample *sample = &p->samples.v[i];
		const struct profile_stack *stack = &p->stacks.v[sample->stack];
		struct site other = { .nr = stack->nr, .size_bytes = sample->size_bytes };

		for (size_t k = 0; k < stack->nr; k++)
			other.address[k] = p->frames.v[p->stack_frames.v[stack->first + k]].address;
		other.tid = sample->thread_1 ? p->threads.v[sample->thread_1 - 1].tid : 0;
		if (is_same(s, &other))
			for (size_t t = 0; t < 4; t++)
				sum[t] += profile_values(p, i)[t];
	}
}

static bool
is_wanted_form(const struct profile *p)
{
	static const char *const names[] = { "alloc_objects", "alloc_space", "inuse_objects",
		"inuse_space" };

	if (p->types.nr != 4 || p->default_type != 3)
		return FAIL("%zu types", p->types.nr);
	for (size_t i = 0; i < 4; i++)
		if (strcmp(p->types.v[i].name, names[i]) != 0)
			return FAIL("type %zu is %s", i, p->types.v[i].name);
	for (size_t i = 0; i < p->samples.nr; i++) {
		const int64_t *v = profile_values(p, i);

		if ((v[0] | v[1] | v[2] | v[3]) <= 0)
			return FAIL("sample %zu has %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
				i, v[0], v[1], v[2], v[3]);
	}
	return true;
}

/* Compare sums of deltas, and what is in use by the last profile, with the sites. */
static bool
is_all_there(int64_t sum[][4])
{
	for (size_t i = 0; i < NR_SITES; i++) {
		int64_t want[4] = { 0 };

		for (size_t k = 0; k < NR_SITES; k++)
			for (size_t t = 0; t < 4 && is_same(&site[i], &site[k]); t++)
				want[t] += site[k].value[t];
		if (memcmp(want, sum[i], sizeof want) != 0)
			return FAIL("site %zu: %" PRId64 " blocks, %" PRId64
				    " in use; want %" PRId64 " and %" PRId64,
				i, sum[i][0], sum[i][2], want[0], want[2]);
	}
	return true;
}

static bool
try_deltas(void)
{
	auto_profile struct profile *base = NULL;
	int64_t sum[NR_SITES][4] = { 0 };
	const size_t nr = 1 + some(8);
	bool is_good = true;

	some_sites();
	for (size_t n = 0; n < nr && is_good; n++) {
		auto_profile struct profile *now = NULL, *delta = NULL;
		struct err e;

		allocate();
		now = take();
		if (push_delta(&delta, now, base, &e) < 0)
			abort();
		is_good = is_wanted_form(delta);
		/* The last one is accepted, and about half of the others. */
		if (n + 1 < nr && some(2))
			continue;
		for (size_t i = 0; i < NR_SITES; i++) {
			sum[i][2] = sum[i][3] = 0;
			add_up(delta, &site[i], sum[i]);
		}
		profile_free(base);
		base = take_ptr(&now);
	}
	return is_good && is_all_there(sum);
}

/* ---- the queue ---- */

static struct push_item
item_of(uint64_t number, uint64_t bytes)
{
	return (struct push_item){ profile_new(), number, bytes };
}

/* A random sequence, beside a list that is bounded in the plainest way. */
static bool
try_queue(void)
{
	struct push_queue q = { .nr = 0 };
	uint64_t number[100], bytes[100];
	size_t from = 0, to = 0;

	for (uint64_t n = 0; n < 60; n++) {
		uint64_t sum = 0;
		size_t nr_dropped = 0, busy;

		if (some(4) == 0 && to > from) {
			const struct push_item item = push_queue_take(&q);

			profile_free(item.p);
			if (item.until_ns != number[from++])
				return FAIL("taken: %" PRIu64, item.until_ns);
			continue;
		}
		q.is_busy = to > from && some(2);
		number[to] = n;
		bytes[to++] = some(8) ? some(1 << 20) : some(UINT64_C(80) << 20);
		for (;;) {
			sum = 0;
			for (size_t i = from; i < to; i++)
				sum += bytes[i];
			busy = q.is_busy;
			if (to - from <= busy + 1 ||
				(to - from <= PUSH_QUEUE_PROFILES && sum <= PUSH_QUEUE_BYTES))
				break;
			memmove(&number[from + busy], &number[from + busy + 1],
				(to - from - busy - 1) * sizeof *number);
			memmove(&bytes[from + busy], &bytes[from + busy + 1],
				(to - from - busy - 1) * sizeof *bytes);
			to--;
			nr_dropped++;
		}
		if (push_queue_add(&q, item_of(n, bytes[to - 1])) != nr_dropped ||
			q.nr != to - from || q.bytes != sum)
			return FAIL("%zu of %zu, %" PRIu64 " bytes of %" PRIu64, q.nr, to - from,
				q.bytes, sum);
	}
	while (q.nr) {
		const struct push_item item = push_queue_take(&q);

		profile_free(item.p);
		if (item.until_ns != number[from++])
			return FAIL("at the end: %" PRIu64, item.until_ns);
	}
	return from == to && !q.bytes;
}

/* ---- words and waits ---- */

static void
test_delays(void)
{
	bool is_bounded = true;

	for (uint64_t nr = 1; nr < 100; nr++) {
		const uint64_t most = nr > 6 ? 60 : UINT64_C(1) << (nr - 1);

		for (uint64_t random = 0; random < 7; random++) {
			const uint64_t ns = push_delay_ns(nr, random * UINT64_C(0x123456789abcdef));

			is_bounded &= ns > most * 500000000 && ns <= most * 1000000000;
		}
	}
	ok(is_bounded, "delays are doubled to a minute, and half of them is random");
	ok(push_delay_ns(3, 1) != push_delay_ns(3, 1000000), "delays differ");
}

static void
is_public(const char *url, const char *want)
{
	auto_free char *got = push_public_url(url);

	is_str(got, want, "the public part of a URL");
}

static void
test_request(enum push_format format, const char *server, const char *want)
{
	struct push_series s = { .format = format, .url = strdup(server) };
	auto_profile struct profile *p = profile_new();
	auto_push_request struct push_request r = { .url = NULL };
	struct err e;

	if (push_series_set_name(&s, "a b{c}\n&\"", &e) < 0 ||
		push_series_add(&s, "x", "1,2=3}\\\xff", &e) < 0 ||
		profile_add_usual_types(p, &e) < 0 ||
		push_request_make(&r, &s, p, 5999999999, 7000000000, &e) < 0)
		abort();
	is_str(r.url, want, "the URL of a request");
	ok(p->time_ns == 7000000000, "a profile has its time");
	ok(!memmem(r.body, r.len, "1,2=3", 5), "the body has no character that ends a label");
	push_series_release(&s);
}

static void
test_words(void)
{
	is_public("http://host:4040/path", "http://host:4040/path");
	is_public("https://user:p@ss@host/a@b?token=1#x", "https://host/a@b");
	is_public("http://host?token=1", "http://host");
	ok(push_is_label_name("a_1", 3) && !push_is_label_name("1a", 2) &&
			!push_is_label_name("", 0) && !push_is_label_name("a-b", 3),
		"names of labels");
	ok(push_is_label_value("a-1.b/c:d@e+f") && !push_is_label_value("") &&
			!push_is_label_value("a,b") && !push_is_label_value("a}") &&
			!push_is_label_value("\xc3\xa4"),
		"values of labels");
	test_request(PUSH_PYROSCOPE, "http://h/",
		"http://h/ingest?name=a_b_c____%7Bx%3D1_2_3___%7D&from=5&until=7&format=pprof"
		"&spyName=memdiag");
	test_request(PUSH_PYROSCOPE, "http://h/x/ingest",
		"http://h/x/ingest?name=a_b_c____%7Bx%3D1_2_3___%7D&from=5&until=7&format=pprof"
		"&spyName=memdiag");
	test_request(PUSH_PARCA, "http://h/api", "http://h/api/profiles/writeraw");
}

/* No message takes the place of another one that was not printed yet.  The port is closed. */
static void
test_messages(void)
{
	struct push_series s = { .format = PUSH_PYROSCOPE, .url = strdup("http://127.0.0.1:1") };
	bool has_dropped = false, has_failed = false;
	struct push *push;
	struct err e;
	char text[512];

	if (push_series_set_name(&s, "a", &e) < 0)
		abort();
	if (push_begin(&push, &s, NULL, NULL, 0, &e) < 0) { /* which releases S */
		skip("messages", e.msg);
		return;
	}
	for (uint64_t i = 0; i < 2 * PUSH_QUEUE_PROFILES; i++) {
		struct profile *p = profile_new();

		if (!p || profile_add_usual_types(p, &e) < 0)
			abort();
		push_add(push, p, i);
	}
	for (int i = 0; i < 100 && !(has_dropped && has_failed); i++) {
		os_sleep_ns(300000000);
		while (push_message(push, text, sizeof text)) {
			has_dropped |= strstr(text, "the oldest profile was dropped") != NULL;
			has_failed |= strstr(text, "cannot push to") != NULL;
		}
	}
	ok(has_dropped && has_failed,
		"both messages of a server that is down: dropped %d, failed %d", has_dropped,
		has_failed);
	push_free(push, NULL);
}

int
main(int argc, char **argv)
{
	const struct seeds seeds = seeds_of(argc, argv, 500);

	seeds_try(seeds, try_deltas, "deltas add up to the last profile");
	seeds_try(seeds, try_queue, "the queue is bounded, and drops the oldest");
	test_delays();
	test_words();
	test_messages();
	return tap_end();
}

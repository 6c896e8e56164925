/*
 * The counters of a process that may have written anything there: which are believed, and what they
 * come to.
 */
#include <config.h>

#include <stddef.h>
#include <sys/mman.h>

#include "tap.h"
#include "wire/totals.h"
#include "wire/wire.h"

static union {
	struct wire_segment s;
	char bytes[WIRE_SEGMENT_BYTES(4)];
} u;

static void
begin(void)
{
	memset(&u, 0, sizeof u);
	u.s = (struct wire_segment){ .magic = WIRE_MAGIC,
		.version = WIRE_VERSION,
		.header_bytes = WIRE_HEADER_BYTES,
		.thread_bytes = sizeof(struct wire_thread),
		.max_threads = 4,
		.nr_threads = 4,
		.taken_bytes = 1000,
		.taken_peak_bytes = 2000 };
}

/* Behind the end of a file nothing may be looked at. */
static void
test_end(void)
{
	const size_t size = offsetof(struct wire_segment, thread_bytes);
	char *at = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin();
	munmap(at + 4096, 4096);
	at += 4096 - size;
	memcpy(at, &u.s, size);
	ok(!wire_is_valid((const struct wire_segment *)at, size), "one that ends in its head");
}

#define REFUSED(change, what)                                                                      \
	do {                                                                                       \
		begin();                                                                           \
		change;                                                                            \
		ok(!wire_is_valid(&u.s, sizeof u), what);                                          \
	} while (0)

static void
test_valid(void)
{
	begin();
	ok(wire_is_valid(&u.s, sizeof u), "a segment");
	ok(!wire_is_valid(&u.s, sizeof u - 1), "one whose threads are cut off");
	u.s.nr_threads = 3;
	ok(wire_is_valid(&u.s, sizeof u - sizeof(struct wire_thread)),
		"places that nobody has need not be there");
	u.s.nr_threads = 0;
	ok(!wire_is_valid(&u.s, WIRE_HEADER_BYTES - 1), "one without all of its head");
	REFUSED(u.s.magic++, "another magic");
	REFUSED(u.s.version++, "another version");
	REFUSED(u.s.header_bytes++, "another head");
	REFUSED(u.s.thread_bytes++, "other threads");
	REFUSED(u.s.max_threads = WIRE_MAX_THREADS + 1, "more threads than can be");
	REFUSED(u.s.max_threads = 3, "more threads than there is room for");
}

static struct wire_totals
sum(void)
{
	struct wire_totals sum;

	wire_add_up(&u.s, 4, &sum);
	return sum;
}

static void
test_sum(void)
{
	struct wire_thread *t = wire_threads(&u.s);

	begin();
	t[1] = (struct wire_thread){
		.live_bytes = 500, .peak_bytes = 800, .nr_allocated = 9, .nr_freed = 2
	};
	t[3] = (struct wire_thread){
		.live_bytes = -100, .peak_bytes = 50, .nr_allocated = 1, .nr_freed = 3
	};
	u.s.mapped_bytes = 70;
	u.s.before_bytes = 10000;
	u.s.nr_before = 20;
	u.s.seen_peak_bytes = 820;
	is_u64(sum().peak_bytes, 10820, "the most that was seen, of all threads together");
	u.s.seen_peak_bytes = INT64_MAX;
	is_u64(sum().live_bytes, 10400, "what is live, with what was there before");
	is_u64(sum().peak_bytes, 10850, "not more than the most of each");
	is_u64(sum().mapped_bytes, 70, "mappings");
	is_u64(sum().nr_live, 25, "blocks, with those from before");
	t[1].live_bytes = 5000;
	t[1].peak_bytes = 9000;
	is_u64(sum().live_bytes, 11000, "never was there more than is granted");
	is_u64(sum().peak_bytes, 12000, "nor than was");
	u.s.base_bytes = 300;
	is_u64(sum().live_bytes, 10700, "of which what counts from the start is not the threads'");
	is_u64(sum().peak_bytes, 11700, "at no time");
	u.s.taken_peak_bytes = 0;
	is_u64(sum().peak_bytes, 10700, "the most is not less than what there is");
	begin();
	t[1] = (struct wire_thread){ .live_bytes = -5000, .nr_freed = 7 };
	u.s.mapped_bytes = -1;
	is_u64(sum().live_bytes, 0, "there is not less than nothing");
	is_u64(sum().mapped_bytes, 0, "nor mapped");
	is_u64(sum().nr_live, 0, "nor fewer blocks than none");
}

int
main(void)
{
	test_end();
	test_valid();
	test_sum();
	return tap_end();
}

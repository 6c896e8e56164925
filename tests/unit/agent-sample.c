/*
 * Profiles that begin anew while threads are still in hooks: each thread is sampled afterwards.
 * What one thread allocates and frees: blocks whose free was not seen, and temporary ones.
 */
#include <config.h>

#include <pthread.h>
#include <stdlib.h>

#include "tap.h"

#include "agent/note/chance.c"
#include "agent/base/memory.c"
#include "agent/note/notes.c"
#include "agent/note/probes.c"
#include "agent/note/sample.c"
#include "agent/note/sampled.c"
#include "agent/note/shadow.c"
#include "agent/note/sites.c"
#include "agent/base/state.c"
#include "agent/note/trigger.c"

/* ---- what the rest of the agent has ---- */

struct wire_segment *segment;
bool real_has_headers;
enum agent_mode agent_mode = AGENT_UNCOUNTED | AGENT_SAMPLES;

uint64_t
segment_address_limit(void)
{
	return UINT64_MAX;
}

void
mapped_note(void)
{
}

static uint64_t nr_dropped, dropped_bytes;

void
log_drop(uint64_t bytes)
{
	nr_dropped++;
	dropped_bytes += bytes;
}

/* Samples have no log. */
bool
log_prepare(const void *vdso)
{
	return vdso;
}

void
agent_log_begin(struct wire_log *l, bool wants_open)
{
	(void)l, (void)wants_open;
}

/* Nor a table of all blocks. */
bool
table_begin(uint64_t limit_bytes)
{
	return limit_bytes;
}

void
table_forget(void)
{
}

const void *
stack_vdso(void)
{
	return NULL;
}

bool
mapset_begin(uint64_t limit_bytes)
{
	return limit_bytes;
}

void
mapset_forget(void)
{
}

bool
stack_begin(void)
{
	return true;
}

void
stack_init(struct last_stacks *s, struct stack_more *more)
{
	(void)more;
	s->thread = thread_stack();
}

/* Each thread allocates at a place of its own. */
struct stack_result *
stack_find(struct last_stacks *s)
{
	s->other.node = sites_child(0, s->thread & 0xffffffffff);
	return &s->other;
}

/* ---- threads that allocate ---- */

#define NR_THREADS 4
#define BLOCK_BYTES 1000

static uint64_t nr_calls[NR_THREADS];
static bool is_over;

static void *
allocate(void *arg)
{
	const size_t i = (size_t)(uintptr_t)arg;
	struct wire_thread *self = wire_threads(segment) + 1 + i;
	char block[BLOCK_BYTES];

	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		sample_giving(self, sample_taken(self, block, sizeof block));
		__atomic_add_fetch(&nr_calls[i], 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void
wait_for_calls(uint64_t nr)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	uint64_t was[NR_THREADS];

	for (size_t i = 0; i < NR_THREADS; i++)
		was[i] = __atomic_load_n(&nr_calls[i], __ATOMIC_RELAXED);
	for (size_t i = 0; i < NR_THREADS; i++)
		while (__atomic_load_n(&nr_calls[i], __ATOMIC_RELAXED) - was[i] < nr)
			nanosleep(&pause, NULL);
}

/* How many threads have samples, each at its own site. */
static uint32_t
nr_sampled(void)
{
	uint32_t nr = 0;

	for (uint32_t i = 2; i < sites->nr_sites; i++)
		nr += __atomic_load_n(&wire_site(sites, i)->nr_allocated, __ATOMIC_RELAXED) > 0;
	return nr;
}

static bool
begin_anew(uint64_t period_bytes)
{
	const struct notes_start start = {
		.fd = -1,
		.size = { 1 << 12, 1 << 10 },
		.period_bytes = period_bytes,
	};

	return notes_begin(&start);
}

/*
 * Begin NR times with one sample for PERIOD_BYTES; how often all threads were sampled then.  They
 * allocate some periods, and twice what one allocates at most before it looks.
 */
static int
begin_often(int nr, uint64_t period_bytes)
{
	int nr_good = 0;

	for (int i = 0; i < nr; i++) {
		if (!begin_anew(period_bytes))
			continue;
		wait_for_calls((2 * SAMPLE_LOOK_BYTES + 50 * period_bytes) / BLOCK_BYTES);
		nr_good += nr_sampled() == NR_THREADS;
	}
	return nr_good;
}

/* ---- one thread ---- */

/* The sum of all sites. */
static struct wire_site
sum_of_sites(void)
{
	struct wire_site sum = { .node = 0 };

	for (uint32_t i = 1; i < sites->nr_sites; i++) {
		const struct wire_site *s = wire_site(sites, i);

		sum.allocated.bytes += s->allocated.bytes;
		sum.freed.bytes += s->freed.bytes;
		sum.temporary.bytes += s->temporary.bytes;
		sum.nr_allocated += s->nr_allocated;
		sum.nr_freed += s->nr_freed;
	}
	return sum;
}

/* The second block has the address of the first one, whose free nobody has seen. */
static void
test_unseen_free(void)
{
	struct wire_thread *self = wire_threads(segment) + 1;
	char block[300];
	struct wire_site sum;

	ok(begin_anew(1), "a profile of each block begins");
	sample_taken(self, block, 100);
	sample_taken(self, block, 300);
	sum = sum_of_sites();
	ok(sum.nr_allocated == 2 && sum.allocated.bytes == 400,
		"two blocks at one address are noted");
	is_u64(sum.nr_freed, 1, "the first of two blocks at one address counts as freed");
	is_u64(sum.freed.bytes, 100, "what counts as freed is the first block's size");
	sample_giving(self, block);
	is_u64(sum_of_sites().freed.bytes, 400, "the second block is freed as itself");
	sample_giving(self, block);
	is_u64(sum_of_sites().nr_freed, 2, "a block that is freed twice counts once");
}

/*
 * A thread allocates a block that is sampled, then NR_BYTES that are not, and FREER frees the first
 * one.  Whether that counts as temporary; a call of the size Z counts as Z + 1 bytes.
 */
static bool
is_temporary_after(uint64_t nr_bytes, struct wire_thread *freer)
{
	struct wire_thread *self = wire_threads(segment) + 1;
	char block[100];

	begin_anew(UINT64_C(1) << 40);
	sample_prepare(self);
	self->countdown_bytes = 1;
	notes_of(self)->of.sampler.ahead_bytes = 0;
	sample_taken(self, block, sizeof block);
	if (nr_bytes)
		sample_taken(self, block + 1, nr_bytes - 1);
	/* Another thread may have allocated as much. */
	if (freer != self) {
		sample_prepare(freer);
		notes_of(freer)->of.sampler = notes_of(self)->of.sampler;
		freer->countdown_bytes = self->countdown_bytes;
	}
	sample_giving(freer, block);
	if (sum_of_sites().nr_allocated != 1 || sum_of_sites().nr_freed != 1)
		ok(false, "one block is sampled and freed");
	return sum_of_sites().temporary.bytes > 0;
}

/* Before the first byte of the countdown a thread has allocated one byte less than that. */
static void
test_temporary(void)
{
	struct wire_thread *self = wire_threads(segment) + 1;

	ok(is_temporary_after(0, self), "a block that is freed at once is temporary");
	ok(is_temporary_after(4095, self), "a block that is freed after 4 KiB is temporary");
	ok(!is_temporary_after(4096, self), "a block that is freed after more is not temporary");
	ok(!is_temporary_after(65536 - 10, self),
		"a block that is freed after 64 KiB is not temporary");
	ok(!is_temporary_after(0, self + 1), "a block that another thread frees is not temporary");
}

/* What a signal handler allocates and frees while its thread notes something. */
static void
test_losses(void)
{
	ok(begin_anew(0), "a record begins");
	nr_dropped = dropped_bytes = 0;
	notes_lose(100);
	notes_miss();
	ok(sites->nr_lost == 1 && sites->lost_bytes == 100 && sites->nr_missed == 1,
		"what could not be noted is counted");
	is_u64(nr_dropped, 2, "the log counts that, too");
	is_u64(dropped_bytes, 100, "with the bytes, where they are known");
}

int
main(void)
{
	const int nr = tap_share(120);
	pthread_t thread[NR_THREADS];

	segment = calloc(1, WIRE_SEGMENT_BYTES(NR_THREADS + 1));
	segment->max_threads = segment->nr_threads = NR_THREADS + 1;
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, allocate, (void *)(uintptr_t)i);
	is_u64((uint64_t)begin_often(nr, 1), (uint64_t)nr,
		"each block sampled: all threads are sampled each time");
	is_u64((uint64_t)begin_often(nr, 4096), (uint64_t)nr,
		"one block in four: all threads are sampled each time");
	ok(begin_anew(UINT64_C(1) << 40), "samples are seldom");
	wait_for_calls(1000);
	is_u64((uint64_t)begin_often(nr, 4096), (uint64_t)nr,
		"after that: all threads are sampled each time");
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	test_unseen_free();
	test_temporary();
	real_has_headers = true;
	test_losses();
	return tap_end();
}

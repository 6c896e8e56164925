/*
 * The log that threads append to while another one reads it and frees what it has read: against
 * what each thread has appended.
 */
#include <config.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#include "wire/log.h"

static uint64_t read_stamp(void);
#define wire_stamp read_stamp
#include "agent/note/log.c"
#undef wire_stamp
#include "agent/base/memory.c"

/* ---- what the rest of the agent has ---- */

size_t agent_page_bytes = 4096;

/* A clock that a test sets; 0: that of the kernel. */
static uint64_t clock_ns;

static int
read_test_clock(clockid_t clock, struct timespec *ret)
{
	if (!clock_ns)
		return clock_gettime(clock, ret);
	*ret = (struct timespec){ (time_t)(clock_ns / 1000000000), (long)(clock_ns % 1000000000) };
	return 0;
}

uintptr_t
real_symbol(const struct dl_phdr_info *info, const char *name, unsigned int type)
{
	(void)info, (void)name, (void)type;
	return (uintptr_t)read_test_clock;
}

/* Something that another thread does before the counter is read. */
static void (*meanwhile)(void);

static uint64_t
read_stamp(void)
{
	if (meanwhile)
		meanwhile();
	return wire_stamp();
}

/* ---- a log ---- */

static struct wire_sites *sites;
static struct wire_log *l;

static void
make(uint32_t nr_blocks)
{
	const struct wire_sites_size size = { 1000, 100, nr_blocks };
	const uint64_t bytes = wire_sites_make(NULL, &size);
	static const ElfW(Ehdr) header;

	sites = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sites == MAP_FAILED || !log_prepare(&header))
		exit(99);
	wire_sites_make(sites, &size);
	ok(wire_sites_is_valid(sites, bytes), "%u blocks: the sites are valid", nr_blocks);
	l = wire_log_of(sites);
	agent_log_begin(l, true);
}

static void
drop(void)
{
	agent_log_begin(NULL, false);
	munmap(sites, sites->size_bytes);
}

/* ---- one thread ---- */

static void
append(struct log_queue *q, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++)
		log_append(q, WIRE_LOG_ALLOCATED, 7, i % 1000);
}

static void
test_words(void)
{
	const uint64_t before = wire_stamp();
	struct log_queue q = { .place = 5 };
	const struct wire_log_block *b;

	clock_ns = 1000;
	make(2);
	b = wire_log_block(l, 0);
	is_u64(l->opened_ns, 1000, "it is open from now on");
	log_append(&q, WIRE_LOG_ALLOCATED, 7, 24);
	is_u64(b->owner, 6, "a block is of the place that appends");
	is_u64(b->number, 1, "and its first one");
	is_u64(b->opening, 1, "of the first opening");
	is_u64(b->nr_words, 3, "three words");
	is_u64(b->word[0], wire_log_time(1000), "a time");
	ok(b->word[1] >= before && b->word[1] <= wire_stamp(), "its stamp");
	is_u64(b->word[2], wire_log_event(WIRE_LOG_ALLOCATED, 7, 24, b->word[1]), "and the event");
	log_append(&q, WIRE_LOG_FREED_SOON, 0xfffff, WIRE_LOG_MANY_BYTES - 1);
	is_u64(b->word[3],
		wire_log_event(WIRE_LOG_FREED_SOON, 0xfffff, WIRE_LOG_MANY_BYTES - 1, b->word[1]),
		"at the same time: the event alone, with the same stamp");
	clock_ns = 5000;
	log_append(&q, WIRE_LOG_FREED, 1, WIRE_LOG_MANY_BYTES);
	is_u64(b->nr_words, 8, "later, with many bytes: four words");
	is_u64(b->word[4], wire_log_time(5000), "a time");
	ok(b->word[5] >= b->word[1], "a later stamp");
	is_u64(wire_log_value(b->word[6]), WIRE_LOG_MANY_BYTES, "a sign of many bytes");
	is_u64(b->word[7], WIRE_LOG_MANY_BYTES, "and how many");
	drop();
	log_append(&q, WIRE_LOG_FREED, 1, 1);
	ok(!log_is_open(), "without a log nothing is appended");
}

/* The stamp of the last event in B. */
static uint64_t
last_stamp(const struct wire_log_block *b)
{
	uint64_t of_time = 0, stamp = 0;

	for (uint32_t i = 0; i < b->nr_words; i++) {
		if (wire_log_kind(b->word[i]) == WIRE_LOG_TIME) {
			of_time = b->word[++i];
			continue;
		}
		stamp = wire_log_stamp(b->word[i], of_time);
		i += wire_log_value(b->word[i]) == WIRE_LOG_MANY_BYTES;
	}
	return stamp;
}

/* Append to Q, whose block is B.  Whether the event has a stamp of just now. */
static bool
is_stamped(struct log_queue *q, const struct wire_log_block *b)
{
	const uint64_t before = wire_stamp();

	append(q, 1);
	return last_stamp(b) >= before && last_stamp(b) <= wire_stamp();
}

static void
test_stamps(void)
{
	struct log_queue q = { .place = 0 }, other = { .place = 1 },
			 mappings = { .place = LOG_PLACE_OF_MAPPINGS };
	const struct wire_log_block *b, *c;
	uint64_t stamp;
	bool is_fine = true;

	clock_ns = 1000;
	make(3);
	b = wire_log_block(l, 0);
	c = wire_log_block(l, 2);
	ok(is_stamped(&q, b), "the first event of a place has a stamp");
	is_u64(l->alone, 1, "and it is alone");
	stamp = last_stamp(b);
	log_append_mapping(&mappings, WIRE_LOG_MAPPED, 1, 1);
	append(&q, 1);
	is_u64(last_stamp(b), stamp, "so its next one has the same, also beside mappings");
	ok(is_stamped(&other, c) && l->alone == 2, "the first of another place has one");
	ok(is_stamped(&q, b) && l->alone == 1, "and what the first appends next");
	for (int i = 0; i < 500 && l->alone != WIRE_LOG_TOGETHER; i++)
		is_fine = is_stamped(&other, c) && is_stamped(&q, b) && is_fine;
	ok(is_fine && l->alone == WIRE_LOG_TOGETHER, "places that take turns fast are together");
	is_fine = is_stamped(&q, b) && is_stamped(&q, b) && is_stamped(&other, c);
	ok(is_fine && l->alone == WIRE_LOG_TOGETHER, "then each event has a stamp");
	l->alone = 0;
	ok(is_stamped(&q, b) && l->alone != 0, "until memdiag ends that");
	is_u64(wire_log_stamp(wire_log_event(WIRE_LOG_FREED, 7, 24, 0x12300001), 0x122fffff),
		0x12300001, "the upper bits of a stamp are those of its time, or one more");
	drop();
}

/* Another place appends NR_MEANWHILE events before the thread reads the counter the LEFTth time. */
static struct log_queue place, other_place;
static uint64_t nr_left, nr_meanwhile;

static void
append_meanwhile(void)
{
	if (--nr_left)
		return;
	meanwhile = NULL;
	append(&other_place, nr_meanwhile);
}

/*
 * Both places append NR_BEFORE events in turns, then one of them while the other one does, later or
 * at the same time.  What that one appends after it has waited for the event has no lower stamp.
 */
static bool
is_in_order(uint64_t nr_before, bool is_later)
{
	const struct wire_log_block *b = wire_log_block(l, 0), *c = wire_log_block(l, 1);

	memset(l, 0, WIRE_LOG_HEADER_BYTES);
	l->nr_blocks = 2;
	l->is_open = l->nr_openings = 1;
	memset(wire_log_block(l, 0), 0, 2 * sizeof(struct wire_log_block));
	place = (struct log_queue){ .place = 0 };
	other_place = (struct log_queue){ .place = 1 };
	clock_ns = 1000;
	append(&place, 1);
	for (uint64_t i = 0; i < nr_before; i++)
		append(i % 2 ? &place : &other_place, 1);
	clock_ns += is_later;
	meanwhile = append_meanwhile;
	append(&place, 1);
	meanwhile = NULL;
	append(&other_place, 1);
	return c->nr_words && last_stamp(c) >= last_stamp(b);
}

static void
test_interleaved(void)
{
	make(2);
	for (uint64_t nr_before = 0; nr_before < 16; nr_before++)
		for (int is_later = 0; is_later < 2; is_later++) {
			uint64_t nr_wrong = 0;

			for (int i = 0; i < 12; i++) {
				nr_left = (uint64_t)i / 3 + 1;
				nr_meanwhile = (uint64_t)i % 3 + 1;
				nr_wrong += !is_in_order(nr_before, is_later);
			}
			ok(!nr_wrong,
				"%d events, %s clock: what has waited for one has no lower stamp",
				(int)nr_before, is_later ? "another" : "same");
		}
	drop();
}

static void
test_mapping_words(void)
{
	struct log_queue q = { .place = LOG_PLACE_OF_MAPPINGS };
	const struct wire_log_block *b;

	clock_ns = 1000;
	make(2);
	b = wire_log_block(l, 0);
	log_append_mapping(&q, WIRE_LOG_SHRUNK, 0xfffff, UINT64_C(1) << 47);
	is_u64(b->owner, WIRE_LOG_OWNER_OF_MAPPINGS, "mappings have a block of their own");
	is_u64(b->nr_words, 4, "with four words");
	is_u64(b->word[2],
		wire_log_event(WIRE_LOG_ALLOCATED, 0xfffff, WIRE_LOG_MANY_BYTES, b->word[1]),
		"a sign of many bytes");
	ok(wire_log_is_mapping(b->word[3]), "of a mapping");
	is_u64(b->word[3], UINT64_C(7) << 61 | UINT64_C(1) << 47, "what it is, and how many");
	ok(!wire_log_is_mapping(UINT64_C(1) << 57), "a block has not so many");
	log_append_mapping(&q, WIRE_LOG_MAPPED, 1, 1);
	ok(b->nr_words == 6 || b->nr_words == 8, "at the same time: two words, or a time as well");
	drop();
	log_append_mapping(&q, WIRE_LOG_MAPPED, 1, 1);
	ok(!log_is_open(), "without a log nothing is appended of mappings, either");
}

static void
free_block(struct wire_log_block *b)
{
	const uint32_t i = (uint32_t)(b - wire_log_block(l, 0));

	b->number = 0;
	b->nr_words = 0;
	b->opening = 0;
	__atomic_store_n((owner_and_full *)&b->owner, 0, __ATOMIC_RELEASE);
	__atomic_and_fetch(&wire_log_taken(l)[i / 64], ~(UINT64_C(1) << i % 64), __ATOMIC_RELAXED);
}

static void
test_full(void)
{
	struct log_queue q = { .place = 0 }, other = { .place = 1 };
	struct wire_log_block *b;

	clock_ns = 1000;
	make(2);
	b = wire_log_block(l, 0);
	append(&q, BLOCK_WORDS - 5);
	is_u64(b->nr_words, BLOCK_WORDS - 3, "a block that has no room for four words");
	is_u64(b->is_full, 0, "is not full");
	append(&q, 1);
	is_u64(b->is_full, 1, "before the next event");
	is_u64(wire_log_block(l, 1)->owner, 1, "which is in another block");
	is_u64(wire_log_block(l, 1)->number, 2, "the second one of the place");
	is_u64(wire_log_block(l, 1)->word[0], wire_log_time(1000), "which begins with a time");
	log_append(&other, WIRE_LOG_ALLOCATED, 1, 100);
	is_u64(l->nr_dropped, 1, "where no block is free an event is dropped");
	is_u64(l->dropped_bytes, 100, "and its bytes");
	free_block(b);
	log_append(&other, WIRE_LOG_ALLOCATED, 1, 10);
	is_u64(l->nr_dropped, 2, "at the same time nobody looks again");
	clock_ns = 2000;
	log_append(&other, WIRE_LOG_ALLOCATED, 1, 10);
	is_u64(b->owner, 2, "but later");
	is_u64(l->nr_dropped, 2, "and no more is dropped");
	drop();
}

/* Events that fill NR_BLOCKS, at one time. */
static uint64_t
events_of(uint64_t nr_blocks)
{
	return nr_blocks * (BLOCK_WORDS - MOST_WORDS);
}

/* 64 MiB, of which the lowest block alone was given back when most is in use. */
static void
test_much(void)
{
	struct log_queue q = { .place = 0 };

	clock_ns = 1000;
	make(4096);
	append(&q, events_of(3000));
	ok(q.nr_blocks > 2900, "3,000 blocks are in use, and nobody reads");
	free_block(wire_log_block(l, 0));
	append(&q, events_of(1000));
	is_u64(l->nr_dropped, 0, "with the lowest and the highest free, nothing is dropped");
	is_u64(wire_log_block(l, 0)->owner, 1, "the lowest is used again");
	append(&q, events_of(200));
	is_u64(l->nr_touched, 4096, "all are used");
	ok(l->nr_dropped > 0, "before anything is dropped");
	drop();
}

#define NR_IDLE 600

static void
test_idle(void)
{
	static struct log_queue idle[NR_IDLE];
	struct log_queue q = { .place = NR_IDLE };

	clock_ns = 1000;
	make(4096);
	for (uint32_t i = 0; i < NR_IDLE; i++) {
		idle[i] = (struct log_queue){ .place = i };
		append(&idle[i], 1);
	}
	for (uint64_t i = 0; i < 8; i++) {
		append(&q, events_of(3000));
		for (uint32_t b = NR_IDLE; b < 4096; b++)
			if (wire_log_block(l, b)->is_full)
				free_block(wire_log_block(l, b));
	}
	is_u64(l->nr_dropped, 0, "many idle threads and a busy one: nothing is dropped");
	drop();
}

/* The bits only say where to look. */
static void
test_bits(void)
{
	struct log_queue q = { .place = 0 }, other = { .place = 1 };

	clock_ns = 1000;
	make(70);
	append(&q, 1);
	wire_log_taken(l)[0] = 0;
	append(&other, 1);
	is_u64(wire_log_block(l, 0)->owner, 1, "a clear bit: a block that is taken stays so");
	is_u64(wire_log_block(l, 1)->owner, 2, "another one is taken");
	is_u64(wire_log_taken(l)[0], 3, "and both bits are set");
	wire_log_taken(l)[0] = UINT64_MAX;
	append(&q, events_of(7));
	is_u64(wire_log_block(l, 69)->owner, 1, "set bits: blocks behind them are taken");
	is_u64(wire_log_taken(l)[1], 0x3f, "none behind the last one");
	ok(l->nr_dropped > 0, "what does not fit is dropped");
	wire_log_block(l, 0)->is_full = 1;
	wire_log_block(l, 0)->owner = 0;
	wire_log_taken(l)[0] = ~UINT64_C(1);
	is_u64((uintptr_t)take_block(l, 5), 0, "a block that is half given back is not free yet");
	drop();
}

/* As in a child that a signal handler has forked while its thread appended. */
static void
test_emptied(void)
{
	clock_ns = 1000;
	make(2);
	memset(l, 0, WIRE_LOG_HEADER_BYTES);
	is_u64((uintptr_t)take_block(l, 0), 0, "a log that was emptied has no blocks");
	drop();
}

static void
test_openings(void)
{
	struct log_queue q = { .place = 0 };
	const struct wire_log_block *b;

	clock_ns = 1000;
	make(2);
	b = wire_log_block(l, 0);
	append(&q, 1);
	l->is_open = 0;
	append(&q, 1);
	is_u64(b->nr_words, 3, "a closed log gets nothing");
	is_u64(l->nr_dropped, 0, "which is not counted");
	l->is_open = ++l->nr_openings;
	is_u64(b->is_full, 0, "a block of an earlier opening stays with its place");
	append(&q, 1);
	is_u64(b->is_full, 1, "up to the next event");
	is_u64(wire_log_block(l, 1)->opening, 2, "which is in a block of this opening");
	drop();
}

static void
test_no_counter(void)
{
	static const ElfW(Ehdr) header;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) < 0 ? 77 : log_prepare(&header));
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
		WEXITSTATUS(status) == 77)
		printf("# this kernel does not forbid to read the counter\n");
	else
		ok(pid > 0 && status == 0, "where the counter may not be read there is no log");
}

/* A child of any kind: this fork runs no handlers of pthread_atfork(). */
static void
test_child(void)
{
	struct log_queue q = { .place = 0 };
	int status;
	pid_t pid;

	make(2);
	append(&q, 1);
	pid = (pid_t)syscall(SYS_fork);
	if (pid == 0) {
		append(&q, 10);
		_exit(log_is_open());
	}
	ok(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "a child has no log");
	is_u64(wire_log_block(l, 0)->nr_words, 3, "and appends nothing to its parent's");
	drop();
}

/* ---- many threads ---- */

#define NR_THREADS 4
#define NR_BLOCKS 12
#define MANY (UINT64_C(1) << 50)

static struct ledger {
	uint64_t nr, bytes;
} appended[NR_THREADS], seen[NR_THREADS];
static bool is_over;

static uint64_t
mix(uint64_t n)
{
	n = (n ^ n >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return n ^ n >> 29;
}

/* Number N of thread ID: its bytes, of which it can be known again, and its site and kind. */
static uint64_t
bytes_of(uint64_t n)
{
	return mix(n) % 64 ? n : MANY + n;
}

static uint32_t
site_of(uint64_t id, uint64_t n)
{
	return (uint32_t)mix(n << 4 | id) & 0xfffff;
}

static enum wire_log_kind
kind_of(uint64_t n)
{
	return (enum wire_log_kind)(mix(n + 1) % 3);
}

static void *
work(void *arg)
{
	const uint64_t id = (uintptr_t)arg, nr = (uint64_t)tap_share(2000000);
	struct log_queue q = { .place = (uint32_t)id };

	for (uint64_t i = 1; i <= nr; i++) {
		log_append(&q, kind_of(i), site_of(id, i), bytes_of(i));
		appended[id].nr++;
		appended[id].bytes += bytes_of(i);
	}
	return NULL;
}

/* The reader's state of a place. */
static struct reading {
	uint64_t number; /* of the block */
	uint64_t last;	 /* event */
	uint64_t time_ns, stamp, last_stamp;
} reading[NR_THREADS];
static uint32_t nr_read[NR_BLOCKS];
static uint64_t nr_bad;

static void
read_event(uint32_t id, uint64_t word, uint64_t bytes)
{
	struct reading *r = &reading[id];
	const uint64_t n = bytes & (MANY - 1);

	nr_bad += n <= r->last || !r->time_ns || bytes != bytes_of(n) ||
		wire_log_kind(word) != kind_of(n) || wire_log_site(word) != site_of(id, n);
	/* Its own stamps never go back. */
	nr_bad += wire_log_stamp(word, r->stamp) < r->last_stamp;
	r->last_stamp = wire_log_stamp(word, r->stamp);
	r->last = n;
	seen[id].nr++;
	seen[id].bytes += bytes;
}

static void
read_words(uint32_t id, const struct wire_log_block *b, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		const uint64_t word = b->word[i], value = wire_log_value(word);

		if (wire_log_kind(word) == WIRE_LOG_TIME) {
			nr_bad += value < reading[id].time_ns || value < l->opened_ns ||
				++i == to || b->word[i] < reading[id].stamp;
			reading[id].time_ns = value;
			reading[id].stamp = b->word[i];
		} else if (value == WIRE_LOG_MANY_BYTES) {
			nr_bad += ++i == to;
			read_event(id, word, b->word[i]);
		} else {
			read_event(id, word, value);
		}
	}
}

/* Read the block I if it is the next one of its place.  Whether there was anything. */
static bool
read_block(uint32_t i)
{
	struct wire_log_block *b = wire_log_block(l, i);
	const uint32_t owner = __atomic_load_n(&b->owner, __ATOMIC_ACQUIRE);
	const uint64_t number = __atomic_load_n(&b->number, __ATOMIC_ACQUIRE);
	const bool is_full = __atomic_load_n(&b->is_full, __ATOMIC_ACQUIRE);
	const uint32_t nr = __atomic_load_n(&b->nr_words, __ATOMIC_ACQUIRE) & ~WIRE_LOG_IS_STAMPING,
		       from = nr_read[i];

	if (!owner || !number || owner > NR_THREADS || number > reading[owner - 1].number + 1)
		return false;
	nr_bad += number == reading[owner - 1].number + 1 &&
		wire_log_kind(b->word[0]) != WIRE_LOG_TIME;
	nr_bad += nr > BLOCK_WORDS || nr < from;
	read_words(owner - 1, b, from, nr);
	nr_read[i] = nr;
	if (!is_full || nr != __atomic_load_n(&b->nr_words, __ATOMIC_RELAXED))
		return nr > from;
	reading[owner - 1].number++;
	nr_read[i] = 0;
	free_block(b);
	return true;
}

static bool
read_all(void)
{
	bool is_any = false;

	for (uint32_t i = 0; i < NR_BLOCKS; i++)
		is_any |= read_block(i);
	return is_any;
}

static void *
read_log(void *arg)
{
	unsigned int seed = *(unsigned int *)arg;

	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
		read_all();
		/* Now and then it is late, and there is no room. */
		usleep((useconds_t)rand_r(&seed) % 64 ? 0 : 20000);
	}
	while (read_all())
		;
	return NULL;
}

static void
test_threads(unsigned int seed)
{
	struct ledger in = { 0 }, out = { 0 };
	pthread_t thread[NR_THREADS], reader;

	clock_ns = 0;
	is_over = false;
	memset(reading, 0, sizeof reading);
	memset(nr_read, 0, sizeof nr_read);
	memset(appended, 0, sizeof appended);
	memset(seen, 0, sizeof seen);
	make(NR_BLOCKS);
	pthread_create(&reader, NULL, read_log, &seed);
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	__atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
	for (int i = 0; i < NR_THREADS; i++) {
		in.nr += appended[i].nr;
		in.bytes += appended[i].bytes;
		out.nr += seen[i].nr;
		out.bytes += seen[i].bytes;
	}
	ok(nr_bad == 0, "seed %u: what is read is in each thread's order, and whole", seed);
	ok(l->nr_dropped > 0 && out.nr > l->nr_blocks * BLOCK_WORDS,
		"some was dropped, and blocks were used again");
	is_u64(out.nr + l->nr_dropped, in.nr, "all that is missing was counted");
	is_u64(out.bytes + l->dropped_bytes, in.bytes, "with its bytes");
	drop();
}

int
main(void)
{
	test_words();
	test_stamps();
	test_interleaved();
	test_mapping_words();
	test_full();
	test_much();
	test_idle();
	test_bits();
	test_emptied();
	test_openings();
	test_child();
	test_no_counter();
	for (unsigned int seed = 1; seed <= 3; seed++)
		test_threads(seed);
	return tap_end();
}

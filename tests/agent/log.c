/*
 * log: what a record has appended to its log is what its sites have counted: by site, to the block
 * and the byte; also in children, which have a log of their own or none.
 *
 *	log [dropped|alone]	dropped: it has not room for all; alone: children are not followed
 */
#include "count.h"

#include <sys/syscall.h>

#include "wire/log.h"

/* ---- what it does ---- */

#define NR_THREADS 6
#define NR_SHARED 64

static void *shared[NR_SHARED];

static __attribute__((noinline)) void *
take(unsigned int *seed)
{
	const size_t size = (size_t)rand_r(seed) % (rand_r(seed) % 100 ? 300 : 300000);

	return rand_r(seed) % 4 ? malloc(size) : calloc(1, size);
}

static __attribute__((noinline)) void *
resize(void *old, unsigned int *seed)
{
	static volatile size_t too_much = SIZE_MAX / 4;
	void *new;

	if (rand_r(seed) % 16 == 0) { /* it fails, and OLD stays */
		new = realloc(old, too_much);
		return new ? new : old;
	}
	return realloc(old, 1 + (size_t)rand_r(seed) % 1000);
}

/* A block that any thread has put there, for any to free. */
static void
pass_on(void *mine, unsigned int *seed)
{
	free(__atomic_exchange_n(&shared[rand_r(seed) % NR_SHARED], mine, __ATOMIC_ACQ_REL));
}

static void *
work(void *arg)
{
	unsigned int seed = *(unsigned int *)arg;
	void *own[32] = { NULL };

	for (int i = 0; i < tap_share(40000); i++) {
		void **at = &own[rand_r(&seed) % 32];

		if (rand_r(&seed) % 8 == 0)
			take_and_free(24);
		else if (!*at)
			*at = take(&seed);
		else if (rand_r(&seed) % 3 == 0)
			*at = resize(*at, &seed);
		else {
			if (rand_r(&seed) % 2)
				pass_on(*at, &seed);
			else
				free(*at);
			*at = NULL;
		}
	}
	for (int i = 0; i < 32; i++)
		free(own[i]);
	return NULL;
}

static void
run_threads(unsigned int seed)
{
	unsigned int seeds[NR_THREADS];
	pthread_t thread[NR_THREADS];

	for (unsigned int i = 0; i < NR_THREADS; i++) {
		seeds[i] = seed * 100 + i;
		pthread_create(&thread[i], NULL, work, &seeds[i]);
	}
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
}

/* ---- what the log has ---- */

#define MOST_SITES 20000

static struct sum {
	uint64_t allocated, allocated_bytes, freed, freed_bytes, soon, soon_bytes;
} sum[MOST_SITES];
static uint64_t nr_events, nr_bad;

static void
add_event(enum wire_log_kind kind, uint32_t site, uint64_t bytes)
{
	struct sum *s = &sum[site];

	nr_events++;
	if (kind == WIRE_LOG_ALLOCATED) {
		s->allocated++;
		s->allocated_bytes += bytes;
		return;
	}
	s->freed++;
	s->freed_bytes += bytes;
	if (kind == WIRE_LOG_FREED_SOON) {
		s->soon++;
		s->soon_bytes += bytes;
	}
}

static void
add_block(const struct wire_log *l, const struct wire_log_block *b)
{
	uint64_t time = 0, stamp = 0;

	nr_bad += !b->number || b->opening != l->nr_openings;
	for (uint32_t i = 0; i < b->nr_words; i++) {
		const uint64_t word = b->word[i], value = wire_log_value(word);

		if (wire_log_kind(word) == WIRE_LOG_TIME) {
			i++;
			nr_bad += value < time || value < l->opened_ns || b->word[i] < stamp;
			time = value;
			stamp = b->word[i];
			continue;
		}
		if (wire_log_site(word) >= MOST_SITES || !time) {
			nr_bad++;
			continue;
		}
		i += value == WIRE_LOG_MANY_BYTES;
		add_event(wire_log_kind(word), wire_log_site(word),
			value == WIRE_LOG_MANY_BYTES ? b->word[i] : value);
	}
}

/* Close it, so that the sites do not get ahead. */
static void
read_log(struct wire_log *l)
{
	l->is_open = 0;
	nr_events = nr_bad = 0;
	memset(sum, 0, sizeof sum);
	for (uint32_t i = 0; i < l->nr_blocks; i++)
		if (wire_log_block(l, i)->owner)
			add_block(l, wire_log_block(l, i));
}

static bool
is_same(const struct wire_site *s, const struct sum *in)
{
	const uint64_t unit = WIRE_BLOCK_UNITS;

	return s->allocated.units == in->allocated * unit &&
		s->allocated.bytes == in->allocated_bytes &&
		s->freed.units + s->freed_elsewhere.units == in->freed * unit &&
		s->freed.bytes + s->freed_elsewhere.bytes == in->freed_bytes &&
		s->temporary.units == in->soon * unit && s->temporary.bytes == in->soon_bytes;
}

static void
check_all(struct wire_sites *sites, const char *who)
{
	uint32_t nr_different = 0, nr_used = 0;

	for (uint32_t i = 1; i < sites->nr_sites && i < MOST_SITES; i++) {
		nr_different += !is_same(wire_site(sites, i), &sum[i]);
		nr_used += sum[i].allocated > 0;
	}
	ok(nr_different == 0, "%s: each site has in the log what it has counted", who);
	ok(nr_used >= 3 && nr_events > 1000, "%s: which is not nothing", who);
	ok(wire_log_of(sites)->nr_dropped == 0, "%s: nothing is dropped", who);
}

/* The events missing from the log, of all sites together, were counted as dropped. */
static void
check_dropped(struct wire_sites *sites)
{
	const struct wire_log *l = wire_log_of(sites);
	uint64_t bytes = l->dropped_bytes, nr = nr_events + l->nr_dropped;

	for (uint32_t i = 1; i < sites->nr_sites; i++) {
		const struct wire_site *s = wire_site(sites, i);

		nr -= (s->allocated.units + s->freed.units + s->freed_elsewhere.units) /
			WIRE_BLOCK_UNITS;
		bytes -= s->allocated.bytes + s->freed.bytes + s->freed_elsewhere.bytes;
		bytes += i < MOST_SITES ? sum[i].allocated_bytes + sum[i].freed_bytes : 0;
	}
	ok(l->nr_dropped > 0, "some events are dropped");
	is_u64(nr, 0, "all that are missing are counted");
	is_u64(bytes, 0, "with their bytes");
}

static void
check(const char *who, unsigned int seed, bool drops)
{
	struct wire_log *l = memdiag_agent_sites ? wire_log_of(memdiag_agent_sites) : NULL;

	if (!ok(l && l->is_open, "%s: there is a log, and it is open", who))
		exit(tap_end());
	run_threads(seed);
	read_log(l);
	ok(nr_bad == 0, "%s: its blocks are whole", who);
	if (drops)
		check_dropped(memdiag_agent_sites);
	else
		check_all(memdiag_agent_sites, who);
	l->is_open = ++l->nr_openings;
}

/* ---- children ---- */

/* Child PID ends with 0. */
static bool
is_well(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* It says itself what is wrong, and nothing else. */
static void
check_child(void)
{
	tap_nr = tap_failed = 0;
	freopen("/dev/null", "w", stdout);
	check("child", 9, false);
	_exit(tap_failed ? 1 : 0);
}

/* How many words the parent's log has. */
static uint64_t
nr_words(const struct wire_log *l)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < l->nr_blocks; i++)
		nr += wire_log_block(l, i)->nr_words;
	return nr;
}

static void
test_children(bool is_alone)
{
	struct wire_log *l = wire_log_of(memdiag_agent_sites);
	uint64_t before = nr_words(l);
	pid_t pid = fork();

	if (pid == 0) {
		if (!is_alone)
			check_child();
		run_threads(3);
		_exit(memdiag_agent_sites != NULL);
	}
	ok(is_well(pid), "%s", is_alone ? "a child that is not followed" : "a child has its own");
	is_u64(nr_words(l), before, "it appends nothing to its parent's");
	/* Nobody tells the agent of this one. */
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		for (int i = 0; i < 1000; i++)
			take_and_free(100);
		_exit(0);
	}
	ok(is_well(pid), "a child that is made without libc");
	is_u64(nr_words(l), before, "it appends nothing, either");
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	need_agent();
	if (strcmp(how, "dropped") == 0) {
		check("parent", 1, true);
		return tap_end();
	}
	check("parent", 1, false);
	test_children(strcmp(how, "alone") == 0);
	return tap_end();
}

#include "notices.h"

#include <dirent.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#define NR_MANY_BLOCKS 100000 /* malloc_trim() takes milliseconds for the gaps */
#define MANY_BYTES 500
#define NR_LARGE_BLOCKS 50 /* mappings, with holes of the same size between them */
#define LARGE_BYTES 131072
#define NR_DIRTY 2000
#define HELPER_BYTES (32768 + 4096) /* stays once after a helper: doc/internals/inject.md */

/* ---- blocks ---------------------------------------------------------------------------------- */

static struct block many[NR_MANY_BLOCKS], large[NR_LARGE_BLOCKS];

static uint64_t
word_of(const struct block *b, uint32_t at)
{
	return ((uint64_t)(uintptr_t)b->words + b->version) * UINT64_C(0x9e3779b97f4a7c15) + at;
}

static void
block_fill(struct block *b, size_t bytes)
{
	b->words = malloc(bytes);
	if (!b->words)
		tracee_fail("malloc");
	b->nr_words = (uint32_t)(bytes / 8);
	b->version++;
	for (uint32_t i = 0; i < b->nr_words; i++)
		b->words[i] = word_of(b, i);
}

/* Report a block that has changed, and repair it. */
static void
block_check(struct waiter *w, struct block *b)
{
	uint32_t nr_wrong = 0, first = 0;

	for (uint32_t i = 0; b->words && i < b->nr_words; i++) {
		if (b->words[i] == word_of(b, i))
			continue;
		if (!nr_wrong++)
			first = i;
	}
	if (!nr_wrong)
		return;
	fault(w, FAULT_MEMORY, "block %p of %u bytes: %u words differ, the first at %u: %#lx",
		(void *)b->words, b->nr_words * 8, nr_wrong, first * 8, b->words[first]);
	for (uint32_t i = 0; i < b->nr_words; i++)
		b->words[i] = word_of(b, i);
}

static void
block_free(struct block *b)
{
	free(b->words);
	b->words = NULL;
}

/* Keep free memory, and give large blocks mappings; called before the first malloc(). */
void
memory_set_limits(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_ARENA_MAX, 2 * MAX_WAITERS);
}

/* Allocate the blocks of the main arena, and those that are mappings. */
void
memory_open(uint64_t seed)
{
	static const size_t run[] = { 2, 64, 16, 2 }; /* one block of so many stays */

	for (size_t i = 0; i < NR_MANY_BLOCKS; i++)
		block_fill(&many[i], MANY_BYTES);
	for (size_t i = 0; i < NR_MANY_BLOCKS; i++)
		if ((i + seed) % run[i * 4 / NR_MANY_BLOCKS])
			block_free(&many[i]);
	for (size_t i = 0; i < NR_LARGE_BLOCKS; i++)
		block_fill(&large[i], LARGE_BYTES);
	for (size_t i = 0; i < NR_LARGE_BLOCKS; i += 2)
		block_free(&large[i]);
}

/* Use some of the free memory again, so that the next trim has work to do. */
void
memory_turn(void)
{
	static void *dirty[NR_DIRTY];

	for (size_t i = 0; i < NR_DIRTY; i++) {
		dirty[i] = malloc(MANY_BYTES);
		if (!dirty[i])
			tracee_fail("malloc");
		memset(dirty[i], 1, MANY_BYTES);
	}
	for (size_t i = 0; i < NR_DIRTY; i++)
		free(dirty[i]);
}

void
memory_check(void)
{
	for (size_t i = 0; i < NR_MANY_BLOCKS; i++)
		block_check(NULL, &many[i]);
	for (size_t i = 0; i < NR_LARGE_BLOCKS; i++)
		block_check(NULL, &large[i]);
}

/* ---- memory of one waiter -------------------------------------------------------------------- */

static size_t
small_bytes(struct waiter *w)
{
	return (size_t)(16 + draw(w, 3000));
}

void
waiter_memory_open(struct waiter *w)
{
	w->slots = calloc(NR_SLOTS, sizeof *w->slots);
	if (!w->slots)
		tracee_fail("calloc");
	for (size_t i = 0; i < NR_SMALL_BLOCKS; i++)
		block_fill(&w->blocks[i], small_bytes(w));
}

static void
guard_check(struct waiter *w, const struct coroutine *c)
{
	const uint64_t *words = (const uint64_t *)(const void *)c->guard;

	for (size_t i = 0; c->guard && i < COROUTINE_GUARD_BYTES / 8; i++)
		if (words[i] != (uint64_t)(uintptr_t)&words[i]) {
			fault(w, FAULT_STACK, "%zu bytes below a coroutine's stack is %#lx",
				COROUTINE_GUARD_BYTES - i * 8, words[i]);
			return;
		}
}

static void
slot_check(struct waiter *w, size_t at)
{
	if (memcmp(&w->slots[at], &w->expected[at], sizeof w->slots[at]) == 0)
		return;
	fault(w, FAULT_MEMORY, "the arguments of an earlier wait have changed since");
	w->expected[at] = w->slots[at];
}

/* After each wait: replace a block, and check some memory. */
void
waiter_memory_turn(struct waiter *w)
{
	struct block *b = &w->blocks[draw(w, NR_SMALL_BLOCKS)];

	block_check(w, b);
	block_free(b);
	block_fill(b, small_bytes(w));
	slot_check(w, w->nr % NR_SLOTS);
	if (w->on)
		guard_check(w, w->on);
}

void
waiter_memory_check(struct waiter *w)
{
	for (size_t i = 0; i < NR_SMALL_BLOCKS; i++)
		block_check(w, &w->blocks[i]);
	for (size_t i = 0; i < NR_SLOTS; i++)
		slot_check(w, i);
	for (size_t i = 0; i < MAX_COROUTINES; i++)
		guard_check(w, &w->coroutine[i]);
}

/* ---- arenas with large tops ------------------------------------------------------------------ */

static long top_mib;
static pthread_barrier_t tops_are_there;

static void *
arena_run(void *arg)
{
	size_t nr = (size_t)top_mib * 10, bytes = 104000;
	void **blocks = calloc(nr, sizeof *blocks);

	for (size_t i = 0; i < nr; i++)
		memset(blocks[i] = malloc(bytes), 1, bytes);
	for (size_t i = nr; i-- > 0;)
		free(blocks[i]);
	free(blocks);
	pthread_barrier_wait(&tops_are_there);
	return tracee_wait_for_ever(arg);
}

/* Start NR threads that only wait, each with an arena whose top has MIB resident. */
void
arenas_open(long nr, long mib)
{
	pthread_attr_t small;
	pthread_t thread;

	top_mib = mib;
	pthread_barrier_init(&tops_are_there, NULL, (unsigned int)nr + 1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 18);
	for (long i = 0; i < nr; i++)
		if (pthread_create(&thread, &small, arena_run, NULL) != 0)
			tracee_fail("pthread_create");
	pthread_barrier_wait(&tops_are_there);
}

/* ---- the process ----------------------------------------------------------------------------- */

static char descriptors[65536];
static long mapped_bytes, nr_helpers;

/* List number, device and inode of each descriptor. */
static void
list_descriptors(char *text, size_t size)
{
	DIR *d = opendir("/proc/self/fd");
	struct stat s;
	size_t n = 0;

	if (!d)
		tracee_fail("/proc/self/fd");
	text[0] = '\0';
	for (struct dirent *entry; (entry = readdir(d));) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] == '.' || fd == dirfd(d) || fstat(fd, &s) != 0)
			continue;
		n += (size_t)snprintf(text + n, size - n, "%d:%lx:%lu ", fd, s.st_dev, s.st_ino);
		if (n >= size)
			tracee_fail("too many descriptors");
	}
	closedir(d);
}

/* The mapped bytes, without the main arena's heap, the stack and the kernel's own mappings. */
static long
count_mapped(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4352];
	long sum = 0;

	if (!f)
		tracee_fail("/proc/self/maps");
	while (fgets(line, sizeof line, f)) {
		unsigned long start, end;

		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && !strchr(line, '['))
			sum += (long)(end - start);
	}
	fclose(f);
	return sum;
}

void
process_remember(void)
{
	count_mapped(); /* stdio allocates its buffer */
	list_descriptors(descriptors, sizeof descriptors);
	mapped_bytes = count_mapped();
}

/* An agent's mappings stay, so they are not a fault. */
void
process_check(bool has_agent)
{
	static char now[sizeof descriptors];
	size_t same = 0;
	long more;

	/* malloc itself opens a file for a moment when a heap shrinks (check_may_shrink_heap()). */
	for (int i = 0; i < 20; i++) {
		list_descriptors(now, sizeof now);
		if (strcmp(descriptors, now) == 0)
			break;
		usleep(1000);
	}
	if (strcmp(descriptors, now) != 0) {
		while (descriptors[same] == now[same])
			same++;
		fault(NULL, FAULT_DESCRIPTORS, "the list differs from \"%.80s\", now \"%.80s\"",
			descriptors + same, now + same);
		memcpy(descriptors, now, sizeof descriptors);
	}
	more = count_mapped() - mapped_bytes;
	mapped_bytes += more;
	if (!more || has_agent)
		return;
	if (more == HELPER_BYTES && !nr_helpers++)
		documented();
	else
		fault(NULL, FAULT_MAPPINGS, "%ld bytes more are mapped", more);
}

/* ---- timers ---------------------------------------------------------------------------------- */

#define FAR_S 3600

static timer_t timer;
static int timer_fd;
static uint64_t set_ns[2]; /* the timers were set between these */

void
timers_open(void)
{
	struct sigevent none = { .sigev_notify = SIGEV_NONE };
	struct itimerspec far = { .it_value = { .tv_sec = FAR_S } };

	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	set_ns[0] = tracee_now_ns();
	if (timer_fd < 0 || timerfd_settime(timer_fd, 0, &far, NULL) != 0 ||
		timer_create(CLOCK_MONOTONIC, &none, &timer) != 0 ||
		timer_settime(timer, 0, &far, NULL) != 0)
		tracee_fail("timers");
	set_ns[1] = tracee_now_ns();
}

static void
timer_check(const char *name, const struct itimerspec *left, uint64_t before_ns, uint64_t after_ns)
{
	uint64_t ns =
		(uint64_t)left->it_value.tv_sec * 1000 * MS_NS + (uint64_t)left->it_value.tv_nsec;
	uint64_t whole_ns = FAR_S * 1000 * MS_NS;

	if (ns + MS_NS < set_ns[0] + whole_ns - after_ns ||
		ns > set_ns[1] + whole_ns - before_ns + MS_NS)
		fault(NULL, FAULT_TIMER, "%s has %lu ns left", name, ns);
}

void
timers_check(void)
{
	uint64_t before_ns = tracee_now_ns();
	struct itimerspec of_timer, of_fd;

	timer_gettime(timer, &of_timer);
	timerfd_gettime(timer_fd, &of_fd);
	timer_check("a timer", &of_timer, before_ns, tracee_now_ns());
	timer_check("a timerfd", &of_fd, before_ns, tracee_now_ns());
}

/*
 * cause KIND: a program with one thing the matter with its memory, named as the verdict that says
 * so (doc/verdicts.md), and nothing else.  "cause healthy" has none; others are named after what
 * they do.
 */
#include "tracee.h"

#include <fcntl.h>
#include <malloc.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>

#define MIB ((size_t)1 << 20)
#define BLOCK 1000 /* bytes; about four on a page */
#define RUN 64	   /* blocks that are freed or kept together: below 128 KiB */

static sem_t done, never;
static char large_array[128 * MIB]; /* nobody but static_data() touches it */
static pthread_barrier_t together;

static void *
allocate(size_t size)
{
	void *block = malloc(size);

	if (!block)
		tracee_fail("malloc");
	memset(block, 0x5a, size);
	return block;
}

/* ---- blocks in a heap ---- */

/* BYTES in blocks of SIZE; of every NR the first KEPT stay, and so does the very last. */
static void
fill(size_t bytes, size_t size, size_t nr, size_t kept)
{
	size_t nr_blocks = bytes / size;
	/* Not from malloc, which would put it into the way. */
	void **block = mmap(NULL, nr_blocks * sizeof *block, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED)
		tracee_fail("mmap");
	for (size_t i = 0; i < nr_blocks; i++)
		block[i] = allocate(size);
	for (size_t i = 0; i + 1 < nr_blocks; i++)
		if (i % nr >= kept)
			free(block[i]);
	munmap(block, nr_blocks * sizeof *block);
}

/* Four runs of five are free, on pages of their own. */
static void
retain(size_t bytes)
{
	fill(bytes, BLOCK, 5 * RUN, RUN);
}

/* As free() does it for a block that had a mapping: thresholds grow to its size and twice that. */
static void
grow_thresholds(void)
{
	void *volatile block = malloc(30 * MIB);

	free(block);
}

static void
healthy(void)
{
	fill(8 * MIB, BLOCK, 1, 1);
}

static void
live_large(void)
{
	fill(300 * MIB, BLOCK, 1, 1);
}

static void
retained(void)
{
	retain(64 * MIB);
}

static void
returned(void)
{
	fill(128 * MIB, BLOCK, 10 * RUN, 1);
	malloc_trim(0);
}

static void
threshold_grown(void)
{
	grow_thresholds();
	/* Blocks that would have had mappings, and one of each pair stays. */
	fill(96 * MIB, 2 * MIB, 2, 1);
}

static void
pinned(void)
{
	fill(64 * MIB, BLOCK, 64 * MIB, 1);
}

static void
fragmented(void)
{
	fill(64 * MIB, 400, 2, 1);
}

static void
sparse(void)
{
	fill(64 * MIB, 400, 9, 1);
}

static void
thp(void)
{
	fill(128 * MIB, BLOCK, 1, 1);
}

static void
fork_shared(void)
{
	retain(64 * MIB);
	switch (fork()) {
	case -1:
		tracee_fail("fork");
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() != 1)
			pause();
		_exit(0);
	}
}

static void
locked(void)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	/* Locked, it would be resident. */
	munmap((void *)(((uintptr_t)large_array + page - 1) & ~(page - 1)),
		sizeof large_array / page * page - page);
	retain(64 * MIB);
	if (mlockall(MCL_CURRENT) != 0)
		tracee_fail("mlockall");
}

static void
main_in_pieces(void)
{
	uintptr_t brk = ((uintptr_t)sbrk(0) + 65535) & ~(uintptr_t)65535;

	if (mmap((void *)brk, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		    -1, 0) == MAP_FAILED)
		tracee_fail("mmap");
	retain(64 * MIB);
}

/* ---- blocks with mappings of their own ---- */

static void
mmapped_large(void)
{
	for (int i = 0; i < 300; i++)
		allocate(MIB);
}

static void
mmap_limit(void)
{
	mallopt(M_MMAP_MAX, 100);
	for (int i = 0; i < 96; i++)
		allocate(MIB);
}

/* ---- threads ---- */

/* NR threads run FN with stacks of STACK bytes, and wait; or end together. */
static void
start(int nr, size_t stack, void *(*fn)(void *arg))
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_barrier_init(&together, NULL, (unsigned int)nr);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, stack);
	for (int i = 0; i < nr; i++)
		if (pthread_create(&thread, &attr, fn, NULL) != 0)
			tracee_fail("pthread_create");
	for (int i = 0; i < nr; i++)
		sem_wait(&done);
}

static void *
wait_for_ever(void)
{
	sem_post(&done);
	while (sem_wait(&never) != 0)
		;
	return NULL;
}

static void *
free_top(void *arg)
{
	enum { NR = 10000, SIZE = 4000 };
	static void *block[NR];

	(void)arg;
	for (int i = 0; i < NR; i++)
		block[i] = allocate(SIZE);
	for (int i = NR; i-- > 0;)
		free(block[i]);
	return wait_for_ever();
}

static void
tops_stuck(void)
{
	grow_thresholds();
	start(1, MIB, free_top);
}

static void *
retain_and_wait(void *arg)
{
	(void)arg;
	retain(8 * MIB);
	return wait_for_ever();
}

static void
arena_sprawl(void)
{
	int nr = 4 * (int)sysconf(_SC_NPROCESSORS_ONLN) + 2;

	start(nr < 12 ? 12 : nr, MIB, retain_and_wait);
}

static void *
retain_and_end(void *arg)
{
	(void)arg;
	/* None may take over the arena of one that has ended. */
	pthread_barrier_wait(&together);
	retain(12 * MIB);
	pthread_barrier_wait(&together);
	sem_post(&done);
	return NULL;
}

static void
orphan_arenas(void)
{
	int ended = 0;

	start(6, MIB, retain_and_end);
	/* They have said so while they still were there. */
	while (!ended) {
		struct timespec ms = { .tv_nsec = 1000000 };
		char line[4096] = "";
		FILE *f = fopen("/proc/self/status", "r");

		while (f && fgets(line, sizeof line, f))
			ended |= strcmp(line, "Threads:\t1\n") == 0;
		fclose(f);
		nanosleep(&ms, NULL);
	}
}

/* As many freed blocks of each size as a thread keeps for itself. */
static void *
fill_cache(void *arg)
{
	enum { EACH = 7, LARGEST = 1024 };
	void *block[LARGEST / 16][EACH];

	(void)arg;
	for (int i = 0; i < LARGEST / 16; i++)
		for (int k = 0; k < EACH; k++)
			block[i][k] = allocate((size_t)i * 16 + 8);
	for (int i = 0; i < LARGEST / 16; i++)
		for (int k = 0; k < EACH; k++)
			free(block[i][k]);
	return wait_for_ever();
}

static void
cache_retained(void)
{
	mallopt(M_ARENA_MAX, 2);
	start(120, MIB, fill_cache);
}

static void *
fill_stack(void *arg)
{
	volatile char deep[7 * MIB];

	(void)arg;
	for (size_t i = 0; i < sizeof deep; i += 512)
		deep[i] = 1;
	return wait_for_ever();
}

static void
thread_stacks(void)
{
	start(12, 8 * MIB, fill_stack);
}

/* ---- memory that malloc does not know ---- */

static void
map(size_t bytes, int prot)
{
	void *p = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		tracee_fail("mmap");
	if (prot & PROT_WRITE)
		memset(p, 0x5a, bytes);
}

static void
other_allocator(void)
{
	map(128 * MIB, PROT_READ | PROT_WRITE);
}

/* Much of brk, which malloc knows nothing of. */
static void
own_sbrk(void)
{
	char *p = sbrk(128 * MIB);

	if (p == (void *)-1)
		tracee_fail("sbrk");
	memset(p, 0x5a, 128 * MIB);
}

/* The same between two parts of malloc's heap: malloc counts it as its own. */
static void
sbrk_between(void)
{
	fill(8 * MIB, BLOCK, 1, 1);
	own_sbrk();
	fill(8 * MIB, BLOCK, 1, 1);
}

static void
forbidden(void)
{
	char *p = mmap(NULL, 128 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		tracee_fail("mmap");
	memset(p, 0x5a, 128 * MIB);
	mprotect(p, 128 * MIB, PROT_NONE);
	map(4096 * MIB, PROT_NONE);
}

/* Map FD, of 128 MiB, and write a byte to each page, or read one. */
static void
map_file(int fd, int flags, bool writes)
{
	volatile char *p;

	if (fd < 0 || ftruncate(fd, 128 * MIB) < 0)
		tracee_fail("a file");
	p = mmap(NULL, 128 * MIB, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (p == MAP_FAILED)
		tracee_fail("mmap");
	for (size_t i = 0; i < 128 * MIB; i += 4096)
		if (writes)
			p[i] = 1;
		else
			(void)p[i];
	/* It stays open: what is mapped is not counted as held a second time. */
}

static void
shared_memory(void)
{
	map_file(memfd_create("cause", 0), MAP_SHARED, true);
}

/* The test says where there are files that are not in memory. */
static int
new_file(void)
{
	const char *directory = getenv("CAUSE_FILES");

	return open(directory ? directory : ".", O_TMPFILE | O_RDWR, 0600);
}

static void
mapped_files(void)
{
	map_file(new_file(), MAP_SHARED, false);
}

static void
changed_files(void)
{
	map_file(new_file(), MAP_PRIVATE, true);
}

static void
static_data(void)
{
	memset(large_array, 0x5a, sizeof large_array);
}

/* Read one page in each 2 MiB: a page of page tables each, and none of memory. */
static void
page_tables(void)
{
	const size_t step = 2 * MIB, size = 20000 * step;
	volatile char *p =
		mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		tracee_fail("mmap");
	madvise((void *)(uintptr_t)p, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += step)
		(void)p[i];
}

static void
children(void)
{
	int ready[2];
	char c;

	if (pipe(ready) < 0)
		tracee_fail("pipe");
	switch (fork()) {
	case -1:
		tracee_fail("fork");
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		map(128 * MIB, PROT_READ | PROT_WRITE);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		while (getppid() != 1)
			pause();
		_exit(0);
	}
	if (read(ready[0], &c, 1) != 1)
		tracee_fail("a child");
	close(ready[0]);
	close(ready[1]);
}

static void
virt_only(void)
{
	map(4096 * MIB, PROT_NONE);
}

/* Written to, and never mapped. */
static void
held_files(void)
{
	static char block[MIB];
	int fd = memfd_create("cause", 0);

	memset(block, 1, sizeof block);
	for (int i = 0; i < 100; i++)
		if (write(fd, block, sizeof block) != sizeof block)
			tracee_fail("write");
}

static void *
end_soon(void *arg)
{
	return arg;
}

/* Each keeps its stack, as nobody joins it. */
static void
unjoined_threads(void)
{
	for (int i = 0; i < 40; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, end_soon, NULL) != 0)
			tracee_fail("pthread_create");
	}
}

/* Neighbours with other rights are two mappings. */
static void
mappings_full(void)
{
	unsigned long nr = 0;
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");

	if (!f || fscanf(f, "%lu", &nr) != 1)
		tracee_fail("vm.max_map_count");
	fclose(f);
	for (unsigned long i = 0; i < nr / 100 * 48; i++) {
		void *p = mmap(
			NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED || mprotect(p, 4096, PROT_NONE) < 0)
			tracee_fail("mmap");
	}
}

static const struct {
	const char *kind;
	void (*make)(void);
} kinds[] = {
	{ "healthy", healthy }, { "other-allocator", other_allocator }, { "own-sbrk", own_sbrk },
	{ "sbrk-between", sbrk_between }, { "forbidden", forbidden },
	{ "shared-memory", shared_memory }, { "mapped-files", mapped_files },
	{ "changed-files", changed_files }, { "static-data", static_data },
	{ "page-tables", page_tables }, { "children", children }, { "virt-only", virt_only },
	{ "live-large", live_large }, { "returned", returned }, { "retained", retained },
	{ "threshold-grown", threshold_grown }, { "tops-stuck", tops_stuck },
	{ "arena-sprawl", arena_sprawl }, { "orphan-arenas", orphan_arenas }, { "pinned", pinned },
	{ "fragmented", fragmented }, { "sparse", sparse }, { "cache-retained", cache_retained },
	{ "thp", thp }, { "fork-shared", fork_shared }, { "mmapped-large", mmapped_large },
	{ "mmap-limit", mmap_limit }, { "locked", locked }, { "main-in-pieces", main_in_pieces },
	{ "held-files", held_files }, { "thread-stacks", thread_stacks },
	{ "unjoined-threads", unjoined_threads }, { "mappings-full", mappings_full },
	{ "env-not-effective", healthy }, /* the environment has it */
};

int
main(int argc, char **argv)
{
	sem_init(&done, 0, 0);
	sem_init(&never, 0, 0);
	/* Since 2.42 the first free() makes the thread's cache: before what is to be looked at. */
	tracee_use_malloc();
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (argc == 2 && strcmp(argv[1], kinds[i].kind) == 0) {
			kinds[i].make();
			tracee_ready();
			return tracee_park();
		}
	fprintf(stderr, "cause: which one?\n");
	return 99;
}

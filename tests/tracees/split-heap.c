/*
 * split-heap KIND: a main arena that is not in one piece.
 *	hidden     pieces in which nothing is free, so that no list leads to them
 *	fast       a fast bin leads into a piece to which no other list leads
 *	neighbour  pieces in one mapping with the heap of a thread that has filled its cache
 *	foreign    the program itself calls sbrk() in between
 *	far        the same, with more than all of malloc's memory
 *	pool       the program takes memory from brk before malloc does and after it
 *	behind     brk is not blocked, but a mapping of the program's own begins where it ends
 *	shrunk     in one piece, but a thread's heap has shrunk while all memory was locked
 *	stranger   in one piece, but nothing leads to the descriptor of a thread
 *		   that has cached blocks
 * "count" answers how many bytes the chunks in use of the main arena have by its own account,
 * "trim" how much its RSS falls by a trim.
 */
#include "tracee.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096UL
#define BLOCK 1100
#define CACHED 16 /* as many as a bin of a thread's cache holds: 7, since 2.43 16 */
#define NR_BLOCKS 40000
#define POOL_BYTES (64 << 20)
#define HEADER_BYTES sizeof(size_t)

static char *block[NR_BLOCKS];
static size_t nr_blocks, in_use_bytes;
static uintptr_t brk_end;
static pthread_barrier_t barrier;

static char *
take(size_t bytes)
{
	char *p = malloc(bytes);

	if (!p || nr_blocks == NR_BLOCKS)
		tracee_fail("malloc");
	memset(p, 1, bytes);
	in_use_bytes += malloc_usable_size(p) + HEADER_BYTES;
	return block[nr_blocks++] = p;
}

static void
give_back(size_t i)
{
	in_use_bytes -= malloc_usable_size(block[i]) + HEADER_BYTES;
	free(block[i]);
}

static void
map_at(uintptr_t at, size_t bytes, int prot)
{
	if (mmap((void *)at, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		    0) == MAP_FAILED)
		tracee_fail("mmap");
}

static void
block_brk(void)
{
	brk_end = ((uintptr_t)sbrk(0) + PAGE - 1) & -PAGE;
	map_at(brk_end, PAGE, PROT_READ);
}

/* A few megabytes of blocks in pieces that touch nothing which is mapped later. */
static void
fill_piece(void)
{
	uintptr_t low = UINTPTR_MAX;

	for (int i = 0; i < 4000; i++) {
		uintptr_t p = (uintptr_t)take(BLOCK);

		if (p > brk_end && p < low)
			low = p;
	}
	map_at((low & -PAGE) - PAGE, PAGE, PROT_NONE);
}

/* Fill the gaps at their ends, so that the rest is too small for a block. */
static void
fill_gaps(void)
{
	for (int i = 0; i < 3000; i++)
		take(24);
}

static void
be_hidden(void)
{
	block_brk();
	for (int i = 0; i < 4; i++)
		fill_piece();
	fill_gaps();
}

static void
be_fast(void)
{
	size_t small, nr = 20;

	block_brk();
	fill_piece();
	small = nr_blocks;
	for (size_t i = 0; i < nr; i++)
		take(24);
	fill_piece();
	fill_piece();
	for (size_t i = 0; i < nr; i++) /* seven go to the cache */
		give_back(small + i);
}

static void *
fill_heap(void *arg)
{
	void *cached[64][7];

	for (int i = 0; i < 58000; i++)
		memset(malloc(1000), 1, 1000);
	for (int s = 0; s < 64; s++)
		for (int i = 0; i < 7; i++)
			cached[s][i] = malloc(24 + 16 * (size_t)s);
	for (int s = 0; s < 64; s++)
		for (int i = 0; i < 7; i++)
			free(cached[s][i]);
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return arg;
}

static void
be_neighbour(void)
{
	pthread_t thread;

	block_brk();
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, fill_heap, NULL);
	pthread_barrier_wait(&barrier);
	for (size_t i = 0; i < NR_BLOCKS; i++)
		take(1000);
	for (size_t i = 0; i < NR_BLOCKS; i++)
		if (i % 200)
			give_back(i);
	malloc_trim(0);
}

static void
be_foreign(void)
{
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 1000; k++)
			take(BLOCK);
		memset(sbrk(12345), 0x11, 12345);
	}
	for (size_t i = 0; i < nr_blocks; i += 2)
		give_back(i);
}

static void
be_far(void)
{
	for (int i = 0; i < 1000; i++)
		take(BLOCK);
	memset(sbrk(POOL_BYTES), 0x11, POOL_BYTES);
	for (int i = 0; i < 1000; i++)
		take(BLOCK);
	for (size_t i = 0; i < nr_blocks; i += 2)
		give_back(i);
}

static void
be_before_another(void)
{
	for (int i = 0; i < 4000; i++)
		take(BLOCK);
	brk_end = (uintptr_t)sbrk(0);
	map_at(brk_end, 16 << 20, PROT_READ | PROT_WRITE);
	memset((void *)brk_end, 1, 16 << 20);
	for (size_t i = 0; i < nr_blocks; i++)
		give_back(i);
	nr_blocks = 0;
}

static void
be_pool(void)
{
	for (int i = 0; i < 4000; i++)
		take(BLOCK);
	memset(sbrk(POOL_BYTES), 1, POOL_BYTES);
}

static void *
grow_and_shrink(void *arg)
{
	static void *p[20000];

	/* Since 2.42 the first free() makes the thread's cache: not at the end of the heap. */
	tracee_use_malloc();
	for (size_t i = 0; i < sizeof p / sizeof *p; i++)
		p[i] = memset(malloc(1000), 1, 1000);
	for (size_t i = 0; i < CACHED; i++)
		free(p[i]);
	for (size_t i = sizeof p / sizeof *p; i-- > CACHED;)
		free(p[i]);
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return arg;
}

static void
be_shrunk(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		tracee_fail("mlockall");
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, &attr, grow_and_shrink, NULL);
	pthread_barrier_wait(&barrier);
}

static void *
hide_and_cache(void *arg)
{
	syscall(SYS_set_robust_list, NULL, 3 * sizeof(long));
	for (int i = 0; i < 10; i++)
		free(malloc(100 + 32 * (size_t)i));
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return arg;
}

static void
be_stranger(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, hide_and_cache, NULL);
	pthread_barrier_wait(&barrier);
}

static void
be(const char *kind)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} kinds[] = { { "hidden", be_hidden }, { "fast", be_fast }, { "neighbour", be_neighbour },
		{ "foreign", be_foreign }, { "pool", be_pool }, { "shrunk", be_shrunk },
		{ "far", be_far }, { "stranger", be_stranger }, { "behind", be_before_another } };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (kind && strcmp(kind, kinds[i].name) == 0) {
			kinds[i].fn();
			return;
		}
	_exit(2);
}

static long
rss_bytes(void)
{
	long pages = 0;
	char line[128] = "";
	FILE *f = fopen("/proc/self/smaps_rollup", "re");

	while (f && fgets(line, sizeof line, f) && sscanf(line, "Rss: %ld", &pages) != 1)
		;
	if (f)
		fclose(f);
	return pages * 1024;
}

static long
trim(void)
{
	long before = rss_bytes();

	malloc_trim(0);
	return before - rss_bytes();
}

int
main(int argc, char **argv)
{
	char line[16];

	if (argc > 1 && strcmp(argv[1], "pool") == 0)
		memset(sbrk(POOL_BYTES), 1, POOL_BYTES);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	tracee_use_malloc();
	trim(); /* its code is in memory now */
	be(argc > 1 ? argv[1] : NULL);
	tracee_ready();
	while (tracee_command(line, sizeof line))
		tracee_say("%ld", strcmp(line, "trim") == 0 ? trim() : (long)in_use_bytes);
	return tracee_end();
}

/*
 * any-heap SEED FILE: a program that does at random what programs do to malloc and around it; each
 * seed is another one.  It keeps a ledger of its own.  When it is ready it has written what
 * malloc_info() says to FILE, and says: blocks in arenas, their bytes with headers, blocks with
 * mappings of their own, threads, and how many bytes it took from brk itself.  "trim" answers by
 * how much its RSS falls by malloc_trim(0).
 */
#include "tracee.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>

#define PAGE 4096UL
#define NR_SLOTS 6000
#define THREADS_MAX 5
#define WORD sizeof(size_t)

struct worker {
	uint32_t state;
	int nr_steps;
	void *slot[NR_SLOTS];
};

static struct worker *worker; /* mapped, so that it is no block itself */
static int nr_threads;
static size_t sbrk_bytes, nr_sbrks; /* of its own */
static pthread_barrier_t done;

static uint32_t
draw(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % below;
}

/* ---- blocks ---- */

static size_t
any_size(uint32_t *state)
{
	uint32_t kind = draw(state, 1000);

	if (kind < 500)
		return draw(state, 160);
	if (kind < 850)
		return draw(state, 3000);
	if (kind < 980)
		return draw(state, 40000);
	return draw(state, kind < 997 ? 300000 : 4000000);
}

static void *
any_block(uint32_t *state)
{
	size_t size = any_size(state);
	uint32_t kind = draw(state, 40);
	void *p;

	if (kind == 0)
		p = aligned_alloc(64UL << draw(state, 10), (size + 65535) & ~65535UL);
	else if (kind == 1)
		p = calloc(1, size);
	else
		p = malloc(size);
	if (p && draw(state, 4))
		memset(p, 1, malloc_usable_size(p));
	return p;
}

static void
step(struct worker *w)
{
	void **slot = &w->slot[draw(&w->state, NR_SLOTS)];
	uint32_t kind = draw(&w->state, 16);

	if (*slot && kind == 0) {
		size_t size = any_size(&w->state) + 1;
		void *p = realloc(*slot, size);

		*slot = p ? p : *slot;
		return;
	}
	free(*slot);
	*slot = kind < 6 ? NULL : any_block(&w->state);
}

/* Let go of one in KEEP no longer, in the order of the slots, not of addresses. */
static void
let_go(struct worker *w, uint32_t keep)
{
	for (int i = 0; i < NR_SLOTS; i++)
		if (draw(&w->state, keep)) {
			free(w->slot[i]);
			w->slot[i] = NULL;
		}
}

/* ---- what else there is ---- */

static void
map_own(uint32_t *state)
{
	size_t bytes = PAGE * (1 + draw(state, 600));
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		memset(p, 0x5a, bytes);
}

static void
block_brk(int prot)
{
	uintptr_t brk = ((uintptr_t)sbrk(0) + PAGE - 1) & -PAGE;
	char *p = mmap(
		(void *)brk, PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != MAP_FAILED && prot & PROT_WRITE)
		*p = 1;
}

static void
take_brk(uint32_t *state)
{
	size_t bytes = draw(state, 2) ? PAGE * draw(state, 200) : draw(state, 500000);
	char *p;

	/* Now and then more than malloc has. */
	if (draw(state, 8) == 0)
		bytes *= 60;
	p = sbrk((intptr_t)bytes);
	if (p == (void *)-1)
		return;
	memset(p, 0x11, bytes);
	sbrk_bytes += bytes;
	nr_sbrks++;
}

static void
lock_some(struct worker *w)
{
	for (int i = 0; i < 20; i++) {
		uintptr_t p = (uintptr_t)w->slot[draw(&w->state, NR_SLOTS)];

		if (p)
			mlock((void *)(p & -PAGE), PAGE * (1 + draw(&w->state, 30)));
	}
}

/* Only by the first thread: the others would not know where brk is either. */
static void
interfere(struct worker *w)
{
	uint32_t kind = draw(&w->state, 12);

	if (kind < 3)
		map_own(&w->state);
	else if (kind == 3)
		block_brk(PROT_READ);
	else if (kind == 4)
		block_brk(PROT_READ | PROT_WRITE);
	else if (kind < 7)
		take_brk(&w->state);
	else if (kind == 7)
		lock_some(w);
	else if (kind == 8)
		malloc_trim(draw(&w->state, 2) ? 0 : 1 << 20);
}

static void
set_any(uint32_t *state)
{
	static const int threshold[] = { -1, -1, 64 << 10, 256 << 10, 1 << 20 };
	static const int trim[] = { -1, -1, 0, 64 << 10, 1 << 30 };
	static const int pad[] = { -1, -1, 0, 1 << 20 };
	int n;

	if ((n = threshold[draw(state, 5)]) >= 0)
		mallopt(M_MMAP_THRESHOLD, n);
	if ((n = trim[draw(state, 5)]) >= 0)
		mallopt(M_TRIM_THRESHOLD, n);
	if ((n = pad[draw(state, 4)]) >= 0)
		mallopt(M_TOP_PAD, n);
	if (draw(state, 4) == 0)
		mallopt(M_ARENA_MAX, 1 + (int)draw(state, 2));
	if (draw(state, 4) == 0)
		mallopt(M_PERTURB, 0x5a);
	if (draw(state, 6) == 0)
		mallopt(M_MXFAST, 0);
}

/* ---- the work ---- */

/*
 * sbrk() takes no lock (misc/sbrk.c); malloc calls it with the main arena's held.  So the first
 * thread calls it while nobody is in malloc.
 */
static pthread_rwlock_t in_malloc = PTHREAD_RWLOCK_INITIALIZER;

static void
interfere_alone(struct worker *w)
{
	pthread_rwlock_wrlock(&in_malloc);
	interfere(w);
	pthread_rwlock_unlock(&in_malloc);
}

static void
step_beside(struct worker *w)
{
	pthread_rwlock_rdlock(&in_malloc);
	step(w);
	pthread_rwlock_unlock(&in_malloc);
}

static void *
work(void *arg)
{
	struct worker *w = arg;

	for (int phase = 0; phase < 3; phase++) {
		for (int i = 0; i < w->nr_steps; i++) {
			step_beside(w);
			if (w == worker && draw(&w->state, 1500) == 0)
				interfere_alone(w);
		}
		pthread_rwlock_rdlock(&in_malloc);
		let_go(w, 1 + draw(&w->state, 12));
		pthread_rwlock_unlock(&in_malloc);
	}
	pthread_barrier_wait(&done);
	while (w != worker)
		pause();
	return NULL;
}

static void
begin(uint32_t *state)
{
	pthread_attr_t attr;
	pthread_t thread;

	nr_threads = draw(state, 3) ? 1 + (int)draw(state, THREADS_MAX) : 1;
	worker = mmap(NULL, (size_t)nr_threads * sizeof *worker, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (worker == MAP_FAILED)
		tracee_fail("mmap");
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	pthread_barrier_init(&done, NULL, (unsigned int)nr_threads);
	for (int i = 0; i < nr_threads; i++)
		worker[i] = (struct worker){ .state = *state + (uint32_t)i,
			.nr_steps = 1000 + (int)draw(state, 12000) };
	for (int i = 1; i < nr_threads; i++)
		if (pthread_create(&thread, &attr, work, &worker[i]))
			tracee_fail("pthread_create");
	pthread_attr_destroy(&attr);
	work(&worker[0]);
}

/* ---- the ledger ---- */

struct sum {
	size_t nr, bytes;
};

/*
 * Flag 2 of a block's header: it has a mapping; the word before says how far the header is into it.
 */
static void
add_block(const void *block, struct sum *in_arenas, struct sum *mapped)
{
	const size_t *header = block;
	struct sum *sum = header[-1] & 2 ? mapped : in_arenas;
	size_t bytes = malloc_usable_size((void *)block);

	sum->nr++;
	if (sum == in_arenas)
		sum->bytes += bytes + WORD;
	else
		sum->bytes += (bytes + ((uintptr_t)block & (PAGE - 1)) + PAGE - 1) & -PAGE;
}

static void
say_ledger(void)
{
	struct sum in_arenas = { 0 }, mapped = { 0 };

	for (int i = 0; i < nr_threads; i++)
		for (int k = 0; k < NR_SLOTS; k++)
			if (worker[i].slot[k])
				add_block(worker[i].slot[k], &in_arenas, &mapped);
	/* Behind each malloc goes on where a chunk can begin. */
	tracee_say("ledger %zu %zu %zu %d %zu", in_arenas.nr, in_arenas.bytes, mapped.nr,
		nr_threads, sbrk_bytes + nr_sbrks * 2 * WORD);
}

/* Without a block of malloc's. */
static long
rss_kib(void)
{
	int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
	char buf[4096];
	ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof buf - 1);
	const char *rss;

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	rss = strstr(buf, "Rss:");
	return rss ? strtol(rss + 4, NULL, 10) : 0;
}

static long
trim(void)
{
	long before = rss_kib();

	malloc_trim(0);
	return (before - rss_kib()) * 1024;
}

int
main(int argc, char **argv)
{
	static char buffer[1 << 16], line[16];
	uint32_t state = (uint32_t)tracee_number(argc, argv, 1, 1) * 7919;
	bool has_child;
	FILE *f;

	if (argc < 3)
		return 2;
	/* Then malloc's memory does not begin with a page. */
	if (tracee_number(argc, argv, 1, 1) % 2)
		sbrk(100);
	set_any(&state);
	trim(); /* its code is in memory now */
	f = fopen(argv[2], "we");
	if (!f || setvbuf(f, buffer, _IOFBF, sizeof buffer))
		tracee_fail(argv[2]);
	has_child = draw(&state, 8) == 0;
	begin(&state);
	if (has_child && fork() == 0)
		for (prctl(PR_SET_PDEATHSIG, SIGKILL);;)
			pause();
	malloc_info(0, f);
	fflush(f);
	say_ledger();
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	tracee_say("ready");
	while (tracee_command(line, sizeof line))
		tracee_say("%ld", trim());
	return tracee_end();
}

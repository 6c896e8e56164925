/*
 * space [SEED [STEPS]]: a random address space against a ledger of its own and against
 * /proc/self/maps.  Each thread has an area that crosses the borders of the agent's table, in which
 * it maps, unmaps, moves and protects at random; what fails is among it.  A handler of signals maps
 * as well.
 */
#include "count.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/statfs.h>
#include <sys/time.h>

#define PAGE 4096
#define PAGES 1100
#define THREADS 4
#define GIB ((uintptr_t)1 << 30)
#define TMPFS 0x01021994

enum kind { NONE, MEMORY, COPY, SHARED_FILE };

struct page {
	enum kind kind;
	int prot;
	bool is_dirty; /* of a COPY: could be written to */
	int bytes;
};

struct area {
	unsigned int seed;
	char *start, *spare;
	struct page page[PAGES];
	int memory_fd, file_fd;
	bool is_file_memory;
	char failed[200];
};

static struct area area[THREADS];
static volatile int nr_handled;

/* ---- the ledger ---- */

static bool
page_counts(const struct page *p)
{
	return (p->kind == MEMORY && p->prot != PROT_NONE) || (p->kind == COPY && p->is_dirty);
}

static long
ledger_sum(const struct area *a)
{
	long sum = 0;

	for (int i = 0; i < PAGES; i++)
		sum += page_counts(&a->page[i]) ? a->page[i].bytes : 0;
	return sum;
}

static void
set_pages(struct area *a, int first, size_t bytes, struct page p)
{
	for (; bytes; first++) {
		p.bytes = bytes < PAGE ? (int)bytes : PAGE;
		a->page[first] = p;
		bytes -= (size_t)p.bytes;
	}
}

static void
protect_pages(struct area *a, int first, int nr, int prot)
{
	for (int i = first; i < first + nr && a->page[i].kind != NONE; i++) {
		a->page[i].prot = prot;
		a->page[i].is_dirty |= (prot & PROT_WRITE) != 0;
	}
}

/* ---- what is done at random ---- */

static int
below(struct area *a, int n)
{
	return (int)((unsigned int)rand_r(&a->seed) % (unsigned int)n);
}

static int
any_prot(struct area *a)
{
	const int prot[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE };

	return prot[below(a, 4)];
}

static void
do_map(struct area *a, int first, int nr)
{
	struct page p = { MEMORY, any_prot(a), true, PAGE };
	size_t bytes = (size_t)nr * PAGE - (below(a, 4) ? 0 : (size_t)below(a, PAGE));
	int flags = MAP_FIXED | (below(a, 2) ? MAP_PRIVATE : MAP_SHARED), fd = -1;

	switch (below(a, 6)) {
	case 0:
		fd = a->memory_fd;
		p.kind = flags & MAP_PRIVATE ? COPY : MEMORY;
		break;
	case 1:
		fd = a->file_fd;
		p.kind = flags & MAP_PRIVATE ? COPY : a->is_file_memory ? MEMORY : SHARED_FILE;
		if (!(flags & MAP_PRIVATE))
			p.prot &= PROT_READ;
		break;
	case 2: /* fails, with nothing changed */
		if (mmap(a->start + first * PAGE, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1,
			    0) != MAP_FAILED)
			abort();
		return;
	default:
		flags |= MAP_ANONYMOUS;
	}
	p.is_dirty = p.prot & PROT_WRITE;
	if (mmap(a->start + first * PAGE, bytes, p.prot, flags, fd, 0) != MAP_FAILED)
		set_pages(a, first, bytes, p);
}

static void
do_unmap(struct area *a, int first, int nr)
{
	if (below(a, 10) == 0)
		munmap(a->start + first * PAGE + 1, (size_t)nr * PAGE); /* fails */
	else if (munmap(a->start + first * PAGE, (size_t)nr * PAGE - (size_t)below(a, PAGE)) == 0)
		set_pages(a, first, (size_t)nr * PAGE, (struct page){ .kind = NONE });
}

/*
 * Shared files are of a descriptor that cannot be written to: what then fails half-way is not
 * tried.
 */
static void
do_protect(struct area *a, int first, int nr)
{
	int prot = any_prot(a);

	for (int i = first; i < first + nr; i++)
		if (a->page[i].kind == SHARED_FILE || a->is_file_memory)
			prot &= PROT_READ;
	if (mprotect(a->start + first * PAGE, (size_t)nr * PAGE, prot) == 0 || errno == ENOMEM)
		protect_pages(a, first, nr, prot);
}

static bool
is_mapped(struct area *a, int i)
{
	return syscall(SYS_msync, a->start + i * PAGE, PAGE, MS_ASYNC) == 0;
}

static void
move_pages(struct area *a, int first, int had, int to, int want)
{
	static __thread struct page was[PAGES];

	memcpy(was, &a->page[first], (size_t)had * sizeof *was);
	for (int i = 0; i < had; i++)
		a->page[first + i] = (struct page){ .kind = NONE };
	for (int i = 0; i < want; i++) {
		/* Holes of what is moved leave what is there. */
		if (was[i < had ? i : 0].kind == NONE)
			continue;
		a->page[to + i] = was[i < had ? i : 0];
		a->page[to + i].bytes = PAGE;
	}
}

static void
do_remap(struct area *a, int first, int nr)
{
	int want = below(a, 2) ? nr : 1 + below(a, 2 * nr), to = below(a, PAGES - want);
	char *old = a->start + first * PAGE, *p;

	if (below(a, 2)) {
		p = mremap(old, (size_t)nr * PAGE, (size_t)want * PAGE, 0);
		to = first;
	} else {
		p = mremap(old, (size_t)nr * PAGE, (size_t)want * PAGE,
			MREMAP_MAYMOVE | MREMAP_FIXED, a->start + to * PAGE);
	}
	if (p != MAP_FAILED) {
		move_pages(a, first, nr, to, want);
	} else if (to != first) {
		/* It may have unmapped what was there. */
		for (int i = to; i < to + want; i++)
			if (!is_mapped(a, i))
				a->page[i] = (struct page){ .kind = NONE };
	}
}

static void
do_step(struct area *a)
{
	int nr = 1 + below(a, below(a, 3) ? 8 : 600), first = below(a, PAGES - nr);

	switch (below(a, 8)) {
	case 0:
	case 1:
	case 2:
		do_map(a, first, nr);
		break;
	case 3:
		do_unmap(a, first, nr);
		break;
	case 4:
	case 5:
		do_protect(a, first, nr);
		break;
	default:
		/* Only of one that is all alike: of others it depends on the release of Linux. */
		for (int i = 1; i < nr; i++)
			if (memcmp(&a->page[first], &a->page[first + i], sizeof a->page[0]) != 0)
				nr = i;
		do_remap(a, first, nr);
	}
}

/* ---- the kernel's own ledger ---- */

static bool
maps_agree(const struct area *a)
{
	static char line[8192];
	static struct page seen[PAGES];
	FILE *f = fopen("/proc/self/maps", "re");
	uintptr_t start, end;
	char prot[8];

	memset(seen, 0, sizeof seen);
	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &start, &end, prot) != 3)
			continue;
		for (int i = 0; i < PAGES; i++) {
			uintptr_t at = (uintptr_t)a->start + (uintptr_t)i * PAGE;

			if (at >= start && at < end)
				seen[i] = (struct page){ MEMORY,
					(prot[0] == 'r' ? PROT_READ : 0) |
						(prot[1] == 'w' ? PROT_WRITE : 0),
					false, 0 };
		}
	}
	if (f)
		fclose(f);
	for (int i = 0; i < PAGES; i++) {
		const struct page *p = &a->page[i];

		if ((p->kind != NONE) != (seen[i].kind != NONE) ||
			(p->kind != NONE && p->prot != seen[i].prot)) {
			printf("# page %d: ledger %d %d, kernel %d %d\n", i, p->kind, p->prot,
				seen[i].kind, seen[i].prot);
			return false;
		}
	}
	return true;
}

/* ---- threads ---- */

/*
 * An area is on both sides of a border, its spare page beyond.  None is at the end of what is
 * reserved: where one has a hole nobody else is to map.
 */
static void
open_areas(unsigned int seed)
{
	const size_t bytes = (THREADS + 2) * GIB;
	char *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct statfs fs = { 0 };

	if (p == MAP_FAILED) {
		puts("1..0 # SKIP there are not so many addresses");
		exit(0);
	}
	p = (char *)(((uintptr_t)p + GIB) & -GIB);
	for (unsigned int i = 0; i < THREADS; i++) {
		struct area *a = &area[i];

		a->seed = seed + i;
		a->start = p + (i + 1) * GIB - PAGES / 2 * PAGE;
		a->spare = a->start + (PAGES + 10) * PAGE;
		set_pages(a, 0, (size_t)PAGES * PAGE,
			(struct page){ MEMORY, PROT_NONE, false, PAGE });
		a->memory_fd = memfd_create("space", 0);
		a->file_fd = open("/proc/self/exe", O_RDONLY);
		if (ftruncate(a->memory_fd, (off_t)PAGES * PAGE) || fstatfs(a->file_fd, &fs))
			abort();
		a->is_file_memory = fs.f_type == TMPFS;
	}
}

/* Whichever thread it interrupts: each has its own page for it. */
static __thread struct area *own;

static void
map_in_handler(int sig)
{
	int saved = errno;

	(void)sig;
	if (own) {
		mmap(own->spare, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		mprotect(own->spare, PAGE, PROT_NONE);
	}
	nr_handled++;
	errno = saved;
}

static int steps;

static void *
run_thread(void *arg)
{
	own = arg;
	for (int i = 0; i < steps; i++)
		do_step(arg);
	own = NULL;
	return NULL;
}

static long
mapped(void)
{
	return (long)memdiag_mapped_bytes();
}

static void
try_alone(long before)
{
	for (int i = 0; i < steps; i++) {
		unsigned int seed = area[0].seed;

		do_step(&area[0]);
		if (mapped() - before != ledger_sum(&area[0])) {
			printf("# step %d, seed %u: counted %ld, ledger %ld\n", i, seed,
				mapped() - before, ledger_sum(&area[0]));
			ok(false, "each step alone");
			return;
		}
	}
	ok(true, "each step alone");
	ok(maps_agree(&area[0]), "the kernel agrees with the ledger");
}

static void
try_together(long before)
{
	const struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };
	pthread_t thread[THREADS];
	long want = 0;

	signal(SIGALRM, map_in_handler);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, run_thread, &area[i]);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	for (int i = 0; i < THREADS; i++) {
		want += ledger_sum(&area[i]);
		ok(maps_agree(&area[i]), "the kernel agrees with the ledger of thread %d", i);
	}
	if (!ok(mapped() - before == want, "all threads together, with %d signals", nr_handled))
		printf("# counted %ld, ledgers %ld\n", mapped() - before, want);
}

int
main(int argc, char **argv)
{
	unsigned int seed = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	long before;

	steps = argc > 2 ? atoi(argv[2]) : 3000;
	need_agent();
	before = mapped();
	open_areas(seed * THREADS);
	try_alone(before);
	try_together(before);
	for (int i = 0; i < THREADS; i++)
		munmap(area[i].start - GIB / 8, GIB / 4);
	ok(mapped() == before, "nothing is left when all is unmapped");
	return tap_end();
}

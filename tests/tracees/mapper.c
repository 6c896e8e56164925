/*
 * mapper [THREADS]: map at places that are known, at random, unmap, move and protect parts of that,
 * and keep the account for each place, page by page.
 *
 *	play SEED N	-> "done" when each thread has done N steps
 *	sum SITE	-> bytes and mappings so far, and bytes and mappings in use, as far as they
 *			   are the program's memory (doc/internals/agent.md, "What counts")
 *	most		-> the most bytes that were in use; exact with one thread
 *	drop		-> "done" when all is unmapped
 *	anew		-> "done"; the account begins again
 *	child SEED N FILE
 *			-> "0" when a child has dropped all that it has from its parent, and
 *			   played; its account is in FILE, a line for each place
 *
 * SITE is the number in the name of a function below, each of which makes one kind of call.
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* 5.7 */
#endif

#define PAGE ((size_t)4096)
#define NR_SITES 8
#define NR_AREAS 150
#define AREA_PAGES 48
#define MAX_THREADS 8
#define MAX_CALLS (1 << 20)

/* A call that has mapped something: one mapping while some of it counts. */
struct call {
	long bytes; /* that count */
	int site;
};

struct page {
	struct call *by; /* NULL: not mapped */
	bool is_copy;	 /* of a file, private: counts as soon as it may be written to */
	bool counts;
	bool is_new; /* neither moved nor protected */
	long bytes;  /* PAGE, or less at the end of a mapping */
};

/* Addresses that are one thread's while it has the lock. */
static struct area {
	pthread_mutex_t lock;
	char *at;
	struct page page[AREA_PAGES];
} area[NR_AREAS];

static struct call call[MAX_CALLS];
static int nr_calls;
static struct account {
	long bytes, mappings, live_bytes, live_mappings;
} account[NR_SITES];
static long live_bytes, most_bytes;

static struct worker {
	unsigned int seed;
	sem_t go, done;
} worker[MAX_THREADS];
static int nr_threads = 1, memory_fd, file_fd;
static long nr_steps;

/* ---- the places ---- */

struct request {
	void *at, *to;
	size_t had, bytes;
	int prot, flags;
};

/* clang makes no clones. */
#if __has_attribute(noclone)
#define NOINLINE __attribute__((noinline, noclone))
#else
#define NOINLINE __attribute__((noinline))
#endif

/* Not the last call of a function, which would leave no frame of it. */
#define SITE(number, call)                                                                         \
	static NOINLINE void *site_##number(const struct request *r)                               \
	{                                                                                          \
		void *volatile mapped = call;                                                      \
                                                                                                   \
		return mapped;                                                                     \
	}
#define RW (PROT_READ | PROT_WRITE)
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)

SITE(0, mmap(NULL, r->bytes, RW, ANONYMOUS, -1, 0))
SITE(1, mmap(NULL, r->bytes, PROT_NONE, ANONYMOUS, -1, 0))
SITE(2, mmap(NULL, r->bytes, RW, MAP_SHARED, memory_fd, 0))
SITE(3, mmap(NULL, r->bytes, RW, MAP_PRIVATE, file_fd, 0))
SITE(4, mmap64(NULL, r->bytes, PROT_READ, MAP_PRIVATE, file_fd, 0))
SITE(5, mremap(r->at, r->had, r->bytes, r->flags))
SITE(6, mmap(r->at, r->bytes, r->prot, ANONYMOUS | MAP_FIXED, -1, 0))
SITE(7, mremap(r->at, r->had, r->bytes, r->flags | MREMAP_FIXED, r->to))

/* ---- the account ---- */

static void
add(int site, long bytes, long mappings)
{
	const long live = __atomic_add_fetch(&live_bytes, bytes, __ATOMIC_RELAXED);

	if (bytes > 0)
		__atomic_add_fetch(&account[site].bytes, bytes, __ATOMIC_RELAXED);
	if (mappings > 0)
		__atomic_add_fetch(&account[site].mappings, mappings, __ATOMIC_RELAXED);
	__atomic_add_fetch(&account[site].live_bytes, bytes, __ATOMIC_RELAXED);
	__atomic_add_fetch(&account[site].live_mappings, mappings, __ATOMIC_RELAXED);
	if (live > most_bytes)
		most_bytes = live;
}

static void
change(struct call *c, long bytes)
{
	const bool did = c->bytes;

	if (!bytes)
		return;
	c->bytes += bytes;
	add(c->site, bytes, (c->bytes != 0) - did);
}

/* P is, from now on, what NOW says. */
static void
set(struct page *p, struct page now)
{
	if (p->by && p->counts)
		change(p->by, -p->bytes);
	*p = now;
	if (p->by && p->counts)
		change(p->by, p->bytes);
}

static struct call *
new_call(int site)
{
	const int i = __atomic_fetch_add(&nr_calls, 1, __ATOMIC_RELAXED);

	if (i >= MAX_CALLS)
		tracee_fail("too many calls");
	call[i].site = site;
	return &call[i];
}

static long
bytes_of(size_t i, size_t bytes)
{
	return (long)(bytes - i * PAGE < PAGE ? bytes - i * PAGE : PAGE);
}

static size_t
pages_of(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE;
}

/* BYTES at page FROM of A are mapped by SITE, all as LIKE is. */
static void
put(struct area *a, size_t from, size_t bytes, int site, struct page like)
{
	like.by = new_call(site);
	like.is_new = true;
	for (size_t i = 0; i < pages_of(bytes); i++)
		set(&a->page[from + i], (struct page){ .by = NULL });
	for (size_t i = 0; i < pages_of(bytes); i++) {
		like.bytes = bytes_of(i, bytes);
		set(&a->page[from + i], like);
	}
}

/* ---- what a thread does ---- */

static size_t
some(struct worker *w, size_t nr)
{
	return (size_t)rand_r(&w->seed) % nr;
}

static size_t
some_bytes(struct worker *w, size_t most_pages)
{
	const size_t pages = 1 + some(w, most_pages);

	return pages * PAGE - (some(w, 4) ? 0 : some(w, PAGE));
}

static void
map(struct worker *w, struct area *a)
{
	static void *(*const site[])(
		const struct request *) = { site_0, site_1, site_2, site_3, site_4 };
	static const struct page like[] = { { .counts = true }, { .counts = false },
		{ .counts = true }, { .is_copy = true, .counts = true }, { .is_copy = true } };
	const int k = (int)some(w, 5);
	const struct request r = { .bytes = some_bytes(w, AREA_PAGES) };

	a->at = site[k](&r);
	if (a->at == MAP_FAILED)
		tracee_fail("mmap");
	put(a, 0, r.bytes, k, like[k]);
}

/* Pages of A that are mapped, one next to the other: where others may be mapped is not touched. */
static bool
find_run(struct worker *w, struct area *a, size_t *ret_from, size_t *ret_nr)
{
	size_t from = some(w, AREA_PAGES), nr = 0;

	while (from < AREA_PAGES && !a->page[from].by)
		from++;
	while (from + nr < AREA_PAGES && a->page[from + nr].by)
		nr++;
	if (!nr)
		return false;
	*ret_from = from;
	*ret_nr = some(w, 4) ? 1 + some(w, nr) : nr;
	return true;
}

static void
forget(struct area *a, size_t from, size_t nr)
{
	for (size_t i = from; i < from + nr; i++)
		set(&a->page[i], (struct page){ .by = NULL });
}

static bool
is_free(const struct area *a)
{
	for (size_t i = 0; i < AREA_PAGES; i++)
		if (a->page[i].by)
			return false;
	return true;
}

static void
unmap(struct area *a, size_t from, size_t nr, size_t less)
{
	if (munmap(a->at + from * PAGE, nr * PAGE - less))
		tracee_fail("munmap");
	forget(a, from, nr);
}

static void
protect(struct worker *w, struct area *a, size_t from, size_t nr)
{
	static const int prots[] = { PROT_NONE, PROT_READ, RW, PROT_READ | PROT_EXEC };
	const int prot = prots[some(w, 4)];

	if (mprotect(a->at + from * PAGE, nr * PAGE, prot))
		tracee_fail("mprotect");
	for (size_t i = from; i < from + nr; i++) {
		struct page p = a->page[i];
		const bool counts = p.is_copy ? p.counts || prot & PROT_WRITE : prot != PROT_NONE;

		p.is_new = false;
		if (p.counts == counts)
			a->page[i] = p;
		else
			p.counts = counts, set(&a->page[i], p);
	}
}

static void
overlay(struct worker *w, struct area *a, size_t from, size_t nr)
{
	const struct request r = { .at = a->at + from * PAGE,
		.bytes = nr * PAGE - (some(w, 4) ? 0 : some(w, PAGE)),
		.prot = some(w, 3) ? RW : PROT_NONE };

	if (site_6(&r) != r.at)
		tracee_fail("mmap over a mapping");
	put(a, from, r.bytes, 6, (struct page){ .counts = r.prot != PROT_NONE });
}

/* Move the pages of OLD to TO; pages behind them are like its first page. */
static void
move(struct area *to, size_t at, const struct page *old, size_t nr, size_t bytes, int site)
{
	struct call *c = new_call(site);

	for (size_t i = 0; i < pages_of(bytes); i++)
		set(&to->page[at + i], (struct page){ .by = NULL });
	for (size_t i = 0; i < pages_of(bytes); i++) {
		struct page p = i < nr ? old[i] : old[0];

		p.by = c;
		p.is_new = false;
		p.bytes = bytes_of(i, bytes);
		set(&to->page[at + i], p);
	}
}

/* Pages of A go to TO, which is free.  The kernel may refuse it. */
static void
remap(struct worker *w, struct area *a, size_t from, size_t nr, struct area *to)
{
	struct request r = { .at = a->at + from * PAGE, .had = nr * PAGE, .flags = MREMAP_MAYMOVE };
	struct page old[AREA_PAGES];
	char *at;

	memcpy(old, &a->page[from], nr * sizeof *old);
	switch (some(w, 4)) {
	case 0: /* a second mapping of shared memory */
		if (old->by->site == 2)
			r.had = 0;
		r.bytes = PAGE * (1 + some(w, nr));
		break;
	case 1:
		r.flags |= MREMAP_DONTUNMAP;
		r.bytes = r.had;
		break;
	default:
		r.bytes = some_bytes(w, AREA_PAGES);
	}
	at = site_5(&r);
	if (at == MAP_FAILED)
		return;
	if (r.had && !(r.flags & MREMAP_DONTUNMAP))
		forget(a, from, nr);
	to->at = at;
	move(to, 0, old, r.had ? nr : 1, r.bytes, 5);
}

/* How many of NR pages are surely one mapping to the kernel: mremap() moves no more of them. */
static size_t
same(const struct page *p, size_t nr)
{
	size_t i = 1;

	while (i < nr && p[i].by == p->by && p[i].is_new && p->is_new)
		i++;
	return i;
}

/* Pages of A go to where others of TO are. */
static void
remap_over(struct worker *w, struct area *a, size_t from, size_t nr, struct area *to)
{
	struct page old[AREA_PAGES];
	struct request r = { .at = a->at + from * PAGE, .flags = MREMAP_MAYMOVE };
	size_t at, room;

	if (!find_run(w, to, &at, &room))
		return;
	nr = same(&a->page[from], nr);
	memcpy(old, &a->page[from], nr * sizeof *old);
	r.had = nr * PAGE;
	r.to = to->at + at * PAGE;
	r.bytes = some_bytes(w, room);
	if (site_7(&r) != r.to)
		tracee_fail("mremap over a mapping");
	forget(a, from, nr);
	move(to, at, old, nr, r.bytes, 7);
}

/* Calls that fail, and change nothing. */
static void
fail(struct area *a, size_t from, size_t nr)
{
	const struct request r = { .at = a->at + from * PAGE + 1, .had = nr * PAGE, .bytes = PAGE };

	if (!munmap(a->at + from * PAGE + 1, nr * PAGE) || site_5(&r) != MAP_FAILED ||
		mmap(a->at + from * PAGE, nr * PAGE, RW, MAP_PRIVATE | MAP_FIXED, -1, 0) !=
			MAP_FAILED ||
		!mprotect(a->at + from * PAGE + 1, nr * PAGE, PROT_NONE))
		tracee_fail("a call that cannot be");
}

static void
use(struct worker *w, struct area *a, struct area *other)
{
	size_t from = 0, nr = 0;

	if (is_free(a)) {
		map(w, a);
		return;
	}
	if (!find_run(w, a, &from, &nr))
		return;
	switch (some(w, 12)) {
	case 0:
	case 1:
		while (find_run(w, a, &from, &nr))
			unmap(a, from, nr, 0);
		break;
	case 7:
	case 8:
		unmap(a, from, nr, some(w, 4) ? 0 : some(w, PAGE));
		break;
	case 2:
	case 3:
		protect(w, a, from, nr);
		break;
	case 4:
	case 5:
		overlay(w, a, from, nr);
		break;
	case 6:
		fail(a, from, nr);
		break;
	default:
		if (is_free(other))
			remap(w, a, from, nr, other);
		else
			remap_over(w, a, from, nr, other);
	}
}

static void
step(struct worker *w)
{
	struct area *a = &area[some(w, NR_AREAS)], *other = &area[some(w, NR_AREAS)];
	/* Mappings of malloc's are not the program's. */
	void *volatile block = some(w, 8) ? NULL : malloc(300000);

	if (a != other && pthread_mutex_trylock(&a->lock) == 0) {
		if (pthread_mutex_trylock(&other->lock) == 0) {
			use(w, a, other);
			pthread_mutex_unlock(&other->lock);
		}
		pthread_mutex_unlock(&a->lock);
	}
	free(block);
}

static void *
work(void *arg)
{
	struct worker *w = arg;

	for (;;) {
		while (sem_wait(&w->go))
			;
		for (long i = 0; i < nr_steps; i++)
			step(w);
		sem_post(&w->done);
	}
	return NULL;
}

static void
play(unsigned int seed)
{
	for (int i = 0; i < nr_threads; i++) {
		worker[i].seed = seed * 1000 + (unsigned int)i;
		sem_post(&worker[i].go);
	}
	for (int i = 0; i < nr_threads; i++)
		while (sem_wait(&worker[i].done))
			;
}

static void
drop(void)
{
	for (int i = 0; i < NR_AREAS; i++)
		for (size_t k = 0; k < AREA_PAGES; k++)
			if (area[i].page[k].by)
				unmap(&area[i], k, 1, 0);
}

static void
begin_anew(void)
{
	memset(account, 0, sizeof account);
	live_bytes = most_bytes = 0;
}

static void
write_account(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		tracee_fail(path);
	for (int k = 0; k < NR_SITES; k++)
		fprintf(f, "site_%d %ld %ld %ld %ld\n", k, account[k].bytes, account[k].mappings,
			account[k].live_bytes, account[k].live_mappings);
	fclose(f);
}

static int
play_in_child(unsigned int seed, const char *path)
{
	int status = -1;
	const pid_t pid = fork();

	if (pid == 0) {
		struct worker w = { .seed = seed };

		drop();
		begin_anew();
		for (long i = 0; i < nr_steps; i++)
			step(&w);
		write_account(path);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

int
main(int argc, char **argv)
{
	char line[512], path[400];
	unsigned int seed;
	int k;

	nr_threads = (int)tracee_number(argc, argv, 1, 1);
	memory_fd = memfd_create("mapper", MFD_CLOEXEC);
	file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (nr_threads < 1 || nr_threads > MAX_THREADS || memory_fd < 0 || file_fd < 0)
		return 99;
	for (int i = 0; i < NR_AREAS; i++)
		pthread_mutex_init(&area[i].lock, NULL);
	for (int i = 0; i < nr_threads; i++) {
		sem_init(&worker[i].go, 0, 0);
		sem_init(&worker[i].done, 0, 0);
		tracee_thread(work, &worker[i]);
	}
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (sscanf(line, "play %u %ld", &seed, &nr_steps) == 2) {
			play(seed);
			tracee_say("done");
		} else if (sscanf(line, "child %u %ld %399s", &seed, &nr_steps, path) == 3) {
			tracee_say("%d", play_in_child(seed, path));
		} else if (sscanf(line, "sum %d", &k) == 1 && k >= 0 && k < NR_SITES) {
			tracee_say("%ld %ld %ld %ld", account[k].bytes, account[k].mappings,
				account[k].live_bytes, account[k].live_mappings);
		} else if (strcmp(line, "most") == 0) {
			tracee_say("%ld", most_bytes);
		} else if (strcmp(line, "drop") == 0) {
			drop();
			tracee_say("done");
		} else if (strcmp(line, "anew") == 0) {
			begin_anew();
			tracee_say("done");
		} else {
			tracee_say("what?");
		}
	}
	return tracee_end();
}

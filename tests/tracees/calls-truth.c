/*
 * calls-truth THREADS: make system calls that take memory and give it back, at random, with all
 * that their arguments can say, and keep a ledger of them.
 *
 *	mark BYTES	-> "done": one mmap() of BYTES and one munmap(), which no ledger has
 *	play SEED STEPS FILE DATA
 *			-> "done N" when each thread has done STEPS steps, with N calls in FILE,
 *			one line for each, those of a thread in their order:
 *
 *	TID CALL ADDRESS BYTES RESULT ERRNO PROTECTION FLAGS ADVICE FD OFFSET FILE OLD OLD_BYTES
 *	CALLER
 *
 * Numbers are decimal, and -1 where a call has no such thing; FILE is 0 for none, 1 for DATA, which
 * is mapped through a descriptor, 2 for a System V segment, 3 for shared memory without a file.
 * CALLER is the function that has made the call.
 */
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define MAX_THREADS 4
#define MAX_CALLS 20000
#define NR_KEPT 12
#define DATA_PAGES 64

#if __has_attribute(noclone)
#define NOINLINE __attribute__((noinline, noclone, no_icf))
#else
#define NOINLINE __attribute__((noinline))
#endif

struct call {
	const char *name, *caller;
	long address, bytes, result, error, protection, flags, advice, fd, offset, file, old,
		old_bytes;
};

struct kept {
	char *at;
	size_t bytes;
	bool is_segment, is_file;
};

struct player {
	pthread_t thread;
	pid_t tid;
	uint64_t random;
	long nr_steps;
	struct kept kept[NR_KEPT];
	struct call *calls;
	size_t nr_calls;
};

static size_t page;
static int data_fd = -1;
static struct player players[MAX_THREADS];

static uint64_t
next(struct player *p, uint64_t below)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return p->random % below;
}

/* ---- the calls: raw, and each from one of two functions ---- */

static long
result_of(long result)
{
	return result == -1 ? -errno : result;
}

static NOINLINE long
call_from_left(long nr, const long *a)
{
	const long ret = result_of(syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]));

	__asm__ volatile("" ::: "memory"); /* no tail call */
	return ret;
}

static NOINLINE long
call_from_right(long nr, const long *a)
{
	const long ret = result_of(syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]));

	__asm__ volatile("" ::: "memory");
	return ret;
}

/* Make the call NR, and begin its line. */
static struct call *
make(struct player *p, const char *name, long nr, const long *a)
{
	const bool is_left = next(p, 2);
	const long result = is_left ? call_from_left(nr, a) : call_from_right(nr, a);
	struct call *c = &p->calls[p->nr_calls++];

	if (p->nr_calls == MAX_CALLS)
		tracee_fail("too many calls");
	*c = (struct call){ .name = name,
		.caller = is_left ? "call_from_left" : "call_from_right",
		.address = a[0],
		.result = result < 0 && result > -4096 ? -1 : result,
		.error = result < 0 && result > -4096 ? -result : 0,
		.protection = -1,
		.flags = -1,
		.advice = -1,
		.fd = -1,
		.offset = -1,
		.old = -1,
		.old_bytes = -1 };
	return c;
}

/* ---- steps ---- */

static void
keep(struct kept *k, const struct call *c, bool is_file)
{
	if (!c->error)
		*k = (struct kept){ .at = (char *)c->result,
			.bytes = ((size_t)c->bytes + page - 1) & ~(page - 1),
			.is_file = is_file };
}

static long
some_flags(struct player *p)
{
	static const long more[] = { MAP_NORESERVE, MAP_STACK, MAP_POPULATE, 0, 0,
		MAP_NORESERVE | MAP_STACK };

	return (next(p, 3) ? MAP_PRIVATE : MAP_SHARED) | more[next(p, sizeof more / sizeof *more)];
}

static void
step_map(struct player *p, struct kept *k)
{
	static const long protections[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE,
		PROT_READ | PROT_EXEC, PROT_READ | PROT_WRITE | PROT_EXEC };
	const bool is_file = next(p, 3) == 0;
	const long pages = 1 + (long)next(p, 40);
	long a[6] = { 0, pages * (long)page - (long)next(p, page), protections[next(p, 5)],
		some_flags(p), -1, 0 };
	struct call *c;

	if (is_file) {
		a[4] = data_fd;
		a[5] = (long)(next(p, DATA_PAGES - 40) * page);
		a[2] &= ~PROT_EXEC;
	} else
		a[3] |= MAP_ANONYMOUS;
	switch (next(p, 10)) {
	case 0: /* without a length */
		a[1] = 0;
		break;
	case 1: /* of no descriptor */
		a[3] &= ~MAP_ANONYMOUS;
		a[4] = 1000;
		break;
	case 2: /* where something is */
		if (k->at && !k->is_segment) {
			a[0] = (long)k->at;
			a[1] = (long)k->bytes;
			a[3] |= next(p, 2) ? MAP_FIXED : MAP_FIXED_NOREPLACE;
			if (is_file && a[5] + a[1] > (long)(DATA_PAGES * page))
				a[5] = 0;
		}
		break;
	}
	/* no more than one mapping is kept in a place */
	if (k->at && !(a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
		return;
	c = make(p, "mmap", SYS_mmap, a);
	c->bytes = a[1];
	c->address = c->error ? a[0] : c->result;
	c->protection = a[2];
	c->flags = a[3];
	if (!(a[3] & MAP_ANONYMOUS)) {
		c->fd = a[4];
		c->offset = a[5];
	}
	if (!c->error)
		c->file = a[3] & MAP_ANONYMOUS ? a[3] & MAP_SHARED ? 3 : 0 : 1;
	keep(k, c, is_file);
}

static void
step_unmap(struct player *p, struct kept *k)
{
	const bool is_wrong = next(p, 8) == 0;
	const long a[6] = { (long)k->at + is_wrong, (long)k->bytes };
	struct call *c = make(p, "munmap", SYS_munmap, a);

	c->bytes = a[1];
	if (!c->error)
		k->at = NULL;
}

static void
step_remap(struct player *p, struct kept *k)
{
	const long pages = 1 + (long)next(p, 40);
	const long a[6] = { (long)k->at, (long)k->bytes, pages * (long)page,
		next(p, 3) ? MREMAP_MAYMOVE : 0, 0 };
	struct call *c;

	if (k->is_file)
		return;
	c = make(p, "mremap", SYS_mremap, a);
	c->bytes = a[2];
	c->address = c->error ? a[0] : c->result;
	c->flags = a[3];
	c->old = a[0];
	c->old_bytes = a[1];
	keep(k, c, false);
}

static void
step_advise(struct player *p, struct kept *k)
{
	const long a[6] = { (long)k->at, (long)k->bytes, next(p, 2) ? MADV_DONTNEED : MADV_FREE };
	struct call *c = make(p, "madvise", SYS_madvise, a);

	c->bytes = a[1];
	c->advice = a[2];
}

/* A segment is removed as soon as it is attached, so that none is left behind. */
static void
step_attach(struct player *p, struct kept *k)
{
	const size_t bytes = (1 + next(p, 20)) * page - next(p, page);
	const int id = shmget(IPC_PRIVATE, bytes, 0600);
	const long a[6] = { id, 0, next(p, 2) ? SHM_RDONLY : 0 };
	struct call *c;

	if (id < 0)
		return;
	c = make(p, "shmat", SYS_shmat, a);
	c->address = c->result;
	c->bytes = (long)((bytes + page - 1) & ~(page - 1));
	c->flags = a[2];
	c->file = 2;
	keep(k, c, true);
	k->is_segment = true;
	shmctl(id, IPC_RMID, NULL);
}

static void
step_detach(struct player *p, struct kept *k)
{
	const long a[6] = { (long)k->at };
	struct call *c = make(p, "shmdt", SYS_shmdt, a);

	c->bytes = (long)k->bytes;
	k->at = NULL;
}

static void
step(struct player *p)
{
	struct kept *k = &p->kept[next(p, NR_KEPT)];
	const uint64_t what = next(p, 10);

	if (!k->at) {
		if (what == 0)
			step_attach(p, k);
		else
			step_map(p, k);
	} else if (k->is_segment)
		step_detach(p, k);
	else if (what < 2)
		step_map(p, k);
	else if (what < 5)
		step_unmap(p, k);
	else if (what < 8)
		step_remap(p, k);
	else
		step_advise(p, k);
}

static void *
play(void *arg)
{
	struct player *p = arg;

	p->tid = (pid_t)syscall(SYS_gettid);
	for (long i = 0; i < p->nr_steps; i++)
		step(p);
	for (size_t i = 0; i < NR_KEPT; i++)
		if (p->kept[i].at && p->kept[i].is_segment)
			step_detach(p, &p->kept[i]);
		else if (p->kept[i].at)
			step_unmap(p, &p->kept[i]);
	return NULL;
}

/* ---- commands ---- */

static size_t
write_ledger(const char *path, long nr_threads)
{
	FILE *f = fopen(path, "w");
	size_t nr = 0;

	if (!f)
		tracee_fail(path);
	for (long t = 0; t < nr_threads; t++)
		for (size_t i = 0; i < players[t].nr_calls; i++, nr++) {
			const struct call *c = &players[t].calls[i];

			fprintf(f, "%d %s %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %s\n",
				(int)players[t].tid, c->name, c->address, c->bytes, c->result,
				c->error, c->protection, c->flags, c->advice, c->fd, c->offset,
				c->file, c->old, c->old_bytes, c->caller);
		}
	if (fclose(f))
		tracee_fail(path);
	return nr;
}

static void
begin(struct player *p, unsigned long seed, long nr_steps)
{
	memset(p->kept, 0, sizeof p->kept);
	p->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)(p - players) + 1;
	p->nr_steps = nr_steps;
	p->nr_calls = 0;
}

static void
obey(const char *line, long nr_threads)
{
	char ledger[256], data[256];
	unsigned long seed;
	long nr_steps, bytes;

	if (sscanf(line, "mark %ld", &bytes) == 1) {
		munmap(mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
			(size_t)bytes);
		tracee_say("done");
		return;
	}
	if (sscanf(line, "play %lu %ld %255s %255s", &seed, &nr_steps, ledger, data) != 4) {
		tracee_say("what is '%s'?", line);
		return;
	}
	data_fd = open(data, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (data_fd < 0 || ftruncate(data_fd, (off_t)(DATA_PAGES * page)) < 0)
		tracee_fail(data);
	for (long t = 0; t < nr_threads; t++) {
		begin(&players[t], seed, nr_steps);
		if (pthread_create(&players[t].thread, NULL, play, &players[t]) != 0)
			tracee_fail("pthread_create");
	}
	for (long t = 0; t < nr_threads; t++)
		pthread_join(players[t].thread, NULL);
	close(data_fd);
	tracee_say("done %zu", write_ledger(ledger, nr_threads));
}

int
main(int argc, char **argv)
{
	const long nr_threads = tracee_number(argc, argv, 1, 1);
	char line[600];

	page = (size_t)sysconf(_SC_PAGESIZE);
	if (nr_threads > MAX_THREADS)
		return 99;
	for (long t = 0; t < nr_threads; t++) {
		players[t].calls = calloc(MAX_CALLS, sizeof *players[t].calls);
		if (!players[t].calls)
			tracee_fail("calloc");
	}
	tracee_ready();
	while (tracee_command(line, sizeof line))
		obey(line, nr_threads);
	return tracee_end();
}
